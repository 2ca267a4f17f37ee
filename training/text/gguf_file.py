"""Writing and reading the model as GGUF: Q8_0, F16, BF16 or F32 matrices, F32 norms, the tokenizer inside."""

from pathlib import Path
import sys

import numpy as np

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "common"))
from gguf import ALIGNMENT, BF16, BOOL, F16, F32, FLOAT32, I32, Q8_0, STRING, U32, read_file, write_file
from model import Config
from tokenizer import CHAT_TEMPLATE, Tokenizer

FILE_TYPES = {"f32": (F32, 0), "f16": (F16, 1), "q8_0": (Q8_0, 7), "bf16": (BF16, 32)}


def metadata(config, tokenizer, file_type):
    token_id = tokenizer.special
    return [
        ("general.architecture", STRING, "qwen3"), ("general.type", STRING, "model"),
        ("general.name", STRING, "Parlance demo text"), ("general.description", STRING,
            "A small assistant trained on generated text, for demonstrations and tests of Parlance."),
        ("general.file_type", U32, file_type), ("general.quantization_version", U32, 2), ("general.alignment", U32, ALIGNMENT),
        ("qwen3.block_count", U32, config.n_layer), ("qwen3.context_length", U32, config.n_ctx),
        ("qwen3.embedding_length", U32, config.n_embd), ("qwen3.feed_forward_length", U32, config.n_ff),
        ("qwen3.attention.head_count", U32, config.n_head), ("qwen3.attention.head_count_kv", U32, config.n_head_kv),
        ("qwen3.attention.key_length", U32, config.head_dim), ("qwen3.attention.value_length", U32, config.head_dim),
        ("qwen3.attention.layer_norm_rms_epsilon", FLOAT32, config.norm_eps), ("qwen3.rope.freq_base", FLOAT32, config.rope_theta),
        ("qwen3.vocab_size", U32, config.n_vocab),
        ("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.pre", STRING, "qwen2"),
        ("tokenizer.ggml.tokens", (STRING,), tokenizer.tokens), ("tokenizer.ggml.token_type", (I32,), tokenizer.types),
        ("tokenizer.ggml.merges", (STRING,), [" ".join(pair) for pair in tokenizer.merges]),
        ("tokenizer.ggml.bos_token_id", U32, token_id["<|endoftext|>"]), ("tokenizer.ggml.eos_token_id", U32, token_id["<|im_end|>"]),
        ("tokenizer.ggml.padding_token_id", U32, token_id["<|endoftext|>"]), ("tokenizer.ggml.add_bos_token", BOOL, False),
        ("tokenizer.chat_template", STRING, CHAT_TEMPLATE),
    ]


def write(path, config, weights, type_name):
    """weights: GGUF tensor name -> float32 array, (out, in) for matrices."""
    matrix_kind, file_type = FILE_TYPES[type_name]
    tensors = [(name, x, matrix_kind if x.ndim == 2 else F32) for name, x in weights.items()]
    write_file(path, metadata(config, Tokenizer(), file_type), tensors)


def read(path):
    """(config, weights) of a file that write() made."""
    keys, weights = read_file(path)
    k = lambda name: keys["qwen3." + name]
    config = Config(n_vocab=len(keys["tokenizer.ggml.tokens"]), n_embd=k("embedding_length"), n_layer=k("block_count"),
                    n_head=k("attention.head_count"), n_head_kv=k("attention.head_count_kv"), head_dim=k("attention.key_length"),
                    n_ff=k("feed_forward_length"), n_ctx=k("context_length"), rope_theta=k("rope.freq_base"), norm_eps=1e-6)
    return config, weights


def weights_of(model):
    """A PyTorch model's parameters under their GGUF names (they are the same, but for nn.Embedding)."""
    return {name: parameter.detach().float().cpu().numpy() for name, parameter in model.named_parameters()}


def load_into(model, weights):
    import torch
    parameters = dict(model.named_parameters())
    if set(parameters) != set(weights):
        raise ValueError(f"tensor names differ: {sorted(set(parameters) ^ set(weights))}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(torch.from_numpy(np.array(weights[name])))
