#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# picture.py make FILE:  the picture that the examples start from, as PNG
# picture.py show FILE:  size and pixels of a PNG of 8 bits, as numbers, by another reader than libpng

import struct
import sys
import zlib

WIDTH, HEIGHT = 120, 80


def pixel(x, y):
    """A sun over two hills, a fence in front, noise in the sky."""
    noise = (x * 7919 + y * 104729 + x * y * 31) % 23
    r, g, b = 90 + y, 130 + y // 2 + noise, 220 - y // 2
    if (x - 88) ** 2 + (y - 20) ** 2 < 12 ** 2:
        r, g, b = 250, 220, 90
    if (x - 30) ** 2 / 4 + (y - 90) ** 2 < 42 ** 2:
        r, g, b = 60, 120 + (x % 5) * 4, 60
    if (x - 95) ** 2 / 3 + (y - 95) ** 2 < 38 ** 2:
        r, g, b = 40, 90 + (y % 7) * 5, 70
    if y > 58 and x % 12 < 3 or 64 < y < 67:
        r, g, b = 120, 80, 50
    return r, g, b


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def make(path):
    rows = b"".join(b"\0" + b"".join(bytes(pixel(x, y)) for x in range(WIDTH)) for y in range(HEIGHT))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n")
        f.write(chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)))
        f.write(chunk(b"IDAT", zlib.compress(rows, 9)))
        f.write(chunk(b"IEND", b""))


def predict(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


def show(path):
    with open(path, "rb") as f:
        data = f.read()
    at, body = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        elif kind == b"IDAT":
            body += data[at + 8:at + 8 + size]
        at += size + 12
    assert depth == 8 and colour in (0, 2)
    n = 3 if colour == 2 else 1
    raw, before = zlib.decompress(body), bytes(width * n)
    print(width, height, n)
    for y in range(height):
        start = y * (width * n + 1)
        kind, row = raw[start], bytearray(raw[start + 1:start + 1 + width * n])
        for i in range(width * n):
            a = row[i - n] if i >= n else 0
            b = before[i]
            c = before[i - n] if i >= n else 0
            row[i] = (row[i] + (0, a, b, (a + b) // 2, predict(a, b, c))[kind]) & 255
        print(*row)
        before = bytes(row)


if __name__ == "__main__":
    {"make": make, "show": show}[sys.argv[1]](sys.argv[2])
