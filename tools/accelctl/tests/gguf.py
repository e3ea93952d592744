#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a GGUF file has, one a line, for tests: gguf.py FILE

"KEY = VALUE" of its metadata, lists of more than 16 by their length and a sum, and "NAME: TYPE DIMS, SUM" of its tensors.
"""

import struct
import sys
import zlib

FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
# Elements and bytes of a block
BLOCKS = {0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 8: (32, 34), 12: (256, 144), 14: (256, 210), 30: (1, 2)}


class Reader:
    """A file, from its beginning."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.at = 0

    def take(self, fmt):
        """The next number."""
        value = struct.unpack_from("<" + fmt, self.data, self.at)[0]
        self.at += struct.calcsize("<" + fmt)
        return value

    def text(self):
        """The next text."""
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size:self.at].decode()

    def value(self, kind):
        """A value of metadata."""
        if kind == 8:
            return self.text()
        if kind != 9:
            return self.take(FORMATS[kind])
        element, count = self.take("I"), self.take("Q")
        items = [self.value(element) for _ in range(count)]
        return items if count <= 16 else "%d: %08x" % (count, zlib.crc32(repr(items).encode()))


def main(path):
    """Show it."""
    r = Reader(path)
    assert r.data[:4] == b"GGUF"
    r.at = 8
    tensors, entries = r.take("Q"), r.take("Q")
    for _ in range(entries):
        key = r.text()
        print(key, "=", r.value(r.take("I")))
    infos = []
    for _ in range(tensors):
        name = r.text()
        dims = [r.take("Q") for _ in range(r.take("I"))]
        infos.append((name, r.take("I"), dims, r.take("Q")))
    start = (r.at + 31) // 32 * 32
    for name, kind, dims, offset in infos:
        elements, size = BLOCKS[kind]
        for d in dims:
            size *= d
        data = r.data[start + offset:start + offset + size // elements]
        print("%s: %u %s, %08x" % (name, kind, dims, zlib.crc32(data)))


main(sys.argv[1])
