"""Writes a trained recogniser as the two files of a Qwen3-ASR bundle.

    python3 export.py --checkpoint run/checkpoint.pt --out bundle/asr
    python3 export.py --checkpoint run/checkpoint.pt --f16 --out asr-f16
"""

import argparse
from pathlib import Path

import numpy as np
import torch

import shared_path  # noqa: F401
from gguf import ALIGNMENT, BOOL, F16, F32, FLOAT32, I32, Q5_0, Q6_K, STRING, U32, read_file, write_file
from gguf_file import metadata
from mel import N_MEL
from network import Config, Recogniser
from tokenizer import Tokenizer

TEXT_NAME, ENCODER_NAME = "eliza-1-asr.gguf", "eliza-1-asr-mmproj.gguf"
MAX_SECONDS = 12        # what is longer is heard in pieces: training has few utterances of that length
DESCRIPTION = "Small English speech recogniser trained on synthetic speech, for demonstrations and tests of Parlance."
RENAMED = [("mlp.", "mm.a.mlp."), ("conv2d.", "a.conv2d."), ("conv_out.", "a.conv_out."), ("blk.", "a.blk."),
           ("post_ln.", "a.post_ln.")]


def encoder_metadata(c):
    return [
        ("general.architecture", STRING, "clip"), ("general.type", STRING, "mmproj"),
        ("general.name", STRING, "Parlance demo recogniser, encoder"), ("general.description", STRING, DESCRIPTION),
        ("general.file_type", U32, 18), ("general.quantization_version", U32, 2), ("general.alignment", U32, ALIGNMENT),
        ("clip.has_audio_encoder", BOOL, True), ("clip.audio.projector_type", STRING, "qwen3a"),
        ("clip.audio.projection_dim", U32, c.n_out), ("clip.audio.embedding_length", U32, c.n_embd),
        ("clip.audio.feed_forward_length", U32, c.n_ff), ("clip.audio.block_count", U32, c.n_layer),
        ("clip.audio.attention.head_count", U32, c.n_head), ("clip.audio.num_mel_bins", U32, N_MEL),
        ("clip.audio.attention.layer_norm_epsilon", FLOAT32, c.norm_eps),
    ]


def text_metadata(c):
    """The demo text model's keys under the other architecture's name, and the sections of its rotary positions."""
    pairs = [(key.replace("qwen3.", "qwen3vl."), kind, value) for key, kind, value in metadata(c, Tokenizer(), 8)
             if key not in ("general.architecture", "general.name", "general.description", "qwen3.vocab_size")]
    half = c.head_dim // 2
    sections = [half - 2 * (half * 5 // 16), half * 5 // 16, half * 5 // 16, 0]     # 24, 20, 20, 0 of 64 pairs
    return [("general.architecture", STRING, "qwen3vl"), ("general.name", STRING, "Parlance demo recogniser"),
            ("general.description", STRING, DESCRIPTION), ("parlance.max_seconds", U32, MAX_SECONDS)] + pairs + [
        ("qwen3vl.rope.dimension_sections", (I32,), sections), ("qwen3vl.n_deepstack_layers", U32, 0)]


def encoder_name(name):
    for ours, theirs in RENAMED:
        if name.startswith(ours):
            return theirs + name[len(ours):]
    raise ValueError(f"no name for {name}")


def kind_of(name, x, kind):
    if name.startswith("a.conv2d") and x.ndim == 4:
        return F16
    if x.ndim != 2 or name == "a.position_embd.weight":
        return F32
    return Q5_0 if kind == Q6_K and x.shape[1] % 256 else kind


def write(folder, model, kinds=(Q6_K, Q5_0)):
    """Writes both files, matrices of the encoder and of the decoder in `kinds`; returns their sizes in bytes."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    array = lambda x: np.ascontiguousarray(x.detach().float().cpu().numpy())
    shaped = lambda name, x: x.reshape(-1, 1, 1) if name.startswith("conv2d") and name.endswith(".bias") else x
    encoder = [(encoder_name(name), shaped(name, array(x))) for name, x in model.encoder.named_parameters()]
    encoder.append(("a.position_embd.weight", array(model.encoder.position)))
    text = [(name, array(x)) for name, x in model.decoder.named_parameters()]
    for file_name, pairs, tensors, kind in ((ENCODER_NAME, encoder_metadata(model.config.encoder), encoder, kinds[0]),
                                            (TEXT_NAME, text_metadata(model.config.decoder), text, kinds[1])):
        write_file(folder / (file_name + ".part"), pairs, [(name, x, kind_of(name, x, kind)) for name, x in tensors])
        (folder / (file_name + ".part")).replace(folder / file_name)
    return {name: (folder / name).stat().st_size for name in (TEXT_NAME, ENCODER_NAME)}


def load_shipped(folder, model):
    """Gives the model the weights of the files, as rounded there, so that what is scored is what is shipped.

    A model with more layers, or wider ones, answers as the smaller one of the files does: what is new adds nothing yet.
    """
    with torch.no_grad():
        for file, part, name_of in ((ENCODER_NAME, model.encoder, encoder_name), (TEXT_NAME, model.decoder, lambda name: name)):
            weights = read_file(Path(folder) / file)[1]
            for name, x in part.named_parameters():
                weight = weights.get(name_of(name))
                if weight is None:
                    if "attn_out" in name or "ffn_down" in name:
                        x.zero_()
                    continue
                weight = torch.from_numpy(weight.copy())
                if weight.numel() == x.numel():
                    x.copy_(weight.view(x.shape))
                    continue
                if name.endswith("ffn_down.weight"):
                    x.zero_()
                x[tuple(map(slice, weight.shape))] = weight.to(x.device)


def load_checkpoint(path, device="cpu"):
    """The model of a checkpoint that train.py made, or a fresh one."""
    if path is None:
        return Recogniser(Config())
    state = torch.load(path, map_location=device, weights_only=False)
    model = Recogniser(state["config"]).to(device)
    model.load_state_dict(state["model"])
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", help="of train.py; without one a model of random weights is written")
    parser.add_argument("--out", required=True, help="folder for the two files")
    parser.add_argument("--f16", action="store_true", help="matrices in F16, to go on from or to be averaged")
    a = parser.parse_args()
    sizes = write(a.out, load_checkpoint(a.checkpoint), *([(F16, F16)] if a.f16 else []))
    print(*(f"{name} {size} bytes" for name, size in sizes.items()), f"together {sum(sizes.values())} bytes", sep="\n")


if __name__ == "__main__":
    main()
