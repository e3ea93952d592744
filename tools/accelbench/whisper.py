#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A Whisper of tiny's sizes with random weights, and half a minute of sound, to be measured: whisper.py SPEECH OUT

SPEECH is a folder with a model and clips, like examples/speech, whose tokenizer and numbers OUT gets.
"""

import json
import os
import random
import struct
import sys
import wave

WIDTH, INNER, LAYERS, VOCABULARY, POSITIONS, TOKENS = 384, 1536, 4, 51865, 1500, 448
SECONDS = 30
# fp16 of either sign from 2^-8 to 2^-4, of any byte as the upper one
UPPER = bytes(byte & 0x80 | 0x1c + (byte & 15) for byte in range(256))


def shapes():
    result = {
        'encoder.conv1.weight': (WIDTH, 80, 3), 'encoder.conv1.bias': (WIDTH,),
        'encoder.conv2.weight': (WIDTH, WIDTH, 3), 'encoder.conv2.bias': (WIDTH,),
        'encoder.embed_positions.weight': (POSITIONS, WIDTH),
        'decoder.embed_positions.weight': (TOKENS, WIDTH), 'decoder.embed_tokens.weight': (VOCABULARY, WIDTH),
    }

    def linear(name, rows, columns):
        result[name + '.weight'] = (rows, columns)
        if not name.endswith('k_proj'):
            result[name + '.bias'] = (rows,)

    def norm(name):
        result[name + '.weight'] = result[name + '.bias'] = (WIDTH,)

    for side in 'encoder', 'decoder':
        norm(side + '.layer_norm')
        for layer in range(LAYERS):
            base = f'{side}.layers.{layer}.'
            for attention in ['self_attn', 'encoder_attn'][:1 + (side == 'decoder')]:
                for part in 'q_proj', 'k_proj', 'v_proj', 'out_proj':
                    linear(f'{base}{attention}.{part}', WIDTH, WIDTH)
                norm(f'{base}{attention}_layer_norm')
            linear(base + 'fc1', INNER, WIDTH)
            linear(base + 'fc2', WIDTH, INNER)
            norm(base + 'final_layer_norm')
    return result


def numbers(name, shape, source):
    count = 1
    for size in shape:
        count *= size
    if name.endswith('norm.weight'):
        return struct.pack('<H', 0x3c00) * count
    data = bytearray(source.randbytes(2 * count))
    data[1::2] = data[1::2].translate(UPPER)
    return bytes(data)


def write_weights(path):
    source, entries, parts, at = random.Random(1), {}, [], 0
    for name, shape in sorted(shapes().items()):
        parts.append(numbers(name, shape, source))
        entries['model.' + name] = {'dtype': 'F16', 'shape': shape, 'data_offsets': [at, at + len(parts[-1])]}
        at += len(parts[-1])
    head = json.dumps(entries).encode()
    head += b' ' * (-len(head) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(head)) + head)
        file.writelines(parts)


def change(name, speech, out, **changes):
    with open(f'{speech}/{name}', encoding='utf-8') as file:
        content = json.load(file)
    content.update(changes)
    with open(f'{out}/{name}', 'w', encoding='utf-8') as file:
        json.dump(content, file)


def write_sound(speech, path):
    sound = b''
    for name in sorted(os.listdir(speech)):
        if name.endswith('.wav'):
            with wave.open(f'{speech}/{name}') as clip:
                sound += clip.readframes(clip.getnframes())
    size = 2 * 16000 * SECONDS
    with wave.open(path, 'wb') as file:
        file.setparams((1, 2, 16000, 0, 'NONE', ''))
        file.writeframes((sound * (size // len(sound) + 1))[:size])


def main(speech, out):
    os.makedirs(out, exist_ok=True)
    change('config.json', speech, out, d_model=WIDTH, vocab_size=VOCABULARY, max_source_positions=POSITIONS,
           max_target_positions=TOKENS, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=6,
           decoder_attention_heads=6, encoder_ffn_dim=INNER, decoder_ffn_dim=INNER)
    change('preprocessor_config.json', speech, out, chunk_length=SECONDS, n_samples=16000 * SECONDS,
           nb_max_frames=2 * POSITIONS)
    change('generation_config.json', speech, out)
    change('tokenizer.json', speech, out)
    write_weights(out + '/model.safetensors')
    write_sound(speech, out + '/talk.wav')


if __name__ == '__main__':
    main(*sys.argv[1:])
