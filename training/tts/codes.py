"""Codes of a corpus at one loudness, and sound of codes, by the codec of training/codec.

    python3 codes.py encode --codec codec.gguf --corpus DIR --out codes.npy
    python3 codes.py decode --codec codec.gguf --samples run/samples

The corpus has a random level for each utterance. A speech model would have to guess it, so all are brought to the level
that the program gives a reference.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
import json
import os
from pathlib import Path
import sys
import wave

import numpy as np
import torch

CODEC = Path(__file__).resolve().parent.parent / "codec"
sys.path.insert(0, str(CODEC))
import encode as codec_encode  # noqa: E402
import gguf_file  # noqa: E402
from corpus import Corpus  # noqa: E402

RMS, LARGEST = 0.1, 0.99


def at_one_level(x):
    """int16 -> int16 with the root mean square RMS, unless that would clip."""
    wide = x.astype(np.float32)
    rms, peak = np.sqrt(np.mean(np.square(wide))), np.abs(wide).max()
    return (wide * min(RMS * 32768 / max(rms, 1), LARGEST * 32767 / max(peak, 1))).round().astype(np.int16)


class LevelCorpus(Corpus):
    def audio(self, kilohertz):
        sound = np.array(super().audio(kilohertz))
        starts, counts = (self.start24, self.n24) if kilohertz == 24 else (self.start16, self.n16)

        def level(n):
            place = slice(starts[n], starts[n] + counts[n])
            sound[place] = at_one_level(sound[place])

        with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
            list(pool.map(level, range(len(self)), chunksize=64))
        return sound


def encode(a, device):
    torch.set_num_threads(4)        # many wait for each other more than they copy
    torch.backends.cudnn.allow_tf32 = False             # near ties are decided as on other machines
    torch.set_float32_matmul_precision("highest")
    seconds = 600 if device.type == "cuda" else 30
    codes = codec_encode.encode(gguf_file.load(a.codec, device), LevelCorpus(a.corpus), device, seconds)
    with open(a.out + ".unfinished", "wb") as file:
        np.save(file, codes)
    os.replace(a.out + ".unfinished", a.out)
    print(f"{a.out}: {codes.shape[0]} x {codes.shape[1]} codes", flush=True)


def write_wav(path, sound):
    """sound: float tensor in -1..1 at 24 kHz."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(24000)
        file.writeframes((sound.cpu().numpy() * 32767).astype("<i2").tobytes())


@torch.no_grad()
def decode(a, device):
    codec, folder = gguf_file.load(a.codec, device), Path(a.samples)
    lines = (folder / "index.jsonl").read_text(encoding="utf-8").splitlines()
    for row in map(json.loads, lines):
        codes = torch.from_numpy(np.load(folder / row["file"]).astype(np.int64)).to(device)
        sound = codec.decode(codes[None]).flatten().float().clamp(-1, 1)
        write_wav(folder / Path(row["file"]).with_suffix(".wav"), sound)
    print(f"{len(lines)} WAV files in {folder}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("encode", "decode"))
    parser.add_argument("--codec", required=True, help="checkpoint.pt or a GGUF file")
    parser.add_argument("--corpus")
    parser.add_argument("--out")
    parser.add_argument("--samples", help="folder of evaluate.py or train.py with index.jsonl")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    a = parser.parse_args()
    if a.what == "encode" and not (a.corpus and a.out) or a.what == "decode" and not a.samples:
        parser.error("encode takes --corpus and --out, decode takes --samples")
    {"encode": encode, "decode": decode}[a.what](a, torch.device(a.device))


if __name__ == "__main__":
    main()
