"""Conversations: what is asked in which order, and how real users distort it.

A conversation is a list of {"role", "content"} messages. Users write without capitals, leave out punctuation (as speech
recognition does), add "hey" and "please", and mistype; the assistant always answers in clean text.
"""

import re

from arithmetic import arithmetic_item
from calendar_time import dates_item, times_item
from chat import chat_item, forgotten_item, memory_turns, story_item
from conversion import conversion_item
from facts import facts_item, follow_up_pair
from item import TRAIN
from notes import ACKNOWLEDGE, HEADERS, SYSTEM_HEADERS, Notebook
from words import instructions_item, lists_item, spelling_item
import world

SKILLS = {  # category: (generator, share of the turns)
    "facts": (facts_item, 0.23), "arithmetic": (arithmetic_item, 0.21), "times": (times_item, 0.16), "dates": (dates_item, 0.10),
    "conversion": (conversion_item, 0.07), "spelling": (spelling_item, 0.06), "lists": (lists_item, 0.04),
    "instructions": (instructions_item, 0.06), "chat": (chat_item, 0.06), "story": (story_item, 0.01),
}
_GENERATORS = [generator for generator, _ in SKILLS.values()]
_SHARES = [share for _, share in SKILLS.values()]

PREFIXES = """Hey, |Hi, |Hello, |Okay, |So, |Um, |Well, |Please, |Excuse me, |Tell me, |Now, |And |Can you tell me: |Could you tell me, |
I have a question: |Quick question: |Hey, can you tell me, |Hey, could you tell me |I want to know, |Do you know, |One more question: |
Hi there, |I was wondering, |Next question: """.replace("\n", "").split("|")
_PREFIX_NEEDS_QUESTION = ("Tell me", "Can you", "Could you", "I want", "Do you", "Hey, c", "I was")
SUFFIXES = [", please", " please", ", thanks", " for me", ", if you know it", " again", " then"]
_OPENERS = {"What", "What's", "Which", "Who", "Where", "When", "How", "On", "In", "Is", "Do", "Tell", "Name", "Give", "At", "Can",
            "Add", "Calculate", "Convert", "Spell", "Say", "The", "A", "An", "Count", "List", "Sort", "Find", "Please", "If", "It", "Whose"}
_TYPABLE = frozenset("""what which where when how many much does have capital country called language color number letters spell please
tell about notes there please between before after minutes hours days week month year favorite animal planet symbol opposite plural past
tense continent currency spoken house address code phone price cost start place divided times plus minus convert calculate count
name people sound legs word sentence order""".split())
FILLER_WORDS = """um uh like actually just really maybe well so now then again exactly quickly perhaps simply kindly today
basically indeed sure right okay yes""".split()
_SPOKEN_DROPS = re.compile(r"[?!,;]|[.:](?=\s|$)")
_BRITISH = (("favorite", "favourite"), ("color", "colour"), ("Color", "Colour"), ("meter", "metre"), ("liter", "litre"), ("gray", "grey"))


def mistype(rng, word):
    if len(word) < 4:
        return word
    n = rng.randrange(1, len(word) - 1)
    choice = rng.random()
    if choice < 0.4:
        return word[:n] + word[n + 1] + word[n] + word[n + 2:]
    return word[:n] + word[n + 1:] if choice < 0.75 else word[:n] + word[n] + word[n:]


def as_spoken(text):
    """What speech recognition without punctuation would write."""
    return _SPOKEN_DROPS.sub("", text).lower().strip()


def distort(rng, text, category):
    """One user's way of writing a question."""
    if rng.random() < 0.35:
        return text
    plain_chat = category in ("chat", "story")
    if not plain_chat:
        if rng.random() < 0.3:
            prefix = rng.choice(PREFIXES)
            if text.endswith("?") or not prefix.startswith(_PREFIX_NEEDS_QUESTION):
                first = text.split(" ", 1)[0]
                text = prefix + (text[0].lower() + text[1:] if first in _OPENERS else text)
        if category != "instructions" and rng.random() < 0.1 and text[-1] in "?.":
            text = text[:-1] + rng.choice(SUFFIXES) + text[-1]
    if rng.random() < 0.08:
        for american, british in _BRITISH:
            text = text.replace(american, british)
    if rng.random() < 0.12:
        words = text.split(" ")
        places = [n for n, word in enumerate(words) if word.lower() in _TYPABLE]
        if places:
            place = rng.choice(places)
            words[place] = mistype(rng, words[place])
            text = " ".join(words)
    if category != "instructions" and not plain_chat and rng.random() < 0.08:
        words = text.split(" ")
        words.insert(rng.randint(0, len(words) - 1), rng.choice(FILLER_WORDS))
        text = " ".join(words)
    choice = rng.random()
    if choice < 0.4:
        return as_spoken(text)
    if choice < 0.5:
        return text.lower()
    if choice < 0.6:
        return text.rstrip("?.!")
    return text


def _turn(rng, item):
    return [{"role": "user", "content": distort(rng, item.question, item.category)},
            {"role": "assistant", "content": item.answers[0]}]


def _random_item(rng, split):
    return rng.choices(_GENERATORS, _SHARES)[0](rng, split)


def conversation(rng, split=TRAIN):
    """Small talk and questions, one to six turns."""
    messages = []
    if rng.random() < 0.4:
        messages.append({"role": "system", "content": rng.choice(world.SYSTEM_PROMPTS)})
    n_turns = 1 if rng.random() < 0.35 else rng.randint(2, 6)
    special = rng.random()
    if special < 0.05:
        tell, ask = memory_turns(rng, split)
        messages += _turn(rng, tell)
        for _ in range(rng.randrange(4)):
            messages += _turn(rng, _random_item(rng, split))
        return messages + _turn(rng, ask)
    if special < 0.06:
        return messages + _turn(rng, forgotten_item(rng, split))
    if special < 0.10:
        for item in follow_up_pair(rng, split):
            messages += _turn(rng, item)
        n_turns -= 1
    for _ in range(n_turns):
        messages += _turn(rng, _random_item(rng, split))
    return messages


def note_conversation(rng, n_tokens, count_tokens, split=TRAIN):
    """Notes of about n_tokens and questions about them."""
    book = Notebook(rng, split, n_tokens, count_tokens)
    n_questions = 1 if n_tokens < 80 else rng.choice((1, 2, 4, 8, 12, 16))
    questions = []
    for note in rng.choices(book.notes, k=n_questions):
        choice = rng.random()
        asked = book.unanswerable_question() if choice < 0.1 else book.reversed_question() if choice < 0.15 else None
        questions.append(asked or book.question(note))
    turns = []
    for question, answers, _, _ in questions:
        turns += [{"role": "user", "content": distort(rng, question, "notes")}, {"role": "assistant", "content": answers[0]}]
        if rng.random() < 0.04:
            turns += _turn(rng, _random_item(rng, split))
    return place_notes(rng, book.body(), turns)


def place_notes(rng, body, turns):
    """Puts the notes into the system message, the first question or a message of their own."""
    place = rng.random()
    if place < 0.25:
        content = rng.choice(SYSTEM_HEADERS) + rng.choice(("\n", " ")) + body
        return [{"role": "system", "content": content}] + turns
    messages = []
    if rng.random() < 0.3:
        messages.append({"role": "system", "content": rng.choice(world.SYSTEM_PROMPTS)})
    content = rng.choice(HEADERS) + rng.choice(("\n", " ")) + body
    if place < 0.40:
        return messages + [{"role": "user", "content": content}, {"role": "assistant", "content": ACKNOWLEDGE[0]}] + turns
    first = dict(turns[0], content=content + rng.choice(("\n", "\n\n", " ")) + turns[0]["content"])
    return messages + [first] + turns[1:]
