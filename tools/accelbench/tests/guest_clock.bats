#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
#
# Times where the clock counts instructions: bytes are multiplied so fast that other work of the host would decide.

load gemm

@test "GEMM of bytes on the node takes at most twice as long as with the same kernels in a process" {
	at_most_twice int8 720 3
}
