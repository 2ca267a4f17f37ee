"""Clock times and dates.

Range of times: 12-hour clock in steps of 5 minutes; shifts of 5 minutes to 12 hours; spans within one day.
Range of dates: weekdays shifted by up to 30 days, months by up to 12, dates by up to 30 days in a year without
February 29, leap years from 1900 to 2099.
"""

from item import HELD, Item, capitalise, is_held, pick_combination, wordings
from spoken import clock, clock_as_asked, duration, duration_as_asked, number_words, ordinal_digits, ordinal_words
import world

AFTER = wordings("""
    What time is it {d} after {t}?
    What time is {d} after {t}?
    What is the time {d} after {t}?
    What's {d} after {t}?
    What time comes {d} after {t}?
    It is {t}. What time is it in {d}?
    It's {t} now. What time will it be in {d}?
    If it is {t}, what time is it in {d}?
    If it is {t} now, what time will it be {d} later?
    What time will it be {d} after {t}?
    Add {d} to {t}.
    Tell me the time {d} after {t}.
    A film starts at {t} and takes {d}. When does it end?
    I leave at {t} and the trip takes {d}. When do I arrive?
    {d} after {t} is what time?""", """
    Tell me what time it is {d} after {t}.
    It is {t} now. What time is it {d} later?
    The meeting starts at {t} and takes {d}. When does it end?
    What will be the time {d} after {t}?""")

BEFORE = wordings("""
    What time is it {d} before {t}?
    What time is {d} before {t}?
    What is the time {d} before {t}?
    What's {d} before {t}?
    What time comes {d} before {t}?
    It is {t}. What time was it {d} ago?
    It's {t} now. What time was it {d} ago?
    If it is {t}, what time was it {d} ago?
    If it is {t} now, what time was it {d} earlier?
    What time was it {d} before {t}?
    Subtract {d} from {t}.
    Tell me the time {d} before {t}.
    I have to arrive at {t} and the trip takes {d}. When do I leave?
    {d} before {t} is what time?""", """
    Tell me what time it is {d} before {t}.
    It is {t} now. What time was it {d} earlier?
    What was the time {d} before {t}?""")

SPAN = wordings("""
    How long is it from {t} to {u}?
    How much time is there from {t} to {u}?
    How long is it from {t} until {u}?
    How much time is between {t} and {u}?
    How long does it take from {t} to {u}?
    How much time passes from {t} to {u}?
    A film starts at {t} and ends at {u}. How long is it?
    It is {t}. How long is it until {u}?
    What is the time between {t} and {u}?
    Tell me how long it is from {t} to {u}.""", """
    How much time passes between {t} and {u}?
    The meeting starts at {t} and ends at {u}. How long is it?
    Tell me how much time there is from {t} to {u}.""")

TO_TWELVE = wordings("""
    What is {h} in 12-hour time?
    What time is {h} on a 12-hour clock?
    Say {h} as 12-hour time.
    What is {h} with am or pm?
    Tell me {h} in 12-hour time.
    What does {h} mean in 12-hour time?""", """
    What is {h} on a 12-hour clock?
    How do you say {h} with am or pm?""")

TO_TWENTY_FOUR = wordings("""
    What is {t} in 24-hour time?
    What time is {t} on a 24-hour clock?
    Say {t} as 24-hour time.
    Tell me {t} in 24-hour time.
    What does {t} mean in 24-hour time?
    Write {t} in 24-hour time.""", """
    What is {t} on a 24-hour clock?
    How do you write {t} in 24-hour time?""")


def _draw_shift(rng):
    minutes = 5 * rng.randrange(288) if rng.random() < 0.7 else 60 * rng.randrange(24)
    size = rng.random()
    shift = 60 * rng.randint(1, 12) if size < 0.35 else 5 * rng.randint(1, 12) if size < 0.6 else 5 * rng.randint(1, 144)
    return minutes, shift


def times_item(rng, split):
    choice = rng.random()
    if choice < 0.72:
        forward = choice < 0.4
        direction = "after" if forward else "before"
        _, minutes, shift = pick_combination(rng, split, lambda: (direction, *_draw_shift(rng)))
        wording = (AFTER if forward else BEFORE).pick_any_for_held(rng, split)
        question = wording.format(d=duration_as_asked(rng, shift), t=clock_as_asked(rng, minutes))
        result = clock(minutes + shift if forward else minutes - shift)
        return Item("times", capitalise(question), [f"{capitalise(duration(shift))} {direction} {clock(minutes)} is {result}.",
                    result, f"It is {result}.", f"At {result}."], (direction, minutes, shift), wording, "combination")
    if choice < 0.88:
        def draw():
            start = 5 * rng.randrange(287)
            return "span", start, min(1435, start + 5 * rng.randint(1, 144))
        _, start, end = pick_combination(rng, split, draw)
        wording = SPAN.pick_any_for_held(rng, split)
        question = wording.format(t=clock_as_asked(rng, start), u=clock_as_asked(rng, end))
        length = duration(end - start)
        return Item("times", question, [f"From {clock(start)} to {clock(end)} is {length}.", length, f"It is {length}."],
                    ("span", start, end), wording, "combination")
    _, minutes = pick_combination(rng, split, lambda: ("24", 5 * rng.randrange(288)))
    day_time = f"{minutes // 60}:{minutes % 60:02d}"
    if choice < 0.94:
        wording = TO_TWELVE.pick_any_for_held(rng, split)
        return Item("times", wording.format(h=day_time), [f"{day_time} is {clock(minutes)}.", clock(minutes)],
                    ("24", minutes), wording, "combination")
    wording = TO_TWENTY_FOUR.pick_any_for_held(rng, split)
    return Item("times", wording.format(t=clock_as_asked(rng, minutes)), [f"{clock(minutes)} is {day_time}.", day_time],
                ("24", minutes), wording, "combination")


WEEKDAY_AFTER = wordings("""
    What day is {n} days after {d}?
    Which day is {n} days after {d}?
    What day of the week is {n} days after {d}?
    Today is {d}. What day is it in {n} days?
    It is {d}. Which day is it in {n} days?
    If today is {d}, what day is it in {n} days?
    What day comes {n} days after {d}?
    Tell me the day {n} days after {d}.
    Tell me the weekday {n} days after {d}.
    Which weekday comes {n} days after {d}?
    {n} days after {d}, which weekday is that?
    I want to know what day is {n} days after {d}.
    {n} days after {d} is which day?""", """
    Tell me which day is {n} days after {d}.
    If it is {d} today, which day is it in {n} days?
    What weekday is {n} days after {d}?""")
WEEKDAY_BEFORE = wordings("""
    What day is {n} days before {d}?
    Which day is {n} days before {d}?
    What day of the week is {n} days before {d}?
    Today is {d}. What day was it {n} days ago?
    It is {d}. Which day was it {n} days ago?
    If today is {d}, what day was it {n} days ago?
    What day comes {n} days before {d}?
    Tell me the day {n} days before {d}.
    Tell me the weekday {n} days before {d}.
    Which weekday comes {n} days before {d}?
    {n} days before {d}, which weekday is that?
    I want to know what day is {n} days before {d}.
    {n} days before {d} is which day?""", """
    Tell me which day is {n} days before {d}.
    If it is {d} today, which day was it {n} days ago?
    What weekday is {n} days before {d}?""")
NEXT_DAY = wordings("""
    What day comes after {d}?
    Which day comes after {d}?
    What day is after {d}?
    Today is {d}. What day is tomorrow?
    If today is {d}, what day is tomorrow?
    What is the day after {d}?
    Which day follows {d}?""", """
    What day follows {d}?
    It is {d} today. What day is tomorrow?""")
PREVIOUS_DAY = wordings("""
    What day comes before {d}?
    Which day comes before {d}?
    What day is before {d}?
    Today is {d}. What day was yesterday?
    If today is {d}, what day was yesterday?
    What is the day before {d}?""", """
    Which day is right before {d}?
    It is {d} today. What day was yesterday?""")
MONTH_SHIFT = wordings("""
    What month is {n} months {w} {m}?
    Which month is {n} months {w} {m}?
    What month comes {n} months {w} {m}?
    Tell me the month {n} months {w} {m}.
    {n} months {w} {m} is which month?
    What is the month {n} months {w} {m}?""", """
    Tell me which month is {n} months {w} {m}.
    Which month comes {n} months {w} {m}?""")
MONTH_NEXT = wordings("""
    What month comes {w} {m}?
    Which month comes {w} {m}?
    What month is {w} {m}?
    What is the month {w} {m}?
    Tell me the month {w} {m}.""", """
    Which month is right {w} {m}?
    Do you know the month {w} {m}?""")
MONTH_NUMBER = wordings("""
    What is the {o} month of the year?
    Which month is the {o} month?
    What is the {o} month?
    Name the {o} month of the year.
    Tell me the {o} month.""", """
    Which month is the {o} month of the year?
    Name the {o} month.""")
MONTH_DAYS = wordings("""
    How many days does {m} have?
    How many days are in {m}?
    How many days are there in {m}?
    How many days has {m}?
    Tell me how many days {m} has.
    How long is {m}?""", """
    Do you know how many days {m} has?
    What is the number of days in {m}?""")
MONTH_SEASON = wordings("""
    Which season is {m} in?
    What season is {m} in?
    In which season is {m}?
    Which season does {m} belong to?
    In what season is {m}?""", """
    What season does {m} belong to?
    Tell me the season of {m}.""")
DATE_SHIFT = wordings("""
    What date is {n} days {w} {d}?
    Which date is {n} days {w} {d}?
    What is the date {n} days {w} {d}?
    Tell me the date {n} days {w} {d}.
    {n} days {w} {d} is which date?
    What date comes {n} days {w} {d}?""", """
    Tell me which date is {n} days {w} {d}.
    Which date comes {n} days {w} {d}?""")
LEAP = wordings("""
    Is {y} a leap year?
    Was {y} a leap year?
    Is the year {y} a leap year?
    Is the year {y} a leap year or not?
    Does {y} have 366 days?
    Does the year {y} have a February 29?""", """
    Tell me if {y} is a leap year.
    Do you know if {y} is a leap year?""")


def _date(day_of_year):
    day = day_of_year % 365
    for month, days in zip(world.MONTHS, world.DAYS_IN_MONTH):
        if day < days:
            return month, day + 1
        day -= days
    raise AssertionError("unreachable")


def _date_as_asked(rng, month, day):
    style = rng.random()
    if style < 0.6:
        return f"{month} {day}"
    if style < 0.75:
        return f"{month} {ordinal_words(day)}"
    return f"the {ordinal_digits(day)} of {month}" if style < 0.9 else f"{month} {ordinal_digits(day)}"


def _count_as_asked(rng, n):
    return str(n) if rng.random() < 0.75 else number_words(n)


def _weekday_and_shift(rng, split, direction):
    """Shifts within a week are always trained: longer ones are led back to them."""
    while True:
        day, n = rng.randrange(7), rng.randint(2, 30)
        if (n > 6 and is_held("weekday " + direction, day, n)) == (split == HELD):
            return day, n


def _led_back_to_a_week(n, direction, day, result):
    """The answer for shifts of a week and more: it takes off whole weeks first, as a person would."""
    weeks, rest = divmod(n, 7)
    whole = f"{weeks} week{'s' if weeks > 1 else ''}"
    if rest == 0:
        return f"{n} days is {whole}, so it is {result} again."
    days = f"{rest} day{'s' if rest > 1 else ''}"
    return f"{n} days is {whole} and {days}, and {days} {direction} {day} is {result}."


def dates_item(rng, split):
    choice = rng.random()
    if choice < 0.30:
        direction = rng.choice(("after", "before"))
        day, n = _weekday_and_shift(rng, split, direction)
        wording = (WEEKDAY_AFTER if direction == "after" else WEEKDAY_BEFORE).pick_any_for_held(rng, split)
        result = world.WEEKDAYS[(day + n if direction == "after" else day - n) % 7]
        question = wording.format(n=_count_as_asked(rng, n), d=world.WEEKDAYS[day])
        shift = f"{n} days {direction} {world.WEEKDAYS[day]}"
        full = f"{shift} is {result}." if n < 7 else _led_back_to_a_week(n, direction, world.WEEKDAYS[day], result)
        return Item("dates", capitalise(question), [full, result, f"{shift} is {result}."],
                    ("weekday " + direction, day, n), wording, "combination")
    if choice < 0.40:
        day, step = rng.randrange(7), rng.choice((1, -1))
        wording = (NEXT_DAY if step == 1 else PREVIOUS_DAY).pick(rng, split)
        result, word = world.WEEKDAYS[(day + step) % 7], "after" if step == 1 else "before"
        return Item("dates", wording.format(d=world.WEEKDAYS[day]), [f"The day {word} {world.WEEKDAYS[day]} is {result}.", result],
                    ("day", day, step), wording, "wording")
    if choice < 0.52:
        direction = rng.choice(("after", "before"))
        month, n = rng.randrange(12), rng.randint(2, 12)
        wording = MONTH_SHIFT.pick(rng, split)
        result = world.MONTHS[(month + n if direction == "after" else month - n) % 12]
        question = wording.format(n=_count_as_asked(rng, n), w=direction, m=world.MONTHS[month])
        return Item("dates", capitalise(question), [f"{n} months {direction} {world.MONTHS[month]} is {result}.", result],
                    ("month " + direction, month, n), wording, "wording")
    if choice < 0.58:
        month, direction = rng.randrange(12), rng.choice(("after", "before"))
        wording = MONTH_NEXT.pick(rng, split)
        result = world.MONTHS[(month + (1 if direction == "after" else -1)) % 12]
        return Item("dates", wording.format(w=direction, m=world.MONTHS[month]),
                    [f"The month {direction} {world.MONTHS[month]} is {result}.", result], ("next month", month, direction), wording, "wording")
    if choice < 0.64:
        n = rng.randint(1, 12)
        wording = MONTH_NUMBER.pick(rng, split)
        ordinal = ordinal_words(n) if rng.random() < 0.7 else ordinal_digits(n)
        return Item("dates", wording.format(o=ordinal), [f"The {ordinal_words(n)} month is {world.MONTHS[n - 1]}.", world.MONTHS[n - 1]],
                    ("month number", n), wording, "wording")
    if choice < 0.70:
        month = rng.randrange(12)
        wording = MONTH_DAYS.pick(rng, split)
        days = world.DAYS_IN_MONTH[month]
        extra = ", or 29 in a leap year" if month == 1 else ""
        return Item("dates", wording.format(m=world.MONTHS[month]), [f"{world.MONTHS[month]} has {days} days{extra}.", str(days), f"{days} days"],
                    ("days in", month), wording, "wording")
    if choice < 0.75:
        month = rng.randrange(12)
        wording = MONTH_SEASON.pick(rng, split)
        season = world.SEASON_OF_MONTH[month]
        return Item("dates", wording.format(m=world.MONTHS[month]), [f"{world.MONTHS[month]} is in {season}.", season],
                    ("season", month), wording, "wording")
    if choice < 0.92:
        direction = rng.choice(("after", "before"))
        _, start, n = pick_combination(rng, split, lambda: ("date " + direction, rng.randrange(365), rng.randint(1, 30)))
        wording = DATE_SHIFT.pick_any_for_held(rng, split)
        month, day = _date(start)
        to_month, to_day = _date(start + n if direction == "after" else start - n)
        days = "1 day" if n == 1 else f"{n} days"
        question = wording.format(n=_count_as_asked(rng, n), w=direction, d=_date_as_asked(rng, month, day))
        if n == 1:
            question = question.replace("1 days", "1 day").replace("one days", "one day")
        return Item("dates", capitalise(question), [f"{days} {direction} {month} {day} is {to_month} {to_day}.", f"{to_month} {to_day}"],
                    ("date " + direction, start, n), wording, "combination")
    year = rng.randint(1900, 2099)
    wording = LEAP.pick(rng, split)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    answer = f"Yes, {year} is a leap year." if leap else f"No, {year} is not a leap year."
    return Item("dates", wording.format(y=year), [answer, answer.split(",")[0]], ("leap", year), wording, "wording")
