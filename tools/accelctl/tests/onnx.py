#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small ONNX files and pictures, written field by field.

onnx.py model FILE INPUT:TYPE:DIMS NODE...   a model of nodes in a row, each OP or OP:CONSTANT, named n0, n1, ...;
                                             OP may have a domain, DOMAIN.NAME, and a number, OP,ATTRIBUTE=FLOAT;
                                             DIMS are numbers or names with commas between them, or []: a
                                             sequence of which nothing is said; CONSTANT is a float,
                                             or NAME@FILE: one element of FILE outside
onnx.py tensor FILE TYPE DIMS VALUE...       a tensor, raw
onnx.py tensor-fields FILE TYPE DIMS VALUE... a tensor, each value in a field of numbers
onnx.py property FILE NAME VALUE             an entry of the model's metadata, added to it
onnx.py png FILE WIDTH HEIGHT CHANNELS BYTE... a picture; 2 and 4 channels have transparency
onnx.py gamma FILE GAMMA                     the picture says that it has this, in 1/100000
"""

import os
import struct
import sys
import zlib

TYPES = {"f32": (1, "<f"), "u8": (2, "<B"), "s8": (3, "<b"), "s32": (6, "<i"), "s64": (7, "<q"), "f16": (10, "<e")}


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def field(number_, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(number_ << 3 | 2) + varint(len(data)) + data


def tensor(name, kind, dims, values):
    code, fmt = TYPES[kind]
    raw = b"".join(struct.pack(fmt, v) for v in values)
    return b"".join(number(1, d) for d in dims) + number(2, code) + field(8, name) + field(9, raw)


def tensor_fields(name, kind, dims, values):
    code, _ = TYPES[kind]
    head = b"".join(number(1, d) for d in dims) + number(2, code) + field(8, name)
    if kind == "f32":
        return head + field(4, b"".join(struct.pack("<f", v) for v in values))
    return head + field(7 if kind == "s64" else 5, b"".join(varint(v) for v in values))


def outside(name, file):
    entry = field(1, "location") + field(2, file)
    return number(1, 1) + number(2, 1) + field(8, name) + field(13, entry) + number(14, 1)


def info(name, kind, dims):
    if dims == ["[]"]:
        return field(1, name) + field(2, field(4, field(1, field(1, number(1, TYPES[kind][0])))))
    shape = b"".join(field(1, number(1, int(d)) if d.isdigit() else field(2, d)) for d in dims)
    return field(1, name) + field(2, field(1, number(1, TYPES[kind][0]) + field(2, shape)))


def model(path, spec, *nodes):
    name, kind, dims = spec.split(":")
    graph, last = field(11, info(name, kind, dims.split(","))), name
    for i, node in enumerate(nodes):
        op, _, value = node.partition(":")
        op, _, attr = op.partition(",")
        domain, _, op = op.rpartition(".")
        body = field(1, last)
        if value:
            body += field(1, "c%d" % i)
            const = outside("c%d" % i, value.split("@")[1]) if "@" in value else \
                tensor("c%d" % i, "f32", [1], [float(value)])
            graph += field(5, const)
        if attr:
            key, real = attr.split("=")
            body += field(5, field(1, key) + varint(2 << 3 | 5) + struct.pack("<f", float(real)) + number(20, 1))
        last = "y%d" % i
        graph += field(1, body + field(2, last) + field(3, "n%d" % i) + field(4, op) + field(7, domain))
    graph += field(12, field(1, last)) + field(2, "g")
    with open(path, "wb") as file:
        file.write(number(1, 8) + field(2, "onnx.py") + field(7, graph) + field(8, number(2, 17)))


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def gamma(path, value):
    """Behind what comes first"""
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(data[:33] + chunk(b"gAMA", struct.pack(">I", value)) + data[33:])


def png(path, width, height, channels, *values):
    data = bytes(values)
    rows = b"".join(b"\0" + data[y * width * channels : (y + 1) * width * channels] for y in range(height))

    head = struct.pack(">IIBBBBB", width, height, 8, (0, 4, 2, 6)[channels - 1], 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def write_tensor(make, path, kind, dims, *values):
    shape = [int(d) for d in dims.split(",") if d]
    with open(path, "wb") as file:
        file.write(make("x", kind, shape, [float(v) if kind[0] == "f" else int(v) for v in values]))


if __name__ == "__main__":
    command, args = sys.argv[1], sys.argv[2:]
    if command == "model":
        model(*args)
    elif command == "property":
        with open(args[0], "ab") as out:
            out.write(field(14, field(1, args[1]) + field(2, os.fsencode(args[2]))))
    elif command == "gamma":
        gamma(args[0], int(args[1]))
    elif command == "png":
        png(args[0], *map(int, args[1:]))
    else:
        write_tensor(tensor if command == "tensor" else tensor_fields, *args)
