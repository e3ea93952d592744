#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A ResNet of a folder in binary64, for tests: resnet.py FOLDER OUT

The answer that came with its weights is not finite. OUT becomes a folder with norms that are a tenth as large, and with an
answer for one small picture, computed here.
"""

import json
import math
import struct
import sys

SIZE = 24


def read(path):
    with open(path, 'rb') as file:
        data = bytearray(file.read())
    length = struct.unpack('<Q', data[:8])[0]
    entries = json.loads(data[8:8 + length])
    entries.pop('__metadata__', None)
    return data, 8 + length, entries


def main(folder, out):
    with open(folder + '/config.json', encoding='utf-8') as file:
        config = json.load(file)
    data, base, entries = read(folder + '/model.safetensors')
    tensors = {}
    for name, entry in entries.items():
        if entry['dtype'] != 'F32':
            continue
        begin, end = (base + o for o in entry['data_offsets'])
        numbers = struct.unpack(f'<{(end - begin) // 4}f', data[begin:end])
        if name.endswith('normalization.weight'):
            data[begin:end] = struct.pack(f'<{len(numbers)}f', *(x / 10 for x in numbers))
            numbers = struct.unpack(f'<{len(numbers)}f', data[begin:end])
        tensors[name] = (entry['shape'], numbers)
    picture = [[[math.sin(c * 5 + y * 3 + x * x) for x in range(SIZE)] for y in range(SIZE)] for c in range(3)]
    picture = [[[struct.unpack('<f', struct.pack('<f', v))[0] for v in row] for row in plane] for plane in picture]

    def convolve(name, image, stride):
        (channels, depth, kernel, _), weights = tensors[name + '.convolution.weight']
        norm = [tensors[f'{name}.normalization.{p}'][1] for p in ('weight', 'bias', 'running_mean', 'running_var')]
        pad, high, wide = kernel // 2, len(image[0]), len(image[0][0])
        result = []
        for c in range(channels):
            scale = norm[0][c] / math.sqrt(norm[3][c] + 1e-5)
            plane = []
            for y in range(0, high + 2 * pad - kernel + 1, stride):
                row = []
                for x in range(0, wide + 2 * pad - kernel + 1, stride):
                    total = 0.0
                    for i in range(max(0, pad - y), min(kernel, high + pad - y)):
                        for j in range(max(0, pad - x), min(kernel, wide + pad - x)):
                            at = (c * depth * kernel + i) * kernel + j
                            for d in range(depth):
                                total += image[d][y + i - pad][x + j - pad] * weights[at + d * kernel * kernel]
                    row.append((total - norm[2][c]) * scale + norm[1][c])
                plane.append(row)
            result.append(plane)
        return result

    def relu(image):
        return [[[max(v, 0.0) for v in row] for row in plane] for plane in image]

    def pool(image):
        high, wide = len(image[0]), len(image[0][0])
        return [[[max(plane[i][j] for i in range(max(0, y - 1), min(high, y + 2)) for j in range(max(0, x - 1), min(wide, x + 2)))
                  for x in range(0, wide, 2)] for y in range(0, high, 2)] for plane in image]

    image = pool(relu(convolve('resnet.embedder.embedder', picture, 2)))
    for stage, depth in enumerate(config['depths']):
        for layer in range(depth):
            at = f'resnet.encoder.stages.{stage}.layers.{layer}'
            stride = 2 if stage and not layer else 1
            rest = convolve(at + '.shortcut', image, stride) if at + '.shortcut.convolution.weight' in tensors else image
            image = relu(convolve(at + '.layer.0', image, 1))
            image = relu(convolve(at + '.layer.1', image, stride))
            image = convolve(at + '.layer.2', image, 1)
            image = relu([[[a + b for a, b in zip(r, s)] for r, s in zip(p, q)] for p, q in zip(image, rest)])
    means = [sum(map(sum, plane)) / (len(plane) * len(plane[0])) for plane in image]
    (classes, width), weights = tensors['classifier.1.weight']
    bias = tensors['classifier.1.bias'][1]
    logits = [sum(weights[c * width + i] * means[i] for i in range(width)) + bias[c] for c in range(classes)]

    with open(out + '/model.safetensors', 'wb') as file:
        file.write(data)
    with open(out + '/config.json', 'w', encoding='utf-8') as file:
        json.dump(config, file)
    flat = [v for plane in picture for row in plane for v in row]
    head = json.dumps({'in.pixel_values': {'dtype': 'F32', 'shape': [1, 3, SIZE, SIZE], 'data_offsets': [0, 4 * len(flat)]},
                       'out.logits': {'dtype': 'F32', 'shape': [1, classes],
                                      'data_offsets': [4 * len(flat), 4 * (len(flat) + classes)]}}).encode()
    with open(out + '/golden.safetensors', 'wb') as file:
        file.write(struct.pack('<Q', len(head)) + head + struct.pack(f'<{len(flat) + classes}f', *flat, *logits))


main(*sys.argv[1:])
