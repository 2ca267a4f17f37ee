#!/usr/bin/env python3
"""Writes a language model again so that it computes the same, but has keys and values that are hard to compress.

  tools/make-hard-models.py outliers IN.gguf OUT.gguf   some rotation pairs of keys are 8, 16 or 32 times as large, and
                                                        those of queries as much smaller
  tools/make-hard-models.py biases   IN.gguf OUT.gguf   the slowest rotation pairs of keys have a bias of norm --norm,
                                                        which shifts all scores of a query nearly alike
  tools/make-hard-models.py ends     IN.gguf OUT.gguf   both, in the first and the last layer only
  tools/make-hard-models.py values   IN.gguf OUT.gguf   keys are 16 times as large, values 8 times smaller: 128 to 1
  tools/make-hard-models.py unnormed IN.gguf OUT.gguf   no such model, but what biases are for: a Qwen3 file as Qwen2,
                                                        with the lengths that heads have on average, over a text that
                                                        is computed, in place of their norms

All factors are powers of two, so that outliers, ends without biases, and values change no bit of what a model with norms
of heads computes in f32. Biases want a model without such norms: qwen2. Matrices are F32, F16 or Q8_0. Pairs are halves of
a head, as Qwen's are.
"""
import argparse
import math
import operator
import struct

F32, F16, Q8_0 = 0, 1, 8
BLOCK = 34                                     # bytes of 32 values of Q8_0
FACTORS = (8, 32, 16)                          # of the outlier pairs, one after the other
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


class Tensor:
    def __init__(self, name, sizes, kind, data):
        self.name, self.sizes, self.kind, self.data = name, sizes, kind, bytearray(data)

    def row_bytes(self):
        n = self.sizes[0]
        return {F32: 4 * n, F16: 2 * n, Q8_0: n // 32 * BLOCK}[self.kind]

    def scale(self, first, n, form, step, factor):
        """Multiplies numbers of this form, n of them from byte `first`, step bytes apart."""
        for at in range(first, first + n * step, step):
            value, = struct.unpack_from(form, self.data, at)
            struct.pack_into(form, self.data, at, value * factor)

    def scale_row(self, row, factor):
        first, n = row * self.row_bytes(), self.sizes[0]
        if self.kind == F32:
            self.scale(first, n, "<f", 4, factor)
        elif self.kind == F16:
            self.scale(first, n, "<e", 2, factor)
        else:
            self.scale(first, n // 32, "<e", BLOCK, factor)

    def scale_all(self, factor):
        for row in range(math.prod(self.sizes[1:])):
            self.scale_row(row, factor)

    def row(self, row):
        first, n = row * self.row_bytes(), self.sizes[0]
        if self.kind != Q8_0:
            return struct.unpack_from(f"<{n}{'f' if self.kind == F32 else 'e'}", self.data, first)
        values = []
        for at in range(first, first + self.row_bytes(), BLOCK):
            scale, *codes = struct.unpack_from("<e32b", self.data, at)
            values += [scale * code for code in codes]
        return values


class Model:
    """A GGUF file: its keys as bytes, its tensors by name."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        magic, version, n_tensors, n_keys = struct.unpack_from("<4sIQQ", self.data)
        if magic != b"GGUF" or version != 3:
            raise SystemExit(f"{path}: expected a GGUF file of version 3")
        self.at, self.keys, self.values = 24, [], {}
        for _ in range(n_keys):
            name, begin = self.string(), self.at
            self.values[name] = self.value(self.take("I"))
            self.keys.append((name, self.data[begin:self.at]))
        heads = []
        for _ in range(n_tensors):
            name = self.string()
            sizes = [self.take("Q") for _ in range(self.take("I"))]
            heads.append((name, sizes, self.take("I"), self.take("Q")))
        begin = -(-self.at // 32) * 32
        self.tensors = {}
        for name, sizes, kind, offset in heads:
            if kind not in (F32, F16, Q8_0):
                raise SystemExit(f"{path}: {name} is of type {kind}; expected F32, F16 or Q8_0")
            tensor = Tensor(name, sizes, kind, b"")
            n = tensor.row_bytes() * math.prod(sizes[1:])
            tensor.data = bytearray(self.data[begin + offset:begin + offset + n])
            self.tensors[name] = tensor

    def take(self, form):
        value, = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def string(self):
        n = self.take("Q")
        self.at += n
        return self.data[self.at - n:self.at].decode("utf-8", "replace")

    def value(self, kind):
        if kind == STRING:
            return self.string()
        if kind != ARRAY:
            return self.take(SCALARS[kind])
        element, n = self.take("I"), self.take("Q")
        return [self.value(element) for _ in range(n)]

    def parameter(self, name):
        return self.values[f"{self.values['general.architecture']}.{name}"]

    def n_layer(self):
        return self.parameter("block_count")

    def head_dim(self):
        return len(self.heads("attn_k", 0)[0])

    def heads(self, matrix, layer):
        """Rows of each head of a matrix, in order."""
        n = self.parameter("attention.head_count" + ("_kv" if matrix != "attn_q" else ""))
        rows = self.tensors[f"blk.{layer}.{matrix}.weight"].sizes[1]
        return [range(i * rows // n, (i + 1) * rows // n) for i in range(n)]

    def write(self, path):
        def text(t):
            return struct.pack("<Q", len(t.encode())) + t.encode()
        head = struct.pack("<4sIQQ", b"GGUF", 3, len(self.tensors), len(self.keys))
        head += b"".join(text(name) + value for name, value in self.keys)
        offset = 0
        for tensor in self.tensors.values():
            sizes = struct.pack(f"<{len(tensor.sizes)}Q", *tensor.sizes)
            head += text(tensor.name) + struct.pack("<I", len(tensor.sizes)) + sizes
            head += struct.pack("<IQ", tensor.kind, offset)
            offset += -(-len(tensor.data) // 32) * 32
        with open(path, "wb") as file:
            file.write(head.ljust(-(-len(head) // 32) * 32, b"\0"))
            for tensor in self.tensors.values():
                file.write(tensor.data.ljust(-(-len(tensor.data) // 32) * 32, b"\0"))


def outlier_pairs(layer, half):
    """Pairs and factors of a layer: others in each, in several blocks of 32 values."""
    return [((5 + 7 * layer + 23 * i) % half, factor) for i, factor in enumerate(FACTORS)]


def add_outliers(model, layers):
    half = model.head_dim() // 2
    for layer in layers:
        for pair, factor in outlier_pairs(layer, half):
            for element in (pair, pair + half):
                for side, by in (("k", factor), ("q", 1 / factor)):
                    norm = model.tensors.get(f"blk.{layer}.attn_{side}_norm.weight")
                    if norm:
                        norm.scale(4 * element, 1, "<f", 4, by)
                        continue
                    bias = model.tensors.get(f"blk.{layer}.attn_{side}.bias")
                    for rows in model.heads(f"attn_{side}", layer):
                        model.tensors[f"blk.{layer}.attn_{side}.weight"].scale_row(rows[element], by)
                        if bias:
                            bias.scale(4 * rows[element], 1, "<f", 4, by)


def add_biases(model, layers, norm):
    half = model.head_dim() // 2
    for layer in layers:
        name = f"blk.{layer}.attn_k.bias"
        if f"blk.{layer}.attn_k_norm.weight" in model.tensors:
            raise SystemExit("biases would be normalised with the keys: give a model without norms of heads (unnormed)")
        heads = model.heads("attn_k", layer)
        if name not in model.tensors:
            n = heads[-1][-1] + 1
            model.tensors[name] = Tensor(name, [n], F32, bytes(4 * n))
        for i, rows in enumerate(heads):
            for pair in (half - 2, half - 1):
                angle = 0.9 + layer + 2 * i + pair       # where the pair points to: anywhere, and not the same twice
                for element, part in ((pair, math.cos(angle)), (pair + half, math.sin(angle))):
                    at = 4 * rows[element]
                    before, = struct.unpack_from("<f", model.tensors[name].data, at)
                    struct.pack_into("<f", model.tensors[name].data, at, before + part * norm / math.sqrt(2))


def shrink_values(model):
    for layer in range(model.n_layer()):
        for side, by in (("k", 16), ("q", 1 / 16)):
            norm = model.tensors.get(f"blk.{layer}.attn_{side}_norm.weight")
            (norm or model.tensors[f"blk.{layer}.attn_{side}.weight"]).scale_all(by)
            bias = model.tensors.get(f"blk.{layer}.attn_{side}.bias")
            if bias and not norm:
                bias.scale_all(by)
        for matrix, by in (("attn_v", 1 / 8), ("attn_output", 8)):
            model.tensors[f"blk.{layer}.{matrix}.weight"].scale_all(by)
            bias = model.tensors.get(f"blk.{layer}.{matrix}.bias")
            if bias and matrix == "attn_v":
                bias.scale_all(by)


# A text to measure lengths on.
TEXT = ("<|im_start|>user\nHere are my notes:\nPeter lives in Warsaw. The heavy bag is at the library. Sam's gate code is "
        "5142. The hiking trip begins at 1:50 pm.\nWhere is the heavy bag?<|im_end|>\n<|im_start|>assistant\n"
        "The heavy bag is at the library.<|im_end|>\n")


def tokens_of(model, text):
    """The longest tokens that fit, from left to right: near enough to what the tokenizer would make of it."""
    ids = {token: i for i, token in enumerate(model.values["tokenizer.ggml.tokens"])}
    text = text.replace(" ", "\u0120").replace("\n", "\u010a")
    tokens = []
    while text:
        n = next(n for n in range(min(len(text), 24), 0, -1) if text[:n] in ids)
        tokens.append(ids[text[:n]])
        text = text[n:]
    return tokens


def dot(a, b):
    return sum(map(operator.mul, a, b))


class Pass:
    """A Qwen3 model's layers over a text, in plain Python; remembers how long heads are before their norms."""

    def __init__(self, model):
        self.model = model
        self.eps = model.parameter("attention.layer_norm_rms_epsilon")
        tokens = tokens_of(model, TEXT)
        embedding = model.tensors["token_embd.weight"]
        self.h = [embedding.row(token) for token in tokens]
        self.lengths = {}                       # by layer and side: of each head, over all tokens
        for layer in range(model.n_layer()):
            self.attend(layer)
            self.feed_forward(layer)

    def weight(self, layer, name):
        return self.model.tensors[f"blk.{layer}.{name}.weight"]

    def product(self, layer, name, x):
        weight = self.weight(layer, name)
        rows = [weight.row(row) for row in range(weight.sizes[1])]
        return [[dot(row, values) for row in rows] for values in x]

    def length(self, x):
        return math.sqrt(dot(x, x) / len(x) + self.eps)

    def normed(self, x, gains):
        length = self.length(x)
        return [value / length * gain for value, gain in zip(x, gains)]

    def turned(self, head, position):
        half = len(head) // 2
        turned = list(head)
        for i in range(half):
            angle = position * self.model.parameter("rope.freq_base") ** (-i / half)
            c, s = math.cos(angle), math.sin(angle)
            turned[i], turned[i + half] = head[i] * c - head[i + half] * s, head[i] * s + head[i + half] * c
        return turned

    def heads(self, layer, side, x):
        """[token][head], normalised and turned."""
        gains = self.weight(layer, f"attn_{side}_norm").row(0)
        n = len(gains)
        lengths = self.lengths[layer, side] = [[] for _ in range(self.weight(layer, f"attn_{side}").sizes[1] // n)]
        all_heads = []
        for position, values in enumerate(self.product(layer, f"attn_{side}", x)):
            heads = [values[i:i + n] for i in range(0, len(values), n)]
            for head, known in zip(heads, lengths):
                known.append(self.length(head))
            all_heads.append([self.turned(self.normed(head, gains), position) for head in heads])
        return all_heads

    def attend(self, layer):
        gains = self.weight(layer, "attn_norm").row(0)
        x = [self.normed(h, gains) for h in self.h]
        q, k = self.heads(layer, "q", x), self.heads(layer, "k", x)
        v = self.product(layer, "attn_v", x)
        n, n_shared = len(v[0]) // len(k[0]), len(q[0]) // len(k[0])
        outputs = []
        for position, heads in enumerate(q):
            output = []
            for i, head in enumerate(heads):
                kv = i // n_shared
                scores = [dot(head, k[at][kv]) / math.sqrt(len(head)) for at in range(position + 1)]
                largest = max(scores)
                weights = [math.exp(score - largest) for score in scores]
                total = sum(weights)
                columns = zip(*(v[at][kv * n:(kv + 1) * n] for at in range(position + 1)))
                output += [dot(weights, column) / total for column in columns]
            outputs.append(output)
        self.add(self.product(layer, "attn_output", outputs))

    def feed_forward(self, layer):
        gains = self.weight(layer, "ffn_norm").row(0)
        x = [self.normed(h, gains) for h in self.h]
        gate, up = self.product(layer, "ffn_gate", x), self.product(layer, "ffn_up", x)
        inner = [[g / (1 + math.exp(-g)) * u for g, u in zip(*both)] for both in zip(gate, up)]
        self.add(self.product(layer, "ffn_down", inner))

    def add(self, rows):
        self.h = [[a + b for a, b in zip(*both)] for both in zip(self.h, rows)]


def take_norms_out(model):
    """Each head's norm becomes a factor: the weight over the length that its vectors have on average."""
    if model.values["general.architecture"] != "qwen3":
        raise SystemExit("unnormed wants a Qwen3 file")
    lengths = Pass(model).lengths
    for layer in range(model.n_layer()):
        for side in "qk":
            weights = model.tensors[f"blk.{layer}.attn_{side}_norm.weight"].row(0)
            matrix = model.tensors[f"blk.{layer}.attn_{side}.weight"]
            for rows, known in zip(model.heads(f"attn_{side}", layer), lengths[layer, side]):
                factor = sum(1 / length for length in known) / len(known)
                for row, weight in zip(rows, weights):
                    matrix.scale_row(row, weight * factor)
    for layer in range(model.n_layer()):
        for side in "qk":
            del model.tensors[f"blk.{layer}.attn_{side}_norm.weight"]
        for side in "qkv":
            name = f"blk.{layer}.attn_{side}.bias"
            n = model.tensors[f"blk.{layer}.attn_{side}.weight"].sizes[1]
            model.tensors[name] = Tensor(name, [n], F32, bytes(4 * n))
    head_dim = model.parameter("attention.key_length")
    model.keys = [(name.replace("qwen3.", "qwen2.", 1), value) for name, value in model.keys
                  if name != "general.architecture"]
    word = b"qwen2"
    model.keys.insert(0, ("general.architecture", struct.pack("<IQ", STRING, len(word)) + word))
    assert head_dim * model.parameter("attention.head_count") == model.tensors["blk.0.attn_q.weight"].sizes[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("outliers", "biases", "ends", "values", "unnormed"))
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--norm", type=float, default=150, help="length of a head's bias (default %(default)s)")
    options = parser.parse_args()
    model = Model(options.source)
    layers = range(model.n_layer())
    ends = sorted({layers[0], layers[-1]})
    has_norms = "blk.0.attn_k_norm.weight" in model.tensors
    if options.kind == "outliers":
        add_outliers(model, layers)
    elif options.kind == "biases":
        add_biases(model, layers, options.norm)
    elif options.kind == "ends":
        add_outliers(model, ends)
        if not has_norms:
            add_biases(model, ends, 4 * options.norm)
    elif options.kind == "values":
        shrink_values(model)
    else:
        take_norms_out(model)
    model.write(options.target)


if __name__ == "__main__":
    main()
