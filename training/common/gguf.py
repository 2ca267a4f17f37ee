"""GGUF files from Python: writing and reading any keys and tensors (version 3; F32, F16, BF16, Q5_0, Q6_K and Q8_0).

Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The models of training/ give their own keys and names.
"""

import struct

import numpy as np

ALIGNMENT = 32
F32, F16, Q5_0, Q8_0, Q6_K, BF16 = 0, 1, 6, 8, 14, 30                 # tensor types
BLOCKS = {Q5_0: (32, 22), Q8_0: (32, 34), Q6_K: (256, 210)}           # values of a block, and its bytes
U8, U32, I32, FLOAT32, BOOL, STRING, ARRAY, U64 = 0, 4, 5, 6, 7, 8, 9, 10    # key types; (ELEMENT,) is an array
FORMATS = {U8: "<B", U32: "<I", I32: "<i", FLOAT32: "<f", BOOL: "<?", U64: "<Q"}


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


def _ratio(x, d):
    return np.divide(x, d, out=np.zeros_like(x), where=d != 0)


def quantise_q5_0(x):
    """Per 32 values the largest one / -16 is the step; codes 0..31 stand for -16..15 steps. See dequantise_q5_0."""
    blocks = np.ascontiguousarray(x, np.float32).reshape(-1, 32)
    largest = np.take_along_axis(blocks, np.abs(blocks).argmax(1)[:, None], 1)
    d = (largest / np.float32(-16)).astype(np.float16).astype(np.float32)
    codes = np.clip(np.rint(_ratio(blocks, d * np.ones_like(blocks))) + 16, 0, 31).astype(np.uint32)
    out = np.zeros(len(blocks), dtype=[("d", "<f2"), ("high", "<u4"), ("low", "u1", 16)])
    out["d"] = d[:, 0]
    out["high"] = (codes >> 4 << np.arange(32, dtype=np.uint32)).sum(1)
    out["low"] = (codes[:, :16] & 15) | (codes[:, 16:] & 15) << 4
    return out.tobytes()


def quantise_q6_k(x):
    """Per 16 values the largest one / -32 is the step, which is a multiple of a 127th of the largest step of 256 values.
    See dequantise_q6_k."""
    lines = np.ascontiguousarray(x, np.float32).reshape(-1, 16, 16)
    largest = np.take_along_axis(lines, np.abs(lines).argmax(2)[..., None], 2)[..., 0] / np.float32(-32)
    d = (np.abs(largest).max(1, keepdims=True) / np.float32(127)).astype(np.float16).astype(np.float32)
    scales = np.clip(np.rint(_ratio(largest, d * np.ones_like(largest))), -127, 127)
    step = (d * scales)[..., None] * np.ones_like(lines)
    codes = np.clip(np.rint(_ratio(lines, step)) + 32, 0, 63).astype(np.uint8).reshape(-1, 2, 4, 32)
    out = np.zeros(len(lines), dtype=[("low", "u1", (2, 2, 32)), ("high", "u1", (2, 32)), ("scale", "i1", 16), ("d", "<f2")])
    out["low"] = (codes[:, :, :2] & 15) | (codes[:, :, 2:] & 15) << 4
    out["high"] = (codes >> 4 << np.array([0, 2, 4, 6], np.uint8)[:, None]).sum(2)
    out["scale"], out["d"] = scales, d[:, 0]
    return out.tobytes()


def dequantise_q5_0(data, shape):
    """Per 32 values a half scale, their fifth bits, and 16 bytes: value k in the low half of byte k, value 16 + k in the high."""
    blocks = np.frombuffer(data, dtype=[("d", "<f2"), ("high", "<u4"), ("low", "u1", 16)])
    codes = np.concatenate([blocks["low"] & 15, blocks["low"] >> 4], axis=1).astype(np.int32)
    codes |= (blocks["high"][:, None] >> np.arange(32, dtype=np.uint32) & 1).astype(np.int32) << 4
    return (blocks["d"].astype(np.float32)[:, None] * (codes - 16)).reshape(shape)


def dequantise_q6_k(data, shape):
    """Per 256 values 128 bytes with their low four bits, 64 with their high two, a signed scale for each 16, and a half scale.

    Of each 128 values, the four lines of 32 share the bytes of their bits.
    """
    blocks = np.frombuffer(data, dtype=[("low", "u1", (2, 2, 32)), ("high", "u1", (2, 32)), ("scale", "i1", 16), ("d", "<f2")])
    low = np.concatenate([blocks["low"] & 15, blocks["low"] >> 4], axis=2)                  # (block, 2, 4, 32)
    high = blocks["high"][:, :, None] >> np.array([0, 2, 4, 6], np.uint8)[:, None] & 3
    codes = (low | high << 4).astype(np.float32).reshape(-1, 16, 16) - 32
    scales = blocks["d"].astype(np.float32)[:, None] * blocks["scale"]
    return (codes * scales[:, :, None]).reshape(shape)


def to_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def encode_tensor(x, kind):
    if kind in BLOCKS:
        if x.shape[-1] % BLOCKS[kind][0]:
            raise ValueError(f"tensor type {kind} needs rows of a multiple of {BLOCKS[kind][0]} values, this tensor is {x.shape}")
        return {Q5_0: quantise_q5_0, Q6_K: quantise_q6_k, Q8_0: quantise_q8_0}[kind](x)
    if kind == BF16:
        return to_bf16(x).tobytes()
    return np.ascontiguousarray(x, np.float16 if kind == F16 else np.float32).tobytes()


def decode_tensor(data, kind, shape):
    dequantise = {Q5_0: dequantise_q5_0, Q6_K: dequantise_q6_k, Q8_0: dequantise_q8_0}.get(kind)
    if dequantise:
        return dequantise(data, shape)
    if kind == BF16:
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return np.frombuffer(data, np.float16 if kind == F16 else np.float32).astype(np.float32).reshape(shape)


def n_bytes(kind, shape):
    n = int(np.prod(shape))
    values, size = BLOCKS.get(kind, (1, 4 if kind == F32 else 2))
    return n // values * size


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


def write_file(path, pairs, tensors):
    """pairs: (key, type, value); tensors: (name, float32 array in C order, tensor type)."""
    padded = lambda n: -(-n // ALIGNMENT) * ALIGNMENT
    header = struct.pack("<4sIqq", b"GGUF", 3, len(tensors), len(pairs)) + b"".join(_pair(*pair) for pair in pairs)
    offset = 0
    for name, x, kind in tensors:
        sizes = x.shape[::-1]
        header += _string(name) + struct.pack(f"<I{len(sizes)}qiQ", len(sizes), *sizes, kind, offset)
        offset += padded(n_bytes(kind, x.shape))
    with open(path, "wb") as file:
        file.write(header.ljust(padded(len(header)), b"\0"))
        for _, x, kind in tensors:
            data = encode_tensor(x, kind)
            file.write(data.ljust(padded(len(data)), b"\0"))


def read_file(path):
    """(keys, tensors): {key: value}, {name: float32 array} of a file that write_file() or `parlance quantize` made."""
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
    tensors = {name: decode_tensor(data[start + offset:start + offset + n_bytes(kind, shape)], kind, shape)
               for name, shape, kind, offset in infos}
    return keys, tensors
