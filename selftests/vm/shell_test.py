#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# TAP: the shell in the virtual machine (make vm-shell), from a terminal: shell_test.py USER COMMAND...
"""A user at a terminal starts COMMAND, looks around as USER, and powers the machine off."""

import contextlib
import os
import pty
import re
import select
import sys
import termios
import time

LIMIT = 600
WEIGHT = "/proc/self/autogroup"


def weight():
    """How nice this session is as a whole; None where that is unknown, or the session is in no group."""
    with contextlib.suppress(OSError, IndexError), open(WEIGHT, encoding="ascii") as file:
        return file.read().split()[-1]
    return None


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, command):
        nice = weight()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # A new session has a weight of its own, and would starve beside one that was given more.
            if nice is not None and weight() not in (None, nice):
                with contextlib.suppress(OSError), open(WEIGHT, "w", encoding="ascii") as file:
                    file.write(nice)
            os.environ["TERM"] = "linux"
            termios.tcsetwinsize(0, (33, 77))
            os.execvp(command[0], command)
        self.text = ""
        self.end = time.monotonic() + LIMIT

    def read(self):
        """What has come since, or None when the command is over."""
        if not select.select([self.fd], [], [], max(0, self.end - time.monotonic()))[0]:
            return None
        try:
            more = os.read(self.fd, 4096)
        except OSError:
            return None
        self.text += more.decode(errors="replace")
        return more or None

    def until(self, pattern):
        """Read until the pattern is there; what it is in then is used up."""
        while not (found := re.search(pattern, self.text)):
            if self.read() is None:
                return None
        before, self.text = self.text[:found.end()], self.text[found.end():]
        return re.sub(r"\x1b\[[?0-9;]*[a-z]|\r", "", before)

    def say(self, line):
        os.write(self.fd, line.encode() + b"\n")


def main():
    user, tests = sys.argv[1], []
    sign = "#" if user == "root" else r"\$"
    prompt = rf"{user}@guest:~{sign} $"

    def ok(good, what, seen):
        tests.append(good)
        print(f"{'ok' if good else 'not ok'} {len(tests)} - {what}", flush=True)
        if not good:
            print("".join(f"# {line}\n" for line in (seen or "").splitlines()[-30:]), end="")
        if seen is None:
            os.kill(term.pid, 15)
            sys.exit("Bail out! " + term.text[-2000:])

    term = Terminal(sys.argv[2:])
    seen = term.until(prompt)
    ok(seen is not None, "there is a prompt", seen)
    for line, want in (("id -un", rf"^{user}$"), ("accelctl list", r"^accel0 .*\buma\b.* ok$"),
                       ("accelbench --help >/dev/null; echo bench=$?", r"^bench=0$"),
                       ("stty size", r"^33 77$"), ("tty; echo $TERM", r"^linux$")):
        term.say(line)
        seen = term.until(prompt)
        ok(bool(re.search(want, seen or "", re.M)), line, seen)
    # Ctrl-C ends what runs in the machine, not the machine.
    term.say("sleep 1000")
    time.sleep(2)
    os.write(term.fd, b"\x03")
    seen = term.until(prompt)
    ok(seen is not None, "Ctrl-C ends a program", seen)
    term.say("poweroff")
    while term.read() is not None:
        pass
    over = time.monotonic() < term.end
    if not over:
        os.kill(term.pid, 15)
    status = os.waitstatus_to_exitcode(os.waitpid(term.pid, 0)[1])
    ok(over and status == 0, "poweroff ends it", f"status {status}\n{term.text}")
    print(f"1..{len(tests)}")


main()
