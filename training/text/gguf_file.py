"""Writing and reading the model as GGUF: Q8_0, F16, BF16 or F32 matrices, F32 norms, the tokenizer inside."""

import struct

import numpy as np

from model import Config
from tokenizer import CHAT_TEMPLATE, Tokenizer

ALIGNMENT = 32
F32, F16, Q8_0, BF16 = 0, 1, 8, 30
FILE_TYPES = {"f32": (F32, 0), "f16": (F16, 1), "q8_0": (Q8_0, 7), "bf16": (BF16, 32)}
U32, I32, FLOAT32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9
FORMATS = {U32: "<I", I32: "<i", FLOAT32: "<f", BOOL: "<?"}


def quantise_q8_0(x):
    """float32 (rows, columns) -> bytes: per 32 values a half scale d = max|x| / 127 and 32 signed bytes."""
    blocks = np.ascontiguousarray(x, np.float32).reshape(-1, 32)
    d = np.abs(blocks).max(axis=1, keepdims=True) / np.float32(127)
    inverse = np.divide(np.float32(1), d, out=np.zeros_like(d), where=d != 0)
    scaled = (blocks * inverse).astype(np.float64)
    codes = np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)
    out = np.zeros(len(blocks), dtype=[("d", "<f2"), ("q", "i1", 32)])
    out["d"], out["q"] = d[:, 0], codes
    return out.tobytes()


def dequantise_q8_0(data, shape):
    blocks = np.frombuffer(data, dtype=[("d", "<f2"), ("q", "i1", 32)])
    return (blocks["d"].astype(np.float32)[:, None] * blocks["q"].astype(np.float32)).reshape(shape)


def to_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def _encode_tensor(x, kind):
    if kind == Q8_0:
        return quantise_q8_0(x)
    if kind == BF16:
        return to_bf16(x).tobytes()
    return np.ascontiguousarray(x, np.float16 if kind == F16 else np.float32).tobytes()


def _decode_tensor(data, kind, shape):
    if kind == Q8_0:
        return dequantise_q8_0(data, shape)
    if kind == BF16:
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return np.frombuffer(data, np.float16 if kind == F16 else np.float32).astype(np.float32).reshape(shape)


def _n_bytes(kind, shape):
    n = int(np.prod(shape))
    return n // 32 * 34 if kind == Q8_0 else n * (4 if kind == F32 else 2)


def _string(text):
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data


def _pair(key, kind, value):
    head = _string(key) + struct.pack("<i", kind if not isinstance(kind, tuple) else ARRAY)
    if kind == STRING:
        return head + _string(value)
    if isinstance(kind, tuple):
        element, = kind
        encode = _string if element == STRING else lambda v: struct.pack(FORMATS[element], v)
        return head + struct.pack("<iQ", element, len(value)) + b"".join(map(encode, value))
    return head + struct.pack(FORMATS[kind], value)


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
    pairs = metadata(config, Tokenizer(), file_type)
    tensors = [(name, x, matrix_kind if x.ndim == 2 else F32) for name, x in weights.items()]
    padded = lambda n: -(-n // ALIGNMENT) * ALIGNMENT
    header = struct.pack("<4sIqq", b"GGUF", 3, len(tensors), len(pairs)) + b"".join(_pair(*pair) for pair in pairs)
    offset = 0
    for name, x, kind in tensors:
        sizes = x.shape[::-1]
        header += _string(name) + struct.pack(f"<I{len(sizes)}qiQ", len(sizes), *sizes, kind, offset)
        offset += padded(_n_bytes(kind, x.shape))
    with open(path, "wb") as file:
        file.write(header.ljust(padded(len(header)), b"\0"))
        for _, x, kind in tensors:
            data = _encode_tensor(x, kind)
            file.write(data.ljust(padded(len(data)), b"\0"))


def read(path):
    """(config, weights) of a file that write() made."""
    with open(path, "rb") as file:
        data = file.read()
    at = 0

    def take(form):
        nonlocal at
        values = struct.unpack_from("<" + form, data, at)
        at += struct.calcsize("<" + form)
        return values if len(values) > 1 else values[0]

    def take_string():
        nonlocal at
        length = take("Q")
        at += length
        return data[at - length:at].decode("utf-8")

    def take_value(kind):
        if kind == STRING:
            return take_string()
        if kind == ARRAY:
            element, count = take("iQ")
            return [take_value(element) for _ in range(count)]
        return take(FORMATS[kind][1])

    magic, version, n_tensors, n_pairs = take("4sIqq")
    if magic != b"GGUF" or version != 3:
        raise ValueError(f"{path}: no GGUF file of version 3")
    keys = {}
    for _ in range(n_pairs):
        key = take_string()
        keys[key] = take_value(take("i"))
    infos = []
    for _ in range(n_tensors):
        name, n_dims = take_string(), take("I")
        sizes = [take("q") for _ in range(n_dims)]
        kind, offset = take("iQ")
        infos.append((name, tuple(reversed(sizes)), kind, offset))
    start = -(-at // ALIGNMENT) * ALIGNMENT
    weights = {name: _decode_tensor(data[start + offset:start + offset + _n_bytes(kind, shape)], kind, shape)
               for name, shape, kind, offset in infos}
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
