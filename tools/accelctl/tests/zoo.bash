# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For tests of models of examples/zoo. Weights are as large as 450 MB, and are there only while their test runs.

load helper

setup_file() {
	tar -C "$BATS_FILE_TMPDIR" -xJf "$BATS_TEST_DIRNAME/../../../examples/zoo/onnx.tar.xz"
	export ZOO=$BATS_FILE_TMPDIR/onnx
}

teardown() {
	rm -rf "$ZOO"/*.bin "$XDG_CACHE_HOME"
	settle
}

# agrees PATH BOUND LEVEL: the model PATH.onnx is as near to the answers of PATH.golden.npz
agrees() {
	ctl 0 model run "$1.onnx" -d sw --golden "$1.golden.npz" --level "$3" --tolerance "$2" --json
	json ".ok and ([.outputs[] | select(.ok and .max_rel_error < $2)] | length) > 0"
}
