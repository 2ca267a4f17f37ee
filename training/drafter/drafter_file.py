"""Writing and reading the drafter as GGUF: architecture `dflash-draft`, Q8_0 matrices, F32 norms, no vocabulary."""

from pathlib import Path
import sys

import numpy as np
import torch

from drafter import Drafter, DrafterConfig

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "common"))
from gguf import ALIGNMENT, BOOL, F32, FLOAT32, I32, Q8_0, STRING, U32, read_file, write_file

ARCHITECTURE = "dflash-draft"
Q8_0_FILE = 7       # general.file_type


def metadata(config: DrafterConfig):
    c, key = config.layers, lambda name: f"{ARCHITECTURE}.{name}"
    return [
        ("general.architecture", STRING, ARCHITECTURE), ("general.type", STRING, "model"),
        ("general.name", STRING, "Parlance demo drafter"), ("general.description", STRING,
            "Drafts blocks of tokens for the Parlance demo text model; it has no embedding of its own."),
        ("general.file_type", U32, Q8_0_FILE), ("general.quantization_version", U32, 2),
        ("general.alignment", U32, ALIGNMENT),
        (key("block_count"), U32, c.n_layer), (key("context_length"), U32, c.n_ctx),
        (key("embedding_length"), U32, c.n_embd), (key("feed_forward_length"), U32, c.n_ff),
        (key("attention.head_count"), U32, c.n_head), (key("attention.head_count_kv"), U32, c.n_head_kv),
        (key("attention.key_length"), U32, c.head_dim), (key("attention.value_length"), U32, c.head_dim),
        (key("attention.layer_norm_rms_epsilon"), FLOAT32, c.norm_eps), (key("attention.causal"), BOOL, False),
        (key("rope.freq_base"), FLOAT32, c.rope_theta), (key("rope.dimension_count"), U32, c.head_dim),
        (key("vocab_size"), U32, c.n_vocab),
        (key("dflash.block_size"), U32, config.n_block), (key("dflash.mask_token_id"), U32, config.mask_token),
        (key("dflash.target_layer_ids"), (I32,), list(config.target_layers)),
        (key("dflash.n_target_features"), U32, len(config.target_layers) * c.n_embd),
    ]


def gguf_name(name):
    """The file's name of a PyTorch parameter: the second norm of a layer is called after what it follows."""
    return name.replace(".ffn_norm.", ".post_attention_norm.")


def write(path, drafter: Drafter):
    weights = {gguf_name(name): p.detach().float().cpu().numpy() for name, p in drafter.named_parameters()}
    write_file(path, metadata(drafter.config), [(name, x, Q8_0 if x.ndim == 2 else F32) for name, x in weights.items()])


def read(path, target_config) -> Drafter:
    """A file that write() made, every name and shape checked."""
    keys, weights = read_file(path)
    k = lambda name: keys[f"{ARCHITECTURE}.{name}"]
    drafter = Drafter(DrafterConfig(
        target_config, n_layer=k("block_count"), n_head=k("attention.head_count"),
        n_head_kv=k("attention.head_count_kv"), n_ff=k("feed_forward_length"), n_block=k("dflash.block_size"),
        target_layers=tuple(k("dflash.target_layer_ids")), mask_token=k("dflash.mask_token_id")))
    parameters = {gguf_name(name): p for name, p in drafter.named_parameters()}
    if set(parameters) != set(weights):
        raise ValueError(f"tensor names differ: {sorted(set(parameters) ^ set(weights))}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if tuple(parameter.shape) != weights[name].shape:
                raise ValueError(f"{name}: {weights[name].shape} in the file, {tuple(parameter.shape)} expected")
            parameter.copy_(torch.from_numpy(np.array(weights[name])))
    return drafter


def expected_shapes(config: DrafterConfig):
    """Name -> sizes in the file's order (first dimension fastest), written out from the format's description."""
    c, n_features = config.layers, len(config.target_layers) * config.target.n_embd
    shapes = {"dflash_fc.weight": (n_features, c.n_embd), "dflash_hidden_norm.weight": (c.n_embd,),
              "output_norm.weight": (c.n_embd,)}
    n_q, n_kv = c.n_head * c.head_dim, c.n_head_kv * c.head_dim
    per_layer = {"attn_norm": (c.n_embd,), "attn_q": (c.n_embd, n_q), "attn_k": (c.n_embd, n_kv),
                 "attn_v": (c.n_embd, n_kv), "attn_q_norm": (c.head_dim,), "attn_k_norm": (c.head_dim,),
                 "attn_output": (n_q, c.n_embd),
                 "post_attention_norm": (c.n_embd,), "ffn_gate": (c.n_embd, c.n_ff), "ffn_up": (c.n_embd, c.n_ff),
                 "ffn_down": (c.n_ff, c.n_embd)}
    return shapes | {f"blk.{n}.{name}.weight": shape for n in range(c.n_layer) for name, shape in per_layer.items()}


def check(path, config: DrafterConfig):
    """Raises unless the file holds exactly the keys and tensors of the format."""
    keys, weights = read_file(path)
    same = lambda a, b: abs((a or 0) - b) < 1e-6 * b if isinstance(b, float) else a == b
    wrong = [key for key, _, value in metadata(config) if not same(keys.get(key), value)]
    shapes, expected = {name: x.shape[::-1] for name, x in weights.items()}, expected_shapes(config)
    wrong += [name for name in set(shapes) | set(expected) if shapes.get(name) != expected.get(name)]
    if wrong:
        raise ValueError(f"{path}: keys or tensors differ from the format: {sorted(wrong)}")
