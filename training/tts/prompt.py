"""What the speech model reads: a byte-level vocabulary with OmniVoice's special tokens, the prompt, the expected length.

Token ids are the bytes themselves, then the special tokens; the prompt is src/tts/text/prompt.cpp's.
"""

import numpy as np

import paths  # noqa: F401
from tokenizer import BYTE_CHARACTERS

SPECIALS = ["<|denoise|>", "<|lang_start|>", "<|lang_end|>", "<|instruct_start|>", "<|instruct_end|>",
            "<|text_start|>", "<|text_end|>"]
DENOISE, LANG_START, LANG_END, INSTRUCT_START, INSTRUCT_END, TEXT_START, TEXT_END = range(256, 263)
ATTRIBUTES = [  # OmniVoice's words for voices, by category
    {"male", "female"}, {"child", "teenager", "young adult", "middle-aged", "elderly"},
    {"very low pitch", "low pitch", "moderate pitch", "high pitch", "very high pitch"}, {"whisper"},
    {name + " accent" for name in ("american", "british", "australian", "chinese", "canadian", "indian", "korean",
                                   "portuguese", "russian", "japanese")}]
SAID_SHARE = 0.85       # of what the words of a number are expected to take is what voices need for them
NICE_TO_MEET_YOU = np.float32(14.1) / np.float32(25)    # weight a frame at an ordinary pace


def vocabulary(n_audio_vocab):
    """Texts of all tokens. The program wants the mask's number to be a token of text as well, hence the unused ones."""
    tokens = list(BYTE_CHARACTERS) + SPECIALS
    n_least = -(-max(n_audio_vocab, len(tokens)) // 8) * 8
    return tokens + [f"<|unused_{n}|>" for n in range(n_least - len(tokens))]


def combine(reference_text, text):
    """Both texts in one line with single spaces, as src/tts/text/combine.cpp does for Latin script."""
    joined = " ".join(part for part in (reference_text.strip(" \t"), text.strip(" \t")) if part)
    joined = joined.replace("\r", "").replace("\n", "").replace("\t", " ")
    while "  " in joined:
        joined = joined.replace("  ", " ")
    return joined


def style_ids(language, instruct):
    """Without <|denoise|>, which stands before it where there is a reference."""
    return [LANG_START, *(language or "None").encode(), LANG_END, INSTRUCT_START, *(instruct or "None").encode(), INSTRUCT_END]


def prompt_ids(text, instruct="", reference_text="", has_reference=False, language="en"):
    words = combine(reference_text if has_reference else "", text)
    return ([DENOISE] if has_reference else []) + style_ids(language, instruct) + [TEXT_START, *words.encode(), TEXT_END]


def text_weight(text):
    """ASCII by its classes; everything else counts as a letter."""
    weight = 0.0
    for c in text:
        weight += 1.0 if c.isalpha() else 3.5 if c.isdigit() else 0.2 if c == " " else 0.5 if c < "\x80" else 1.0
    return weight


def estimate_frames(text, weight_per_frame=NICE_TO_MEET_YOU):
    """Frames the program gives a text; weight_per_frame of a reference is text_weight(its text) / its frames."""
    n = text_weight(text) / float(weight_per_frame)
    if n < 50:
        n = 50 * (n / 50) ** (1 / 3)
    return max(1, int(n))


def expected_frames(written, said, weight_per_frame=NICE_TO_MEET_YOU):
    """Of a text whose numbers are written out before it is spoken: digits weigh little for the words they are."""
    return max(estimate_frames(written, weight_per_frame), int(SAID_SHARE * estimate_frames(said, weight_per_frame)))


def instruct_of(attributes):
    """Attribute words, a list, dictionary or comma-separated text of them -> what the prompt says: ", " between words."""
    if isinstance(attributes, dict):
        attributes = attributes.values()
    if isinstance(attributes, str):
        attributes = attributes.split(",")
    words = {str(word).strip().lower() for word in attributes or () if word}
    return ", ".join(word for category in ATTRIBUTES for word in sorted(words & category))
