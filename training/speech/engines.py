"""The synthesizers behind one call each: flite and espeak-ng, loaded as shared libraries, and festival, a child process.

A process holds one of each. flite and festival make the same sound of the same call whatever they said before;
espeak-ng's flutter and echo go on from one call to the next. The libraries are found by name (LD_LIBRARY_PATH or the
system), espeak-ng's data by ESPEAK_DATA_PATH or the system, festival by PATH and its data by FESTIVAL_DATA_PATH or
the system.
"""

import ctypes
from dataclasses import dataclass
import functools
import os
from pathlib import Path
import re
import shutil
import subprocess
import tempfile
import wave

import numpy as np

import phones

ESPEAK_WORDS_A_MINUTE = 175           # what a stretch of 1 means
_SYNCHRONOUS, _UTF8, _RATE, _PITCH, _RANGE = 2, 1, 1, 3, 4
_WITH_PHONES, _PHONE_EVENT = 1, 7
_FLITE_LETTERS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", """ay bee see dee ee eff jee aitch eye jay kay ell em en oh pea
cue are ess tee you vee double-you ex why zee""".split()))
_ESPEAK_LETTERS = {"A": "eigh"}       # it takes a lone A for the article
_LETTER = re.compile(r"(?<![A-Za-z'])[A-HJ-Z](?![A-Za-z'])")


class Absent(RuntimeError):
    """A synthesizer that this machine does not have."""


def _library(name: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(name)
    except OSError as error:
        raise Absent(f"{name} is not installed: {error}") from error


@functools.lru_cache(None)
def _libc():
    return ctypes.CDLL(None)


@dataclass
class Sound:
    """What a synthesizer said. Phone n lasts until the sample phone_ends[n]."""
    samples: np.ndarray     # int16
    rate: int
    phones: list            # numbers, see phones.py
    phone_ends: np.ndarray


class _Wave(ctypes.Structure):
    _fields_ = [("type", ctypes.c_char_p), ("sample_rate", ctypes.c_int), ("num_samples", ctypes.c_int),
                ("num_channels", ctypes.c_int), ("samples", ctypes.POINTER(ctypes.c_int16))]


class _Voice(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("features", ctypes.c_void_p)]


class _EventValue(ctypes.Union):
    _fields_ = [("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8)]


class _Event(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("identifier", ctypes.c_uint), ("text_position", ctypes.c_int),
                ("length", ctypes.c_int), ("milliseconds", ctypes.c_int), ("sample", ctypes.c_int),
                ("user_data", ctypes.c_void_p), ("value", _EventValue)]


# Functions of flite with what they return and take: an utterance, a relation and an item are opaque.
_POINTER, _STRING = ctypes.c_void_p, ctypes.c_char_p
_FLITE = {
    "flite_synth_text": (_POINTER, [_STRING, _POINTER]), "utt_wave": (ctypes.POINTER(_Wave), [_POINTER]),
    "utt_relation": (_POINTER, [_POINTER, _STRING]), "relation_head": (_POINTER, [_POINTER]),
    "item_next": (_POINTER, [_POINTER]), "item_feat_string": (_STRING, [_POINTER, _STRING]),
    "item_feat_float": (ctypes.c_float, [_POINTER, _STRING]), "delete_utterance": (None, [_POINTER]),
    "flite_feat_remove": (ctypes.c_int, [_POINTER, _STRING]),
    "flite_feat_set_float": (None, [_POINTER, _STRING, ctypes.c_float])}


class Flite:
    def __init__(self):
        self.flite = _library("libflite.so.1")
        self.flite.flite_init()
        for name, (result, arguments) in _FLITE.items():
            function = getattr(self.flite, name)
            function.restype, function.argtypes = result, arguments
        self.voices, self.plugins = {}, []

    def voice(self, name: str):
        if name not in self.voices:
            plugin = _library(f"libflite_cmu_us_{name}.so.1")
            register = getattr(plugin, f"register_cmu_us_{name}")
            register.restype, register.argtypes = ctypes.POINTER(_Voice), [ctypes.c_char_p]
            self.plugins.append(plugin)
            self.voices[name] = register(None)
        return self.voices[name]

    def say(self, text: str, name: str, stretch: float = 1.0, f0: float = 0.0, f0_range: float = 0.0):
        """Sound; f0 (Hz) and its range are the voice's own where 0."""
        voice = self.voice(name)
        features = voice.contents.features
        # Flite keeps the pointers of the names: these literals live as long as the module.
        settings = {b"duration_stretch": stretch, b"int_f0_target_mean": f0, b"int_f0_target_stddev": f0_range}
        for feature, value in settings.items():
            if value:
                self.flite.flite_feat_set_float(features, feature, value)
            else:
                self.flite.flite_feat_remove(features, feature)
        said = _LETTER.sub(lambda match: _FLITE_LETTERS[match[0]], text)
        _libc().srand(1)   # of its noise
        utterance = self.flite.flite_synth_text(said.encode("ascii"), ctypes.cast(voice, ctypes.c_void_p))
        wave = self.flite.utt_wave(utterance).contents
        samples = np.ctypeslib.as_array(wave.samples, (wave.num_samples,)).copy()
        numbers, ends = [], []
        item = self.flite.relation_head(self.flite.utt_relation(utterance, b"Segment"))
        while item:
            numbers.append(phones.NUMBER.get(self.flite.item_feat_string(item, b"name").decode(), phones.UNKNOWN))
            ends.append(self.flite.item_feat_float(item, b"end") * wave.sample_rate)
            item = self.flite.item_next(item)
        sound = Sound(samples, wave.sample_rate, numbers, np.array(ends))
        self.flite.delete_utterance(utterance)
        return sound


class Espeak:
    def __init__(self):
        self.espeak = _library("libespeak-ng.so.1")
        self.rate = self.espeak.espeak_Initialize(_SYNCHRONOUS, 0, None, _WITH_PHONES)
        if self.rate <= 0:
            raise Absent("espeak-ng finds no data: set ESPEAK_DATA_PATH")
        self.pieces, self.events, self.current, self.table = [], [], None, None
        callback_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int16), ctypes.c_int,
                                         ctypes.POINTER(_Event))
        self.callback = callback_type(self._collect)   # kept: the library holds only a pointer
        self.espeak.espeak_SetSynthCallback(self.callback)

    def _collect(self, samples, count, events):
        if count > 0:
            self.pieces.append(np.ctypeslib.as_array(samples, (count,)).copy())
        n = 0
        while events[n].type:
            if events[n].type == _PHONE_EVENT:
                self.events.append((events[n].value.string.decode(), events[n].sample))
            n += 1
        return 0

    def _phones(self, n_samples: int):
        """(numbers, ends): an event tells where a phone begins."""
        numbers, ends = [], []
        starts = [start for _, start in self.events] + [n_samples]
        for (name, start), end in zip(self.events, starts[1:]):
            parts = self.table.get(name, (phones.UNKNOWN,))
            for k, number in enumerate(parts):
                numbers.append(number)
                ends.append(start + (end - start) * (k + 1) / len(parts))
        return numbers, np.maximum.accumulate(np.array(ends)) if ends else np.zeros(0)

    def say(self, text: str, name: str, stretch: float = 1.0, pitch: int = 50, pitch_range: int = 50):
        """Sound. `name` is a voice and its variant, "en-us+m3"."""
        if self.current != name:
            if self.espeak.espeak_SetVoiceByName(name.encode()) != 0:
                raise ValueError(f"espeak-ng has no voice {name}")
            self.current, self.table = name, phones.espeak_table(name)
        words_a_minute = min(max(round(ESPEAK_WORDS_A_MINUTE / stretch), 80), 400)
        for parameter, value in ((_RATE, words_a_minute), (_PITCH, pitch), (_RANGE, pitch_range)):
            self.espeak.espeak_SetParameter(parameter, value, 0)
        self.pieces, self.events = [], []
        said = _LETTER.sub(lambda match: _ESPEAK_LETTERS.get(match[0], match[0]), text)
        data = said.encode() + b"\0"
        self.espeak.espeak_Synth(data, ctypes.c_size_t(len(data)), 0, 1, 0, _UTF8, None, None)
        samples = np.concatenate(self.pieces) if self.pieces else np.zeros(0, np.int16)
        return Sound(samples, self.rate, *self._phones(len(samples)))


class Festival:
    """A festival that reads commands; it writes each sound and its phones to files."""
    DONE = "said"
    MEAN_HZ, SPREAD_HZ = 170, 34        # of the speaker that its model of intonation was fitted to

    def __init__(self):
        program, data = shutil.which("festival"), os.environ.get("FESTIVAL_DATA_PATH")
        if not program:
            raise Absent("festival is not installed")
        self.folder = tempfile.TemporaryDirectory(prefix="festival")
        self.wave, self.segments = (Path(self.folder.name) / name for name in ("said.wav", "said.seg"))
        self.process = subprocess.Popen([program, *(["--datadir", data] if data else []), "--pipe"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.voice = None

    def run(self, *commands):
        self.process.stdin.write("\n".join((*commands, f'(format t "{self.DONE}\\n")', "(fflush nil)", "")))
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.strip().endswith(self.DONE):
                return
        raise Absent("festival has ended; are festvox-kdlpc16k, festlex-cmu and festlex-poslex installed?")

    def say(self, text: str, name: str, stretch: float = 1.0, f0: float = 105.0, f0_range: float = 14.0):
        """Sound; f0 in Hz."""
        if self.voice != name:
            self.run(f"(voice_{name})")
            self.voice = name
        said = _LETTER.sub(lambda match: _FLITE_LETTERS[match[0]], text).replace('"', " ").replace("\\", " ")
        for file in (self.wave, self.segments):
            file.unlink(missing_ok=True)
        self.run(f"(Parameter.set 'Duration_Stretch {stretch:.4f})",
                 f"(set! int_lr_params '((target_f0_mean {f0}) (target_f0_std {f0_range}) (model_f0_mean {self.MEAN_HZ}) "
                 f"(model_f0_std {self.SPREAD_HZ})))",
                 f'(set! said (Utterance Text "{said}"))', "(utt.synth said)",
                 f'(utt.save.wave said "{self.wave}" \'riff)', f'(utt.save.segs said "{self.segments}")')
        with wave.open(str(self.wave)) as file:
            rate, samples = file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), np.dtype("<i2"))
        numbers, ends = [], []
        for line in self.segments.read_text().partition("#\n")[2].splitlines():
            end, _, phone = line.split()[:3]
            numbers.append(phones.NUMBER.get(phone, phones.UNKNOWN))
            ends.append(float(end) * rate)
        return Sound(samples, rate, numbers, np.array(ends))


@functools.lru_cache(None)
def engine(name: str):
    return {"flite": Flite, "espeak": Espeak, "festival": Festival}[name]()


def is_present() -> bool:
    try:
        return bool(engine("flite").voice("slt")) and bool(engine("espeak"))
    except Absent:
        return False
