#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# A whole model of a file on the node, on a kernel with the driver and the software device: its answers, and each layer's,
# are those of the in-process device. The batch is small: a job that the model of the chip computes has to end in time.

load helper

data=$BATS_TEST_DIRNAME/../../../examples

setup_file() {
	# The in-process device with what the chip of the node can do
	SW=sw:$(accelctl info --json accel0 | jq -r .device.chip)
	export SW
}

@test "digits on the node, whole" {
	ctl 0 model compare "$data/digits/digits.onnx" -d "$SW" --with-device accel0 --dim n=2 --tolerance 1e-5 --json
	json '.ok and (.layers | length) == 22 and .outputs[0].name == "logits"'
	ctl 0 model run "$data/digits/digits.onnx" -d accel0 --dim n=2 --json
	json '.ok and .outputs[0].dims == [2, 10] and .host_nodes == 0'
}
