#!/usr/bin/env python3
"""Writes a GGUF file with the shape of a Qwen3 model and random weights, so that speed can be measured without real ones.

  bench/synthetic_model.py OUT.gguf --shape qwen3-0.6b|qwen3-8b --type f16|q8_0|q4_0
"""
import argparse
import math
import random
import struct

SHAPES = {  # n_layer, n_embd, n_head, n_head_kv, head_dim, n_ff, tied
    "qwen3-0.6b": dict(n_layer=28, n_embd=1024, n_head=16, n_head_kv=8, head_dim=128, n_ff=3072, tied=True),
    "qwen3-8b": dict(n_layer=36, n_embd=4096, n_head=32, n_head_kv=8, head_dim=128, n_ff=12288, tied=False),
}
N_VOCAB = 151936
N_CTX = 40960
TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q8_0": 8}  # GGUF type ids
BLOCKS = {"f32": (1, 4), "f16": (1, 2), "q4_0": (32, 18), "q8_0": (32, 34)}  # values, bytes
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


def vocabulary():
    tokens = byte_alphabet()
    tokens += [f"Ġfiller{i}" for i in range(len(tokens), N_VOCAB - 2)] + ["<|endoftext|>", "<|im_end|>"]
    return tokens, [1] * (N_VOCAB - 2) + [3, 3]


def metadata(name, shape):
    tokens, types = vocabulary()
    return {
        "general.architecture": "qwen3", "general.name": name, "qwen3.block_count": shape["n_layer"],
        "qwen3.context_length": N_CTX, "qwen3.embedding_length": shape["n_embd"],
        "qwen3.feed_forward_length": shape["n_ff"], "qwen3.attention.head_count": shape["n_head"],
        "qwen3.attention.head_count_kv": shape["n_head_kv"], "qwen3.attention.key_length": shape["head_dim"],
        "qwen3.attention.value_length": shape["head_dim"], "qwen3.rope.freq_base": 1e6,
        "qwen3.attention.layer_norm_rms_epsilon": 1e-6, "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2", "tokenizer.ggml.tokens": tokens, "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": ["Ġ f"], "tokenizer.ggml.eos_token_id": N_VOCAB - 1,
    }


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


def n_bytes(sizes, dtype):
    values, size = BLOCKS[dtype]
    return math.prod(sizes) // values * size


def random_bytes(dtype, source):
    """Rows of whole blocks whose values have a standard deviation of about 0.02."""
    if dtype == "f16":
        return struct.pack(f"<{CHUNK_VALUES}e", *(source.gauss(0, 0.02) for _ in range(CHUNK_VALUES)))
    values, size = BLOCKS[dtype]
    n_blocks = CHUNK_VALUES // values
    blocks = bytearray(source.randbytes(n_blocks * size))
    step = struct.pack("<e", {"q8_0": 0.02 / 74, "q4_0": 0.02 / 4.6}[dtype])  # codes are uniform
    for i in range(2):
        blocks[i::size] = step[i : i + 1] * n_blocks
    return bytes(blocks)


def write(path, shape_name, dtype, seed=1):
    shape = SHAPES[shape_name]
    chunk = random_bytes(dtype, random.Random(seed))
    entries = list(tensors(shape, dtype))
    meta = metadata(f"synthetic {shape_name} {dtype}", shape)
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
            size = n_bytes(sizes, kind)
            if kind == "f32":
                out.write(struct.pack("<f", 1) * math.prod(sizes))
            else:
                for start in range(0, size, len(chunk)):
                    out.write(memoryview(chunk)[: size - start])
            out.write(b"\0" * (-size % ALIGNMENT))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--type", choices=["f16", "q8_0", "q4_0"], required=True)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    write(args.out, args.shape, args.type, args.seed)


if __name__ == "__main__":
    main()
