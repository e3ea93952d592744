#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""printed.py OUT.png < LINES: print lines, black on white, in fonts of different size and kind.

printed.py --compare WANT GOT: the share of characters of a file's lines that another's have too, in per cent: each edit that
would make one of the other takes one away.
"""

import sys

FONTS = ('DejaVuSans', 'DejaVuSerif', 'DejaVuSansMono')


def printed(out):
    from PIL import Image, ImageDraw, ImageFont
    lines = sys.stdin.read().splitlines()
    page = Image.new('RGB', (720, 60 + 56 * len(lines)), 'white')
    draw = ImageDraw.Draw(page)
    for i, line in enumerate(lines):
        font = ImageFont.truetype(FONTS[i % len(FONTS)] + '.ttf', 20 + i % 4 * 2)
        draw.text((30 + i % 3 * 10, 30 + 56 * i), line, 'black', font)
    page.save(out)


def edits(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for k, y in enumerate(b, 1):
            last, row[k] = row[k], min(row[k] + 1, row[k - 1] + 1, last + (x != y))
    return row[-1]


def compare(want, got):
    with open(want) as f, open(got) as g:
        want, got = f.read(), g.read()
    print('%.1f' % (100 - 100 * edits(want, got) / len(want)))


if sys.argv[1] == '--compare':
    compare(*sys.argv[2:])
else:
    printed(sys.argv[1])
