"""The voices that speak the corpus: which synthesizer, how it is set, and how OmniVoice's words describe it.

A voice is a synthesizer's own voice, perhaps played faster or slower (`shift`): that moves pitch and formants together,
like another throat; the synthesizer is asked for slower or faster speech in turn, so the pace stays. "unseen" voices
speak in no training corpus.
"""

from dataclasses import dataclass, replace
import functools
import re

import numpy as np

import duration
import engines
from spoken_form import to_say

SEEN, UNSEEN = "seen", "unseen"
STRETCH_LIMITS = (0.7, 1.4)       # of the natural length; beyond, words are slurred or fall apart
TOLERANCE = 0.1                   # of the wanted length, before a second try
MARGIN_S = 0.02                   # kept around the speech when silence is cut off
# The demo's voice presets: clearly different voices, each identified by its attribute words.
PRESET_NAMES = ("slt", "slt-bright", "rms", "rms-deep", "awb", "awb-bright")
_CALIBRATION = "The opposite of early is late, and the garden is near the old station."
_RESPELLED = {   # what a synthesizer would spell out or misread
    "ljubljana": "loobly ahna", "rwanda": "roo anda", "tchaikovsky": "chy koff skee", "baht": "bot", "goethe": "gurta",
    "kyiv": "keev", "reykjavik": "rake ya vick", "windhoek": "vint hook", "picchu": "peechoo", "krone": "krohna",
    "zloty": "zlotty"}
_RESPELLED_WORD = re.compile(r"\b(" + "|".join(_RESPELLED) + r")\b", re.I)
_VOWELS = re.compile("[aeiouy]+", re.I)
_LETTER_LIST = re.compile(r"\b([A-Z]), (?=[A-Z]\b)")


@dataclass(frozen=True)
class Voice:
    name: str
    engine: str            # "flite", "festival" or "espeak"
    base: str              # the synthesizer's name for it
    shift: float = 1.0     # played this much faster
    settings: tuple = ()   # further arguments of the engine, as pairs
    attributes: str = ""   # OmniVoice's attribute words
    split: str = SEEN
    weight: float = 1.0    # how often it speaks, among the voices of its engine


def _flite():
    """Three recorded speakers, each with other throats and pitches; kal16 is kept unseen."""
    people = {"slt": ("female", 168, "american"), "rms": ("male", 102, "american"), "awb": ("male", 127, "british")}
    shifts = {"deep": 0.86, "low": 0.91, "lower": 0.95, "": 1.0, "higher": 1.05, "high": 1.1, "bright": 1.16}
    for base, (gender, f0, accent) in people.items():
        for label, shift in shifts.items():
            name = base + ("-" + label if label else "")
            pitch = {"deep": "very low", "low": "low", "high": "high", "bright": "very high"}.get(label, "moderate")
            age = {"deep": "elderly", "low": "middle-aged", "bright": "teenager"}.get(label, "young adult")
            yield Voice(name, "flite", base, shift, (), f"{gender}, {age}, {pitch} pitch, {accent} accent",
                        weight=4.0 if name in PRESET_NAMES else 1.0)
        if base != "rms":   # flite cannot move the pitch of rms
            for label, factor, spread in (("calm", 0.9, 10.0), ("lively", 1.1, 32.0), ("flat", 1.0, 5.0)):
                settings = (("f0", round(f0 * factor, 1)), ("f0_range", spread))
                yield Voice(f"{base}-{label}", "flite", base, 1.0, settings,
                            f"{gender}, young adult, moderate pitch, {accent} accent")
    yield Voice("kal", "flite", "kal16", 1.0, (), "male, young adult, moderate pitch, american accent", UNSEEN)
    yield Voice("kal-low", "flite", "kal16", 0.93, (), "male, middle-aged, low pitch, american accent", UNSEEN)
    yield Voice("kal-high", "flite", "kal16", 1.14, (("f0", 140.0),), "male, teenager, high pitch, american accent",
                UNSEEN)


def _festival():
    """A fourth recorded speaker, of the technique that kal16 has, and a voice of a technique that no other has."""
    shifts = {"deep": 0.86, "low": 0.91, "lower": 0.95, "": 1.0, "higher": 1.05, "high": 1.1, "bright": 1.16}
    for label, shift in shifts.items():
        for melody, f0, spread in (("", 105.0, 14.0), ("-flat", 100.0, 4.0), ("-lively", 120.0, 28.0)):
            name = "-".join(part for part in ("ked", label) if part) + melody
            yield Voice(name, "festival", "ked_diphone", shift, (("f0", f0), ("f0_range", spread)),
                        weight=1.9 if shift == 1 else 1.3)
    # The same person as flite's slt, by statistics instead of recorded pieces: another sound altogether.
    yield Voice("slt-hts", "festival", "cmu_us_slt_arctic_hts", split=UNSEEN, weight=3.0)


_ACCENTS = {"us": "en-us", "gb": "en", "rp": "en-gb-x-rp", "scotland": "en-gb-scotland", "caribbean": "en-029",
            "nyc": "en-us-nyc", "lancaster": "en-gb-x-gbclan"}
_SEEN_VARIANTS = """us: m1 m3 f1 f5 Andy Mike boris linda klatt2 grandma victor Alicia Andrea Denis adam anika benjamin
caleb david klatt paul steph travis rob|
gb: m3 m7 f2 f5 Alex belinda norbert aunty robert Diogo Henrique Hugo Jacky Marco announcer antonio gustave grandpa klatt3
max michel Mario steph2|rp: m1 m5 f1 linda john pablo Annie Michael Nguyen Storm edward2 iven marcelo pedro zac|
scotland: m4 m7 f2 Mike belinda Gene2 iven2 klatt6 m8|
caribbean: m1 m5 f1 boris aunty david iven3 sandro|nyc: m3 m4 f2 Alex shelby RicishayMax caleb klatt5 miguel steph3 quincy"""
_UNSEEN_VARIANTS = "us: m2 f3 klatt4 Lee|gb: m6 f4 ed|rp: kaukovalta|scotland: f3|lancaster: m1 f2 m6"
_FEMALE = frozenset("""f1 f2 f3 f4 f5 linda grandma belinda aunty Annie shelby Alicia Andrea anika steph steph2 steph3
""".split())
_OLD = frozenset("grandma grandpa aunty klatt2 paul".split())


def _espeak():
    for split, table in ((SEEN, _SEEN_VARIANTS), (UNSEEN, _UNSEEN_VARIANTS)):
        for row in table.replace("\n", "").split("|"):
            accent, _, variants = row.partition(": ")
            for n, variant in enumerate(variants.split()):
                words = ["female" if variant in _FEMALE else "male", "elderly" if variant in _OLD else "middle-aged"]
                words += ["high pitch" if variant in ("linda", "belinda", "Annie", "f5") else "moderate pitch"]
                if accent != "caribbean":
                    words.append("american accent" if accent in ("us", "nyc") else "british accent")
                settings = (("pitch", (50, 42, 58)[n % 3]), ("pitch_range", (50, 60, 40)[n % 3]))
                name = f"{accent}-{variant.lower()}"
                yield Voice(name, "espeak", f"{_ACCENTS[accent]}+{variant}", 1.0, settings, ", ".join(words), split,
                            5.0 if name in PRESET_NAMES else 1.0)


def _table():
    """A preset's words belong to it alone: other voices which they would describe too have none."""
    voices = [*_flite(), *_festival(), *_espeak()]
    taken = {voice.attributes for voice in voices if voice.name in PRESET_NAMES}
    is_free = lambda voice: voice.name in PRESET_NAMES or voice.attributes not in taken
    return {voice.name: voice if is_free(voice) else replace(voice, attributes="") for voice in voices}


VOICES = _table()
PRESETS = {name: VOICES[name].attributes for name in PRESET_NAMES}


TTS_PRESET_SHARE = 0.8
# espeak-ng's voices flutter, which cannot be learnt from a text: they speak for the recogniser and the codec alone.
TTS_OTHERS = """slt-low slt-lower slt-higher slt-high slt-calm slt-lively rms-low rms-lower rms-higher rms-high rms-bright
awb-deep awb-low awb-lower awb-higher awb-high awb-calm awb-lively""".split()


def choices(split: str):
    """(names, weights) for drawing voices. split: "seen", "unseen" or "all", where espeak-ng has half of the weight;
    "presets"; or "tts": the presets, and some of the voices with the least chance in them."""
    if split == "presets":
        return list(PRESET_NAMES), [1 / len(PRESET_NAMES)] * len(PRESET_NAMES)
    if split == "tts":
        shares = ((PRESET_NAMES, TTS_PRESET_SHARE), (TTS_OTHERS, 1 - TTS_PRESET_SHARE))
        return [*PRESET_NAMES, *TTS_OTHERS], [share / len(names) for names, share in shares for _ in names]
    voices = [voice for voice in VOICES.values() if split in (voice.split, "all")]
    totals = {made: sum(v.weight for v in voices if (v.engine == "espeak") == made) for made in (True, False)}
    return [v.name for v in voices], [v.weight / totals[v.engine == "espeak"] for v in voices]


@dataclass
class Speech:
    """What a voice said, without the silence around it."""
    samples: np.ndarray     # float32 in -1..1
    rate: int
    lead: int               # samples before the first loud one
    phones: list            # numbers, see phones.py
    phone_ends: np.ndarray  # in samples


def _say(text: str, voice: Voice, stretch: float) -> Speech:
    sound = engines.engine(voice.engine).say(text, voice.base, stretch, **dict(voice.settings))
    x = sound.samples.astype(np.float32) / 32768
    first, last = loud_part(x, sound.rate)
    margin = int(MARGIN_S * sound.rate)
    start = max(first - margin, 0)
    return Speech(x[start:last + margin if last else 0], sound.rate, first - start, sound.phones,
                  sound.phone_ends - start)


def loud_part(x: np.ndarray, rate: int):
    """(first, end) sample: what is around it is 42 dB below the loudest 10 ms, or silent."""
    n = rate // 100
    level = np.sqrt(np.square(x[:len(x) // n * n].reshape(-1, n)).mean(1)) if len(x) >= n else np.zeros(0)
    loud = np.flatnonzero(level > max(level.max(initial=0.0) * 0.008, 1e-4))
    return (loud[0] * n, (loud[-1] + 1) * n) if len(loud) else (0, 0)


def _load(said: str) -> float:
    """Natural length grows with this: letters, syllables, and pauses at punctuation; letters read by name are
    syllables; the last word is drawn out. It was fitted to all voices."""
    names = sum(1 for word in said.split() if len(word.strip(",.?!:;")) == 1 and word[0].isupper() and word[0] != "I")
    pauses = sum(said[:-1].count(c) for c in ",.?!:;")
    return 5 + duration.weight(said) + 0.5 * len(_VOWELS.findall(said)) + 2.5 * pauses + 2.5 * names


@functools.lru_cache(None)
def _natural_speed(engine: str, base: str) -> float:
    """Seconds that a unit of load takes a synthesizer's voice at its own pace."""
    speech = _say(_CALIBRATION, Voice("", engine, base), 1.0)
    return len(speech.samples) / speech.rate / _load(_CALIBRATION)


def synthesise(text: str, voice: str, pace: float = 1.0, silence_s: float = 0.0) -> Speech:
    """Mono speech without silence around it.

    With silence_s of silence added, the utterance lasts `pace` times OmniVoice's estimate where the voice can do that.
    """
    voice = VOICES[voice]
    said = _RESPELLED_WORD.sub(lambda match: _RESPELLED[match[0].lower()], _LETTER_LIST.sub(r"\1 ", to_say(text)))
    estimate = duration.seconds(text) * pace
    target = max(estimate - silence_s, 0.6 * estimate) * voice.shift   # as long as it must be before the shift
    natural = _natural_speed(voice.engine, voice.base) * _load(said)
    stretch = float(np.clip(target / natural, *STRETCH_LIMITS))
    speech = _say(said, voice, stretch)
    seconds = len(speech.samples) / speech.rate
    if seconds and abs(seconds / target - 1) > TOLERANCE:
        better = float(np.clip(stretch * target / seconds, *STRETCH_LIMITS))
        if abs(better / stretch - 1) > 0.05:
            speech = _say(said, voice, better)
    if voice.shift != 1:
        speech.rate = round(speech.rate * voice.shift / 150) * 150
    return speech
