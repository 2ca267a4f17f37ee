"""Training examples of the speech model: whole documents packed into rows, described by numbers a GPU gathers from.

A document is what the program gives the network at inference: [<|denoise|>] style, text, [reference frames,] target
frames. Documents are made of segments; a segment is a stretch of the pool of text tokens or of the corpus' codes, or
(stride 0) one frame of silence repeated.
"""

from collections import defaultdict

import numpy as np

from masks import blocks, known_shares
from prompt import DENOISE, TEXT_END, TEXT_START, expected_frames, instruct_of, style_ids
from speech_lm import N_CODEBOOK

ROW = 1024                                  # positions of a row
PADDING, TEXT, REFERENCE, TARGET = range(4)
COLUMN_KINDS = np.array([TEXT] * 11 + [REFERENCE] + [TARGET] * 5, np.int8)
(C_DENOISE, C_STYLE, C_BEGIN, C_REFERENCE, C_SPACE, C_FIRST, C_SPACE_2, C_SECOND, C_SPACE_3, C_THIRD, C_END, C_CODES,
 C_SILENCE, C_TARGET, C_TARGET_2, C_TARGET_3, C_SILENCE_2) = range(17)
SAMPLES_PER_FRAME = 960
PHONES_PER_FRAME, NO_PHONE = 4, 255         # phones are known every 10 ms, if at all
SHORT_FRAMES = 50                           # below, texts are expected to last longer than their letters say


class Pool:
    """Numbers end to end, with the place of every named stretch."""

    def __init__(self):
        self.parts, self.n, self.places = [], 0, {}

    def add(self, key, values):
        if key not in self.places:
            self.places[key] = (self.n, len(values))
            self.parts.append(np.asarray(values, np.int32))
            self.n += len(values)
        return self.places[key]

    def values(self):
        return np.concatenate(self.parts)


def clause(text):
    """As a text looks that was cut out of a sentence: it begins small and ends with a comma or nothing."""
    words = text.rstrip(".!?")
    first = words.split(" ")[0]
    if not (first.isupper() or first.startswith("I'")):
        words = words[:1].lower() + words[1:]
    return words + "," * (len(text) % 2)


def phones_of(corpus):
    """(frames, PHONES_PER_FRAME) uint8, NO_PHONE where the corpus does not say."""
    n_frames = int((corpus.start24 + corpus.n24).max()) // SAMPLES_PER_FRAME
    if not (corpus.folder / "phones.u8").exists():
        return np.full((n_frames, PHONES_PER_FRAME), NO_PHONE, np.uint8)
    return np.array(corpus.phones()[:n_frames * PHONES_PER_FRAME]).reshape(-1, PHONES_PER_FRAME)


class Speech:
    """The utterances of some corpora, their codes and the words that describe their voices."""

    def __init__(self, corpora, codes, to_say, attributes, presets):
        """codes: (8, n_frames) of each corpus; attributes: voice -> words; presets: voices known by their words, the
        first by default."""
        self.written = [text for corpus in corpora for text in corpus.text]
        self.text = [to_say(text).strip() for text in self.written]
        self.voice = np.array([voice for corpus in corpora for voice in corpus.voice])
        first_frames = np.cumsum([0] + [part.shape[1] for part in codes])
        self.start = np.concatenate([corpus.start24 // SAMPLES_PER_FRAME + first
                                     for corpus, first in zip(corpora, first_frames)])
        self.n = np.concatenate([corpus.n24 // SAMPLES_PER_FRAME for corpus in corpora])
        for corpus, part in zip(corpora, codes):
            n_frames = int((corpus.start24 + corpus.n24).max()) // SAMPLES_PER_FRAME
            if part.shape != (N_CODEBOOK, n_frames):
                raise ValueError(f"codes are {part.shape}, {corpus.folder} has {n_frames} frames")
        self.codes = np.concatenate(codes, axis=1)
        self.phones = np.concatenate([phones_of(corpus) for corpus in corpora])     # (frames, 4)
        self.expected = np.array([expected_frames(*pair) for pair in zip(self.written, self.text)])
        self.instruct = {voice: instruct_of(attributes.get(voice)) for voice in set(self.voice)}
        self.presets = [voice for voice in presets if voice in self.instruct] or sorted(self.instruct)[:1]

        pool = Pool()
        for n, text in enumerate(self.text):
            pool.add(n, list(text.encode()))
            pool.add(("clause", n), list(clause(text).encode()))
        for name, ids in (("denoise", [DENOISE]), ("begin", [TEXT_START]), ("end", [TEXT_END]), ("space", [32])):
            pool.add(name, ids)
        self.pool = pool
        places = lambda keys: np.array([pool.places[key] for key in keys], np.int64)    # (n, 2): start, length
        self.text_place = places(range(len(self.text)))
        self.clause_place = places(("clause", n) for n in range(len(self.text)))
        self.utterances = {voice: np.flatnonzero(self.voice == voice) for voice in self.instruct}
        known = {self.instruct[voice] for voice in self.presets}
        # Words shared with a preset would ask for that one.
        self.described = [voice for voice, words in self.instruct.items()
                          if words and (voice in self.presets or words not in known)]
        self.styles = defaultdict(list)         # voice -> places of the styles that ask for it
        for voice in self.described:
            words = self.instruct[voice].split(", ")
            self.styles[voice] = [pool.add(("style", self.instruct[voice]), style_ids("en", self.instruct[voice]))]
            if voice in self.presets:           # fewer words, too, where they leave only this one of the presets
                for n in range(len(words)):
                    fewer = [word for m, word in enumerate(words) if m != n]
                    rivals = [v for v in self.presets if v != voice and set(fewer) <= set(self.instruct[v].split(", "))]
                    if fewer and not rivals:
                        joined = ", ".join(fewer)
                        self.styles[voice].append(pool.add(("style", joined), style_ids("en", joined)))
        self.no_style = [pool.add(("style", language or "None"), style_ids(language, "")) for language in ("en", "")]
        self.short = {voice: rows[(self.n[rows] >= 25) & (self.n[rows] <= 112)]
                      for voice, rows in self.utterances.items()}
        self.all = np.arange(len(self.text))
        by_preset = [self.utterances[voice] for voice in self.presets]
        self.preset_rows = np.concatenate(by_preset)
        self.described_rows = np.concatenate([self.utterances[v] for v in self.described or self.presets])

    def text_tokens(self):
        return self.pool.values()


class Sampler:
    """Draws documents; see the shares below."""

    WITH_REFERENCE, WITHOUT_WORDS, ALONE = 0.36, 0.13, 0.11
    TWO, THREE = 0.14, 0.04             # of utterances spoken one after the other
    CLAUSES = 0.12                      # of texts: written like a part of a sentence
    SLACK = 0.1                         # of documents: more silence around the speech. It makes the pace uncertain
    TARGETS = 0.45                      # share of the positions that are target frames to learn from, at most

    def __init__(self, speech, seed, n_rows):
        self.speech, self.rng, self.n_rows = speech, np.random.default_rng(seed), n_rows
        self.n_targets = int(self.TARGETS * n_rows * ROW)

    def choose(self):
        """(utterance, reference or -1, style place, is_alone): one document."""
        s, rng = self.speech, self.rng
        draw = rng.random()
        if draw < self.ALONE:
            return rng.choice(s.all), -1, None, True
        draw = (draw - self.ALONE) / (1 - self.ALONE)
        if draw < self.WITH_REFERENCE:
            row = rng.integers(len(s.all))
            voice = s.voice[row]
            rows = s.short[voice] if rng.random() < 0.75 else s.utterances[voice]
            reference = rows[rng.integers(len(rows))] if len(rows) else -1
            if reference != row and reference >= 0:
                styles = s.styles[voice] if voice in s.styles and rng.random() < 0.4 else s.no_style[:1]
                return row, reference, styles[0], False
        if draw < self.WITH_REFERENCE + self.WITHOUT_WORDS:      # no words: the default voice
            rows = s.utterances[s.presets[0]]
            return rows[rng.integers(len(rows))], -1, s.no_style[int(rng.random() < 0.2)], False
        rows = s.preset_rows if rng.random() < 0.85 else s.described_rows
        row = rows[rng.integers(len(rows))]
        styles = s.styles[s.voice[row]] or s.no_style
        return row, -1, styles[0 if rng.random() < 0.85 else rng.integers(len(styles))], False

    def document(self, row, reference, style, is_alone, is_plain=False):
        """Segments of one document: starts, lengths and strides of the 17 columns."""
        s, rng = self.speech, self.rng
        start, length, stride = np.zeros(17, np.int64), np.zeros(17, np.int64), np.ones(17, np.int64)
        rows = [row]
        draw = rng.random()
        # Only where the parts' expected lengths add up to that of the whole.
        if not is_plain and draw < self.TWO + self.THREE and s.expected[row] >= SHORT_FRAMES:
            same = s.utterances[s.voice[row]]
            others = same[rng.integers(len(same), size=2 if draw < self.THREE else 1)]
            rows += [other for other in others if s.expected[other] >= SHORT_FRAMES]
        for n, each in enumerate(rows):
            is_clause = not is_plain and rng.random() < self.CLAUSES
            start[C_FIRST + 2 * n], length[C_FIRST + 2 * n] = (s.clause_place if is_clause else s.text_place)[each]
            start[C_TARGET + n], length[C_TARGET + n] = s.start[each], s.n[each]
            if n:
                start[C_SPACE_2 + 2 * (n - 1)], length[C_SPACE_2 + 2 * (n - 1)] = s.pool.places["space"]
        if not is_plain and rng.random() < self.SLACK:
            n_silence = int(rng.integers(1, 9))
            n_before = int(n_silence * rng.random() * 0.5) if rng.random() < 0.2 else 0
            length[C_SILENCE], length[C_SILENCE_2] = n_before, n_silence - n_before
            start[C_SILENCE], start[C_SILENCE_2] = s.start[row], s.start[rows[-1]] + s.n[rows[-1]] - 2
            stride[C_SILENCE] = stride[C_SILENCE_2] = 0
        if is_alone:
            length[:C_CODES] = 0
            return start, length, stride
        start[C_STYLE], length[C_STYLE] = style
        start[C_BEGIN], length[C_BEGIN] = s.pool.places["begin"]
        start[C_END], length[C_END] = s.pool.places["end"]
        if reference >= 0:
            start[C_DENOISE], length[C_DENOISE] = s.pool.places["denoise"]
            start[C_REFERENCE], length[C_REFERENCE] = s.text_place[reference]
            start[C_SPACE], length[C_SPACE] = s.pool.places["space"]
            n_before, n_behind = rng.integers(0, 3, size=2) if rng.random() < 0.5 else (0, 0)   # silence cut off
            start[C_CODES], length[C_CODES] = s.start[reference] + n_before, s.n[reference] - n_before - n_behind
        return start, length, stride

    def batch(self, documents=None):
        """Rows of documents, the longest first, each where it fits: arrays of (n_rows, ROW), the places of target
        frames, known (n_documents + 1, 8), and the positions (n_documents + 1, 2) before which all is known and from which
        on nothing is."""
        if documents is None:
            documents, n = [], 0
            while n < 0.98 * self.n_rows * ROW:
                document = self.document(*self.choose())
                if document[1].sum() <= ROW:
                    documents.append(document)
                    n += int(document[1].sum())
        documents = sorted(documents, key=lambda d: -d[1].sum())
        free = np.full(self.n_rows, ROW)
        placed, at = [], []
        for document in documents:
            n = int(document[1].sum())
            row = int(np.argmax(free >= n))
            if free[row] >= n:
                placed.append(document)
                at.append(row * ROW + ROW - free[row])
                free[row] -= n
        start, length, stride = (np.stack([document[i] for document in placed]) for i in range(3))   # (n, 17) each
        totals = length.sum(1)
        flat = length.ravel()
        segment = np.repeat(np.arange(flat.size), flat)
        offset = np.arange(segment.size) - np.repeat(np.cumsum(flat) - flat, flat)
        number = np.repeat(np.arange(len(placed)), totals)
        pos = np.arange(segment.size) - np.repeat(np.cumsum(totals) - totals, totals)
        where = np.array(at)[number] + pos
        out = {name: np.zeros((self.n_rows, ROW), kind) for name, kind in
               (("kind", np.int8), ("source", np.int32), ("pos", np.int16), ("document", np.int16))}
        out["document"].fill(len(placed))
        for name, values in (("kind", np.tile(COLUMN_KINDS, len(placed))[segment]), ("pos", pos), ("document", number),
                             ("source", start.ravel()[segment] + offset * stride.ravel()[segment])):
            out[name].reshape(-1)[where] = values
        targets = np.flatnonzero(out["kind"].reshape(-1) == TARGET)[:self.n_targets]
        out["targets"] = np.zeros(self.n_targets, np.int32)
        out["targets"][:len(targets)] = targets
        out["n_targets"] = len(targets)
        out["known"] = np.concatenate([known_shares(self.rng, len(placed)), np.ones((1, N_CODEBOOK), np.float32)])
        first_target = length[:, :C_SILENCE].sum(1)
        within = first_target[:, None] + blocks(self.rng, totals - first_target)
        out["block"] = np.concatenate([within, np.zeros((1, 2), np.int64)]).astype(np.int32)
        return out
