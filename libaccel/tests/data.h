/* SPDX-License-Identifier: MIT */
/* Models and their answers, from the top of the tree: tests on the host run there. */
#ifndef TESTS_DATA_H
#define TESTS_DATA_H

#define ZOO_HF		"examples/zoo/hf.tar.xz"
#define AUSTEN		"examples/austen"
#define SPEECH		"examples/speech"
#define TEXT_DATA	"libaccel/tests/text/testdata"

#endif
