"""Greedy transcripts of a corpus in PyTorch, and their word error rate over what is said."""

import numpy as np
import torch

from data import compose
import mel
from network import Layout
from plan import gather_clips, plan
from sentences import COMMANDS
from spoken_form import word_errors

FUNCTION_WORDS = frozenset("""the a an is are was were am has have had do does did can could will would in on of to and
or it its i my me your you she he they we at with under near for from his her what which who where when how there this
that tell please not than so by as be if but""".split())


def kind_of(text):
    """What sort of sentence it is, by its looks: "free" are words one after the other that say nothing together."""
    words = text.rstrip(".?").replace(",", "").split()
    if text in COMMANDS:
        return "command"
    if sum(len(word) == 1 and word.isupper() and word not in "AI" for word in words) or words[0] == "Spell":
        return "spelling"
    if any(character.isdigit() for character in text):
        return "number"
    if len(words) >= 3 and not any(word.lower().partition("'")[0] in FUNCTION_WORDS for word in words):
        return "free"
    return "question" if text.endswith("?") else "statement"


@torch.no_grad()
def transcribe(model, front_end, prompt, audio, lengths, n_frames, max_new=96, window_chunks=8):
    """Answers' ids of a batch of clips (end tokens left out), as src/asr decodes: the best token each time."""
    device = audio.device
    layout = Layout(n_frames, window_chunks).on(device)
    rows = model.encoder(front_end(audio, lengths), layout)[1]
    n_clips = len(n_frames)
    width = len(prompt.head) + int(layout.n_tokens.max()) + len(prompt.tail)
    ids = np.full((n_clips, width + max_new), prompt.stops[0], np.int64)
    ends = len(prompt.head) + layout.n_tokens + len(prompt.tail)
    for k, n in enumerate(layout.n_tokens):
        ids[k, :ends[k]] = prompt.head + [prompt.pad] * int(n) + prompt.tail
    ids, at = torch.from_numpy(ids).to(device), torch.from_numpy(ends).to(device)
    clip, within = (torch.from_numpy(x).to(device) for x in (layout.clip_of_token, layout.place_in_clip))
    lines = torch.arange(n_clips, device=device)
    is_over = torch.zeros(n_clips, dtype=torch.bool, device=device)
    answers = []
    for step in range(max_new):
        shown = min(-(-(width + step) // 16) * 16, ids.shape[1])
        hidden = model.hidden(ids[:, :shown], rows, clip * shown + len(prompt.head) + within)
        best = model.decoder.logits(hidden[lines, at - 1]).float().argmax(-1)
        for stop in prompt.stops:
            is_over |= best == stop
        if bool(is_over.all()):
            break
        best = best.masked_fill(is_over, prompt.stops[0])
        ids[lines, at.clamp(max=ids.shape[1] - 1)] = best
        answers.append(best)
        at = torch.where(is_over, at, at + 1)
    table = torch.stack(answers, 1).cpu().numpy() if answers else np.zeros((n_clips, 0), np.int64)
    return [[int(token) for token in row if token != prompt.stops[0]] for row in table]


def batches_of(items, n_samples, seconds):
    """Items in batches of similar lengths."""
    order, batch, out = sorted(items, key=lambda k: n_samples[k]), [], []
    for k in order:
        if batch and n_samples[k] * (len(batch) + 1) > seconds * mel.RATE:
            out.append(batch)
            batch = []
        batch.append(k)
    return out + [batch]


class Scorer:
    def __init__(self, model, front_end, prompt, device, seconds=600):
        self.model, self.front_end, self.prompt, self.device, self.seconds = model, front_end, prompt, device, seconds

    def answers(self, audio, lengths, window_chunks=8):
        frames = mel.n_frames(lengths.cpu().numpy())
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda"):
            return transcribe(self.model, self.front_end, self.prompt, audio, lengths, frames,
                              window_chunks=window_chunks)

    def speech(self, source, n, change=None, window_chunks=8):
        """{"wer", "exact", "missed", "utterances", "kinds"} of the first n utterances.

        change(audio, lengths) may add noise.
        """
        self.model.eval()
        texts = {}
        rng = np.random.default_rng(0)
        for batch in batches_of(range(min(n, len(source))), source.n, self.seconds):
            clips = gather_clips([plan(source, rng, [k], is_plain=True) for k in batch], [False] * len(batch))
            audio, lengths = compose(source, clips, self.device)
            if change:
                audio = change(audio, lengths)
            texts.update(zip(batch, map(self.prompt.read, self.answers(audio, lengths, window_chunks))))
        errors = [word_errors(source.text[k], text) for k, (text, _) in texts.items()]
        wrong, words = map(sum, zip(*errors))
        kinds = {}
        for k, (n_wrong, n_words) in zip(texts, errors):
            total = kinds.setdefault(kind_of(source.text[k]), [0, 0])
            total[0] += n_wrong
            total[1] += n_words
        heard = {k: text for k, (text, _) in texts.items()}
        return {"wer": wrong / max(words, 1), "exact": sum(e == 0 for e, _ in errors) / len(errors),
                "missed": sum(not text for text in heard.values()) / len(heard), "utterances": len(heard),
                "kinds": {kind: {"wer": a / max(b, 1), "words": b} for kind, (a, b) in sorted(kinds.items())}}, heard

    def silence(self, audio):
        """Share of clips without speech that are answered with no words."""
        self.model.eval()
        lengths = torch.full((len(audio),), audio.shape[1], device=self.device)
        return sum(not self.prompt.read(answer)[0] for answer in self.answers(audio, lengths)) / len(audio)
