"""The two synthesizers behind one call each: flite and espeak-ng, loaded as shared libraries.

A process holds one of each. The libraries are found by name (LD_LIBRARY_PATH or the system), espeak-ng's data by
ESPEAK_DATA_PATH or the system.
"""

import ctypes
import functools
import re

import numpy as np

ESPEAK_WORDS_A_MINUTE = 175           # what a stretch of 1 means
_SYNCHRONOUS, _UTF8, _RATE, _PITCH, _RANGE = 2, 1, 1, 3, 4
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


class _Wave(ctypes.Structure):
    _fields_ = [("type", ctypes.c_char_p), ("sample_rate", ctypes.c_int), ("num_samples", ctypes.c_int),
                ("num_channels", ctypes.c_int), ("samples", ctypes.POINTER(ctypes.c_int16))]


class _Voice(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("features", ctypes.c_void_p)]


class Flite:
    def __init__(self):
        self.library = _library("libflite.so.1")
        self.library.flite_init()
        self.library.flite_text_to_wave.restype = ctypes.POINTER(_Wave)
        self.library.flite_text_to_wave.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
        self.library.delete_wave.argtypes = [ctypes.POINTER(_Wave)]
        self.library.flite_feat_remove.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
        self.library.flite_feat_set_float.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_float]
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
        """int16 samples and their rate. f0 (Hz) and its range are the voice's own where 0."""
        voice = self.voice(name)
        features = voice.contents.features
        # Flite keeps the pointers of the names: these literals live as long as the module.
        settings = {b"duration_stretch": stretch, b"int_f0_target_mean": f0, b"int_f0_target_stddev": f0_range}
        for feature, value in settings.items():
            if value:
                self.library.flite_feat_set_float(features, feature, value)
            else:
                self.library.flite_feat_remove(features, feature)
        said = _LETTER.sub(lambda match: _FLITE_LETTERS[match[0]], text)
        wave = self.library.flite_text_to_wave(said.encode("ascii"), ctypes.cast(voice, ctypes.c_void_p))
        samples = np.ctypeslib.as_array(wave.contents.samples, (wave.contents.num_samples,)).copy()
        rate = wave.contents.sample_rate
        self.library.delete_wave(wave)
        return samples, rate


class Espeak:
    def __init__(self):
        self.library = _library("libespeak-ng.so.1")
        self.rate = self.library.espeak_Initialize(_SYNCHRONOUS, 0, None, 0)
        if self.rate <= 0:
            raise Absent("espeak-ng finds no data: set ESPEAK_DATA_PATH")
        self.pieces, self.current = [], None
        callback_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int16), ctypes.c_int, ctypes.c_void_p)
        self.callback = callback_type(self._collect)   # kept: the library holds only a pointer
        self.library.espeak_SetSynthCallback(self.callback)

    def _collect(self, samples, count, _events):
        if count > 0:
            self.pieces.append(np.ctypeslib.as_array(samples, (count,)).copy())
        return 0

    def say(self, text: str, name: str, stretch: float = 1.0, pitch: int = 50, pitch_range: int = 50):
        """int16 samples and their rate. `name` is a voice and its variant, "en-us+m3"."""
        if self.current != name:
            if self.library.espeak_SetVoiceByName(name.encode()) != 0:
                raise ValueError(f"espeak-ng has no voice {name}")
            self.current = name
        words_a_minute = min(max(round(ESPEAK_WORDS_A_MINUTE / stretch), 80), 400)
        for parameter, value in ((_RATE, words_a_minute), (_PITCH, pitch), (_RANGE, pitch_range)):
            self.library.espeak_SetParameter(parameter, value, 0)
        self.pieces = []
        said = _LETTER.sub(lambda match: _ESPEAK_LETTERS.get(match[0], match[0]), text)
        data = said.encode() + b"\0"
        self.library.espeak_Synth(data, ctypes.c_size_t(len(data)), 0, 1, 0, _UTF8, None, None)
        return (np.concatenate(self.pieces) if self.pieces else np.zeros(0, np.int16)), self.rate


@functools.lru_cache(None)
def engine(name: str):
    return {"flite": Flite, "espeak": Espeak}[name]()


def is_present() -> bool:
    try:
        return bool(engine("flite").voice("slt")) and bool(engine("espeak"))
    except Absent:
        return False
