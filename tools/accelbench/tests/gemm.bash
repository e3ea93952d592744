# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# gemm DEVICE KERNELS DTYPE ROWS REPEAT: least microseconds of a GEMM, on one thread
gemm() {
	ACCEL_SW_KERNELS=$2 timeout 120 accelctl run gemm -d "$1" -m "$4" -n 256 -k 256 --dtype "$3" --threads 1 --repeat "$5" --json |
		jq .time_min_us
}

# at_most_twice DTYPE ROWS REPEAT: the emulator runs the model's kernels in short sections and reaches memory page by page.
# Medians of what takes turns.
at_most_twice() {
	local node process i ratio
	for i in 1 2 3 4 5; do
		node[i]=$(gemm accel0 '' "$@")
		process[i]=$(gemm sw model-avx2 "$@")
	done
	ratio=$(jq -n "([${node[1]}, ${node[2]}, ${node[3]}, ${node[4]}, ${node[5]}] | sort[2]) /
		([${process[1]}, ${process[2]}, ${process[3]}, ${process[4]}, ${process[5]}] | sort[2])")
	echo "# $1 ${2}x256x256: node ${node[*]} us, process ${process[*]} us, ratio $ratio" >&3
	jq -ne "$ratio <= 2"
}
