"""Sound as Opus files, which the program opusenc writes (Debian: opus-tools)."""

import subprocess
import tempfile
import wave

import generate


def write_opus(path, sound, rate=16000, kilobits=32):
    """sound: float32 mono, within -1 and 1. The same sound gives the same bytes."""
    with tempfile.NamedTemporaryFile(suffix=".wav") as file:
        with wave.open(file.name, "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(rate)
            out.writeframes(generate.sample_values(sound).tobytes())
        subprocess.run(["opusenc", "--quiet", "--bitrate", str(kilobits), "--serial", "0", file.name, str(path)], check=True)
