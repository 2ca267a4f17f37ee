"""Speaks random sentences of the assistant's world: the corpus that the speech models learn from.

    python3 training/speech/generate.py --out /tmp/corpus/train --hours 20 --seed 1 --workers 16
    python3 training/speech/generate.py --list questions.tsv --out DIR      (lines "voice <tab> text" -> 0000.wav ...)

Every worker draws from its own random numbers, so a corpus depends on --seed and --workers alone.
"""

import argparse
import json
import math
import multiprocessing as mp
from pathlib import Path
import random
import sys
import time
import wave
import zlib

import numpy as np

from corpus import AUDIO_16K, AUDIO_24K, INDEX, PHONE_NAMES, PHONES, SAMPLES_PER_FRAME_24K
import duration
import engines
from hesitant import hesitant
import phones
from resample import resample
import sentences
import voices

MIN_S, MAX_S = 0.5, 10.0
SILENCE_S = (0.1, 0.4)     # before and behind the speech where the edges are random
MOST_PARTS = 32     # of all texts: with more, finding one's own takes longer
FRAMES_BEFORE, FRAMES_BEHIND = 2, 3     # where they are constant
LEVEL, LARGEST = 0.1, 0.99      # root mean square of an utterance whose edges are constant, unless that would clip


RATES = {"16": (AUDIO_16K,), "24": (AUDIO_24K,), "both": (AUDIO_24K, AUDIO_16K)}


def draw_pace(rng: random.Random, wide_share: float = 0.5) -> float:
    """Near the pace that synthesis asks for, or anywhere in the range that listening must bear."""
    return rng.uniform(0.8, 1.25) if rng.random() < wide_share else min(max(rng.gauss(1.0, 0.04), 0.8), 1.25)


def random_edges(rng: random.Random):
    """Seconds of silence before and behind."""
    low, high = SILENCE_S
    return [low + (high - low) * rng.random() ** 2 for _ in range(2)]


def utterance(rng: random.Random, text: str, voice: str, pace: float, constant: bool = False):
    """(float32 at 24 kHz with silence around the speech, uint8 phones), or None where synthesis failed.

    With constant edges the first loud 10 ms begin at the end of the second frame, the level is the same everywhere, and
    the sound depends on the text, the voice and the pace alone, but for what espeak-ng's voices flutter.
    """
    frame = SAMPLES_PER_FRAME_24K
    before, behind = (n * frame / 24000 for n in (FRAMES_BEFORE, FRAMES_BEHIND)) if constant else random_edges(rng)
    speech = voices.synthesise(text, voice, pace, before + behind)
    x, rate = speech.samples, speech.rate
    if len(x) < 0.1 * rate or not np.isfinite(x).all() or np.abs(x).max() < 0.01:
        return None
    x = resample(x, rate, 24000)
    if not MIN_S <= len(x) / 24000 + before + behind <= MAX_S:
        return None
    n_before = int(before * 24000) - (round(speech.lead * 24000 / rate) if constant else 0)
    n = math.ceil((n_before + len(x) + int(behind * 24000)) / frame) * frame
    if constant:
        rms = np.sqrt(np.square(x, dtype=np.float64).sum() / n)
        x *= min(LEVEL / rms, LARGEST / np.abs(x).max())
    else:
        x *= 10 ** (rng.uniform(-12, -1) / 20) / np.abs(x).max()
    x24 = np.zeros(n, np.float32)
    x24[n_before:n_before + len(x)] = x
    middles = np.arange(0.5, n // phones.SAMPLES_PER_PHONE_24K) * phones.SAMPLES_PER_PHONE_24K
    track = phones.track(speech.phones, speech.phone_ends, (middles - n_before) * rate / 24000)
    track[middles >= n_before + len(x)] = phones.SILENCE
    return x24, track


def sample_values(x: np.ndarray) -> np.ndarray:
    return (np.clip(x, -1, 1) * 32767).round().astype("<i2")


def work(worker: int, options, out: Path, done, failed, barrier):
    """Speaks this worker's share in memory, learns from the others' totals where it goes, and writes it there."""
    rng = random.Random(f"{options.seed}/{options.split}/{options.voices}/{worker}/{options.workers}")
    names, weights = voices.choices(options.voices)
    budget = int(options.hours * 3600 * 24000 / options.workers)
    rows, sounds = [], {name: bytearray() for name in (*RATES[options.rates], PHONES)}
    seen, n_parts = set(), min(options.workers, MOST_PARTS)

    def is_new(text):
        """A worker keeps to its part of all texts, and to what it has not said: none need know what others said."""
        if zlib.crc32(text.encode()) % n_parts != worker % n_parts or text in seen:
            return False
        seen.add(text)
        return True

    is_new = is_new if options.mix != "assistant" else None
    while done[worker] < budget:
        text = said = sentences.sentence(rng, options.split, options.mix, is_new)
        if options.hesitant and rng.random() < options.hesitant:
            text, said = hesitant(rng, text)
        voice, pace = rng.choices(names, weights)[0], draw_pace(rng, options.wide_pace)
        spoken = utterance(rng, said, voice, pace, options.edges == "constant")
        if spoken is None:
            failed[worker] += 1
            continue
        x24, track = spoken
        n24, n16 = len(x24), len(x24) * 2 // 3
        real_pace = round(n24 / SAMPLES_PER_FRAME_24K / int(duration.frames(text)), 3)
        rows.append({"start24": done[worker], "n24": n24, "start16": done[worker] * 2 // 3, "n16": n16, "text": text,
                     "voice": voice, "pace": real_pace})
        for name in RATES[options.rates]:
            sounds[name] += sample_values(resample(x24, 24000, 24000 if name == AUDIO_24K else 16000)).tobytes()
        sounds[PHONES] += track.tobytes()
        done[worker] += n24
    barrier.wait()
    start = sum(done[:worker])   # samples at 24 kHz that lie before this worker's
    places = {AUDIO_24K: start * 2, AUDIO_16K: start * 2 // 3 * 2, PHONES: start // phones.SAMPLES_PER_PHONE_24K}
    for name, sound in sounds.items():
        with open(out / name, "r+b") as file:
            file.seek(places[name])
            file.write(sound)
    with open(out / f"index.{worker}", "w", encoding="utf-8") as file:
        for row in rows:
            row["start24"] += start
            row["start16"] += start * 2 // 3
            file.write(json.dumps(row) + "\n")


def generate(options) -> int:
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    for name in (*RATES[options.rates], PHONES):
        (out / name).write_bytes(b"")
    (out / PHONE_NAMES).write_text(json.dumps(phones.PHONES), encoding="utf-8")
    context = mp.get_context("fork")
    done, failed = context.Array("q", options.workers, lock=False), context.Array("q", options.workers, lock=False)
    barrier = context.Barrier(options.workers)
    workers = [context.Process(target=work, args=(n, options, out, done, failed, barrier))
               for n in range(options.workers)]
    start = shown = time.time()
    for process in workers:
        process.start()
    while any(process.is_alive() for process in workers):
        time.sleep(0.2)
        if any(process.exitcode not in (None, 0) for process in workers):
            for process in workers:
                process.terminate()
            print("generate: a worker failed", file=sys.stderr)
            return 1
        if time.time() - shown > 5:
            shown = time.time()
            print(f"{shown - start:6.1f} s  {sum(done) / 24000 / 3600:7.3f} of {options.hours} h", flush=True)
    if any(process.exitcode for process in workers):
        print("generate: a worker failed", file=sys.stderr)
        return 1
    parts = [out / f"index.{n}" for n in range(options.workers)]
    (out / INDEX).write_bytes(b"".join(part.read_bytes() for part in parts))
    for part in parts:
        part.unlink()
    n = sum(1 for _ in open(out / INDEX, encoding="utf-8"))
    hours, wall = sum(done) / 24000 / 3600, time.time() - start
    print(f"{out}: {n} utterances, {hours:.3f} h in {wall:.1f} s ({hours * 3600 / wall:.0f} times real time), "
          f"{sum(failed)} skipped, seed {options.seed}", flush=True)
    return 0


def speak_list(options) -> int:
    """WAV files of given texts: one line "voice <tab> text" each, 24 kHz."""
    out, rng = Path(options.out), random.Random(options.seed)
    out.mkdir(parents=True, exist_ok=True)
    for n, line in enumerate(Path(options.list).read_text(encoding="utf-8").splitlines()):
        voice, _, text = line.partition("\t")
        spoken = utterance(rng, text, voice, 1.0)
        if spoken is None:
            print(f"{options.list}: line {n + 1} could not be spoken: {line}", file=sys.stderr)
            return 1
        with wave.open(str(out / f"{n:04d}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(options.rate)
            file.writeframes(sample_values(resample(spoken[0], 24000, options.rate)).tobytes())
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--hours", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=mp.cpu_count())
    parser.add_argument("--split", choices=("train", "held"), default="train")
    parser.add_argument("--voices", choices=("seen", "unseen", "all", "presets", "tts"), default="seen")
    parser.add_argument("--mix", choices=tuple(sentences.MIXES), default="assistant")
    parser.add_argument("--rates", choices=tuple(RATES), default="both", help="kilohertz of the sound that is kept")
    parser.add_argument("--wide-pace", type=float, default=0.5, help="share of utterances at any pace of 0.8 to 1.25")
    parser.add_argument("--hesitant", type=float, default=0.0, help="share of sentences with a filler, or only begun")
    parser.add_argument("--edges", choices=("random", "constant"), default="random",
                        help="constant: the same silence and level everywhere, for speech synthesis")
    parser.add_argument("--list", help='speak this file\'s lines, "voice <tab> text", into WAV files instead')
    parser.add_argument("--rate", type=int, choices=(24000, 16000), default=24000, help="of --list's files")
    options = parser.parse_args()
    try:
        return speak_list(options) if options.list else generate(options)
    except engines.Absent as absent:
        print(f"generate: {absent}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
