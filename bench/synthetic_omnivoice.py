#!/usr/bin/env python3
"""Writes the two GGUF files of a speech synthesiser with OmniVoice's published shape and random weights, so that speed can
be measured without real ones.

  bench/synthetic_omnivoice.py FOLDER --type q8_0|bf16|f16 [--codec-type f32|f16]
"""
import argparse
import array
import math
import os
import random

import synthetic_model
from synthetic_model import CHUNK_VALUES

SHAPE = "omnivoice-0.6b"
FILES = ("omnivoice-base.gguf", "omnivoice-tokenizer.gguf")
LM = dict(n_layer=28, n_embd=1024, n_head=16, n_head_kv=8, head_dim=128, n_ff=3072, n_vocab=151676, n_codebook=8,
          n_audio_vocab=1025)
CODEC = dict(rate_hz=24000, semantic_rate_hz=16000, n_codebook=8, n_codes=1024, codebook_dim=64, n_latent=1024,
             n_hidden=256, n_decoder=1024, n_encoder=64, ratios=[8, 5, 4, 2, 3], n_embd=768, n_ff=3072, n_head=12,
             n_layer=12, conv_dim=[512] * 7, conv_kernel=[10, 3, 3, 3, 3, 2, 2], conv_stride=[5, 2, 2, 2, 2, 2, 2],
             pos_kernel=128, n_pos_group=16)
SPECIALS = ("denoise", "lang_start", "lang_end", "instruct_start", "instruct_end", "text_start", "text_end")


def lm_metadata(name, shape):
    n_vocab, n_audio = shape["n_vocab"], shape["n_audio_vocab"]
    tokens = synthetic_model.byte_alphabet() + ["th"]
    tokens += [f"Ġfiller{i}" for i in range(len(tokens), n_vocab - len(SPECIALS))]
    tokens += [f"<|{special}|>" for special in SPECIALS]
    sizes = {
        "block_count": shape["n_layer"], "embedding_length": shape["n_embd"], "feed_forward_length": shape["n_ff"],
        "attention.head_count": shape["n_head"], "attention.head_count_kv": shape["n_head_kv"],
        "attention.key_length": shape["head_dim"], "attention.value_length": shape["head_dim"],
        "vocab_size": n_vocab, "context_length": 40960, "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1e6,
    }
    return {
        "general.architecture": "omnivoice-lm", "general.name": name,
        **{f"omnivoice-lm.{key}": size for key, size in sizes.items()},
        "omnivoice.tie_word_embeddings": True, "omnivoice.num_audio_codebook": shape["n_codebook"],
        "omnivoice.audio_vocab_size": n_audio, "omnivoice.audio_mask_id": n_audio - 1,
        **{f"omnivoice.special.{special}": n_vocab - len(SPECIALS) + i for i, special in enumerate(SPECIALS)},
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.merges": ["t h"],
    }


def lm_tensors(shape, dtype):
    """(name, sizes fastest first, type) in file order."""
    n_embd, n_ff, hd = shape["n_embd"], shape["n_ff"], shape["head_dim"]
    n_q, n_kv, n_rows = shape["n_head"] * hd, shape["n_head_kv"] * hd, shape["n_codebook"] * shape["n_audio_vocab"]
    yield "llm.embed_tokens.weight", (n_embd, shape["n_vocab"]), dtype
    for i in range(shape["n_layer"]):
        b = f"llm.layers.{i}."
        yield b + "input_layernorm.weight", (n_embd,), "f32"
        for name, n_in, n_out in (("q", n_embd, n_q), ("k", n_embd, n_kv), ("v", n_embd, n_kv), ("o", n_q, n_embd)):
            yield f"{b}self_attn.{name}_proj.weight", (n_in, n_out), dtype
        yield b + "self_attn.q_norm.weight", (hd,), "f32"
        yield b + "self_attn.k_norm.weight", (hd,), "f32"
        yield b + "post_attention_layernorm.weight", (n_embd,), "f32"
        yield b + "mlp.gate_proj.weight", (n_embd, n_ff), dtype
        yield b + "mlp.up_proj.weight", (n_embd, n_ff), dtype
        yield b + "mlp.down_proj.weight", (n_ff, n_embd), dtype
    yield "llm.norm.weight", (n_embd,), "f32"
    yield "audio_embeddings.weight", (n_embd, n_rows), dtype
    yield "audio_heads.weight", (n_embd, n_rows), dtype


def codec_metadata(name, shape):
    sizes = {
        "sample_rate": shape["rate_hz"], "semantic_sample_rate": shape["semantic_rate_hz"], "downsample_factor": 320,
        "codebook_size": shape["n_codes"], "codebook_dim": shape["codebook_dim"],
        "acoustic.encoder_hidden_size": shape["n_encoder"], "acoustic.decoder_hidden_size": shape["n_decoder"],
        "acoustic.hidden_size": shape["n_hidden"], "acoustic.n_codebooks": shape["n_codebook"],
        "acoustic.hop_length": math.prod(shape["ratios"]), "acoustic.upsampling_ratios": shape["ratios"],
        "acoustic.downsampling_ratios": shape["ratios"], "semantic.hidden_size": shape["n_embd"],
        "semantic.intermediate_size": shape["n_ff"], "semantic.num_attention_heads": shape["n_head"],
        "semantic.num_hidden_layers": shape["n_layer"], "semantic.num_feat_extract_layers": len(shape["conv_dim"]),
        "semantic.conv_dim": shape["conv_dim"], "semantic.conv_kernel": shape["conv_kernel"],
        "semantic.conv_stride": shape["conv_stride"], "semantic.num_conv_pos_embeddings": shape["pos_kernel"],
        "semantic.num_conv_pos_embedding_groups": shape["n_pos_group"], "semantic.layer_norm_eps": 1e-5,
    }
    return {"general.architecture": "omnivoice-tokenizer", "general.name": name,
            **{f"omnivoice.{key}": size for key, size in sizes.items()}}


def codec_tensors(shape, dtype):
    """(name, sizes fastest first, type): `dtype` for filters and matrices, f32 for all else."""
    def linear(name, *sizes, has_bias=True, n_out=None):
        yield name + ".weight", sizes, dtype
        if has_bias:
            yield name + ".bias", (n_out or sizes[-1],), "f32"

    def norm(name, n):
        yield name + ".weight", (n,), "f32"
        yield name + ".bias", (n,), "f32"

    def snake(name, n):
        yield name + ".alpha", (1, n, 1), "f32"

    def units(block, n):
        for i in (1, 2, 3):
            unit = f"{block}.res_unit{i}"
            yield from snake(unit + ".snake1", n)
            yield from linear(unit + ".conv1", 7, n, n)
            yield from snake(unit + ".snake2", n)
            yield from linear(unit + ".conv2", 1, n, n)

    n_latent, n_hidden, n = shape["n_latent"], shape["n_hidden"], shape["n_embd"]
    for i in range(shape["n_codebook"]):
        b = f"quantizer.quantizers.{i}."
        yield b + "codebook.embed", (shape["codebook_dim"], shape["n_codes"]), "f32"
        yield from linear(b + "project_in", n_latent, shape["codebook_dim"])
        yield from linear(b + "project_out", shape["codebook_dim"], n_latent)
    yield from linear("fc", n_hidden + n, n_latent)
    yield from linear("fc2", n_latent, n_hidden)

    width = shape["n_decoder"]
    yield from linear("acoustic_decoder.conv1", 7, n_hidden, width)
    for i, ratio in enumerate(shape["ratios"]):
        b = f"acoustic_decoder.block.{i}"
        yield from snake(b + ".snake1", width)
        yield from linear(b + ".conv_t1", 2 * ratio, width // 2, width, n_out=width // 2)
        width //= 2
        yield from units(b, width)
    yield from snake("acoustic_decoder.snake1", width)
    yield from linear("acoustic_decoder.conv2", 7, width, 1)

    width = shape["n_encoder"]
    yield from linear("acoustic_encoder.conv1", 7, 1, width)
    for i, ratio in enumerate(shape["ratios"]):
        b = f"acoustic_encoder.block.{i}"
        yield from units(b, width)
        yield from snake(b + ".snake1", width)
        yield from linear(b + ".conv1", 2 * ratio, width, 2 * width)
        width *= 2
    yield from snake("acoustic_encoder.snake1", width)
    yield from linear("acoustic_encoder.conv2", 3, width, n_hidden)

    yield from linear("encoder_semantic.conv", 3, n, n, has_bias=False)
    for i in (0, 1):
        b = f"encoder_semantic.conv_blocks.{i}."
        for unit in (0, 1):
            yield from linear(f"{b}res_units.{unit}.conv1", 3, n, n, has_bias=False)
            yield from linear(f"{b}res_units.{unit}.conv2", 1, n, n, has_bias=False)
        yield from linear(b + "conv", 3, n, n)

    b, n_in = "semantic_model.feature_extractor.conv_layers.", 1
    for i, (n_out, kernel) in enumerate(zip(shape["conv_dim"], shape["conv_kernel"])):
        yield from linear(f"{b}{i}.conv", kernel, n_in, n_out, has_bias=False)
        n_in = n_out
    yield from norm(b + "0.layer_norm", shape["conv_dim"][0])
    yield from norm("semantic_model.feature_projection.layer_norm", n_in)
    yield from linear("semantic_model.feature_projection.projection", n_in, n)
    yield from linear("semantic_model.encoder.pos_conv_embed.conv", shape["pos_kernel"], n // shape["n_pos_group"], n)
    yield from norm("semantic_model.encoder.layer_norm", n)
    for i in range(shape["n_layer"]):
        b = f"semantic_model.encoder.layers.{i}."
        for name in "qkv":
            yield from linear(f"{b}attention.{name}_proj", n, n)
        yield from linear(b + "attention.out_proj", n, n)
        yield from norm(b + "layer_norm", n)
        yield from linear(b + "feed_forward.intermediate_dense", n, shape["n_ff"])
        yield from linear(b + "feed_forward.output_dense", shape["n_ff"], n)
        yield from norm(b + "final_layer_norm", n)


def codec_values(seed):
    """What fills the codec: weights that keep the strength of a signal, so that there is something to be heard."""
    source = random.Random(seed)
    unit = array.array("f", (source.gauss(0, 1) for _ in range(CHUNK_VALUES)))
    chunks = {}

    def fill(name, sizes, kind):
        if name.endswith(".alpha") or len(sizes) == 1:
            return synthetic_model.float_bytes(name, sizes)
        n_in = sizes[0] if len(sizes) == 2 else sizes[0] * sizes[1]
        if ".codebook." in name:
            n_in = 1
        if ".conv_t1." in name:  # a sample takes two taps of each channel
            n_in = 2 * sizes[2]
        exponent = -round(math.log2(n_in) / 2)
        if (exponent, kind) not in chunks:
            scaled = array.array("f", (x * 2.0**exponent for x in unit))
            chunks[exponent, kind] = synthetic_model.packed(scaled, kind)
        return chunks[exponent, kind]

    return fill


def write(folder, dtype, codec_dtype="f32", seed=1):
    os.makedirs(folder, exist_ok=True)
    base, codec = (os.path.join(folder, file) for file in FILES)
    synthetic_model.write_file(base, lm_metadata(f"synthetic {SHAPE} {dtype}", LM), lm_tensors(LM, dtype), seed)
    synthetic_model.write_file(codec, codec_metadata(f"synthetic {SHAPE} codec {codec_dtype}", CODEC),
                               codec_tensors(CODEC, codec_dtype), seed, codec_values(seed))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--type", choices=["q8_0", "bf16", "f16"], required=True)
    parser.add_argument("--codec-type", choices=["f32", "f16"], default="f32")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    write(args.folder, args.type, args.codec_type, args.seed)


if __name__ == "__main__":
    main()
