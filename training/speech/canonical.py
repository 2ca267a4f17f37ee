"""One spelling for each sound: what the recogniser is taught to write.

Numbers of 13 and more are digits. Smaller ones are digits in sentences about sums, times, dates, units or several
numbers, and words elsewhere. Times of day read "3:40 pm", operators are words, spelling is American.
"""

import re

from spoken_form import ONES, ORDINAL_WORDS, TENS, ordinal
import world

_SMALL = {word: n for n, word in enumerate(ONES)}
_TENS = {word: 10 * n for n, word in enumerate(TENS) if n >= 2}
_ORDINALS = {ordinal(str(n)): n for n in range(1, 32) if " " not in ordinal(str(n))}
_MONTHS = frozenset(world.MONTHS)
_SPELLINGS = {"colour": "color", "favourite": "favorite", "grey": "gray", "metre": "meter", "metres": "meters",
              "litre": "liter", "litres": "liters", "centimetre": "centimeter", "neighbour": "neighbor", "ok": "okay"}
_NUMERIC = frozenset("""plus minus times divided divide multiply multiplied add subtract sum difference product half
double twice triple quotient equals am pm o'clock quarter past hour hours minute minutes seconds day days week weeks
month months year years decade decades century centuries percent degrees number numbers code dollars dollar euros
cents meter meters centimeter centimeters millimeter millimeters kilometer kilometers gram grams kilogram kilograms
ton tons liter liters milliliters foot feet inch inches yard yards mile miles pound pounds ounce ounces gallon gallons
quart quarts pint pints dozen dozens point size""".split())
_TIMES_OF_DAY = ("in the morning", "in the afternoon", "in the evening")
_BEFORE_ONE = frozenset("plus minus times by add subtract from to than past multiply divide double".split())
_OPERATORS = {"+": "plus", "-": "minus", "x": "times", "*": "times", "×": "times", "/": "divided by", "÷": "divided by"}
_COMMON = {word for group in (world.FLOWERS, world.FRUITS, world.ANIMALS, world.OBJECTS, world.COLORS,
                              world.SPELLING_WORDS) for word in group} | {"grace", "frank"}
_NAMES = {name.lower(): name for name in world.FIRST_NAMES if name.lower() not in _COMMON}
_TOKEN = re.compile(r"([^A-Za-z0-9$€]*)(.*?)([^A-Za-z0-9%°]*)", re.S)


class _Token:
    def __init__(self, text):
        self.lead, self.core, self.trail = _TOKEN.fullmatch(text).groups()
        self.value = None       # of a number below 13 whose form depends on the sentence
        self.lower = self.core.lower()


def _operators(text: str) -> str:
    in_words = lambda match: f" {_OPERATORS[match[1]]} "
    text = re.sub(r"(?<=[0-9a-z])\s*([+*×÷/])\s*(?=[0-9a-z])", in_words, text)
    text = re.sub(r"(?<=[0-9])\s+(-|x)\s+(?=[0-9])", in_words, text)
    text = re.sub(r"\s*=\s*(?=[.?]?$)", "", text)
    text = re.sub(r"\$([0-9]+)(?![0-9.])", r"\1 dollars", text)
    for symbol, plain in (("%", " percent"), (" = ", " equals "), ("!", "."), (";", ","), ("...", ".")):
        text = text.replace(symbol, plain)
    return text


def _split_hyphens(words):
    """"forty-two" -> "forty", "two"; other hyphens stay."""
    for word in words:
        token = _Token(word)
        parts = token.lower.split("-")
        if len(parts) == 2 and parts[0] in _TENS and (parts[1] in _SMALL or parts[1] in _ORDINALS):
            first, second = token.core.split("-")
            yield _Token(token.lead + first)
            yield _Token(second + token.trail)
        else:
            yield token


def _number_at(tokens, n):
    """(value, end) of the number that starts at token n, or None. Digits are one token, words as many as fit."""
    if re.fullmatch("[0-9]{1,6}", tokens[n].core) and not (len(tokens[n].core) > 1 and tokens[n].core[0] == "0"):
        return int(tokens[n].core), n + 1
    total, group, end, allowed = 0, None, n, {"tens", "small", "hundred", "thousand"}
    while end < len(tokens):
        word = tokens[end].lower
        if word in _TENS and "tens" in allowed:
            group, allowed = (group or 0) + _TENS[word], {"ones", "thousand"}
        elif word in _SMALL and ("small" in allowed or ("ones" in allowed and 1 <= _SMALL[word] <= 9)):
            group = (group or 0) + _SMALL[word]
            allowed = {"hundred", "thousand"} if 1 <= group <= 9 else {"thousand"}
        elif word == "hundred" and "hundred" in allowed and group is not None:
            group, allowed = group * 100, {"tens", "small", "thousand"}
        elif word == "thousand" and "thousand" in allowed and group is not None and not total:
            total, group, allowed = group * 1000, None, {"tens", "small"}
        else:
            break
        end += 1
        if tokens[end - 1].trail:
            break
    if end == n:
        return None
    return total + (group or 0), end


def _merge(tokens, n, end, core):
    token = _Token(tokens[n].lead + core + tokens[end - 1].trail)
    tokens[n:end] = [token]
    return token


def _ordinal_digits(value: int) -> str:
    return f"{value}" + ("th" if 10 <= value % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th"))


def _ordinals(tokens):
    for n, token in enumerate(tokens):
        if n >= len(tokens):
            break
        value, end = _ORDINALS.get(token.lower), n + 1
        ones = _ORDINALS.get(tokens[n + 1].lower, 0) if n + 1 < len(tokens) and not token.trail else 0
        if token.lower in _TENS and 1 <= ones <= 9:
            value, end = _TENS[token.lower] + ones, n + 2
        match = re.fullmatch("([0-9]+)(st|nd|rd|th)", token.lower)
        value = int(match[1]) if match else value
        if value is None:
            continue
        of, month = ([t.core for t in tokens[end:end + 2]] + ["", ""])[:2]
        in_date = (n and tokens[n - 1].core in _MONTHS) or (of == "of" and month in _MONTHS)
        if value >= 13 or in_date:
            _merge(tokens, n, end, _ordinal_digits(value))
        elif match:
            _merge(tokens, n, end, ordinal(str(value)))


def _numbers(tokens):
    """Turns runs of number words into digits where that is sure, joins times of day, and marks the small ones."""
    n = 0
    while n < len(tokens):
        found = _number_at(tokens, n)
        if not found:
            n += 1
            continue
        value, end = found
        half = lambda at: at < len(tokens) and tokens[at].lower in ("am", "pm")
        in_day = lambda at: " ".join(t.lower for t in tokens[at:at + 3]) in _TIMES_OF_DAY
        if value <= 24 and end < len(tokens) and not tokens[end - 1].trail:
            minute, after = None, end
            if half(end):
                minute = 0
            elif tokens[end].lower == "oh" and end + 1 < len(tokens) and tokens[end + 1].lower in _SMALL:
                minute, after = _SMALL[tokens[end + 1].lower], end + 2
            else:
                next_number = _number_at(tokens, end)
                leading_zero = re.fullmatch("0[0-9]", tokens[end].core)
                minute, after = next_number or ((int(tokens[end].core), end + 1) if leading_zero else (None, end))
            if minute is not None and minute < 60 and (half(after) or (in_day(after) and after > end)):
                _merge(tokens, n, after, f"{value}:{minute:02d}")
                n += 1
                continue
        token = _merge(tokens, n, end, str(value))
        if value < 13:
            token.value = value
        n += 1


def _small_numbers(tokens):
    n_numbers = sum(1 for t in tokens if t.core[:1].isdigit() and t.value != 1)
    is_numeric = n_numbers >= 2 or any(t.lower in _NUMERIC or t.core in _MONTHS or ":" in t.core or
                                       (t.core[:1].isdigit() and t.value is None) for t in tokens)
    for n, token in enumerate(tokens):
        if token.value is None:
            continue
        as_digits = is_numeric
        if token.value == 1:
            before = tokens[n - 1].lower if n else ""
            after = tokens[n + 1].lower if n + 1 < len(tokens) else ""
            listed = token.trail == "," or before.isdigit() or after.isdigit()
            once = after == "day" and tokens[n + 1].trail == ","   # "One day, ..."
            beside_number = after in _NUMERIC or before in _BEFORE_ONE or before in _NUMERIC or listed
            as_digits = is_numeric and beside_number and not once
        if not as_digits:
            token.core = ONES[token.value]


def canonical(text: str) -> str:
    """The one way in which a sentence is written, with a full stop or a question mark at the end."""
    tokens = list(_split_hyphens(_operators(text).split()))
    for token in tokens:
        plain = _SPELLINGS.get(token.lower)
        if plain:
            token.core = plain.capitalize() if token.core[0].isupper() else plain
        elif token.core.islower() and token.core in _NAMES:
            token.core = _NAMES[token.core]
        elif token.core.endswith("'s") and token.core[:-2] in _NAMES:
            token.core = _NAMES[token.core[:-2]] + "'s"
        token.lower = token.core.lower()
    _ordinals(tokens)
    _numbers(tokens)
    _small_numbers(tokens)
    text, starts = [], True
    for token in tokens:
        core = token.core[:1].upper() + token.core[1:] if starts else token.core
        word = token.lead + core + token.trail
        text.append(word)
        starts = word[-1:] in ".?" if word else starts
    line = _operators(" ".join(text))   # once more: "five - 3" has become "5 - 3"
    line = re.sub(r"\s+", " ", line).strip().rstrip(",:- ")
    return line if line.endswith((".", "?")) else line + "."
