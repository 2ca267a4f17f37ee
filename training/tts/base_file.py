"""The speech model as the base GGUF file of OmniVoice: Q8_0 matrices, F32 norms, the vocabulary inside."""

import numpy as np

import paths  # noqa: F401
from gguf import BOOL, F16, F32, FLOAT32, I32, Q8_0, STRING, U32, read_file, write_file
from prompt import DENOISE, SPECIALS, vocabulary
from speech_lm import CODEBOOK_WEIGHTS, Config, N_CODEBOOK, PHONE_HEAD

MAX_SECONDS = 4         # what takes longer is spoken sentence by sentence, as training has them
FILE_TYPES = {"f32": (F32, "F32"), "f16": (F16, "F16"), "q8_0": (Q8_0, "Q8_0")}


def metadata(c, file_type):
    own = "omnivoice-lm."
    return [
        ("general.architecture", STRING, "omnivoice-lm"), ("general.name", STRING, "Parlance demo speech"),
        ("general.description", STRING, "A small English speech model trained on synthetic voices, for demonstrations "
            "and tests of Parlance."),
        ("general.quantization_version", U32, 2), ("general.file_type", STRING, file_type),
        (own + "block_count", U32, c.n_layer), (own + "embedding_length", U32, c.n_embd),
        (own + "feed_forward_length", U32, c.n_ff), (own + "attention.head_count", U32, c.n_head),
        (own + "attention.head_count_kv", U32, c.n_head), (own + "attention.key_length", U32, c.head_dim),
        (own + "attention.value_length", U32, c.head_dim), (own + "vocab_size", U32, c.n_text_vocab),
        (own + "context_length", U32, 4096), (own + "attention.layer_norm_rms_epsilon", FLOAT32, c.norm_eps),
        (own + "rope.freq_base", FLOAT32, c.rope_theta), ("omnivoice.tie_word_embeddings", BOOL, True),
        ("omnivoice.num_audio_codebook", U32, N_CODEBOOK), ("omnivoice.audio_vocab_size", U32, c.n_audio_vocab),
        ("omnivoice.audio_mask_id", U32, c.mask), ("omnivoice.audio_codebook_weights", (I32,), CODEBOOK_WEIGHTS),
        *((f"omnivoice.special.{text.strip('<|>')}", U32, DENOISE + n) for n, text in enumerate(SPECIALS)),
        ("tokenizer.ggml.model", STRING, "gpt2"), ("tokenizer.ggml.tokens", (STRING,), vocabulary(c.n_audio_vocab)),
        ("tokenizer.ggml.merges", (STRING,), []),
        ("parlance.text_form", STRING, "spoken-english"),    # numbers are written out before they are spoken
        ("parlance.max_seconds", U32, MAX_SECONDS),
        ("parlance.own_voices", BOOL, True),    # words, or none, ask for one voice: parts of a text share it
    ]


def write(path, config, weights, type_name="q8_0", heads_type=None):
    """weights: tensor name -> float32 array."""
    matrix_kind, file_type = FILE_TYPES[type_name]
    heads_kind = FILE_TYPES[heads_type or type_name][0]
    kind = lambda name, x: F32 if x.ndim == 1 else heads_kind if name == "audio_heads.weight" else matrix_kind
    write_file(path, metadata(config, file_type), [(name, x, kind(name, x)) for name, x in weights.items()])


def read(path):
    """(config, weights) of a file that write() made."""
    keys, weights = read_file(path)
    k = lambda name: keys["omnivoice-lm." + name]
    config = Config(n_text_vocab=k("vocab_size"), n_audio_vocab=keys["omnivoice.audio_vocab_size"],
                    n_embd=k("embedding_length"), n_layer=k("block_count"), n_head=k("attention.head_count"),
                    head_dim=k("attention.key_length"), n_ff=k("feed_forward_length"), rope_theta=k("rope.freq_base"),
                    norm_eps=1e-6)
    return config, weights


def weights_of(model):
    """Name -> float32 array, without what only training needs."""
    return {name: x.detach().float().cpu().numpy() for name, x in model.named_parameters() if is_shipped(name)}


def is_shipped(name):
    return not name.startswith(PHONE_HEAD)


def load_into(model, weights):
    """Leaves what is not shipped as it is."""
    import torch
    own = {name: x for name, x in model.state_dict().items() if not is_shipped(name)}
    model.load_state_dict(own | {name: torch.from_numpy(np.array(x)) for name, x in weights.items()})
