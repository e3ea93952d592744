#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Compare the syzkaller description, and the lists of ioctls in tests, with the uapi header. Prints TAP; also
looks whether a field, a flag or an ioctl that goes missing would be noticed.
"""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.join(HERE, '..', '..')
HEADER = os.path.join(TOP, 'uapi', 'drm', 'uma_accel.h')
TEXT = os.path.join(HERE, 'dev_accel_uma.txt')
# Every ioctl has a mutated call, and allocations fail in each.
LISTS = ['mutate_calls.c', 'fail_ops.c']

# Structs that only a query returns: their bytes come from the kernel.
RETURNED = re.compile(r'^drm_uma_query_.+|^drm_uma_counters$')
BITS = {'__u8': 8, '__s8': 8, 'char': 8, '__u16': 16, '__u32': 32, '__s32': 32, '__u64': 64, '__s64': 64}


def strip_comments(text):
    return re.sub(r'/\*.*?\*/', '', text, flags=re.S)


def header_structs(text):
    """name -> [(field, bits)], bits a number or the name of a struct."""
    structs = {}
    for name, body in re.findall(r'\bstruct (drm_uma_\w+) \{(.*?)\n\};', strip_comments(text), re.S):
        fields = []
        for kind, field in re.findall(r'^\s*((?:struct )?\w+) (\w+)(?:\[\w+\])?;', body, re.M):
            fields.append((field, BITS.get(kind, kind.replace('struct ', ''))))
        structs[name] = fields
    return structs


def header_ioctls(text):
    """ID -> (access, struct)."""
    pattern = r'DRM_IOCTL_UMA_(\w+)\s*=\s*DRM_IOCTL_UMA\((\w+),\s*(\w+),\s*(\w+)\)'
    return {i: (access, 'drm_uma_' + t) for i, access, _, t in re.findall(pattern, strip_comments(text))}


def header_inputs(text):
    """Flags and values that a caller may pass."""
    code = strip_comments(text)
    names = set(re.findall(r'^#define (DRM_UMA_\w+)\s', code, re.M))
    for body in re.findall(r'\benum drm_uma_(?!ioctl_id|queue_status)\w+ \{(.*?)\}', code, re.S):
        names |= set(re.findall(r'\b(DRM_UMA_\w+)\s*=', body))
    outputs = r'DRM_UMA_(DEVICE_|BO_INFO_|QUEUE_)'
    return {n for n in names if not re.match(outputs, n) and not n.endswith('_SHIFT')}


def strip_hashes(text):
    return re.sub(r'^#.*$', '', text, flags=re.M)


def syz_structs(text):
    structs = {}
    for name, body in re.findall(r'^(\w+) \{\n(.*?)^\}', strip_hashes(text), re.S | re.M):
        structs[name] = re.findall(r'^\t(\w+)\t+(.*?)(?:\s+\((?:in|out|inout)\))?$', body, re.M)
    return structs


def syz_bits(kind, resources):
    if kind.startswith(('ptr64[', 'vma64[')) or kind == 'fileoff':
        return 64
    if kind.startswith('drm_uma_array['):
        return 'drm_uma_array'
    word = kind.split('[')[0]
    if word in resources:
        return 32
    sizes = re.findall(r'\bint(8|16|32|64)\b', kind)
    return int(sizes[-1]) if sizes else kind


def compare(header, text, lists):
    """Complaints."""
    bad = []
    known, structs = header_structs(header), syz_structs(text)
    ioctls = header_ioctls(header)
    resources = set(re.findall(r'^resource (\w+)\[', text, re.M))
    if not ioctls or not known:
        bad.append('nothing was found in the header')
    for i, (access, struct) in sorted(ioctls.items()):
        way = {'WR': 'inout', 'W': 'in', 'R': 'out'}[access]
        line = (f'ioctl$UMA_{i}(fd fd_uma, cmd const[DRM_IOCTL_UMA_{i}], arg ptr[{way}, {struct}])')
        if line not in text:
            bad.append(f'no line {line}')
        for name, contents in lists.items():
            if not re.search(rf'\bUMA_{i}\b|\bDRM_IOCTL_UMA_{i}\b', contents):
                bad.append(f'{name} has no DRM_IOCTL_UMA_{i}')
    for i in re.findall(r'const\[DRM_IOCTL_UMA_(\w+)\]', text):
        if i not in ioctls:
            bad.append(f'there is no DRM_IOCTL_UMA_{i}')
    for name, fields in known.items():
        if RETURNED.match(name) or name == 'drm_uma_array':
            continue
        if name not in structs:
            bad.append(f'no struct {name}')
            continue
        found = [(f, syz_bits(kind, resources)) for f, kind in structs[name]]
        if found != fields:
            bad.append(f'{name} is {found}, not {fields}')
    for name in sorted(header_inputs(header)):
        if not re.search(rf'\b{name}\b', strip_hashes(text)):
            bad.append(f'{name} is not used')
    return bad


def main():
    with open(HEADER) as f:
        header = f.read()
    with open(TEXT) as f:
        text = f.read()
    lists = {}
    for name in LISTS:
        with open(os.path.join(HERE, '..', name)) as f:
            lists[name] = f.read()
    results = [('the description has every ioctl, field and flag of the header', compare(header, text, lists))]
    breaks = [
        ('a missing field', text.replace('\tbo_offset\tint64[0:0x10000, 0x1000]\n', '')),
        ('another order of fields', text.replace('\tva\t', '\tx\t').replace('\tsize\t', '\tva\t')),
        ('a field of another width', text.replace('timeout_ms\tint32', 'timeout_ms\tint64')),
        ('a missing flag', text.replace('DRM_UMA_BO_WC, ', '')),
        ('a missing ioctl', text.replace('ioctl$UMA_VM_BIND', '#')),
    ]
    for what, broken in breaks:
        noticed = len(compare(header, broken, lists)) > len(results[0][1]) and broken != text
        results.append((f'{what} is noticed', [] if noticed else ['it is not']))
    none = compare(header, text, {'x.c': ''})
    results.append(('a list without an ioctl is noticed', [] if none else ['it is not']))
    for number, (what, bad) in enumerate(results, 1):
        print(f"{'not ok' if bad else 'ok'} {number} - {what}")
        for line in bad:
            print('# ' + line)
    print(f'1..{len(results)}')
    return 1 if any(bad for _, bad in results) else 0


if __name__ == '__main__':
    sys.exit(main())
