"""English as written -> the words that are said.

to_say(text) expands numbers, times, sums, symbols and abbreviations into words and keeps sentence punctuation; letters
that are read by name stand alone in upper case. spoken(text) is its words in lower case: two texts with the same
spoken form sound alike, and word error rates are counted over spoken forms.
"""

import re
import unicodedata

ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen""".split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
NUMBER_WORDS = frozenset(ONES + TENS[2:] + ["hundred", "thousand", "oh"])
ORDINAL_WORDS = {"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
                 "twelve": "twelfth"}
UNITS = {  # abbreviation: (singular, plural); read as units after a number written in digits
    "km": ("kilometer", "kilometers"), "m": ("meter", "meters"), "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"), "kg": ("kilogram", "kilograms"), "g": ("gram", "grams"),
    "mg": ("milligram", "milligrams"), "l": ("liter", "liters"), "ml": ("milliliter", "milliliters"),
    "lb": ("pound", "pounds"), "lbs": ("pound", "pounds"), "oz": ("ounce", "ounces"), "ft": ("foot", "feet"),
    "yd": ("yard", "yards"), "mi": ("mile", "miles"), "mph": ("mile per hour", "miles per hour"),
    "h": ("hour", "hours"), "hr": ("hour", "hours"), "hrs": ("hour", "hours"), "min": ("minute", "minutes"),
    "sec": ("second", "seconds"), "s": ("second", "seconds"), "%": ("percent", "percent"), "°": ("degree", "degrees"),
    "°c": ("degree celsius", "degrees celsius"), "°f": ("degree fahrenheit", "degrees fahrenheit"),
}
MONEY = {"$": ("dollar", "dollars"), "€": ("euro", "euros"), "£": ("pound", "pounds")}
SYMBOLS = {"+": "plus", "*": "times", "×": "times", "/": "divided by", "÷": "divided by", "=": "equals", "&": "and",
           "@": "at", "%": "percent", "°": "degrees"}
ABBREVIATIONS = {"mr": "mister", "mrs": "missus", "ms": "miss", "dr": "doctor", "vs": "versus",
                 "etc": "et cetera", "ok": "okay"}
CHEMICAL = frozenset("He Ne Na Mg Al Si Cl Ar Ca Ti Cr Fe Ni Cu Zn Ag Sn Pt Au Hg Pb Li".split())
_TYPOGRAPHY = (("\u2019", "'"), ("\u2018", "'"), ("\u2212", "-"), ("\u2013", ", "), ("\u2014", ", "), ("\u2026", ". "))
_SAYABLE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ' ,")
VOWELLESS_WORDS = frozenset("hmm mm shh psst brr".split())

_NUMBER = re.compile(r"(-?)([0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(\.[0-9]+)?([^0-9.,].*)?")
_DOTTED = re.compile(r"[0-9.,]+")
_CLOCK = re.compile(r"([0-9]{1,2}):([0-9]{2})([ap]m)?")
_ORDINAL = re.compile(r"([0-9]+)(st|nd|rd|th)")
_DIGIT_GROUPS = re.compile(r"[0-9]+(-[0-9]+)+")
_LETTER_CHAIN = re.compile(r"[A-Za-z](-[A-Za-z])+")
_BOUNDARY = re.compile(r"[A-Za-z']+|[0-9][0-9.,]*|[^A-Za-z0-9]+")


def cardinal(n: int) -> str:
    """0 to 999 999 in words, American style without "and" and without hyphens."""
    if n < 20:
        return ONES[n]
    if n < 100:
        return TENS[n // 10] + (" " + ONES[n % 10] if n % 10 else "")
    if n < 1000:
        return ONES[n // 100] + " hundred" + (" " + cardinal(n % 100) if n % 100 else "")
    return cardinal(n // 1000) + " thousand" + (" " + cardinal(n % 1000) if n % 1000 else "")


def digit_by_digit(digits: str) -> str:
    return " ".join(ONES[int(digit)] for digit in digits)


def number(digits: str) -> str:
    """A run of digits: 1900-1999 and 2010-2099 read as years, a leading zero or more than six digits one by one."""
    n = int(digits)
    if len(digits) > 6 or (len(digits) > 1 and digits[0] == "0"):
        return digit_by_digit(digits)
    if 1900 <= n <= 1999 or 2010 <= n <= 2099:
        rest = n % 100
        decade = "hundred" if rest == 0 else "oh " + ONES[rest] if rest < 10 else cardinal(rest)
        return cardinal(n // 100) + " " + decade
    return cardinal(n)


def ordinal(digits: str) -> str:
    head, _, last = cardinal(int(digits)).rpartition(" ")
    if last in ORDINAL_WORDS:
        last = ORDINAL_WORDS[last]
    else:
        last = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    return (head + " " + last).strip()


def clock(hour: str, minute: str, has_half: bool) -> str:
    """"15", "40" -> "fifteen forty"; has_half: "am" or "pm" follows."""
    h, m = int(hour), int(minute)
    if m:
        words = cardinal(h) + " " + ("oh " + ONES[m] if m < 10 else cardinal(m))
    else:
        words = cardinal(h) + ("" if has_half else " o'clock" if 1 <= h <= 12 else " hundred")
    return words


def letters(word: str) -> str:
    return " ".join(word.upper())


def _is_half(token: str) -> bool:
    return token.lower().strip(".,?!:;") in ("am", "pm", "a.m", "p.m")


def _numeric(core: str, following: str):
    """The words of a token that holds digits, or None. `following` is the next token, "" at the end."""
    match = _CLOCK.fullmatch(core.lower())
    if match:
        half = match[3] or ""
        return clock(match[1], match[2], bool(half) or _is_half(following)) + (" " + letters(half) if half else "")
    if _DIGIT_GROUPS.fullmatch(core):
        return digit_by_digit(core.replace("-", ""))
    match = _ORDINAL.fullmatch(core.lower())
    if match and int(match[1]) < 1000:
        return ordinal(match[1])
    if core[0] in MONEY:
        names, amount = MONEY[core[0]], core[1:].replace(",", "").partition(".")
        if not amount[0].isdigit() or (amount[2] and not amount[2].isdigit()):
            return None
        words = number(amount[0]) + " " + names[amount[0] != "1"]
        return words + (" and " + cardinal(int(amount[2])) + " cents" if amount[2] and int(amount[2]) < 100 else "")
    if core[0] == "#" and core[1:].isdigit():
        return "number " + number(core[1:])
    match = _NUMBER.fullmatch(core)
    if not match:
        return None
    sign, digits, decimals, rest = match[1], match[2], match[3] or "", (match[4] or "").lower()
    grouped = "," in digits
    digits = digits.replace(",", "")
    words = cardinal(int(digits)) if grouped and int(digits) < 10 ** 6 else number(digits)
    words = "minus " + words if sign else words
    if decimals:
        words += " point " + digit_by_digit(decimals[1:])
    if rest == "":
        return words
    if rest == "s":   # the 1980s
        return (words[:-1] + "ies" if words.endswith("y") else words + "es" if words.endswith("x") else words + "s")
    if rest in UNITS:
        return words + " " + UNITS[rest][digits != "1" or bool(decimals)]
    if rest in ("am", "pm"):
        return words + " " + letters(rest)
    return None


def _word(core: str, previous: str, following: str, starts: bool, is_closed: bool) -> str:
    """A token of letters. `starts`: it begins a sentence. `is_closed`: punctuation follows it."""
    lower = core.lower()
    if previous[-1:].isdigit() and lower in UNITS and (len(core) > 1 or core.islower()):
        return UNITS[lower][previous != "1"]
    if len(core) == 1 and core.isalpha():
        if core == "A":
            return "a" if starts and not is_closed and following[:1].islower() else "A"
        return core if core == "a" else core.upper()
    if lower == "pm":
        return "P M"
    if lower == "am":
        after_number = previous.lower().rpartition("-")[2] in NUMBER_WORDS or previous[-1:].isdigit()
        return "A M" if after_number and following.lower() != "i" else core
    if lower in ABBREVIATIONS:
        words = ABBREVIATIONS[lower]
        return words[:1].upper() + words[1:] if core[0].isupper() else words
    if core in CHEMICAL and not (core == "He" and starts):
        return letters(core)
    if core.isalpha() and ((core.isupper() and len(core) <= 3) or (not set(lower) & set("aeiouy") and len(core) <= 4
                                                                   and lower not in VOWELLESS_WORDS)):
        return letters(core)
    return core


def _expand(core: str, previous: str, following: str, starts: bool, is_closed: bool) -> str:
    if any(c.isdigit() for c in core):
        words = _numeric(core, following)
        if words is not None:
            return words
        if _DOTTED.fullmatch(core):   # "1,2,3", "2.0.1"
            groups = ([part for part in group.split(".") if part] for group in core.split(","))
            return ", ".join(" point ".join(map(number, group)) for group in groups if group)
        parts = _BOUNDARY.findall(core)
        return " ".join(filter(None, (_part(part, parts[n - 1] if n else "", parts[n + 1] if n + 1 < len(parts) else "")
                                      for n, part in enumerate(parts))))
    if _LETTER_CHAIN.fullmatch(core):
        return letters(core.replace("-", ""))
    if "." in core:   # "U.S", "p.m", "Ph.D"
        parts = [part for part in core.split(".") if part]
        return " ".join(part.upper() if len(part) == 1 else _expand(part, "", "", False, True) for part in parts)
    if "-" in core:
        parts = [part for part in core.split("-") if part]
        return " ".join(_word(part, previous if n == 0 else "", "", starts and n == 0, True) if part.isalpha() else part
                        for n, part in enumerate(parts))
    return _word(core, previous, following, starts, is_closed)


def _part(part: str, before: str, after: str) -> str:
    """A piece of a token that mixes letters and digits, such as "24-hour" or "B12"."""
    if part[0].isdigit():
        return _numeric(part.rstrip(".,"), "") or ""
    if part[0].isalpha():
        return _word(part, "", "", False, True) if len(part) > 1 else part.upper()
    return SYMBOLS.get(part, "")


def _fold(text: str) -> str:
    """ASCII where there is an obvious twin: accents fall off, quotes and dashes become plain."""
    for old, new in _TYPOGRAPHY:
        text = text.replace(old, new)
    text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
    return "".join(c if c < "\x80" or c in "£€°×÷" else " " for c in text)


def _space_operators(text: str) -> str:
    out = []
    for n, c in enumerate(text):
        if c in "+×÷=&@":
            out.append(f" {c} ")
        elif c in "/*":
            before, after = text[:n].rstrip()[-1:], text[n + 1:].lstrip()[:1]
            out.append(f" {c} " if before.isdigit() and after.isdigit() else " ")
        else:
            out.append(c)
    return "".join(out)


def to_say(text: str) -> str:
    """What a synthesizer is given: words only, with the punctuation of the sentence."""
    text = text.replace("km/h", "kilometers per hour")
    tokens = _space_operators(_fold(text)).split()
    kept = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ$€£#%°-+*×÷/=&@"
    cores, trails = [], []
    for token in tokens:
        while token and token[0] not in kept:
            token = token[1:]
        end = len(token)
        while end and (token[end - 1] not in kept or (token[end - 1] == "-" and end > 1)):
            end -= 1
        trail = "".join(c for c in token[end:] if c in ".,?!:;")[:1]
        cores.append(token[:end])
        trails.append(trail)
    names_letter = lambda token: len(token) == 1 and token.isalpha() and token not in "aAiI"
    has_digits = lambda token: any(c.isdigit() for c in token)
    out, starts = [], True
    for n, (core, trail) in enumerate(zip(cores, trails)):
        previous, following = cores[n - 1] if n else "", cores[n + 1] if n + 1 < len(cores) else ""
        if core in SYMBOLS:
            words = SYMBOLS[core]
        elif core == "-":
            words = "minus" if (has_digits(previous) or previous in NUMBER_WORDS) and following else ""
        elif core.lower() == "x" and has_digits(previous) and has_digits(following):
            words = "times"
        elif core == "a" and (names_letter(previous) or names_letter(following)):
            words = "A"
        elif core:
            if core[0] == "-" and not core[1:2].isdigit():
                core = core.lstrip("-")
            before, behind = "" if n and trails[n - 1] else previous, "" if trail else following
            words = _expand(core, before, behind, starts, bool(trail))
        else:
            words = ""
        if core.lower() in ("mr", "mrs", "ms", "dr", "vs") and trail == ".":
            trail = ""
        words = " ".join("".join(c if c in _SAYABLE else " " for c in words).split())
        if words:
            out.append(words + trail)
            starts = trail in (".", "?", "!", ":") and trail != ""
        elif out and trail and out[-1][-1].isalpha():
            out[-1] += trail
            starts = trail in ".?!:"
    return " ".join(out)


def spoken(text: str) -> str:
    """The words that are said: lower case, nothing but a-z, apostrophes inside words, and single spaces."""
    words = "".join(c if "a" <= c <= "z" or c == "'" else " " for c in to_say(text).lower()).split()
    return " ".join(filter(None, (word.strip("'") for word in words)))


def word_errors(reference, hypothesis):
    """(errors, words) between the spoken forms."""
    a, b = spoken(reference).split(), spoken(hypothesis).split()
    row = list(range(len(b) + 1))
    for i, word in enumerate(a):
        diagonal, row[0] = row[0], i + 1
        for j, other in enumerate(b):
            diagonal, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, diagonal + (word != other))
    return row[-1], len(a)
