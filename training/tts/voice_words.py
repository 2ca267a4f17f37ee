"""The words that describe the voices of training/speech, and which of them are presets."""

import paths  # noqa: F401
from voices import PRESETS, VOICES


def attributes_and_presets(chosen=None):
    """(voice -> attribute words, names of the presets, the default one first); chosen: names with commas instead of all."""
    attributes = {name: voice.attributes for name, voice in VOICES.items()} | dict(PRESETS)
    return attributes, chosen.split(",") if chosen else list(PRESETS)
