#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Arrays in .npy files, written and read by nothing that accelctl has.

npy.py make FILE DESCR SHAPE ORDER [VALUE...]   values in the order of the file
npy.py show FILE                                type, shape, values; of .npz, those of each array
npy.py flip FILE                                change the lowest bit of the last four bytes
"""

import ast
import struct
import sys
import zipfile

CODES = {"f2": "e", "f4": "f", "f8": "d", "i1": "b", "u1": "B", "b1": "?", "i2": "h", "u2": "H", "i4": "i", "i8": "q", "V2": "H"}


def number(word):
    try:
        return int(word, 0)
    except ValueError:
        return float(word)


def make(path, descr, shape, order, *words):
    code = CODES[descr[1:]]
    end = ">" if descr[0] == ">" else "<"
    head = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, order, shape)
    head = head.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for word in words:
            file.write(struct.pack(end + code, number(word)))


def show(path):
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            assert archive.testzip() is None
            for name in archive.namelist():
                show_array(archive.read(name))
        return
    with open(path, "rb") as file:
        show_array(file.read())


def show_array(raw):
    assert raw[:8] == b"\x93NUMPY\x01\x00", raw[:8]
    size = struct.unpack("<H", raw[8:10])[0]
    assert (10 + size) % 64 == 0 and raw[9 + size : 10 + size] == b"\n"
    head = ast.literal_eval(raw[10 : 10 + size].decode())
    assert set(head) == {"descr", "fortran_order", "shape"} and head["fortran_order"] is False
    assert head["descr"][0] == ("|" if head["descr"][1:] in ("i1", "u1") else "<")
    data = raw[10 + size :]
    values = [v for (v,) in struct.iter_unpack("<" + CODES[head["descr"][1:]], data)]
    if head["descr"] == "<V2":
        values = [struct.unpack("<f", struct.pack("<I", v << 16))[0] for v in values]
    count = 1
    for dim in head["shape"]:
        count *= dim
    assert len(values) == count, (len(values), count)
    print(head["descr"], head["shape"], *("%g" % v for v in values))


def flip(path):
    with open(path, "r+b") as file:
        file.seek(-4, 2)
        byte = file.read(1)[0]
        file.seek(-4, 2)
        file.write(bytes([byte ^ 1]))


if __name__ == "__main__":
    {"make": make, "show": show, "flip": flip}[sys.argv[1]](*sys.argv[2:])
