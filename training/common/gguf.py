"""GGUF files from Python: writing and reading any keys and tensors (version 3; F32, F16, BF16 and Q8_0).

Layout: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The models of training/ give their own keys and names.
"""

import struct

import numpy as np

ALIGNMENT = 32
F32, F16, Q8_0, BF16 = 0, 1, 8, 30                                   # tensor types
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


def to_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def encode_tensor(x, kind):
    if kind == Q8_0:
        if x.shape[-1] % 32:
            raise ValueError(f"Q8_0 needs rows of a multiple of 32 values, this tensor is {x.shape}")
        return quantise_q8_0(x)
    if kind == BF16:
        return to_bf16(x).tobytes()
    return np.ascontiguousarray(x, np.float16 if kind == F16 else np.float32).tobytes()


def decode_tensor(data, kind, shape):
    if kind == Q8_0:
        return dequantise_q8_0(data, shape)
    if kind == BF16:
        return (np.frombuffer(data, np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(shape)
    return np.frombuffer(data, np.float16 if kind == F16 else np.float32).astype(np.float32).reshape(shape)


def n_bytes(kind, shape):
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
    """(keys, tensors): {key: value}, {name: float32 array} of a file that write_file() made."""
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
