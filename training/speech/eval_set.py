"""What the demo's speech models are measured with: models/demo-eval/speech, voices and texts.jsonl, from corpora of held-out
sentences.

    python3 generate.py --out SEEN --hours 0.1 --seed 7 --split held --voices seen
    python3 generate.py --out UNSEEN --hours 0.1 --seed 8 --split held --voices unseen
    python3 eval_set.py --seen SEEN --unseen UNSEEN --out ../../models/demo-eval

speech/ has FLAC of 16 kHz (the program flac writes it): sentences in seen and unseen voices, sentences in seen voices with
noises 10 dB below them, and recordings in which nobody speaks; no training has those noises. texts.jsonl has other sentences,
each for a voice of the demo, or to be spoken like a recording in voices/: three seconds at 24 kHz, of sentences held out, too.
"""

import argparse
import json
from pathlib import Path
import random

import numpy as np
import torch

import augment
from corpus import Corpus
from flac import write_flac
import generate
import sentences
import voices

RATE, VOICE_RATE = 16000, 24000
CLONED = (*voices.PRESETS, "slt-low", "slt-high", "rms-low", "awb-deep")
REFERENCE_S = (2.6, 3.4)
NOISES = [kind for kind in augment.UNSEEN_NOISES if kind != "babble"]     # nobody speaks in these


def sound_of(corpus, n):
    return corpus.audio(16)[corpus.start16[n]:corpus.start16[n] + corpus.n16[n]].astype(np.float32) / 32768


def recordings(seen, unseen, each, seed):
    """Yields (group, text, sound)."""
    noise = augment.Noise(RATE, torch.Generator().manual_seed(seed))
    for n in range(each):
        yield "seen", seen.text[n], sound_of(seen, n)
    for n in range(each):
        yield "unseen", unseen.text[n], sound_of(unseen, n)
    for n in range(each):
        speech = torch.from_numpy(sound_of(seen, n))[None]
        mixed = augment.mix(speech, noise.draw(NOISES[n % len(NOISES)], 1, speech.shape[1]), torch.tensor([10.0]), RATE)[0]
        yield "seen 10 dB", seen.text[n], (mixed / max(1.0, float(mixed.abs().max()))).numpy()
    for n in range(each // 3):
        sound = noise.draw(NOISES[n % len(NOISES)], 1, 2 * RATE)[0]
        yield "no speech", "", (sound / sound.abs().max() * 10 ** (-0.5 - 1.5 * n * 3 / each)).numpy()


def reference(voice, rng):
    """(text, sound) of about three seconds."""
    while True:
        text = sentences.sentence(rng, "held", "tts")
        spoken = generate.utterance(rng, text, voice, 1.0, constant=True)
        if spoken and REFERENCE_S[0] <= len(spoken[0]) / VOICE_RATE <= REFERENCE_S[1]:
            return text, spoken[0]


def texts_to_speak(texts, n_cloned, folder, seed):
    """Lines of texts.jsonl: the voices of the demo in turn, then like recordings, which are written into the folder."""
    rng, names, said = random.Random(seed), list(voices.PRESETS), {}
    folder.mkdir(parents=True, exist_ok=True)
    for voice in CLONED:
        said[voice], sound = reference(voice, rng)
        write_flac(folder / f"{voice}.flac", sound, VOICE_RATE)
    for n, text in enumerate(texts):
        is_cloned = n >= len(texts) - n_cloned
        voice = (CLONED if is_cloned else names)[n % len(CLONED if is_cloned else names)]
        recording = f"{folder.name}/{voice}.flac"
        yield ({"text": text, "ref": recording, "ref_text": said[voice], "group": "cloned"} if is_cloned else
               {"text": text, "voice": voice, "compare": recording, "group": voice})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seen", required=True)
    parser.add_argument("--unseen", required=True)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--each", type=int, default=40, help="recordings of each kind")
    parser.add_argument("--texts", type=int, default=90, help="to speak")
    parser.add_argument("--cloned", type=int, default=30, help="of these, like recordings")
    parser.add_argument("--seed", type=int, default=3)
    a = parser.parse_args()
    seen, unseen, folder = Corpus(a.seen), Corpus(a.unseen), a.out / "speech"
    if len(seen) < a.each + a.texts or len(unseen) < a.each:
        parser.error(f"{len(seen)} and {len(unseen)} sentences are too few; make longer corpora")
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "index.jsonl", "w", encoding="utf-8") as index:
        for number, (group, text, sound) in enumerate(recordings(seen, unseen, a.each, a.seed)):
            write_flac(folder / f"{number:03}.flac", sound)
            index.write(json.dumps({"audio": f"{number:03}.flac", "text": text, "group": group}) + "\n")
    texts = seen.text[a.each:a.each + a.texts]
    with open(a.out / "texts.jsonl", "w", encoding="utf-8") as file:
        for line in texts_to_speak(texts, a.cloned, a.out / "voices", a.seed):
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
