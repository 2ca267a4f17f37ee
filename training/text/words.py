"""Spelling, lists and simple instructions about words and numbers."""

from item import HELD, Item, capitalise, is_held, wordings
from spoken import listing, number_words
import world


def _word_pool():
    pool = set(word.lower() for word in world.SPELLING_WORDS)
    for group in (world.OBJECTS, world.ANIMALS, world.FRUITS, world.COLORS, world.JOBS, world.SPORTS, world.FLOWERS, world.COUNTABLES,
                  world.OPPOSITES, world.PAST_TENSES, world.IRREGULAR_PLURALS, [name.lower() for name in world.FIRST_NAMES]):
        pool.update(word for word in group if word.isalpha() and len(word) > 1)
    return sorted(pool)


WORDS = _word_pool()

SPELL = wordings("""
    How do you spell {w}?
    Spell {w}.
    Spell the word {w}.
    Can you spell {w}?
    How is {w} spelled?
    Please spell {w} for me.
    What is the spelling of {w}?
    Tell me how to spell {w}.
    How do I spell {w}?
    How do you write {w}?
    Say the letters of {w}.""", """
    Can you spell the word {w} for me?
    How do you spell the word {w}?
    What are the letters of {w}?""")
LETTER_COUNT = wordings("""
    How many letters are in {w}?
    How many letters does {w} have?
    How many letters does the word {w} have?
    How many letters are there in {w}?
    Count the letters in {w}.
    Tell me how many letters {w} has.""", """
    How many letters are in the word {w}?
    How many letters has the word {w}?""")
FIRST_LETTER = wordings("""
    What is the first letter of {w}?
    Which letter does {w} start with?
    What letter does {w} start with?
    Tell me the first letter of {w}.
    What does {w} begin with?""", """
    What is the first letter of the word {w}?
    Which letter does {w} begin with?""")
LAST_LETTER = wordings("""
    What is the last letter of {w}?
    Which letter does {w} end with?
    What letter does {w} end with?
    Tell me the last letter of {w}.
    What does {w} end with?""", """
    What is the last letter of the word {w}?
    What letter is at the end of {w}?""")
NEXT_LETTER = wordings("""
    What letter comes {s} {x}?
    Which letter comes {s} {x}?
    What is the letter {s} {x}?
    Tell me the letter {s} {x}.
    Which letter is {s} {x} in the alphabet?""", """
    What letter is {s} {x} in the alphabet?
    Do you know the letter {s} {x}?""")
BACKWARDS = wordings("""
    Spell {w} backwards.
    How do you spell {w} backwards?
    Say the letters of {w} backwards.
    Spell the word {w} backwards.
    What is {w} spelled backwards?""", """
    Can you spell {w} backwards?
    How is {w} spelled backwards?""")


def _letters(word):
    return ", ".join(word.upper())


def spelling_item(rng, split):
    word = rng.choice(WORDS)
    choice = rng.random()
    if choice < 0.55:
        wording = SPELL.pick(rng, split)
        answers = [f"{capitalise(word)} is spelled {_letters(word)}.", _letters(word), "-".join(word.upper())]
    elif choice < 0.66:
        wording = LETTER_COUNT.pick(rng, split)
        answers = [f"{capitalise(word)} has {len(word)} letters: {_letters(word)}.", str(len(word)), f"{len(word)} letters"]
    elif choice < 0.75:
        wording = FIRST_LETTER.pick(rng, split)
        answers = [f"The first letter of {word} is {word[0].upper()}.", word[0]]
    elif choice < 0.84:
        wording = LAST_LETTER.pick(rng, split)
        answers = [f"The last letter of {word} is {word[-1].upper()}.", word[-1]]
    elif choice < 0.93:
        n, side = rng.randrange(1, 25), rng.choice(("after", "before"))
        letter = chr(65 + n)
        other = chr(65 + n + (1 if side == "after" else -1))
        wording = NEXT_LETTER.pick(rng, split)
        return Item("spelling", wording.format(s=side, x=letter), [f"The letter {side} {letter} is {other}.", other],
                    ("letter", side, letter), wording, "wording")
    else:
        wording = BACKWARDS.pick(rng, split)
        answers = [f"{capitalise(word)} backwards is {_letters(word[::-1])}.", _letters(word[::-1]), "-".join(word.upper()[::-1])]
    return Item("spelling", wording.format(w=word), answers, ("word", word), wording, "wording")


NAME_SOME = wordings("""
    Name {n} {g}.
    Tell me {n} {g}.
    Give me {n} {g}.
    List {n} {g}.
    Can you name {n} {g}?
    Can you list {n} {g}?
    Please name {n} {g}.
    Say {n} {g}.
    What are {n} {g}?
    I need {n} {g}.
    Name {n} different {g}.""", """
    Could you name {n} {g}?
    Can you give me {n} {g}?
    Please list {n} {g}.
    Can you tell me {n} {g}?""")
COUNT_UP = wordings("""
    Count from {a} to {b}.
    Please count from {a} to {b}.
    Can you count from {a} to {b}?
    Count up from {a} to {b}.
    Say the numbers from {a} to {b}.
    List the numbers from {a} to {b}.""", """
    Could you count from {a} to {b}?
    Give me the numbers from {a} to {b}.""")
COUNT_DOWN = wordings("""
    Count down from {b} to {a}.
    Please count down from {b} to {a}.
    Count backwards from {b} to {a}.
    Can you count down from {b} to {a}?""", """
    Could you count down from {b} to {a}?
    Please count backwards from {b} to {a}.""")
ALL_OF = {
    "days of the week": world.WEEKDAYS, "months of the year": world.MONTHS, "planets": world.PLANETS,
    "seasons": world.GROUPS["seasons"], "letters from A to E": list("ABCDE"), "five senses": world.GROUPS["senses"],
    "oceans": world.GROUPS["oceans"], "vowels": list("AEIOU"),
    "colors of the rainbow": ["red", "orange", "yellow", "green", "blue", "indigo", "violet"],
}
NAME_ALL = wordings("""
    Name the {g}.
    What are the {g}?
    List the {g}.
    Tell me the {g}.
    Can you name the {g}?
    Name all the {g}.
    Say the {g}.""", """
    Can you list the {g}?
    Please name all the {g}.""")


def _group_and_size(rng, split):
    """How many of which group. The longest list of a group is always trained: only it names the last member."""
    while True:
        group = rng.choice(list(world.GROUPS))
        longest = min(5, len(world.GROUPS[group]))
        n = rng.randint(2, longest)
        if (n < longest and is_held("name", group, n)) == (split == HELD):
            return group, n


def lists_item(rng, split):
    choice = rng.random()
    if choice < 0.6:
        group, n = _group_and_size(rng, split)
        wording = NAME_SOME.pick_any_for_held(rng, split)
        count = number_words(n) if rng.random() < 0.7 else str(n)
        answer = capitalise(listing(world.GROUPS[group][:n])) + "."
        return Item("lists", wording.format(n=count, g=group), [answer], ("name", group, n), wording, "combination")
    if choice < 0.82:
        up = choice < 0.72
        a = rng.randint(0, 40)
        b = a + rng.randint(2, 9)
        wording = (COUNT_UP if up else COUNT_DOWN).pick(rng, split)
        numbers = range(a, b + 1) if up else range(b, a - 1, -1)
        said = (str(a), str(b)) if rng.random() < 0.75 else (number_words(a), number_words(b))
        return Item("lists", wording.format(a=said[0], b=said[1]), [", ".join(map(str, numbers)) + "."],
                    ("count", a, b, up), wording, "wording")
    group = rng.choice(list(ALL_OF))
    wording = NAME_ALL.pick(rng, split)
    return Item("lists", wording.format(g=group), [capitalise(listing(ALL_OF[group])) + "."], ("all", group), wording, "wording")


REPEAT = wordings("""
    Repeat after me: {s}
    Say this: {s}
    Repeat this sentence: {s}
    Please repeat: {s}
    Repeat: {s}
    Say the following: {s}
    Say it after me: {s}
    Say these words after me: {s}
    Repeat what I say: {s}
    Please repeat the following: {s}
    Can you repeat this: {s}
    Can you say this: {s}
    Say exactly this: {s}""", """
    Please say this: {s}
    Please repeat this sentence: {s}
    Say after me: {s}""")
SAY_TIMES = wordings("""
    Say {w} {n} times.
    Repeat {w} {n} times.
    Say the word {w} {n} times.
    Please say {w} {n} times.
    Repeat the word {w} {n} times.""", """
    Please repeat the word {w} {n} times.
    Can you say {w} {n} times?""")
ONLY_WORD = wordings("""
    Say only the word {w}.
    Answer with the word {w}.
    Just say {w}.
    Please say the word {w}.
    Say {w}.
    Answer only with the word {w}.""", """
    Please just say {w}.
    Say just the word {w}.""")
LAST_OF = wordings("""
    What is the {o} word of this sentence: {s}
    What is the {o} word in this sentence: {s}
    Tell me the {o} word of this sentence: {s}
    Which word is the {o} word of this sentence: {s}
    Say the {o} word of this sentence: {s}""", """
    Which is the {o} word of this sentence: {s}
    What's the {o} word in this sentence: {s}""")
SORT_WORDS = wordings("""
    Put these words in alphabetical order: {l}.
    Sort these words: {l}.
    Sort these words by the alphabet: {l}.
    Put these words alphabetically: {l}.
    Order these words alphabetically: {l}.
    Bring {l} into the order of the alphabet.
    Put {l} in alphabetical order.
    Sort the words {l}.
    Bring these words into alphabetical order: {l}.""", """
    Sort these words alphabetically: {l}.
    Please sort the words {l}.""")
SORT_NUMBERS = wordings("""
    Sort these numbers: {l}.
    Put these numbers in order: {l}.
    Sort the numbers {l}.
    Put {l} in order.
    Order these numbers from small to large: {l}.""", """
    Please sort these numbers: {l}.
    Put the numbers {l} in order.""")
EXTREME = wordings("""
    Which number is {e}: {l}?
    Which of these numbers is the {x}: {l}?
    What is the {x} number: {l}?
    Which is the {x} of {l}?
    Tell me the {x} number of {l}.
    What is the {x} of {l}?""", """
    Which number is the {x}: {l}?
    Tell me the {x} of {l}.""")
REVERSE = wordings("""
    Say these words in reverse order: {l}.
    Reverse the order of these words: {l}.
    Say {l} backwards.
    Turn around the order of {l}.
    Say {l} in reverse order.
    Reverse this list: {l}.
    Turn this list around: {l}.""", """
    Reverse these words: {l}.
    Say this list in reverse order: {l}.""")
PICK = wordings("""
    Which of these is {k}: {l}?
    Which one is {k}: {l}?
    Pick {k} from this list: {l}.
    Find {k}: {l}.
    One of these is {k}: {l}. Which one?""", """
    Which word is {k}: {l}?
    Pick the word that is {k}: {l}.""")
KINDS = {"an animal": world.ANIMALS, "a fruit": world.FRUITS, "a color": world.COLORS[:10], "a job": world.JOBS,
         "a sport": world.SPORTS, "a flower": world.FLOWERS[:8]}
ORDINAL = {"first": 0, "second": 1, "last": -1}
PLAIN_SUBJECTS = "the dog|the cat|my sister|our teacher|the old man|a small bird|the baker|the train|my friend|the red car|a tall woman|the child".split("|")
PLAIN_VERBS = "runs|sleeps|waits|sings|stands|sits|plays|works|stops|lives|stays|dances".split("|")
PLAIN_PLACES = "in the garden|near the river|at the station|under the tree|in the kitchen|on the bridge|by the window|in the park|behind the house|at home|at school|in the street".split("|")


def plain_sentence(rng):
    return f"{capitalise(rng.choice(PLAIN_SUBJECTS))} {rng.choice(PLAIN_VERBS)} {rng.choice(PLAIN_PLACES)}."


def instructions_item(rng, split):
    choice = rng.random()
    if choice < 0.2:
        words = plain_sentence(rng) if rng.random() < 0.6 else capitalise(" ".join(rng.sample(WORDS, rng.randint(2, 6)))) + "."
        wording = REPEAT.pick(rng, split)
        return Item("instructions", wording.format(s=words), [words], ("repeat", words), wording, "wording")
    if choice < 0.32:
        word, n = rng.choice(WORDS), rng.randint(2, 6)
        wording = SAY_TIMES.pick(rng, split)
        said = number_words(n) if rng.random() < 0.7 else str(n)
        return Item("instructions", wording.format(w=word, n=said), [capitalise(", ".join([word] * n)) + "."],
                    ("times", word, n), wording, "wording")
    if choice < 0.4:
        word = rng.choice(WORDS)
        wording = ONLY_WORD.pick(rng, split)
        return Item("instructions", wording.format(w=word), [capitalise(word) + "."], ("only", word), wording, "wording")
    if choice < 0.52:
        sentence, ordinal = plain_sentence(rng), rng.choice(list(ORDINAL))
        wording = LAST_OF.pick(rng, split)
        word = sentence.lower().rstrip(".").split()[ORDINAL[ordinal]]
        return Item("instructions", wording.format(o=ordinal, s=sentence), [f"The {ordinal} word is {word}.", word],
                    ("word of", ordinal, sentence), wording, "wording")
    if choice < 0.62:
        words = rng.sample(WORDS, 3)
        while len({word[0] for word in words}) < 3:
            words = rng.sample(WORDS, 3)
        wording = SORT_WORDS.pick(rng, split)
        return Item("instructions", capitalise(wording.format(l=listing(words))), [capitalise(listing(sorted(words))) + "."],
                    ("sort", *words), wording, "wording")
    if choice < 0.72:
        numbers = rng.sample(range(1, 100), 3)
        wording = SORT_NUMBERS.pick(rng, split)
        return Item("instructions", capitalise(wording.format(l=listing(list(map(str, numbers))))),
                    [listing(list(map(str, sorted(numbers)))) + "."], ("sort numbers", *numbers), wording, "wording")
    if choice < 0.82:
        numbers = rng.sample(range(1, 100 if rng.random() < 0.7 else 999), 3)
        largest = rng.random() < 0.5
        name, result = rng.choice((("largest", max), ("biggest", max)) if largest else (("smallest", min), ("lowest", min)))
        wording = EXTREME.pick(rng, split)
        value = result(numbers)
        question = wording.format(e="the " + name, x=name, l=listing(list(map(str, numbers))))
        return Item("instructions", question, [f"The {name} number is {value}.", str(value)], ("extreme", name, *numbers), wording, "wording")
    if choice < 0.91:
        words = rng.sample(WORDS, 3)
        wording = REVERSE.pick(rng, split)
        return Item("instructions", capitalise(wording.format(l=listing(words))), [capitalise(listing(words[::-1])) + "."],
                    ("reverse", *words), wording, "wording")
    kind = rng.choice(list(KINDS))
    others = [k for k in KINDS if k != kind and not (kind == "a fruit" and k == "a color") and not (kind == "a color" and k in ("a fruit", "a flower"))
              and not (kind == "a flower" and k == "a color")]
    answer = rng.choice(KINDS[kind])
    words = [answer] + [rng.choice(KINDS[k]) for k in rng.sample(others, 2)]
    rng.shuffle(words)
    wording = PICK.pick(rng, split)
    return Item("instructions", capitalise(wording.format(k=kind, l=listing(words))), [f"{capitalise(answer)} is {kind}.", answer],
                ("pick", kind, *words), wording, "wording")
