"""Writes the base GGUF file of a checkpoint of train.py, or of random weights for tests of the program.

    python3 export.py --checkpoint run/checkpoint.pt --out base.gguf
    python3 export.py --random --n-codes 64 --out base.gguf
"""

import argparse
import os

import torch

import base_file
from prompt import vocabulary
from speech_lm import Config, SpeechLm, config_for


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint")
    parser.add_argument("--random", action="store_true", help="random weights instead of a checkpoint's")
    parser.add_argument("--n-codes", type=int, default=1024, help="codes of a codebook, with --random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", required=True)
    parser.add_argument("--type", default="q8_0", choices=base_file.FILE_TYPES)
    parser.add_argument("--heads-type", choices=base_file.FILE_TYPES, help="of audio_heads, if not --type")
    a = parser.parse_args()
    if a.random == bool(a.checkpoint):
        parser.error("give --checkpoint or --random")
    if a.random:
        torch.manual_seed(a.seed)
        model = SpeechLm(config_for(a.n_codes, len(vocabulary(a.n_codes + 1))))
        config, weights = model.config, base_file.weights_of(model)
    else:
        saved = torch.load(a.checkpoint, map_location="cpu")
        config = Config(**saved["config"])
        weights = {name: x.float().numpy() for name, x in saved["average"].items() if base_file.is_shipped(name)}
    base_file.write(a.out, config, weights, a.type, a.heads_type)
    n_parameters = sum(x.size for x in weights.values())
    print(f"{a.out}: {n_parameters} parameters, {os.path.getsize(a.out)} bytes")


if __name__ == "__main__":
    main()
