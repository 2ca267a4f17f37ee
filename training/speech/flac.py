"""Sound as FLAC files, which the program flac writes."""

import subprocess
import wave


def write_flac(path, sound, rate=16000):
    """sound: float32 mono, within -1 and 1."""
    raw = path.with_suffix(".wav")
    with wave.open(str(raw), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes((sound * 32767).clip(-32768, 32767).astype("<i2").tobytes())
    subprocess.run(["flac", "--silent", "--best", "--force", "--delete-input-file", "-o", str(path), str(raw)], check=True)
