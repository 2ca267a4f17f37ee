"""The codec as a GGUF file (architecture omnivoice-tokenizer), written and read."""

from pathlib import Path
import sys

import numpy as np
import torch

sys.path.insert(1, str(Path(__file__).resolve().parent.parent / "common"))
from gguf import BF16, F16, F32, FLOAT32, I32, STRING, U32, read_file, write_file
from model import Codec, Config


def metadata(c):
    n_conv = len(c.conv_kernel)
    acoustic, semantic = "omnivoice.acoustic.", "omnivoice.semantic."
    return [
        ("general.architecture", STRING, "omnivoice-tokenizer"), ("general.name", STRING, "Parlance demo codec"),
        ("general.description", STRING, "A small speech codec trained on generated speech, for demonstrations and tests."),
        ("omnivoice.sample_rate", U32, c.sample_rate_hz), ("omnivoice.semantic_sample_rate", U32, c.semantic_rate_hz),
        ("omnivoice.downsample_factor", U32, 320),
        ("omnivoice.codebook_size", U32, c.n_codes), ("omnivoice.codebook_dim", U32, c.codebook_dim),
        (acoustic + "encoder_hidden_size", U32, c.n_encoder), (acoustic + "decoder_hidden_size", U32, c.n_decoder),
        (acoustic + "hidden_size", U32, c.n_hidden), (acoustic + "n_codebooks", U32, c.n_codebook),
        (acoustic + "hop_length", U32, c.hop),
        (acoustic + "upsampling_ratios", (I32,), list(c.ratios)), (acoustic + "downsampling_ratios", (I32,), list(c.ratios)),
        (semantic + "hidden_size", U32, c.n_semantic), (semantic + "intermediate_size", U32, c.n_semantic_ff),
        (semantic + "num_attention_heads", U32, c.n_semantic_head), (semantic + "num_hidden_layers", U32, c.n_semantic_layer),
        (semantic + "num_feat_extract_layers", U32, n_conv),
        (semantic + "conv_dim", (I32,), [c.n_conv] * n_conv), (semantic + "conv_kernel", (I32,), list(c.conv_kernel)),
        (semantic + "conv_stride", (I32,), list(c.conv_stride)),
        (semantic + "num_conv_pos_embeddings", U32, c.pos_kernel), (semantic + "num_conv_pos_embedding_groups", U32, c.n_pos_group),
        (semantic + "layer_norm_eps", FLOAT32, 1e-5),
    ]


def kind_of(name, x):
    """Kernels and matrices in half precision, codebooks with the range of float32, vectors as they are."""
    if name.endswith("codebook.embed"):
        return BF16
    return F32 if x.ndim == 1 or name.endswith(".alpha") else F16


def write(path, codec):
    state = {name: x.detach().float().cpu().numpy() for name, x in codec.state_dict().items()}
    write_file(path, metadata(codec.config), [(name, x, kind_of(name, x)) for name, x in state.items()])


def read(path):
    """A Codec with the weights as the file rounds them."""
    keys, tensors = read_file(path)
    acoustic = lambda name: keys["omnivoice.acoustic." + name]
    semantic = lambda name: keys["omnivoice.semantic." + name]
    config = Config(
        n_codebook=sum(name.endswith("codebook.embed") for name in tensors), n_codes=keys["omnivoice.codebook_size"],
        codebook_dim=keys["omnivoice.codebook_dim"], n_latent=tensors["fc.weight"].shape[0], n_hidden=acoustic("hidden_size"),
        n_decoder=acoustic("decoder_hidden_size"), n_encoder=acoustic("encoder_hidden_size"),
        ratios=tuple(acoustic("upsampling_ratios")), n_semantic=semantic("hidden_size"),
        n_semantic_ff=semantic("intermediate_size"), n_semantic_head=semantic("num_attention_heads"),
        n_semantic_layer=semantic("num_hidden_layers"), n_conv=semantic("conv_dim")[0],
        conv_kernel=tuple(semantic("conv_kernel")), conv_stride=tuple(semantic("conv_stride")),
        pos_kernel=semantic("num_conv_pos_embeddings"), n_pos_group=semantic("num_conv_pos_embedding_groups"))
    codec = Codec(config)
    codec.load_state_dict({name: torch.from_numpy(np.array(x)) for name, x in tensors.items()})
    return codec.eval()


def load(path, device="cpu"):
    """The Codec of a GGUF file, or of a checkpoint of train.py rounded as export would round it."""
    if str(path).endswith(".gguf"):
        return read(path).to(device)
    saved = torch.load(path, map_location="cpu")
    codec = Codec(Config(**saved["config"]))
    halves = {F16: torch.float16, BF16: torch.bfloat16, F32: torch.float32}
    codec.load_state_dict({name: x.to(halves[kind_of(name, x)]).float() for name, x in saved["average"].items()})
    return codec.eval().to(device)
