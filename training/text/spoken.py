"""Numbers, clock times and dates as people write and say them."""

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen""".split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
_ORDINALS = """zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth
fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth""".split()


def number_words(n, hyphen=True):
    """42 -> "forty-two"; covers 0 to 9999."""
    if n < 20:
        return _ONES[n]
    if n < 100:
        tens, ones = divmod(n, 10)
        return _TENS[tens] + (("-" if hyphen else " ") + _ONES[ones] if ones else "")
    if n < 1000:
        hundreds, rest = divmod(n, 100)
        return _ONES[hundreds] + " hundred" + (" " + number_words(rest, hyphen) if rest else "")
    thousands, rest = divmod(n, 1000)
    return _ONES[thousands] + " thousand" + (" " + number_words(rest, hyphen) if rest else "")


def ordinal_words(n):
    """3 -> "third"; covers 1 to 31."""
    if n <= 20:
        return _ORDINALS[n]
    return "thirtieth" if n == 30 else _TENS[n // 10] + "-" + _ORDINALS[n % 10]


def ordinal_digits(n):
    suffix = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{suffix}"


def clock(minutes):
    """Minutes since midnight as the assistant says it: 940 -> "3:40 pm"."""
    minutes %= 1440
    hour, minute = divmod(minutes, 60)
    return f"{(hour + 11) % 12 + 1}:{minute:02d} {'am' if hour < 12 else 'pm'}"


def clock_as_asked(rng, minutes):
    """The same time in one of the ways a user may write or say it."""
    hour, minute = divmod(minutes % 1440, 60)
    twelve, half = (hour + 11) % 12 + 1, "am" if hour < 12 else "pm"
    style = rng.random()
    if style < 0.6:
        return clock(minutes)
    if minute == 0:
        if minutes in (0, 720) and style < 0.8:
            return "midnight" if minutes == 0 else "noon"
        return f"{twelve} {half}" if style < 0.85 else f"{number_words(twelve)} {half}"
    if style < 0.75:
        minute_words = f"oh {_ONES[minute]}" if minute < 10 else number_words(minute)
        return f"{number_words(twelve)} {minute_words} {half}"
    if style < 0.85:
        return f"{twelve} {minute:02d} {half}"
    daytime = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
    if minute == 30:
        return f"half past {number_words(twelve)} {daytime}"
    if minute == 15:
        return f"a quarter past {number_words(twelve)} {daytime}"
    if minute == 45 and hour % 12 != 11:
        return f"a quarter to {number_words(twelve % 12 + 1)} {daytime}"
    return f"{twelve}:{minute:02d} {daytime}"


def duration(minutes):
    """90 -> "1 hour and 30 minutes"."""
    hours, rest = divmod(minutes, 60)
    parts = []
    if hours:
        parts.append(f"{hours} hour{'s' if hours != 1 else ''}")
    if rest:
        parts.append(f"{rest} minute{'s' if rest != 1 else ''}")
    return " and ".join(parts)


def duration_as_asked(rng, minutes):
    hours, rest = divmod(minutes, 60)
    style = rng.random()
    if style < 0.6:
        return duration(minutes)
    if minutes == 30:
        return "half an hour"
    if minutes == 15:
        return "a quarter of an hour"
    if minutes == 90:
        return "an hour and a half"
    if minutes == 60:
        return "an hour"
    if style < 0.7 and rest and hours:
        return duration(minutes).replace(" and ", " ")
    parts = []
    if hours:
        parts.append(f"{number_words(hours)} hour{'s' if hours != 1 else ''}")
    if rest:
        parts.append(f"{number_words(rest)} minute{'s' if rest != 1 else ''}")
    return " and ".join(parts)


def listing(words):
    """["a", "b", "c"] -> "a, b and c"."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
