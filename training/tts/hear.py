"""Word error rates of decoded codes: the codec makes sound of them, the recogniser listens.

    python3 hear.py --samples run/samples --codec codec.gguf --recogniser models/demo/asr [--wav]

A process of its own, since modules of the codec have names that modules here have too. SAMPLES/index.jsonl gets "heard"
in every line, SAMPLES/wer.json the rates in percent by mode, and by voice where it is a preset's.
"""

import argparse
import json
from pathlib import Path
import sys

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "codec"))
import gguf_file  # noqa: E402
from recogniser import Judge  # noqa: E402
import codes  # noqa: E402
from spoken_form import word_errors  # noqa: E402


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", required=True, help="folder of evaluate.py or train.py with index.jsonl")
    parser.add_argument("--codec", required=True)
    parser.add_argument("--recogniser", required=True, help="the asr folder of a bundle")
    parser.add_argument("--wav", action="store_true", help="keep the sound beside the codes")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    a = parser.parse_args()
    folder, device = Path(a.samples), torch.device(a.device)
    if device.type == "cpu":
        torch.set_num_threads(1)
    codec, judge = gguf_file.load(a.codec, device), Judge(a.recogniser, device)
    rows = [json.loads(line) for line in (folder / "index.jsonl").read_text(encoding="utf-8").splitlines()]
    sounds = []
    for row in rows:
        found = torch.from_numpy(np.load(folder / row["file"]).astype(np.int64)).to(device)
        sounds.append(codec.decode(found[None]).flatten().float().clamp(-1, 1))
        if a.wav:
            codes.write_wav(folder / Path(row["file"]).with_suffix(".wav"), sounds[-1])
    _, heard = judge.word_error_rate([row["text"] for row in rows], sounds)
    tally = {}
    for row, text in zip(rows, heard):
        row["heard"] = text
        wrong, words = word_errors(row["text"], text)
        by_voice = [row["voice"]] if row["mode"] != "reference" else []
        for mode in (row["mode"], *by_voice, "all"):
            sums = tally.setdefault(mode, [0, 0])
            sums[0], sums[1] = sums[0] + wrong, sums[1] + words
    rates = {mode: round(100 * wrong / max(1, words), 1) for mode, (wrong, words) in tally.items()}
    (folder / "index.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (folder / "wer.json").write_text(json.dumps(rates) + "\n", encoding="utf-8")
    print(json.dumps(rates), flush=True)


if __name__ == "__main__":
    main()
