"""The demo model's byte-level BPE: pre-tokenizer "qwen2", own merges, Qwen's special tokens.

    python3 tokenizer.py            learns merges.txt again from generated text

The ids: 256 bytes, then one token a merge, then the special tokens.
"""

import argparse
from collections import Counter, defaultdict
from functools import lru_cache
from pathlib import Path
import random
import unicodedata

MERGES_FILE = Path(__file__).with_name("merges.txt")
N_VOCAB = 4096
SEED = 20

CONTROL, USER_DEFINED, NORMAL, UNUSED = 3, 4, 1, 5      # values of tokenizer.ggml.token_type
SPECIALS = [
    ("<|endoftext|>", CONTROL), ("<|im_start|>", CONTROL), ("<|im_end|>", CONTROL),
    ("<think>", USER_DEFINED), ("</think>", USER_DEFINED), ("<tool_call>", USER_DEFINED), ("</tool_call>", USER_DEFINED),
    ("<tool_response>", USER_DEFINED), ("</tool_response>", USER_DEFINED),
    ("<|audio_start|>", CONTROL), ("<|audio_end|>", CONTROL), ("<|audio_pad|>", CONTROL),
    ("<asr_text>", USER_DEFINED), ("<timestamp>", USER_DEFINED),
    ("<|denoise|>", CONTROL), ("<|lang_start|>", CONTROL), ("<|lang_end|>", CONTROL), ("<|instruct_start|>", CONTROL),
    ("<|instruct_end|>", CONTROL), ("<|text_start|>", CONTROL), ("<|text_end|>", CONTROL),
] + [(f"<|reserved_{n}|>", UNUSED) for n in range(32)]
N_MERGES = N_VOCAB - 256 - len(SPECIALS)

CHAT_TEMPLATE = """{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}"""


def _byte_characters():
    """The printable stand-in of every byte, as GPT-2's vocabularies write them."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table, extra = {byte: chr(byte) for byte in printable}, 0
    for byte in range(256):
        if byte not in table:
            table[byte] = chr(0x100 + extra)
            extra += 1
    return [table[byte] for byte in range(256)]


BYTE_CHARACTERS = _byte_characters()
_BYTE_OF_CHARACTER = {character: byte for byte, character in enumerate(BYTE_CHARACTERS)}


@lru_cache(maxsize=None)
def _class_of(character):
    """"L" letter, "N" number, "S" white space, "O" other."""
    if character in "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" or "\u2000" <= character <= "\u200a":
        return "S"
    category = unicodedata.category(character)[0]
    return category if category in "LN" else "O"


def pre_tokens(text):
    """Splits text as the pre-tokenizer "qwen2" does; BPE merges never cross these borders."""
    i, n, pieces = 0, len(text), []
    while i < n:
        start, character = i, text[i]
        kind = _class_of(character)
        next_kind = _class_of(text[i + 1]) if i + 1 < n else ""
        if character == "'":
            tail = text[i + 1:i + 3].lower()
            length = 2 if tail[:1] and tail[:1] in "stmd" else 3 if tail in ("re", "ve", "ll") else 0
            if length:
                i += length
                pieces.append(text[start:i])
                continue
        if kind == "L" or (next_kind == "L" and character not in "\r\n" and kind != "N"):
            i += 1
            while i < n and _class_of(text[i]) == "L":
                i += 1
        elif kind == "N":
            i += 1
        elif kind == "O" or (character == " " and next_kind == "O"):
            i += 1
            while i < n and _class_of(text[i]) == "O":
                i += 1
            while i < n and text[i] in "\r\n":
                i += 1
        else:
            while i < n and _class_of(text[i]) == "S":
                i += 1
            run = text[start:i]
            last_break = max(run.rfind("\n"), run.rfind("\r"))
            if last_break >= 0:
                i = start + last_break + 1
            elif len(run) > 1 and i < n:
                i -= 1
        pieces.append(text[start:i])
    return pieces


class Tokenizer:
    def __init__(self, merges=None):
        if merges is None:
            merges = [tuple(line.split(" ")) for line in MERGES_FILE.read_text(encoding="utf-8").splitlines()]
        self.merges = merges
        self.tokens = BYTE_CHARACTERS + [left + right for left, right in merges] + [text for text, _ in SPECIALS]
        self.types = [NORMAL] * (256 + len(merges)) + [kind for _, kind in SPECIALS]
        self.special = {text: 256 + len(merges) + n for n, (text, _) in enumerate(SPECIALS)}
        self._ids = {token: n for n, token in enumerate(self.tokens[:256 + len(merges)])}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._cache = {}
        self.end_of_text, self.im_start, self.im_end = (self.special[s] for s in ("<|endoftext|>", "<|im_start|>", "<|im_end|>"))
        self._newline = self.encode("\n")
        self._role = {role: [self.im_start, *self.encode(role + "\n")] for role in ("system", "user", "assistant")}

    def _encode_pre_token(self, piece):
        parts = [BYTE_CHARACTERS[byte] for byte in piece.encode("utf-8")]
        while len(parts) > 1:
            rank, place = min((self._ranks.get(pair, len(self._ranks)), n) for n, pair in enumerate(zip(parts, parts[1:])))
            if rank == len(self._ranks):
                break
            parts[place:place + 2] = [parts[place] + parts[place + 1]]
        return [self._ids[part] for part in parts]

    def encode(self, text):
        """Ids of plain text; special tokens written in it are not recognised."""
        cache, ids = self._cache, []
        for piece in pre_tokens_fast(text):
            encoded = cache.get(piece)
            if encoded is None:
                encoded = self._encode_pre_token(piece)
                if len(cache) < 500_000:
                    cache[piece] = encoded
            ids += encoded
        return ids

    def decode(self, ids):
        """Text of ids; control tokens vanish."""
        data = bytearray()
        for token in ids:
            if self.types[token] == NORMAL:
                data += bytes(_BYTE_OF_CHARACTER[character] for character in self.tokens[token])
            elif self.types[token] == USER_DEFINED:
                data += self.tokens[token].encode()
        return data.decode("utf-8", errors="replace")

    def encode_chat(self, messages):
        """(ids, is_answer): is_answer marks what the assistant must say, its end marker included."""
        ids, is_answer = [], []
        for message in messages:
            head, content = self._role[message["role"]], self.encode(message["content"])
            content.append(self.im_end)
            ids += head
            ids += content
            ids += self._newline
            answers = message["role"] == "assistant"
            is_answer += [False] * len(head) + [answers] * len(content) + [False]
        return ids, is_answer

    def encode_prompt(self, messages):
        """Ids up to where the assistant's reply begins."""
        return self.encode_chat(messages)[0] + self._role["assistant"]


def _ascii_pattern():
    import re
    return re.compile(r"'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])|[^\r\na-zA-Z0-9]?[a-zA-Z]+|[0-9]| ?[^\sa-zA-Z0-9]+[\r\n]*"
                      r"|\s*[\r\n]+|\s+(?!\S)|\s+", re.ASCII)


_ASCII = _ascii_pattern()


def pre_tokens_fast(text):
    """The same as pre_tokens; ASCII text, which is nearly all of ours, takes a regular expression."""
    return _ASCII.findall(text) if text.isascii() else pre_tokens(text)


def learn_merges(counts, n_merges):
    """The classic BPE learner over pre-token counts; ties go to the pair that sorts first."""
    words = [[BYTE_CHARACTERS[byte] for byte in piece.encode("utf-8")] for piece in counts]
    weights = list(counts.values())
    pair_counts, holders = Counter(), defaultdict(set)
    for n, word in enumerate(words):
        for pair in zip(word, word[1:]):
            pair_counts[pair] += weights[n]
            holders[pair].add(n)
    merges = []
    while len(merges) < n_merges:
        best = max(pair_counts.items(), key=lambda entry: (entry[1], entry[0]), default=(None, 0))
        if best[1] < 1:
            raise ValueError(f"the text holds only {len(merges)} merges, {n_merges} are wanted")
        pair = best[0]
        merges.append(pair)
        joined = pair[0] + pair[1]
        for n in list(holders[pair]):
            word, weight = words[n], weights[n]
            for old in zip(word, word[1:]):
                pair_counts[old] -= weight
                if pair_counts[old] <= 0:
                    del pair_counts[old]
                holders[old].discard(n)
            merged, i = [], 0
            while i < len(word):
                if i + 1 < len(word) and (word[i], word[i + 1]) == pair:
                    merged.append(joined)
                    i += 2
                else:
                    merged.append(word[i])
                    i += 1
            words[n] = merged
            for new in zip(merged, merged[1:]):
                pair_counts[new] += weight
                holders[new].add(n)
    return merges


def main():
    from dialogue import conversation, note_conversation
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--conversations", type=int, default=60_000)
    arguments = parser.parse_args()
    rng, counts = random.Random(SEED), Counter()
    for n in range(arguments.conversations):
        messages = (note_conversation(rng, rng.randint(40, 400), lambda line: len(line) // 4) if n % 4 == 0 else conversation(rng))
        for message in messages:
            counts.update(pre_tokens_fast(message["content"]))
    counts = Counter({piece: count for piece, count in counts.items() if count > 1})
    merges = learn_merges(counts, N_MERGES)
    MERGES_FILE.write_text("".join(f"{left} {right}\n" for left, right in merges), encoding="utf-8")
    print(f"{len(merges)} merges from {len(counts)} pre-tokens, {N_VOCAB} entries in all")


if __name__ == "__main__":
    main()
