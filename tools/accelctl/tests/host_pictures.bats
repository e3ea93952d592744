#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# model run: what models say of their pictures, in preprocessor_config.json and in metadata of ONNX files. What becomes of
# known pixels is computed here: for networks of examples/zoo as an array, which has to give the same answer as the picture.

load helper

setup_file() {
	tar -C "$BATS_FILE_TMPDIR" -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/hf.tar.xz" hf/vit hf-c/clip-vision hf-c/resnet-basic
	export HF=$BATS_FILE_TMPDIR
}

setup() {
	T=$BATS_TEST_TMPDIR
}

# says FOLDER JSON: what the model in a folder says
says() {
	echo "$2" >"$1/preprocessor_config.json"
}

# gives MODEL ARGUMENT...: the values of its outputs
gives() {
	ctl 0 model run "$1" -d sw --threads 1 --out "$T/out.npz" "${@:2}"
	py npy.py show "$T/out.npz"
}

# wants SIZE WIDTH HEIGHT LEFT TOP SCALE: $T/p.png of WIDTH x HEIGHT pixels, and $T/want.npy: each of them becomes SCALE x SCALE, of
# which SIZE x SIZE from (LEFT, TOP) on are taken, and each byte (byte * 0.01 - 0.3, 0.4, 0.5) / 0.2, 0.25, 0.5
wants() {
	python3 - "$T" "$BATS_TEST_DIRNAME" "$@" <<-'END'
		import os, struct, sys
		sys.path.insert(0, sys.argv[2])
		import onnx
		folder = sys.argv[1]
		size, width, height, left, top, scale = (int(v) for v in sys.argv[3:])
		picture = [[[(37 * x + 91 * y + 53 * c) % 256 for c in range(3)] for x in range(width)] for y in range(height)]
		onnx.png(folder + "/p.png", width, height, 3, *(v for row in picture for pixel in row for v in pixel))
		values = [(picture[(y + top) // scale][(x + left) // scale][c] * 0.01 - (0.3, 0.4, 0.5)[c]) / (0.2, 0.25, 0.5)[c]
		          for c in range(3) for y in range(size) for x in range(size)]
		text = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, %d, %d), }" % (size, size)
		text += " " * (-(len(text) + 11) % 64) + "\n"
		with open(folder + "/want.npy", "wb") as out:
		    out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + struct.pack("<%df" % len(values), *values))
	END
}

values='"do_rescale": true, "rescale_factor": 0.01, "do_normalize": true, "image_mean": [0.3, 0.4, 0.5], "image_std": [0.2, 0.25, 0.5]'

# same FOLDER: the picture gives what the array does, of a converted copy too, which is not what it gives when nothing is said
same() {
	local want
	want=$(gives "$HF/$1" --input "$T/want.npy")
	[ "$want" = "$(gives "$HF/$1" --input "$T/p.png")" ]
	rm -rf "$T/copy"
	ctl 0 model convert "$HF/$1" "$T/copy"
	[ "$want" = "$(gives "$T/copy" --input "$T/p.png")" ]
	rm "$HF/$1/preprocessor_config.json" "$T/out.npz"
	run --separate-stderr accelctl model run "$HF/$1" -d sw --input "$T/p.png" --out "$T/out.npz"
	[ "$want" != "$(py npy.py show "$T/out.npz")" ]
}

@test "ViT: all of the picture is stretched" {
	says "$HF/hf/vit" "{\"image_processor_type\": \"ViTImageProcessor\", \"do_resize\": true, \"size\": {\"height\": 48, \"width\": 48},
		\"resample\": 0, \"do_center_crop\": null, \"crop_size\": null, $values}"
	wants 48 6 6 0 0 8
	same hf/vit
	# As older versions wrote it
	says "$HF/hf/vit" "{\"feature_extractor_type\": \"ViTFeatureExtractor\", \"size\": 48, \"resample\": 0, $values}"
	same hf/vit
}

@test "CLIP: the shorter side is scaled, and the middle is taken" {
	says "$HF/hf-c/clip-vision" "{\"image_processor_type\": \"CLIPImageProcessor\", \"do_resize\": true, \"size\": {\"shortest_edge\": 48},
		\"resample\": 0, \"do_center_crop\": true, \"crop_size\": {\"height\": 40, \"width\": 40}, $values}"
	# 12 x 6 become 96 x 48
	wants 40 12 6 28 4 8
	same hf-c/clip-vision
	says "$HF/hf-c/clip-vision" "{\"size\": 48, \"resample\": 0, \"crop_size\": 40, $values}"
	same hf-c/clip-vision
	# What is not scaled is cut as it is.
	says "$HF/hf-c/clip-vision" "{\"do_resize\": false, \"size\": 48, \"crop_size\": 40, $values}"
	wants 40 50 41 5 0 1
	same hf-c/clip-vision
}

@test "ResNet: the middle is a share, and the input's size is its own" {
	says "$HF/hf-c/resnet-basic" "{\"image_processor_type\": \"ConvNextImageProcessor\", \"size\": {\"shortest_edge\": 56}, \"crop_pct\": 0.875,
		\"resample\": 0, $values}"
	# 16 x 8 become 128 x 64
	wants 56 16 8 36 4 8
	same hf-c/resnet-basic
	# Large ones are stretched.
	says "$HF/hf-c/resnet-basic" "{\"feature_extractor_type\": \"ConvNextFeatureExtractor\", \"size\": 384, \"crop_pct\": 0.875,
		\"resample\": 0, $values}"
	wants 384 6 6 0 0 64
	same hf-c/resnet-basic
}

@test "what is between pixels: nearest, triangles, splines" {
	local plain='"do_rescale": false, "do_normalize": false, "size": {"height": '
	py onnx.py model "$T/m.onnx" x:f32:1,1,h,w Identity
	py onnx.py png "$T/p.png" 4 2 1 10 20 30 40 10 20 30 40
	says "$T" "{$plain 2, \"width\": 2}, \"resample\": 0}"
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 1, 2, 2) 20 40 20 40" ]
	# 17.14 and 32.86, which are bytes again
	says "$T" "{$plain 2, \"width\": 2}, \"resample\": 2}"
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 1, 2, 2) 17 33 17 33" ]
	# Between 0 and 255 a spline of a = -0.5 is -22.5, 52.8, 202.2, 277.5
	py onnx.py png "$T/p.png" 2 2 1 0 255 0 255
	says "$T" "{$plain 1, \"width\": 4}, \"resample\": 3}"
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 1, 1, 4) 0 53 202 255" ]
	# CLIP's default
	says "$T" "{\"image_processor_type\": \"CLIPImageProcessor\", \"do_center_crop\": false, $plain 1, \"width\": 4}}"
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 1, 1, 4) 0 53 202 255" ]
}

@test "options go before what a model says" {
	py onnx.py model "$T/m.onnx" x:f32:1,3,1,1 Identity
	py onnx.py png "$T/p.png" 2 1 3 10 20 30 110 120 130
	says "$T" '{"size": {"height": 1, "width": 1}, "resample": 0, "do_rescale": false, "image_mean": [1, 2, 3], "image_std": [1, 2, 4]}'
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 3, 1, 1) 109 59 31.75" ]
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --bgr)" = "<f4 (1, 3, 1, 1) 31.75 59 109" ]
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --mean 10)" = "<f4 (1, 3, 1, 1) 100 55 30" ]
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --std 1)" = "<f4 (1, 3, 1, 1) 109 118 127" ]
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --scale 0.5)" = "<f4 (1, 3, 1, 1) 54 29 15.5" ]
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --pixels raw)" = "<f4 (1, 3, 1, 1) 110 120 130" ]
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --fit stretch)" = "<f4 (1, 3, 1, 1) 59 34 19.25" ]
	# 4 x 2, and then the middle: the pixel at 1.5 / 2
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --resize 2)" = "<f4 (1, 3, 1, 1) 9 9 6.75" ]
	# Options may say it all.
	says "$T" 'no JSON'
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --fit stretch --pixels raw)" = "<f4 (1, 3, 1, 1) 60 70 80" ]
	ctl 2 model run "$T/m.onnx" -d sw -i "$T/p.png" --fit stretch --pixels raw --std 1e-320
	has "$stderr" "--std: bytes do not become numbers"
	ctl 2 model run "$T/m.onnx" -d sw -i "$T/p.png" --fit stretch --pixels raw --mean nan
	has "$stderr" "--mean: bytes do not become numbers"
}

@test "metadata of ONNX files" {
	local range
	py onnx.py model "$T/plain.onnx" x:f32:1,3,1,1 Identity
	py onnx.py png "$T/p.png" 1 1 3 255 0 51
	for range in "NominalRange_0_255 255 0 51" "normalized_0_1 1 0 0.2" "Normalized_1_1 1 -1 -0.6" "NominalRange_16_235 235 16 59.8"; do
		cp "$T/plain.onnx" "$T/m.onnx"
		py onnx.py property "$T/m.onnx" Image.NominalPixelRange "${range%% *}"
		py onnx.py property "$T/m.onnx" Image.ColorSpaceGamma SRGB
		[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 3, 1, 1) ${range#* }" ]
	done
	py onnx.py property "$T/m.onnx" image.bitmappixelformat bgr8
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 3, 1, 1) 59.8 16 235" ]
	# Options say nothing of the order but that it is blue first, too.
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --pixels raw)" = "<f4 (1, 3, 1, 1) 51 0 255" ]
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --pixels raw --fit stretch)" = "<f4 (1, 3, 1, 1) 51 0 255" ]
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --pixels raw --fit stretch --bgr)" = "<f4 (1, 3, 1, 1) 51 0 255" ]
	ctl 0 model check "$T/m.onnx" -d sw --json
	json '.properties == {"Image.NominalPixelRange": "NominalRange_16_235", "Image.ColorSpaceGamma": "SRGB", "image.bitmappixelformat": "bgr8"}'
	# The keys of the file, which then is not looked at
	cp "$T/plain.onnx" "$T/m.onnx"
	py onnx.py property "$T/m.onnx" image_mean '[0.5, 0.5, 0.1]'
	py onnx.py property "$T/m.onnx" image_std 0.5
	says "$T" 'no JSON'
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 3, 1, 1) 1 -1 0.2" ]
	py onnx.py property "$T/m.onnx" crop_pct null
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 3, 1, 1) 1 -1 0.2" ]
	cp "$T/plain.onnx" "$T/m.onnx"
	py onnx.py property "$T/m.onnx" image_processor_type '"ViTImageProcessor"'
	py onnx.py property "$T/m.onnx" size 1
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 3, 1, 1) 1 -1 -0.6" ]
	cp "$T/plain.onnx" "$T/m.onnx"
	py onnx.py property "$T/m.onnx" image_mean "[0.5, 0.5, 0.$(printf '%0120d' 1)]"
	ctl 1 model run "$T/m.onnx" -d sw -i "$T/p.png"
	has "$stderr" "$T/m.onnx: image_mean: is longer than 127 bytes"
	# What is wrong has its name.
	for range in "Image.NominalPixelRange Normalized_2_2" "Image.ColorSpaceGamma Linear" "Image.BitmapPixelFormat Rgba8" \
		"image_mean [0.5" "rescale_factor -1" "size 0" "do_resize true,true" "do_pad true" \
		'image_processor_type "EfficientNetImageProcessor"'; do
		cp "$T/plain.onnx" "$T/m.onnx"
		py onnx.py property "$T/m.onnx" Image.NominalPixelRange Normalized_0_1
		py onnx.py property "$T/m.onnx" "${range% *}" "${range#* }"
		ctl 1 model run "$T/m.onnx" -d sw -i "$T/p.png"
		has "$stderr" "$T/m.onnx: ${range% *}: "
	done
}

@test "two models that are compared get the same pictures" {
	mkdir "$T/other"
	py onnx.py model "$T/m.onnx" x:f32:1,3,1,1 Identity
	cp "$T/m.onnx" "$T/other/m.onnx"
	py onnx.py png "$T/p.png" 1 1 3 255 0 51
	says "$T" '{"image_mean": [1, 2, 3], "image_std": [1, 2, 4]}'
	ctl 0 model compare "$T/m.onnx" "$T/other/m.onnx" -d sw -i "$T/p.png"
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" != "$(gives "$T/other/m.onnx" -i "$T/p.png")" ]
}

@test "what a file says wrongly has the name of its key" {
	local wrong
	py onnx.py model "$T/m.onnx" x:f32:1,3,2,2 Identity
	py onnx.py png "$T/p.png" 2 2 3 1 2 3 4 5 6 7 8 9 10 11 12
	for wrong in '"size": 0' '"size": {"height": 2}' '"size": {"shortest_edge": 2, "longest_edge": 3}' '"size": "2"' \
		'"size": {"height": 2, "width": 2.5}' '"size": {"height": 2, "width": 16385}' '"size": 3' '"do_resize": 1' \
		'"resample": 1, "size": 2' '"crop_size": null, "do_center_crop": true' '"crop_size": {"height": 2, "width": -2}' \
		'"crop_size": 1' '"crop_pct": 0, "size": 2' '"crop_pct": 0.9, "size": {"height": 2, "width": 2}' \
		'"rescale_factor": 0' '"rescale_factor": "a"' '"do_rescale": "yes"' '"image_mean": null, "do_normalize": true' \
		'"image_mean": [1, 2], "image_std": 1' '"image_mean": [1, 2, "3"], "image_std": 1' '"image_mean": [1], "image_std": 1' \
		'"image_std": [1, 0, 1], "image_mean": 0' '"image_std": NaN, "image_mean": 0' \
		'"image_std": 1e-320, "image_mean": 0' '"image_mean": 1e300, "image_std": 1' '"rescale_factor": 1e300' \
		'"do_pad": true' '"do_flip_channel_order": true' '"size_divisor": 32' '"min_pixels": 3136' \
		'"processor_class": "Idefics3Processor"' '"do_center_crop": true, "image_processor_type": "ViTImageProcessor"' \
		'"crop_pct": 0.9, "image_processor_type": "CLIPImageProcessor"' \
		'"size": {"height": 2, "width": 2}, "image_processor_type": "ConvNextImageProcessor"' \
		'"image_processor_type": "EfficientNetImageProcessor"' '"feature_extractor_type": 3'; do
		says "$T" "{$wrong}"
		ctl 1 model run "$T/m.onnx" -d sw -i "$T/p.png"
		wrong=${wrong#\"}
		has "$stderr" "$T/preprocessor_config.json: ${wrong%%\"*}: "
	done
	for wrong in '[]' '{} {}' '{"size": 2}, "do_pad": true}' '{"size": 2'; do
		says "$T" "$wrong"
		ctl 1 model run "$T/m.onnx" -d sw -i "$T/p.png"
		has "$stderr" "preprocessor_config.json: no JSON document"
	done
	# What nothing comes of
	says "$T" '{"size": 2, "do_pad": false, "pad_size": null, "do_convert_rgb": true, "processor_class": "CLIPProcessor", "crop_size": 2}'
	ctl 0 model run "$T/m.onnx" -d sw -i "$T/p.png"
	# The middle is larger than the picture.
	says "$T" '{"do_resize": false, "crop_size": 2}'
	py onnx.py png "$T/p.png" 1 2 3 1 2 3 4 5 6
	ctl 1 model run "$T/m.onnx" -d sw -i "$T/p.png"
	has "$stderr" "$T/preprocessor_config.json: crop_size: the picture becomes 1 x 2, which is smaller than 2 x 2"
	ctl 2 model run "$T/m.onnx" -d sw -i "$T/p.png" --resize 1
	has "$stderr" "--resize: the picture becomes 1 x 2, which is smaller than 2 x 2"
}

@test "only a file that is not there says nothing" {
	local it=$T/preprocessor_config.json
	py onnx.py model "$T/m.onnx" x:f32:1,3,2,2 Identity
	py onnx.py png "$T/p.png" 2 2 3 1 2 3 4 5 6 7 8 9 10 11 12
	mkfifo "$it"
	ctl 1 model run "$T/m.onnx" -d sw -i "$T/p.png"
	has "$stderr" "preprocessor_config.json: no file"
	rm "$it"
	ln -s preprocessor_config.json "$it"
	ctl 1 model run "$T/m.onnx" -d sw -i "$T/p.png"
	has "$stderr" "preprocessor_config.json: cannot be looked at (ELOOP)"
	ln -sfn nowhere "$it"
	ctl 0 model run "$T/m.onnx" -d sw -i "$T/p.png"
}

# shape JSON ARGUMENT...: the dimensions of what a picture becomes
shape() {
	says "$T" "$1"
	gives "$T/m.onnx" -i "$T/p.png" "${@:2}" | cut -d ')' -f 1
}

@test "what a processor does that says nothing else" {
	py onnx.py model "$T/m.onnx" x:f32:1,3,h,w Identity
	py onnx.py png "$T/p.png" 4 2 3 $(seq 24)
	[ "$(shape '{"image_processor_type": "ViTImageProcessor"}')" = "<f4 (1, 3, 224, 224" ]
	[ "$(shape '{"image_processor_type": "ViTImageProcessor", "size": 2, "crop_size": 1}')" = "<f4 (1, 3, 2, 2" ]
	[ "$(shape '{"image_processor_type": "ViTImageProcessor", "size": {"shortest_edge": 2}}')" = "<f4 (1, 3, 2, 4" ]
	[ "$(shape '{"feature_extractor_type": "CLIPFeatureExtractor"}')" = "<f4 (1, 3, 224, 224" ]
	[ "$(shape '{"processor_class": "CLIPProcessor", "size": 2, "do_center_crop": false}')" = "<f4 (1, 3, 2, 4" ]
	[ "$(shape '{"image_processor_type": "CLIPImageProcessor", "size": 3, "crop_size": 2}')" = "<f4 (1, 3, 2, 2" ]
	[ "$(shape '{"image_processor_type": "CLIPImageProcessor", "size": 3, "default_to_square": true, "crop_size": 3}')" = "<f4 (1, 3, 3, 3" ]
	[ "$(shape '{"image_processor_type": "ConvNextImageProcessor", "do_resize": false}')" = "<f4 (1, 3, 2, 4" ]
	[ "$(shape '{"image_processor_type": "ConvNextImageProcessor"}')" = "<f4 (1, 3, 384, 384" ]
	# 8 x 8, of which 7 x 7 are taken
	py onnx.py model "$T/m.onnx" x:f32:1,1,h,w Identity
	py onnx.py png "$T/p.png" 8 8 1 $(seq 0 63)
	for share in '' '"crop_pct": null, ' '"crop_pct": 0.875, '; do
		says "$T" "{\"image_processor_type\": \"ConvNextImageProcessor\", $share\"size\": 7, \"resample\": 0, \"do_rescale\": false, \"image_mean\": 0, \"image_std\": 1}"
		[[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 1, 7, 7) 0 1 2 3 4 5 6 8 "*" 54" ]]
	done
	# What bytes become
	py onnx.py model "$T/m.onnx" x:f32:1,3,1,1 Identity
	py onnx.py png "$T/p.png" 1 1 3 255 0 51
	for kind in ViT ConvNext; do
		says "$T" "{\"image_processor_type\": \"${kind}ImageProcessor\", \"size\": 1}"
		[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 3, 1, 1) 1 -1 -0.6" ]
		says "$T" "{\"image_processor_type\": \"${kind}ImageProcessor\", \"size\": 1, \"do_normalize\": false}"
		[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 3, 1, 1) 1 0 0.2" ]
	done
	says "$T" '{"image_processor_type": "CLIPImageProcessor", "size": 1, "crop_size": 1}'
	gives "$T/m.onnx" -i "$T/p.png" | awk '{ exit !($6 - 1.9303363 < 1e-5 && 1.9303363 - $6 < 1e-5 && $7 + 1.7520971 < 1e-5 &&
		-1.7520971 - $7 < 1e-5 && $8 + 0.7549964 < 1e-5 && -0.7549964 - $8 < 1e-5) }'
}

@test "pictures that models were trained with had neither transparency nor gamma" {
	py onnx.py model "$T/m.onnx" x:f32:1,3,1,1 Identity
	py onnx.py png "$T/p.png" 1 1 4 200 100 50 51
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --pixels raw)" != "<f4 (1, 3, 1, 1) 200 100 50" ]
	says "$T" '{"do_rescale": false}'
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 3, 1, 1) 200 100 50" ]
	py onnx.py png "$T/p.png" 1 1 2 200 51
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 3, 1, 1) 200 200 200" ]
	py onnx.py png "$T/p.png" 1 1 3 200 100 50
	py onnx.py gamma "$T/p.png" 100000
	[ "$(gives "$T/m.onnx" -i "$T/p.png")" = "<f4 (1, 3, 1, 1) 200 100 50" ]
	# A file that is cut off is refused as before.
	head -c 60 "$T/p.png" >"$T/cut.png"
	ctl 1 model run "$T/m.onnx" -d sw -i "$T/cut.png"
	has "$stderr" "$T/cut.png: "
	rm "$T/preprocessor_config.json"
	[ "$(gives "$T/m.onnx" -i "$T/p.png" --pixels raw)" != "<f4 (1, 3, 1, 1) 200 100 50" ]
}

@test "metadata are shown as whole characters, and none that a terminal would follow" {
	local text
	text=$(printf 'a%.0s' {1..126})
	py onnx.py model "$T/m.onnx" x:f32:1,3,1,1 Identity
	py onnx.py property "$T/m.onnx" long "$text"é
	py onnx.py property "$T/m.onnx" odd $'a\x1b[31mb\xffc'
	ctl 0 model check "$T/m.onnx" -d sw --json
	json ".properties == {\"long\": \"$text\", \"odd\": \"a?[31mb?c\"}"
	ctl 0 model check "$T/m.onnx" -d sw
	has "$output" "property odd: a?[31mb?c"
	has "$output" "property long: $text"
}
