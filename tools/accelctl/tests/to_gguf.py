#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a decoder of a folder, or BERT, as GGUF, for tests: to_gguf.py FOLDER FILE f32|f16|q8_0|q4_0|q4_1|q5_0 [plain]

Names, the order of heads and what norms add are those that GGUF files have. Products' weights are of the type that is
given, the rest is fp32. plain: these too, but with the values that blocks would have.
"""

import json
import struct
import sys

NAMES = {
    'embed_tokens': 'token_embd', 'wte': 'token_embd', 'wpe': 'position_embd', 'norm': 'output_norm', 'ln_f': 'output_norm',
    'lm_head': 'output', 'embed_in': 'token_embd', 'final_layer_norm': 'output_norm', 'embed_out': 'output',
    'input_layernorm': 'attn_norm', 'ln_1': 'attn_norm', 'ln_2': 'ffn_norm', 'self_attn.q_proj': 'attn_q',
    'self_attn.k_proj': 'attn_k', 'self_attn.v_proj': 'attn_v', 'self_attn.o_proj': 'attn_output',
    'self_attn.qkv_proj': 'attn_qkv', 'attn.c_attn': 'attn_qkv', 'attn.c_proj': 'attn_output', 'mlp.c_fc': 'ffn_up',
    'mlp.c_proj': 'ffn_down', 'mlp.gate_proj': 'ffn_gate', 'mlp.up_proj': 'ffn_up', 'mlp.down_proj': 'ffn_down',
    'mlp.gate_up_proj': 'ffn_up', 'self_attn.q_norm': 'attn_q_norm', 'self_attn.k_norm': 'attn_k_norm',
    'post_attention_layernorm': 'ffn_norm',
    'word_embeddings': 'token_embd', 'position_embeddings': 'position_embd', 'token_type_embeddings': 'token_types',
    'LayerNorm': 'token_embd_norm', 'attention.self.query': 'attn_q', 'attention.self.key': 'attn_k',
    'attention.self.value': 'attn_v', 'attention.output.dense': 'attn_output', 'attention.output.LayerNorm': 'attn_output_norm',
    'intermediate.dense': 'ffn_up', 'output.dense': 'ffn_down', 'output.LayerNorm': 'layer_output_norm', 'dense': 'cls',
}
GEMMA = {
    'post_attention_layernorm': 'post_attention_norm', 'pre_feedforward_layernorm': 'ffn_norm',
    'post_feedforward_layernorm': 'post_ffw_norm',
}
TYPES = {'f32': 0, 'f16': 1, 'q4_0': 2, 'q4_1': 3, 'q5_0': 6, 'q8_0': 8}


def read(path):
    with open(path, 'rb') as file:
        data = file.read()
    length = struct.unpack('<Q', data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + length]).items():
        if name != '__metadata__':
            begin, end = entry['data_offsets']
            count = (end - begin) // 4
            tensors[name] = (entry['shape'], struct.unpack(f'<{count}f', data[8 + length + begin:8 + length + end]))
    return tensors


def half(x):
    return struct.unpack('<e', struct.pack('<e', x))[0]


def block(x, kind):
    """32 numbers as a block."""
    big = max(x, key=abs)
    if kind == 'q8_0':
        d = half(abs(big) / 127) or 1
        return struct.pack('<e32b', d, *(max(-127, min(127, round(v / d))) for v in x))
    if kind == 'q4_1':
        low, d = half(min(x)), half((max(x) - min(x)) / 15) or 1
        q = [max(0, min(15, round((v - low) / d))) for v in x]
        return struct.pack('<ee', d, low) + bytes(q[i] | q[i + 16] << 4 for i in range(16))
    if kind == 'q4_0':
        d = half(big / -8) or 1
        q = [max(0, min(15, round(v / d) + 8)) for v in x]
        return struct.pack('<e', d) + bytes(q[i] | q[i + 16] << 4 for i in range(16))
    d = half(big / -16) or 1
    q = [max(0, min(31, round(v / d) + 16)) for v in x]
    high = sum((v >> 4) << i for i, v in enumerate(q))
    return struct.pack('<eI', d, high) + bytes(q[i] & 15 | (q[i + 16] & 15) << 4 for i in range(16))


def values(data, kind):
    """What a block stands for."""
    d = struct.unpack('<e', data[:2])[0]
    if kind == 'q8_0':
        return [d * q for q in struct.unpack('<32b', data[2:])]
    low = struct.unpack('<e', data[2:4])[0] if kind == 'q4_1' else -8 * d if kind == 'q4_0' else -16 * d
    bits = data[-16:]
    q = [b & 15 for b in bits] + [b >> 4 for b in bits]
    if kind == 'q5_0':
        high = struct.unpack('<I', data[2:6])[0]
        q = [v | (high >> i & 1) << 4 for i, v in enumerate(q)]
    return [d * v + low for v in q]


def flat(numbers, kind):
    out = []
    for i in range(0, len(numbers), 32):
        out += values(block(numbers[i:i + 32], kind), kind)
    return out


def encode(numbers, kind):
    if kind in ('f32', 'f16'):
        return struct.pack(f'<{len(numbers)}{"f" if kind == "f32" else "e"}', *numbers)
    return b''.join(block(numbers[i:i + 32], kind) for i in range(0, len(numbers), 32))


def permute(shape, x, heads):
    """Rows of a head: those of a pair beside each other."""
    rows, columns = shape[0], len(x) // shape[0]
    size = rows // heads
    out = []
    for row in range(rows):
        head, at = divmod(row, size)
        source = head * size + (at % 2) * (size // 2) + at // 2
        out += x[source * columns:(source + 1) * columns]
    return out


def convert(tensors, config):
    arch = config['model_type']
    heads = config.get('num_attention_heads')
    for name, (shape, x) in tensors.items():
        stem, _, kind = name.rpartition('.')
        parts = stem.split('.')
        layer = next((p for p in parts if p.isdigit()), None)
        part = '.'.join(parts[parts.index(layer) + 1:]) if layer else parts[-1]
        new = GEMMA[part] if arch == 'gemma2' and part in GEMMA else NAMES[part]
        if arch == 'llama' and new in ('attn_q', 'attn_k'):
            x = permute(shape, x, heads if new == 'attn_q' else config['num_key_value_heads'])
        if arch == 'gemma2' and 'norm' in new:
            x = [v + 1 for v in x]
        if arch == 'gpt2' and len(shape) == 2 and layer:
            x = [x[row * shape[1] + column] for column in range(shape[1]) for row in range(shape[0])]
            shape = shape[::-1]
        yield (f'blk.{layer}.{new}.{kind}' if layer else f'{new}.{kind}'), shape, x
    for length in ('short', 'long'):
        factors = config.get('rope_parameters', {}).get(length + '_factor')
        if factors:
            yield f'rope_factors_{length}.weight', [len(factors)], factors


def text(value):
    data = value.encode()
    return struct.pack('<Q', len(data)) + data


def entry(key, value):
    if isinstance(value, bool):
        return text(key) + struct.pack('<I?', 7, value)
    if isinstance(value, str):
        return text(key) + struct.pack('<I', 8) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack('<If', 6, value)
    return text(key) + struct.pack('<II', 4, value)


def metadata(config):
    arch = config['model_type']
    rope = config.get('rope_parameters', {})
    pairs = {
        'embedding_length': ('hidden_size', 'n_embd'), 'block_count': ('num_hidden_layers', 'n_layer'),
        'attention.head_count': ('num_attention_heads', 'n_head'), 'attention.head_count_kv': ('num_key_value_heads',),
        'attention.key_length': ('head_dim',), 'feed_forward_length': ('intermediate_size',),
        'context_length': ('max_position_embeddings', 'n_positions'), 'attention.layer_norm_rms_epsilon': ('rms_norm_eps',),
        'attention.layer_norm_epsilon': ('layer_norm_epsilon', 'layer_norm_eps'), 'attention.sliding_window': ('sliding_window',),
        'attn_logit_softcapping': ('attn_logit_softcapping',), 'final_logit_softcapping': ('final_logit_softcapping',),
    }
    found = [entry('general.architecture', arch)]
    for key, names in pairs.items():
        for name in names:
            if config.get(name) is not None:
                found.append(entry(f'{arch}.{key}', config[name]))
    if arch == 'bert':
        found += [entry('bert.attention.causal', False), entry('tokenizer.ggml.token_type_count', config['type_vocab_size'])]
    if 'rope_theta' in rope:
        found.append(entry(f'{arch}.rope.freq_base', float(rope['rope_theta'])))
    if rope.get('rope_type') == 'longrope':
        found += [entry(f'{arch}.rope.scaling.attn_factor', float(rope['attention_factor'])),
                  entry(f'{arch}.rope.scaling.original_context_length', config['original_max_position_embeddings'])]
    if rope.get('rope_type') in ('linear', 'yarn'):
        found += [entry(f'{arch}.rope.scaling.type', rope['rope_type']),
                  entry(f'{arch}.rope.scaling.factor', float(rope['factor']))]
        if 'original_max_position_embeddings' in rope:
            found.append(entry(f'{arch}.rope.scaling.original_context_length', rope['original_max_position_embeddings']))
    return found


def main(folder, path, kind, plain=None):
    with open(folder + '/config.json', encoding='utf-8') as file:
        config = json.load(file)
    meta = metadata(config)
    infos, data = [], b''
    for name, shape, x in convert(read(folder + '/model.safetensors'), config):
        # Products' weights and tables of tokens, where rows are whole blocks
        small = len(shape) < 2 or name.startswith(('position', 'token_types')) or shape[-1] % 32
        of = 'f32' if small else kind
        if plain and not small:
            x, of = flat(x, kind), 'f32'
        infos.append(text(name) + struct.pack(f'<I{len(shape)}QIQ', len(shape), *shape[::-1], TYPES[of], len(data)))
        data += encode(x, of)
        data += bytes(-len(data) % 32)
    head = struct.pack('<4sIQQ', b'GGUF', 3, len(infos), len(meta)) + b''.join(meta) + b''.join(infos)
    with open(path, 'wb') as file:
        file.write(head + bytes(-len(head) % 32) + data)


main(*sys.argv[1:])
