"""The options of train.py."""

import argparse
import math
import os
import shutil

import torch


def parse_arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--corpus", required=True, nargs="+")
    parser.add_argument("--codes", required=True, nargs="+", help=".npy (8, frames) of each corpus, from codes.py")
    parser.add_argument("--held", help="corpus to score on")
    parser.add_argument("--held-codes")
    parser.add_argument("--out", required=True)
    parser.add_argument("--codec", help="its GGUF file, to hear what held-out texts sound like")
    parser.add_argument("--recogniser", help="folder of the recogniser that hears them")
    parser.add_argument("--presets", help="voices that are asked for by their words, the default one first")
    parser.add_argument("--n-codes", type=int, default=1024, help="codes of a codebook")
    for size in ("n-embd", "n-layer", "n-head", "head-dim", "n-ff"):
        parser.add_argument("--" + size, type=int, help="instead of the size for --n-codes")
    parser.add_argument("--phone-weight", type=float, default=1.0, help="of the loss of phones, at the begin")
    parser.add_argument("--phone-weight-at-end", type=float, default=0.3)
    parser.add_argument("--rows", type=int,
                        help="rows of 1024 positions a step, of each process (default: 64, 32 for three processes or more)")
    parser.add_argument("--max-seconds", type=float, default=900,
                        help="of training over all calls, which the schedule fills")
    parser.add_argument("--call-seconds", type=float, default=math.inf,
                        help="of this call, after which --resume goes on")
    parser.add_argument("--muon-lr", type=float, default=0.02)
    parser.add_argument("--adam-lr", type=float, default=0.003)
    parser.add_argument("--dropout", type=float, default=0.05, help="of what attention and MLPs add")
    parser.add_argument("--warmup", type=int, default=200)
    parser.add_argument("--decay", type=float, default=0.4, help="share of the run in which the learning rate falls")
    parser.add_argument("--average", type=float, default=0.999,
                        help="decay of the average of the weights, which is exported")
    parser.add_argument("--workers", type=int, default=min(8, max(0, (os.cpu_count() or 2) - 2)),
                        help="processes that draw batches")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--score-every", type=float, default=60)
    parser.add_argument("--hear-every", type=float, default=150)
    parser.add_argument("--hear-device", help="where it hears (default: where it trains)")
    parser.add_argument("--save-every", type=float, default=90)
    parser.add_argument("--samples", type=int, default=75,
                        help="held-out texts to write codes of at the end; a third more are cloned")
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--start-from", help="checkpoint.pt or base.gguf of another run whose weights to begin with")
    parser.add_argument("--new-codes", action="store_true",
                        help="that run had another codec: its tables of codes are left")
    parser.add_argument("--no-compile", action="store_true")
    parser.add_argument("--no-graphs", action="store_true", help="do not record steps as CUDA graphs")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    if not shutil.which(os.environ.get("CC", "").split(" ")[0]):
        os.environ.pop("CC", None)      # kernels are compiled with it; with a value of another meaning they are not
    return arguments
