"""Makes the other folders of training/ importable: text (tokenizer, transformer), common (GGUF), speech (corpus)."""

from pathlib import Path
import sys

TRAINING = Path(__file__).resolve().parent.parent
for _folder in ("text", "common", "speech"):
    _path = str(TRAINING / _folder)
    if _path not in sys.path:
        sys.path.append(_path)      # behind this folder, whose modules go first
