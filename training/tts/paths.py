"""Puts the neighbouring folders of training/ on the module path: import this first."""

from pathlib import Path
import sys

TRAINING = Path(__file__).resolve().parent.parent
for folder in ("speech", "text", "common"):
    path = str(TRAINING / folder)
    if path not in sys.path:
        sys.path.insert(1, path)
