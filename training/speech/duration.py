"""How long OmniVoice expects a text to last when it has no reference voice (25 frames a second, ASCII text)."""

REFERENCE_TEXT, REFERENCE_FRAMES = "Nice to meet you.", 25
FRAMES_PER_SECOND = 25


def weight(text: str) -> float:
    """Letters 1, digits 3.5, spaces 0.2, everything else 0.5."""
    return sum(1.0 if c.isalpha() else 3.5 if c.isdigit() else 0.2 if c == " " else 0.5 for c in text)


def frames(text: str) -> float:
    estimate = weight(text) * REFERENCE_FRAMES / weight(REFERENCE_TEXT)
    return max(1.0, 50 * (estimate / 50) ** (1 / 3) if estimate < 50 else estimate)


def seconds(text: str) -> float:
    return int(frames(text)) / FRAMES_PER_SECOND
