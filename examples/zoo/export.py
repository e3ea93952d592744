#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small models of many architectures as an exporter writes them, with answers: export.py FOLDER [NAME...]

Needs PyTorch (2.11 wrote what is in exported.tar.xz), transformers (5.17), onnx and ONNX Runtime (1.30). Of each there are
NAME.onnx, with its weights, and NAME.npz: inputs as in.*, results of ONNX Runtime as out.*. Batches and lengths are dynamic
where the exporter is able to. Weights are random multiples of 1/256, which pack well.
"""

import sys

import numpy
import onnx
import onnxruntime
import torch
import transformers as tf

SIZES = {'vocab_size': 96, 'hidden_size': 32, 'num_hidden_layers': 2, 'num_attention_heads': 4, 'intermediate_size': 64}
PLACES = SIZES | {'max_position_embeddings': 64}
GROUPED = PLACES | {'num_key_value_heads': 2}
PICTURE = {key: SIZES[key] for key in SIZES if key != 'vocab_size'} | {'image_size': 32, 'patch_size': 8}
BETWEEN = {'vocab_size': 96, 'd_model': 32, 'encoder_layers': 1, 'decoder_layers': 1, 'encoder_attention_heads': 4,
           'decoder_attention_heads': 4, 'encoder_ffn_dim': 64, 'decoder_ffn_dim': 64, 'pad_token_id': 0,
           'bos_token_id': 1, 'eos_token_id': 2, 'decoder_start_token_id': 1}

torch.manual_seed(1)
TOKENS = torch.randint(3, 90, (2, 12))
MASK = torch.ones(2, 12, dtype=torch.long)
MASK[1, 9:] = 0
PIXELS = torch.randn(2, 3, 32, 32)


class Call(torch.nn.Module):
    """A model of transformers as a function of tensors alone"""

    def __init__(self, name, config, names, result, extra):
        super().__init__()
        config = getattr(tf, config[0])(**config[1])
        self.model, self.names, self.result, self.extra = getattr(tf, name)(config), names, result, extra

    def forward(self, *inputs):
        return getattr(self.model(**dict(zip(self.names, inputs)), **self.extra), self.result)


class Recurrent(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.body = getattr(torch.nn, kind)(16, 24, 2, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(48, 8)

    def forward(self, x):
        return self.head(self.body(x)[0])


class Pictures(torch.nn.Module):
    """What networks for pictures have beside convolutions"""

    def __init__(self):
        super().__init__()
        self.first, self.norm = torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.GroupNorm(4, 16)
        self.up, self.each = torch.nn.ConvTranspose2d(16, 8, 4, 2, 1), torch.nn.InstanceNorm2d(8, affine=True)

    def forward(self, x):
        y = self.each(self.up(torch.nn.functional.silu(self.norm(self.first(x)))))
        y = torch.nn.functional.interpolate(y, scale_factor=2, mode='bilinear')
        y = torch.nn.functional.pixel_shuffle(y, 2)
        line = torch.linspace(-1, 1, 9)
        grid = torch.stack(torch.meshgrid(line, line, indexing='xy'), -1)[None].expand(y.shape[0], 9, 9, 2)
        return torch.nn.functional.grid_sample(y, grid, align_corners=False).cumsum(-1).roll(1, 2)


def text(name, config, result='logits', **extra):
    return lambda: (Call(name, config, ('input_ids', 'attention_mask'), result, extra), (TOKENS, MASK))


def causal(kind, sizes, **more):
    return text(kind + 'ForCausalLM', (kind + 'Config', sizes | more), use_cache=False)


def encoder(kind, **more):
    return text(kind + 'Model', (kind + 'Config', PLACES | more), 'last_hidden_state')


def picture(kind, name='Model', result='last_hidden_state', **config):
    return lambda: (Call(kind + name, (kind + 'Config', config), ('pixel_values',), result, {}), (PIXELS,))


def translation(kind, name, config):
    names = ('input_ids', 'attention_mask', 'decoder_input_ids')
    return lambda: (Call(kind + name, (kind + 'Config', config), names, 'logits', {'use_cache': False}),
                    (TOKENS, MASK, TOKENS[:, :5].clone()))


def whisper():
    config = BETWEEN | {'max_source_positions': 20, 'max_target_positions': 20}
    return (Call('WhisperModel', ('WhisperConfig', config), ('input_features', 'decoder_input_ids'), 'last_hidden_state',
                 {'use_cache': False}), (torch.randn(2, 80, 40), TOKENS[:, :5].clone()))


def wave():
    config = PICTURE | {'conv_dim': (16, 16), 'conv_stride': (5, 2), 'conv_kernel': (10, 3), 'num_conv_pos_embeddings': 16,
                        'num_conv_pos_embedding_groups': 4, 'vocab_size': 96}
    return Call('Wav2Vec2Model', ('Wav2Vec2Config', config), ('input_values',), 'last_hidden_state', {}), (torch.randn(2, 400),)


def layers():
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
    return torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (torch.randn(2, 9, 32),)


MODELS = {
    'gpt2': text('GPT2LMHeadModel', ('GPT2Config', {'vocab_size': 96, 'n_embd': 32, 'n_layer': 2, 'n_head': 4,
                                                    'n_positions': 64}), use_cache=False),
    'llama': causal('Llama', GROUPED),
    'gemma2': causal('Gemma2', GROUPED, head_dim=8),
    'qwen3': causal('Qwen3', GROUPED, head_dim=8),
    'phi3': causal('Phi3', GROUPED, pad_token_id=0),
    'gptneo': causal('GPTNeo', {'vocab_size': 96, 'hidden_size': 32, 'num_layers': 2, 'num_heads': 4, 'window_size': 4,
                                'attention_types': [[['global', 'local'], 1]], 'max_position_embeddings': 64,
                                'intermediate_size': 64}),
    'falcon': causal('Falcon', {key: SIZES[key] for key in SIZES if key != 'intermediate_size'}),
    'bloom': causal('Bloom', {'vocab_size': 96, 'hidden_size': 32, 'n_layer': 2, 'n_head': 4}),
    'mpt': causal('Mpt', {'vocab_size': 96, 'd_model': 32, 'n_layers': 2, 'n_heads': 4, 'max_seq_len': 64}),
    'mamba': causal('Mamba', {'vocab_size': 96, 'hidden_size': 32, 'num_hidden_layers': 1, 'state_size': 4}),
    'bert': encoder('Bert'),
    'deberta': encoder('DebertaV2', relative_attention=True, pos_att_type=['p2c', 'c2p'], type_vocab_size=0),
    'modernbert': encoder('ModernBert', pad_token_id=0, cls_token_id=1, sep_token_id=2, bos_token_id=1, eos_token_id=2),
    'mpnet': encoder('MPNet'),
    'bart': translation('Bart', 'ForConditionalGeneration', BETWEEN | {'max_position_embeddings': 64}),
    'vit': picture('ViT', **PICTURE),
    'convnextv2': picture('ConvNextV2', hidden_sizes=[16, 32], depths=[1, 1], num_stages=2),
    'focalnet': picture('FocalNet', image_size=32, embed_dim=16, depths=[1, 1], focal_levels=[1, 1], focal_windows=[3, 3],
                        hidden_sizes=[16, 32]),
    'segformer': picture('Segformer', hidden_sizes=[8, 8, 16, 16], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2],
                         decoder_hidden_size=8),
    'swinv2': picture('Swinv2', image_size=32, patch_size=4, embed_dim=8, depths=[2], num_heads=[2], window_size=4),
    'whisper': whisper,
    'wav2vec2': wave,
    'transformer': layers,
    'lstm': lambda: (Recurrent('LSTM'), (torch.randn(2, 9, 16),)),
    'gru': lambda: (Recurrent('GRU'), (torch.randn(2, 9, 16),)),
    'pictures': lambda: (Pictures(), (PIXELS,)),
}


def dynamic(inputs, names):
    """Batches, and numbers of tokens of what is not a decoder's"""
    batch, length = torch.export.Dim('batch', max=64), torch.export.Dim('length', min=2, max=60)
    return tuple({0: batch, 1: length} if i.dtype == torch.long and not name.startswith('decoder') else {0: batch}
                 for name, i in zip(names, inputs))


def export(name, folder):
    torch.manual_seed(2)
    model, inputs = MODELS[name]()
    model.eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_((weight * 256).round() / 256)
    names = getattr(model, 'names', ('x',))
    path = f'{folder}/{name}.onnx'
    options = {'input_names': list(names), 'output_names': ['y'], 'dynamo': True, 'external_data': False, 'verbose': False}
    try:
        shapes = dynamic(inputs, names)
        torch.onnx.export(model, inputs, path, dynamic_shapes=(shapes,) if hasattr(model, 'names') else shapes, **options)
    except torch.onnx.OnnxExporterError:
        torch.onnx.export(model, inputs, path, **options)
    # Where the exporter's source was is of no use to anybody.
    proto = onnx.load(path)
    for node in [*proto.graph.node, *(n for function in proto.functions for n in function.node)]:
        del node.metadata_props[:]
        node.doc_string = ''
    for value in [*proto.graph.value_info, *proto.graph.input, *proto.graph.output, *proto.graph.initializer]:
        del value.metadata_props[:]
    del proto.graph.metadata_props[:]
    del proto.metadata_props[:]
    onnx.save(proto, path)
    session = onnxruntime.InferenceSession(path, providers=['CPUExecutionProvider'])
    feed = {i.name: t.numpy() for i, t in zip(session.get_inputs(), inputs)}
    answers = session.run(None, feed)
    with torch.no_grad():
        want = model(*inputs).numpy()
    if numpy.abs(want - answers[0]).max() > 1e-5 * numpy.abs(want).max():
        sys.exit(f'{name}: what was exported has other answers')
    numpy.savez(f'{folder}/{name}.npz', **{'in.' + key: feed[key] for key in feed},
                **{'out.' + o.name: a for o, a in zip(session.get_outputs(), answers)})


if len(sys.argv) < 2:
    sys.exit(__doc__)
for each in sys.argv[2:] or MODELS:
    export(each, sys.argv[1])
