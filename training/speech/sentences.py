"""Random sentences of the assistant's world."""
from pathlib import Path
import sys
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "text"))
import dialogue
from item import HELD, TRAIN


def sentence(rng, split):
    while True:
        item = dialogue._random_item(rng, split)
        text = rng.choice((item.question, item.answers[0]))
        if len(text) <= 110:
            return text if text[-1] in ".?" else text.rstrip("!=") + "."
