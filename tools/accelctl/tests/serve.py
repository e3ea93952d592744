#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Scripts of this folder, run one after the other in one interpreter, which takes long to start.

Requests are a folder, a number, and as many arguments, the first of which is the script, each with a zero
byte behind it. Answers are what the script printed, and its exit status, likewise.
"""

import io
import os
import runpy
import sys
import traceback
from contextlib import redirect_stdout


def run(argv):
    sys.argv = argv
    try:
        runpy.run_path(argv[0], run_name="__main__")
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def main():
    rest = b""
    answers = os.fdopen(os.dup(1), "wb")
    asked = []
    while data := os.read(0, 65536):
        *new, rest = (rest + data).split(b"\0")
        asked += map(os.fsdecode, new)
        while len(asked) > 1 and len(asked) >= 2 + int(asked[1]):
            os.chdir(asked[0])
            count = 2 + int(asked[1])
            with redirect_stdout(io.StringIO()) as out:
                status = run(asked[2:count])
            asked = asked[count:]
            answers.write(os.fsencode("%s\0%d\0" % (out.getvalue(), status)))
            answers.flush()


main()
