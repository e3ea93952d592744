#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# llama.cpp, by the libraries of its package for node, @node-llama-cpp/linux-x64 3.22.1: what it goes on with, and
# files that it writes.
#
# llama.py PACKAGE next FILE.gguf COUNT PROMPT...: the likeliest tokens behind each prompt, {"ids", "text"} a line
# llama.py PACKAGE ids FILE.gguf COUNT A,B,...: the likeliest behind these tokens, whatever they are, with commas
# llama.py PACKAGE vector FILE.gguf TEXT...: each as a vector, {"ids", "vector"} a line
# llama.py PACKAGE quantize IN.gguf OUT.gguf TYPE

import ctypes
import json
import os
import sys

# llama_ftype
TYPES = {'f32': 0, 'f16': 1, 'q4_0': 2, 'q4_1': 3, 'q8_0': 7, 'q5_0': 8, 'q5_1': 9, 'q2_k': 10, 'q3_k': 12,
         'q4_k': 15, 'q5_k': 17, 'q6_k': 18}


# Structures of parameters go by value: as much room as any version needs, of which the first words are known.
class Params(ctypes.Structure):
    _fields_ = [('words', ctypes.c_uint32 * 256)]


class Batch(ctypes.Structure):
    _fields_ = [('count', ctypes.c_int32), ('rest', ctypes.c_void_p * 6)]


class Llama:
    def __init__(self, package):
        where = os.path.join(package, 'bins', 'linux-x64')
        find = {n.split('.')[0]: os.path.join(where, n) for n in os.listdir(where)}
        self.ggml = ctypes.CDLL(find['libggml'], ctypes.RTLD_GLOBAL)
        self.lib = ctypes.CDLL(find['libllama'])
        # It talks, and nobody asked.
        self.quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda level, text, data: None)
        self.lib.llama_log_set(self.quiet, None)
        self.ggml.ggml_backend_load_all_from_path(where.encode())
        for name in ('context', 'model', 'model_quantize'):
            getattr(self.lib, 'llama_%s_default_params' % name).restype = Params
        for name in ('load_from_file', 'get_vocab'):
            getattr(self.lib, 'llama_model_' + name).restype = ctypes.c_void_p
        self.lib.llama_init_from_model.restype = ctypes.c_void_p
        self.lib.llama_get_memory.restype = ctypes.c_void_p
        self.lib.llama_batch_get_one.restype = Batch
        self.lib.llama_get_logits_ith.restype = ctypes.POINTER(ctypes.c_float)
        self.lib.llama_get_embeddings_seq.restype = ctypes.POINTER(ctypes.c_float)

    def open(self, path, room, sequences=1, threads=1):
        model = self.lib.llama_model_load_from_file(path.encode(), self.lib.llama_model_default_params())
        if not model:
            raise SystemExit('llama.cpp does not read ' + path)
        params = self.lib.llama_context_default_params()
        params.words[0] = room * sequences
        params.words[3] = sequences
        self.model = ctypes.c_void_p(model)
        self.context = ctypes.c_void_p(self.lib.llama_init_from_model(self.model, params))
        self.vocab = ctypes.c_void_p(self.lib.llama_model_get_vocab(self.model))
        if not self.context or self.lib.llama_n_ctx(self.context) < room * sequences:
            raise SystemExit('llama.cpp makes no context of %d tokens' % room)
        self.lib.llama_set_n_threads(self.context, threads, threads)
        self.count = self.lib.llama_vocab_n_tokens(self.vocab)

    def decode(self, ids):
        tokens = (ctypes.c_int32 * len(ids))(*ids)
        if self.lib.llama_decode(self.context, self.lib.llama_batch_get_one(tokens, len(ids))):
            raise SystemExit('llama.cpp does not decode')

    def best(self):
        logits = self.lib.llama_get_logits_ith(self.context, -1)[:self.count]
        return max(range(self.count), key=logits.__getitem__)

    def tokens(self, text):
        raw = text.encode()
        out = (ctypes.c_int32 * (len(raw) + 8))()
        n = self.lib.llama_tokenize(self.vocab, raw, len(raw), out, len(out), True, True)
        return out[:n]

    def text(self, ids):
        raw = ctypes.create_string_buffer(64 * len(ids) + 64)
        n = self.lib.llama_detokenize(self.vocab, (ctypes.c_int32 * len(ids))(*ids), len(ids), raw, len(raw), False, True)
        return raw.raw[:n].decode('utf-8', 'replace')

    def next(self, prompt, count, ends=True):
        ids = []
        self.lib.llama_memory_clear(ctypes.c_void_p(self.lib.llama_get_memory(self.context)), True)
        self.decode(prompt)
        while len(ids) < count:
            best = self.best()
            if ends and self.lib.llama_vocab_is_eog(self.vocab, best):
                break
            ids.append(best)
            self.decode([best])
        return ids

    def vector(self, ids):
        self.lib.llama_set_embeddings(self.context, True)
        self.decode(ids)
        return self.lib.llama_get_embeddings_seq(self.context, 0)[:self.lib.llama_model_n_embd(self.model)]

    def quantize(self, source, to, kind):
        params = self.lib.llama_model_quantize_default_params()
        params.words[0:2] = [1, TYPES[kind]]
        if self.lib.llama_model_quantize(source.encode(), to.encode(), ctypes.byref(params)):
            raise SystemExit('llama.cpp does not write ' + to)


def main(package, what, *args):
    llama = Llama(package)
    if what == 'quantize':
        llama.quantize(*args)
        return
    if what == 'vector':
        llama.open(args[0], 64)
        for text in args[1:]:
            ids = llama.tokens(text)
            print(json.dumps({'ids': ids, 'vector': llama.vector(ids)}))
        return
    llama.open(args[0], 512)
    if what == 'ids':
        print(*llama.next([int(n) for n in args[2].split(',')], int(args[1]), False), sep=',')
        return
    for prompt in args[2:]:
        ids = llama.next(llama.tokens(prompt), int(args[1]))
        print(json.dumps({'ids': ids, 'text': llama.text(ids)}))


main(*sys.argv[1:])
