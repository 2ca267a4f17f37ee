#!/usr/bin/env python3
"""Writes a GGUF file with the shape of a Qwen3 model and random weights, so that speed can be measured without real ones.

  bench/synthetic_model.py OUT.gguf --shape qwen3-0.6b|qwen3-8b --type f16|q8_0|q4_0
  bench/synthetic_model.py OUT.gguf --shape qwen3-0.6b|qwen3-8b --type f16|q8_0|q4_0 --drafter LAYERS
  bench/synthetic_model.py FOLDER --shape qwen3-asr-0.6b --type f16|q8_0|q4_k

The second writes a DFlash drafter for the model that the first writes, with layers of its shape and blocks of 8
(`parlance bench --oracle` has it take its time, and says the right thing in its place). The third writes the pair of files that make a Qwen3-ASR model. No q4_k is written here: that needs
--quantize PROGRAM, a `parlance` that makes the language model's from f16; the encoder is q8_0 then, because the rows
of its width are no multiple of q4_k's blocks.
"""
import argparse
import math
import os
import random
import struct
import subprocess

SHAPES = {  # n_layer, n_embd, n_head, n_head_kv, head_dim, n_ff, tied
    "qwen3-0.6b": dict(n_layer=28, n_embd=1024, n_head=16, n_head_kv=8, head_dim=128, n_ff=3072, tied=True),
    "qwen3-8b": dict(n_layer=36, n_embd=4096, n_head=32, n_head_kv=8, head_dim=128, n_ff=12288, tied=False),
}
ASR_SHAPES = {  # of the language model; width, layers, heads and so on of the audio encoder
    "qwen3-asr-0.6b": dict(
        text=SHAPES["qwen3-0.6b"],
        encoder=dict(n_layer=18, n_embd=896, n_head=14, n_ff=3584, n_out=1024, n_channel=480, n_mel=128, n_pos=1500)),
}
ASR_FILES = ("eliza-1-asr.gguf", "eliza-1-asr-mmproj.gguf")
ROPE_SECTIONS = [24, 20, 20, 0]
N_VOCAB = 151936
N_CTX = 40960
TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8, "bf16": 30}  # GGUF type ids
BLOCKS = {"f32": (1, 4), "f16": (1, 2), "q4_0": (32, 18), "q8_0": (32, 34), "bf16": (1, 2)}  # values, bytes
ALIGNMENT = 32
CHUNK_VALUES = 1 << 20  # random values that the matrices are filled with, over and over


def string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def value(v):
    """A metadata value with its type."""
    if isinstance(v, bool):
        return struct.pack("<IB", 7, v)
    if isinstance(v, int):
        return struct.pack("<II", 4, v)
    if isinstance(v, float):
        return struct.pack("<If", 6, v)
    if isinstance(v, str):
        return struct.pack("<I", 8) + string(v)
    if v and isinstance(v[0], int):
        return struct.pack("<IIQ", 9, 5, len(v)) + struct.pack(f"<{len(v)}i", *v)
    return struct.pack("<IIQ", 9, 8, len(v)) + b"".join(map(string, v))


def byte_alphabet():
    """The 256 printable characters that byte-level vocabularies write bytes with."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in kept]
    return [chr(b) for b in kept] + [chr(256 + i) for i in range(len(others))]


NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # types of tokens
TEXT_TOKENS = {N_VOCAB - 2: ("<|endoftext|>", CONTROL), N_VOCAB - 1: ("<|im_end|>", CONTROL)}
ASR_TOKENS = {  # where the published vocabulary has them
    151643: ("<|endoftext|>", CONTROL), 151644: ("<|im_start|>", CONTROL), 151645: ("<|im_end|>", CONTROL),
    151669: ("<|audio_start|>", CONTROL), 151670: ("<|audio_end|>", CONTROL), 151676: ("<|audio_pad|>", CONTROL),
    151704: ("<asr_text>", USER_DEFINED),
}
# Of the prompt, one token each in the published vocabulary: it has as many tokens as there.
ASR_WORDS = {872: "user", 6364: "ĠEnglish", 8948: "system", 11528: "language", 77091: "assistant"}
FIRST_BEGINNING = 1000  # token, of the words' beginnings


def vocabulary(special, words):
    """Tokens, their types, and merges that make the words of their letters."""
    tokens = byte_alphabet()
    tokens += [f"Ġfiller{i}" for i in range(len(tokens), N_VOCAB)]
    types = [NORMAL] * N_VOCAB
    for token, (text, kind) in special.items():
        tokens[token], types[token] = text, kind
    merges, free = ["Ġ f"], FIRST_BEGINNING
    for token, word in words.items():
        merges += [f"{word[:i]} {word[i]}" for i in range(1, len(word))]
        beginnings = [word[:i] for i in range(2, len(word))]
        tokens[free : free + len(beginnings)] = beginnings
        tokens[token] = word
        free += len(beginnings)
    return tokens, types, merges


def metadata(name, shape, architecture="qwen3", special=TEXT_TOKENS, words={}):
    tokens, types, merges = vocabulary(special, words)
    sizes = {
        "block_count": shape["n_layer"], "context_length": N_CTX, "embedding_length": shape["n_embd"],
        "feed_forward_length": shape["n_ff"], "attention.head_count": shape["n_head"],
        "attention.head_count_kv": shape["n_head_kv"], "attention.key_length": shape["head_dim"],
        "attention.value_length": shape["head_dim"], "rope.freq_base": 1e6,
        "attention.layer_norm_rms_epsilon": 1e-6,
    }
    eos = next(token for token, (text, _) in special.items() if text == "<|im_end|>")
    return {
        "general.architecture": architecture, "general.name": name,
        **{f"{architecture}.{key}": size for key, size in sizes.items()},
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2", "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": types, "tokenizer.ggml.merges": merges, "tokenizer.ggml.eos_token_id": eos,
    }


def asr_metadata(name, shape):
    return metadata(name, shape, "qwen3vl", ASR_TOKENS, ASR_WORDS) | {
        "qwen3vl.rope.dimension_sections": ROPE_SECTIONS, "qwen3vl.n_deepstack_layers": 0,
        "tokenizer.ggml.add_bos_token": False,
    }


def encoder_metadata(name, shape):
    return {
        "general.architecture": "clip", "general.type": "mmproj", "general.name": name,
        "clip.has_audio_encoder": True, "clip.audio.projector_type": "qwen3a",
        "clip.audio.projection_dim": shape["n_out"], "clip.audio.embedding_length": shape["n_embd"],
        "clip.audio.feed_forward_length": shape["n_ff"], "clip.audio.block_count": shape["n_layer"],
        "clip.audio.attention.head_count": shape["n_head"], "clip.audio.num_mel_bins": shape["n_mel"],
        "clip.audio.attention.layer_norm_epsilon": 1e-5,
    }


def encoder_tensors(shape, dtype):
    """(name, sizes fastest first, type) in file order; convolutions are f16 as in published files."""
    n, n_ff, n_channel = shape["n_embd"], shape["n_ff"], shape["n_channel"]
    for i, n_in in enumerate((1, n_channel, n_channel), 1):
        yield f"a.conv2d.{i}.weight", (3, 3, n_in, n_channel), "f16"
        yield f"a.conv2d.{i}.bias", (1, 1, n_channel), "f32"
    yield "a.conv_out.weight", (n_channel * shape["n_mel"] // 8, n), "f16"
    yield "a.position_embd.weight", (n, shape["n_pos"]), "f32"

    def linear(name, n_in, n_out):
        yield name + ".weight", (n_in, n_out), dtype
        yield name + ".bias", (n_out,), "f32"

    def norm(name):
        yield name + ".weight", (n,), "f32"
        yield name + ".bias", (n,), "f32"

    for i in range(shape["n_layer"]):
        b = f"a.blk.{i}."
        yield from norm(b + "ln1")
        for name in ("attn_q", "attn_k", "attn_v", "attn_out"):
            yield from linear(b + name, n, n)
        yield from norm(b + "ln2")
        yield from linear(b + "ffn_up", n, n_ff)
        yield from linear(b + "ffn_down", n_ff, n)
    yield from norm("a.post_ln")
    yield from linear("mm.a.mlp.1", n, n)
    yield from linear("mm.a.mlp.2", n, shape["n_out"])


def position_table(n_embd, n_pos):
    """Rows of sines and cosines of rising wave length, as the encoder's positions are."""
    half = n_embd // 2
    rates = [math.exp(-i * math.log(10000) / (half - 1)) for i in range(half)]
    for p in range(n_pos):
        yield struct.pack(f"<{n_embd}f", *(math.sin(p * w) for w in rates), *(math.cos(p * w) for w in rates))


def tensors(shape, dtype):
    """(name, sizes fastest first, type) in file order."""
    n_embd, n_ff, hd = shape["n_embd"], shape["n_ff"], shape["head_dim"]
    n_q, n_kv = shape["n_head"] * hd, shape["n_head_kv"] * hd
    yield "token_embd.weight", (n_embd, N_VOCAB), dtype
    for i in range(shape["n_layer"]):
        b = f"blk.{i}."
        yield b + "attn_norm.weight", (n_embd,), "f32"
        yield b + "attn_q.weight", (n_embd, n_q), dtype
        yield b + "attn_k.weight", (n_embd, n_kv), dtype
        yield b + "attn_v.weight", (n_embd, n_kv), dtype
        yield b + "attn_output.weight", (n_q, n_embd), dtype
        yield b + "attn_q_norm.weight", (hd,), "f32"
        yield b + "attn_k_norm.weight", (hd,), "f32"
        yield b + "ffn_norm.weight", (n_embd,), "f32"
        yield b + "ffn_gate.weight", (n_embd, n_ff), dtype
        yield b + "ffn_up.weight", (n_embd, n_ff), dtype
        yield b + "ffn_down.weight", (n_ff, n_embd), dtype
    yield "output_norm.weight", (n_embd,), "f32"
    if not shape["tied"]:
        yield "output.weight", (n_embd, N_VOCAB), dtype


def drafter_metadata(name, shape, n_layer):
    """Of a DFlash drafter; what it reads is spread over the model's layers as in the reference."""
    n = shape["n_layer"]
    read = [n // 2] if n_layer == 1 else [round(1 + i * (n - 4) / (n_layer - 1)) for i in range(n_layer)]
    meta = metadata(name, shape | {"n_layer": n_layer}, "dflash-draft")
    own = {key: v for key, v in meta.items() if not key.startswith("tokenizer.")}
    return own | {
        "dflash-draft.vocab_size": N_VOCAB, "dflash-draft.attention.causal": False,
        "dflash-draft.dflash.block_size": 8, "dflash-draft.dflash.mask_token_id": N_VOCAB - 3,
        "dflash-draft.dflash.target_layer_ids": read,
    }


def drafter_tensors(shape, dtype, n_layer):
    """Those of the model's layers, and what brings its residual streams in; embedding and output are the model's."""
    n_embd = shape["n_embd"]
    yield "dflash_fc.weight", (n_layer * n_embd, n_embd), dtype
    yield "dflash_hidden_norm.weight", (n_embd,), "f32"
    for name, sizes, kind in tensors(shape | {"n_layer": n_layer, "tied": True}, dtype):
        if name != "token_embd.weight":
            yield name, sizes, kind


def n_bytes(sizes, dtype):
    values, size = BLOCKS[dtype]
    return math.prod(sizes) // values * size


def packed(values, dtype):
    """Numbers in a type of floats."""
    if dtype == "f16":
        return struct.pack(f"<{len(values)}e", *values)
    floats = struct.pack(f"<{len(values)}f", *values)
    if dtype == "f32":
        return floats
    halves = bytearray(2 * len(values))  # bf16: the upper halves
    halves[::2], halves[1::2] = floats[2::4], floats[3::4]
    return bytes(halves)


def random_bytes(dtype, source):
    """Rows of whole blocks whose values have a standard deviation of about 0.02."""
    if dtype in ("f16", "bf16"):
        return packed([source.gauss(0, 0.02) for _ in range(CHUNK_VALUES)], dtype)
    values, size = BLOCKS[dtype]
    n_blocks = CHUNK_VALUES // values
    blocks = bytearray(source.randbytes(n_blocks * size))
    step = struct.pack("<e", {"q8_0": 0.02 / 74, "q4_0": 0.02 / 4.6}[dtype])  # codes are uniform
    for i in range(2):
        blocks[i::size] = step[i : i + 1] * n_blocks
    return bytes(blocks)


def float_bytes(name, sizes):
    """What is not a matrix: norms that change nothing, biases of zero, positions."""
    if name == "a.position_embd.weight":
        return b"".join(position_table(*sizes))
    return struct.pack("<f", 0 if name.endswith(".bias") else 1) * math.prod(sizes)


def same_values(entries, seed):
    """What fills tensors: all of a type hold the same random values."""
    source = random.Random(seed)
    chunks = {kind: random_bytes(kind, source) for kind in sorted({kind for _, _, kind in entries} - {"f32"})}
    return lambda name, sizes, kind: float_bytes(name, sizes) if kind == "f32" else chunks[kind]


def write_file(path, meta, entries, seed, fill=None):
    """A file of these tensors. fill(name, sizes, type) yields bytes that are repeated; default: same_values()."""
    entries = list(entries)
    fill = fill or same_values(entries, seed)
    header = struct.pack("<IIQQ", 0x46554747, 3, len(entries), len(meta))
    header += b"".join(string(key) + value(v) for key, v in meta.items())
    offset = 0
    for name, sizes, kind in entries:
        header += string(name) + struct.pack("<I", len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes)
        header += struct.pack("<IQ", TYPES[kind], offset)
        offset += -(-n_bytes(sizes, kind) // ALIGNMENT) * ALIGNMENT
    with open(path, "wb") as out:
        out.write(header + b"\0" * (-len(header) % ALIGNMENT))
        for name, sizes, kind in entries:
            size, chunk = n_bytes(sizes, kind), fill(name, sizes, kind)
            for start in range(0, size, len(chunk)):
                out.write(memoryview(chunk)[: size - start])
            out.write(b"\0" * (-size % ALIGNMENT))


def write(path, shape_name, dtype, seed=1):
    """A language model."""
    shape = SHAPES[shape_name]
    write_file(path, metadata(f"synthetic {shape_name} {dtype}", shape), tensors(shape, dtype), seed)


def write_drafter(path, shape_name, dtype, n_layer, seed=2):
    """A drafter for such a language model."""
    shape = SHAPES[shape_name]
    name = f"synthetic drafter for {shape_name} {dtype}"
    write_file(path, drafter_metadata(name, shape, n_layer), drafter_tensors(shape, dtype, n_layer), seed)


def write_asr(folder, shape_name, dtype, seed=1, quantize=None):
    """The two files of a speech recogniser."""
    shape = ASR_SHAPES[shape_name]
    name = f"synthetic {shape_name}"
    os.makedirs(folder, exist_ok=True)
    text_path, encoder_path = (os.path.join(folder, file) for file in ASR_FILES)
    direct = "f16" if dtype == "q4_k" else dtype
    first_path = text_path + ".f16" if dtype == "q4_k" else text_path
    write_file(first_path, asr_metadata(name, shape["text"]), tensors(shape["text"], direct), seed)
    if dtype == "q4_k":
        subprocess.run([quantize, "quantize", first_path, text_path, "q4_k_m"], check=True)
        os.remove(first_path)
    write_file(encoder_path, encoder_metadata(name, shape["encoder"]),
               encoder_tensors(shape["encoder"], "q8_0" if dtype == "q4_k" else dtype), seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--shape", choices=[*SHAPES, *ASR_SHAPES], required=True)
    parser.add_argument("--type", choices=["f16", "q8_0", "q4_0", "q4_k"], required=True)
    parser.add_argument("--drafter", metavar="LAYERS", type=int, help="write a drafter with so many layers")
    parser.add_argument("--quantize", metavar="PROGRAM", help="a parlance that makes q4_k")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.type == "q4_k" and (args.shape in SHAPES or not args.quantize):
        parser.error("q4_k is made for speech recognisers only, and with --quantize build/release/bin/parlance")
    if args.drafter is not None and (args.shape in ASR_SHAPES or args.drafter < 1):
        parser.error("--drafter takes 1 or more layers, for a language model")
    if args.drafter is not None:
        write_drafter(args.out, args.shape, args.type, args.drafter, args.seed)
    elif args.shape in ASR_SHAPES:
        write_asr(args.out, args.shape, args.type, args.seed, args.quantize)
    else:
        write(args.out, args.shape, args.type, args.seed)


if __name__ == "__main__":
    main()
