"""Arithmetic with stated ranges.

Range: addition and subtraction with operands and results from 0 to 999; multiplication up to 12 times 12 and exact
division inside that table; double and half of numbers up to 500. Operand pairs of addition and subtraction are held out
by combination (pairs up to 12 are always trained); the tables are trained whole and held out by wording.
"""

from item import HELD, Item, capitalise, is_held, wordings
from spoken import number_words
import world

LARGEST = 999
ALWAYS_TRAINED_UP_TO = 12

ADD = wordings("""
    What is {a} plus {b}?
    What's {a} plus {b}?
    {a} plus {b}
    {a} plus {b}?
    What is {a} + {b}?
    {a} + {b}
    {a} + {b} =
    {a}+{b}
    How much is {a} plus {b}?
    How much is {a} + {b}?
    Add {a} and {b}.
    Add {b} to {a}.
    Calculate {a} plus {b}.
    Compute {a} + {b}.
    What is the sum of {a} and {b}?
    Tell me what {a} plus {b} is.
    What do you get when you add {a} and {b}?
    {a} and {b} make how much?
    {a} plus {b} equals what?
    What does {a} plus {b} make?
    Work out {a} plus {b}.""", """
    Tell me the sum of {a} and {b}.
    What does {a} plus {b} equal?
    Please calculate {a} + {b}.
    What do I get if I add {a} and {b}?
    How much do {a} and {b} make?""")

SUBTRACT = wordings("""
    What is {a} minus {b}?
    What's {a} minus {b}?
    {a} minus {b}
    {a} minus {b}?
    What is {a} - {b}?
    {a} - {b}
    {a} - {b} =
    {a}-{b}
    How much is {a} minus {b}?
    How much is {a} - {b}?
    Subtract {b} from {a}.
    Take {b} away from {a}.
    Calculate {a} minus {b}.
    Compute {a} - {b}.
    What is the difference between {a} and {b}?
    Tell me what {a} minus {b} is.
    What do you get when you subtract {b} from {a}?
    {a} minus {b} equals what?
    What is left when you take {b} from {a}?
    What is {a} take away {b}?
    Work out {a} minus {b}.""", """
    Tell me the difference between {a} and {b}.
    What does {a} minus {b} equal?
    Please calculate {a} - {b}.
    What do I get if I subtract {b} from {a}?
    How much is left if I take {b} away from {a}?""")

MULTIPLY = wordings("""
    What is {a} times {b}?
    What's {a} times {b}?
    {a} times {b}
    {a} times {b}?
    What is {a} x {b}?
    {a} x {b}
    {a} * {b}
    {a} * {b} =
    {a} x {b} =
    How much is {a} times {b}?
    Multiply {a} by {b}.
    Calculate {a} times {b}.
    What is the product of {a} and {b}?
    What is {a} multiplied by {b}?
    What do you get when you multiply {a} by {b}?
    {a} times {b} equals what?
    Tell me what {a} times {b} is.
    Work out {a} times {b}.""", """
    Tell me the product of {a} and {b}.
    What does {a} times {b} equal?
    Please calculate {a} x {b}.
    How much is {a} multiplied by {b}?""")

DIVIDE = wordings("""
    What is {a} divided by {b}?
    What's {a} divided by {b}?
    {a} divided by {b}
    {a} divided by {b}?
    What is {a} / {b}?
    {a} / {b}
    {a} / {b} =
    How much is {a} divided by {b}?
    Divide {a} by {b}.
    Calculate {a} divided by {b}.
    What do you get when you divide {a} by {b}?
    {a} divided by {b} equals what?
    Tell me what {a} divided by {b} is.
    Work out {a} divided by {b}.
    How often does {b} go into {a}?""", """
    What does {a} divided by {b} equal?
    Please calculate {a} / {b}.
    What do I get if I divide {a} by {b}?""")

DOUBLE = wordings("""
    What is double {a}?
    What is twice {a}?
    Double {a}.
    What is the double of {a}?
    How much is twice {a}?
    Tell me the double of {a}.
    What do you get when you double {a}?""", """
    What do I get if I double {a}?
    How much is double {a}?""")

HALF = wordings("""
    What is half of {a}?
    What's half of {a}?
    How much is half of {a}?
    Half of {a} is what?
    Tell me the half of {a}.
    What is one half of {a}?
    What do you get when you halve {a}?""", """
    Do you know half of {a}?
    How much is one half of {a}?""")

WORD_PROBLEMS_ADD = wordings("""
    {n} has {a} {things} and gets {b} more. How many {things} does {n} have now?
    {n} has {a} {things}. {m} gives {n} {b} more {things}. How many {things} does {n} have?
    {n} had {a} {things} and bought {b} more. How many {things} does {n} have now?
    {n} owned {a} {things} and found {b} more. How many are there now?
    There are {a} {things} on the table. {n} puts {b} more there. How many {things} are on the table?
    {n} found {a} {things} today and {b} {things} yesterday. How many {things} did {n} find?
    {n} has {a} {things} and {m} has {b} {things}. How many {things} do they have together?""", """
    {n} had {a} {things} and then got {b} more. How many {things} does {n} have now?
    {n} owns {a} {things} and {m} owns {b} {things}. How many {things} do they have together?""")

WORD_PROBLEMS_SUBTRACT = wordings("""
    {n} has {a} {things} and gives away {b}. How many {things} does {n} have now?
    {n} has {a} {things}. {m} takes {b} of them. How many {things} are left?
    There are {a} {things} on the table. {n} takes {b} away. How many {things} are left?
    {n} had {a} {things} and lost {b}. How many {things} are left?
    {n} loses {b} of {a} {things}. How many {things} are left?
    {n} had {a} {things} and sold {b}. How many {things} does {n} have now?
    {n} has {a} {things} and eats {b}. How many {things} are left?
    {n} has {a} {things} and drops {b} of them. How many does {n} have left?
    {n} bought {a} {things} and ate {b}. How many {things} are left?""", """
    {n} had {a} {things} and gave away {b}. How many {things} does {n} have now?
    {n} has {a} {things} and loses {b}. How many {things} are left?""")

COUNTED = "apples pears cookies plums eggs nuts cherries figs lemons oranges peaches carrots grapes candies".split()


def draw_operands(rng, split, operation):
    """(a, b) inside the stated range and on the wanted side of the split."""
    while True:
        size = rng.random()
        top = 20 if size < 0.15 else 100 if size < 0.45 else LARGEST
        a = rng.randint(0, top)
        b = rng.randint(0, min(a if operation == "minus" else LARGEST - a, top))
        held = is_held(operation, a, b) and max(a, b) > ALWAYS_TRAINED_UP_TO
        if held == (split == HELD):
            return a, b


def _item(rng, question, left, result, key, wording, holds_out):
    return Item("arithmetic", capitalise(question), [f"{left} is {result}.", str(result), f"It is {result}."],
                key, wording, holds_out)


def _numbers_as_asked(rng, *numbers):
    style = rng.random()
    if style < 0.78:
        return [str(n) for n in numbers]
    return [number_words(n, hyphen=style < 0.89) for n in numbers]


def arithmetic_item(rng, split):
    choice = rng.random()
    if choice < 0.34:
        return _sum_item(rng, split, "plus", ADD)
    if choice < 0.66:
        return _sum_item(rng, split, "minus", SUBTRACT)
    if choice < 0.80:
        return _table_item(rng, split, MULTIPLY, "times")
    if choice < 0.88:
        return _table_item(rng, split, DIVIDE, "divided by")
    if choice < 0.92:
        return _double_or_half(rng, split)
    return _word_problem(rng, split)


def _sum_item(rng, split, operation, asks):
    a, b = draw_operands(rng, split, operation)
    wording = asks.pick_any_for_held(rng, split)
    said_a, said_b = _numbers_as_asked(rng, a, b)
    result = a + b if operation == "plus" else a - b
    return _item(rng, wording.format(a=said_a, b=said_b), f"{a} {operation} {b}", result, (operation, a, b), wording,
                 "combination")


def _table_item(rng, split, asks, operation):
    a, b = rng.randint(0, 12), rng.randint(0, 12)
    wording = asks.pick(rng, split)
    if operation == "times":
        left, right, result = a, b, a * b
    else:
        b = max(b, 1)
        left, right, result = a * b, b, a
    said_left, said_right = _numbers_as_asked(rng, left, right)
    return _item(rng, wording.format(a=said_left, b=said_right), f"{left} {operation} {right}", result,
                 (operation, left, right), wording, "wording")


def _double_or_half(rng, split):
    while True:
        n = rng.randint(1, 60 if rng.random() < 0.4 else 499)
        if (is_held("double", n) and n > ALWAYS_TRAINED_UP_TO) == (split == HELD):
            break
    if rng.random() < 0.5:
        wording = DOUBLE.pick_any_for_held(rng, split)
        said, = _numbers_as_asked(rng, n)
        return _item(rng, wording.format(a=said), f"Double {n}", 2 * n, ("double", n), wording, "combination")
    wording = HALF.pick_any_for_held(rng, split)
    said, = _numbers_as_asked(rng, 2 * n)
    return _item(rng, wording.format(a=said), f"Half of {2 * n}", n, ("double", n), wording, "combination")


def _word_problem(rng, split):
    operation, asks = rng.choice((("plus", WORD_PROBLEMS_ADD), ("minus", WORD_PROBLEMS_SUBTRACT)))
    while True:
        a, b = draw_operands(rng, split, operation)
        if 1 < b and 1 < a <= 100 and b <= 100:
            break
    wording = asks.pick_any_for_held(rng, split)
    said_a, said_b = _numbers_as_asked(rng, a, b)
    n, m = rng.sample(world.FIRST_NAMES, 2)
    things = rng.choice(COUNTED)
    result = a + b if operation == "plus" else a - b
    question = wording.format(a=said_a, b=said_b, n=n, m=m, things=things)
    answers = [f"{a} {operation} {b} is {result}, so the answer is {result} {things}.", f"{result} {things}", str(result)]
    return Item("arithmetic", question, answers, (operation, a, b), wording, "combination")
