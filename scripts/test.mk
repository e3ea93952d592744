# SPDX-License-Identifier: MIT
# The test layers; see Documentation and the head of the top makefile for the variables.

test:
	@echo not there yet
