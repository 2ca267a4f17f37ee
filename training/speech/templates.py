"""Endless different grammatical sentences: many templates, filled from a wide vocabulary of common words.

A recogniser that knows few sentences learns them by heart; here nearly none comes twice.
"""

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "text"))

import spoken  # noqa: E402
import world  # noqa: E402

NOUNS = """account actor address adventure afternoon airport album alarm angle ankle anchor apron arrow artist attempt
attic author badge bakery balcony band bank barrel basement bath battery beach beard bedroom belt bench bicycle bill
birthday blanket blizzard bone border boss bottom bowl branch bread brick bridge brother brush bucket budget building
bullet bus business butter button cabin cable cake calendar camera camp candle captain car card career carpet castle
ceiling center century chain chair chance channel chapter chest chief choice church circle class cliff climate closet
cloud coach coast coffee collar college company concert contract cookie corner cotton counter country couple cousin
cover crowd crystal culture cup curtain customer daughter dealer debate decision desert desk detail device diary
dinner direction disaster discovery distance doctor document dollar door doubt dragon drawer dream dress drink driver
drum duty eagle echo edge editor effort elbow election elevator energy engine engineer entrance envelope error event
evening exam example exit expert factory family fan farm fashion father fear feature fence festival field figure film
finger fire flag flight floor fog folder forest fork fortune foundation fountain frame friend frog fruit funeral
furniture future gallery game garage gate ghost giant gift glass glove goal government grandfather grass group guest
guide guitar hammer handle harbor harvest hat heart helmet hero highway hill hobby holiday honey hook horizon hospital
hotel house husband idea image island jacket job joke journal journey judge jungle kettle kingdom kitchen knee knife
ladder lake land language laptop laundry law leader leaf leather lecture leg letter level library lid light limit list
liver loan lobby lock lunch machine magazine magnet manager map market master match mayor meal medal medicine memory
menu message metal method microphone middle milk mind minister mirror mission mistake model moment money monster mood
motor mountain mouth movie muscle museum mystery napkin nation nature neck needle neighbor nephew nest network
newspaper noise notebook novel object ocean offer office oil opera opinion option oven owner package page painting
palace pan paper parade parcel parent park partner party passage passenger path pattern pen pencil people pepper
permit person phone photo picnic picture pilot pipe pirate pitch pizza plan planet plant plastic plate platform player
pocket poem poet police pond pool port poster potato powder power present prince princess printer prison prize problem
product program project promise proposal puzzle queen question rabbit radio railway reason receipt recipe record
region report request rescue restaurant result reward rhythm ribbon rice river robot rocket roof room rope rubber rule
sailor salad sample sand sandwich satellite school science scientist screen seat secret senator sentence servant
service shadow shape sheet shelf shell shelter shirt shop shoulder signal silence silk singer sister skill skirt sky
snake snow soap society sofa soldier solution song soup space speaker speech spider spoon sport spot spring square
stage stamp station statue stick stomach stone storm story stove stranger strategy straw stream street student studio
style subject success sugar suitcase summer supper surface surgeon surprise sweater switch sword symbol system table
tailor target task taxi teacher temple tent territory theater theory thief thing thought thread throat thumb thunder
ticket tiger title toast tool tooth topic towel tower toy trade traffic trail trailer train treasure treaty tree trick
trip truck trumpet tunnel uncle uniform union universe vacation valley vehicle version victim victory video village
violin visit visitor voice volcano volume wagon wall wallet warning watch wave wedding wheel whistle wife wind window
wing winner winter wire wish wolf woman worker world worm yard zone""".split()
ADJECTIVES = """able absent active ancient angry annual anxious awful bitter blank bold brave brief bright broad
broken busy calm careful careless cheap cheerful clean clear clever clumsy cold comfortable common complex cool
correct cozy crazy creamy crispy cruel curious curly current daily damp dangerous dark dead deep delicate delicious
dirty distant dizzy double dry dull dusty eager early easy elegant empty enormous equal exact excellent exciting
expensive extra faint faithful false famous fancy fast fat favorite final fine firm flat foggy foolish formal free
fresh friendly frozen full funny general gentle genuine giant glad golden good graceful grateful greedy green guilty
handsome happy hard harmless healthy heavy helpful hidden hollow honest hot huge humble hungry ideal important
innocent invisible jealous joyful juicy keen kind large late lazy light little local lonely long loose loud lovely
lucky magic major massive mental messy mild minor modern muddy musical mysterious narrow nasty native natural neat
nervous noble noisy normal obvious odd official old open ordinary painful patient perfect pleasant plastic polite
popular practical precious pretty private proud public pure quick quiet rapid rare raw ready recent reliable rich ripe
rotten rough round royal rude rusty sad safe salty scary secret separate serious severe shallow sharp shiny short shy
silent silly simple single sleepy slim slippery slow small smart smooth soft solid sore sour special spicy steady
sticky stiff strange strict strong stubborn stupid sudden sunny super sure sweet swift tall tender terrible thick thin
thirsty tidy tight tiny tired tough typical ugly unusual upset urgent useful usual vague valuable vast violent visible
vital warm wealthy weird wet wicked wide wild wise wonderful wooden worried young""".split()
# base, or base/past where it is irregular; "+" doubles the last letter
TRANSITIVE = """accept admire answer avoid bake begin/began+ borrow bring/brought build/built burn call carry
catch/caught change chase check choose/chose clean close collect cook copy count cover cross cut/cut+ deliver describe
destroy discover draw/drew drop+ enjoy examine explain explore feed/fed fight/fought find/found finish fix fold follow
forget/forgot+ forgive/forgave gather grab+ guard guess hate help hide/hid hold/held hug+ imagine improve invent
invite join keep/kept kick kiss lift like love lose/lost mention miss/missed move need notice observe open order pack
paint pick plan+ prepare promise protect pull push receive remember remove repair repeat replace rescue respect
ride/rode ruin search select send/sent serve shake/shook share show sing/sang sketch sort spill spot+ start
steal/stole stop+ study support surprise sweep/swept take/took taste teach/taught test thank throw/threw tie/tied
touch trust turn understand/understood use visit want warn wash watch weigh welcome win/won+ wipe wrap+""".split()
INTRANSITIVE = """agree argue arrive bark bounce bow breathe climb cough crawl cry dance disappear dive dream drift
drive/drove eat/ate escape exercise explode fade faint fall/fell float fly/flew freeze/froze giggle glow grow/grew
hesitate hurry jog+ jump kneel/knelt laugh lean leave/left listen march melt nod+ pause play pray relax rest return
rise/rose run/ran+ scream shine/shone shiver shout sigh sit/sat+ skate sleep/slept slide/slid slip+ smile sneeze snore
speak/spoke spin/spun+ stand/stood stay struggle swim/swam+ talk think/thought travel tremble vanish wait wake/woke
walk wander weep/wept whisper work worry yawn yell""".split()
ADVERBS = """again almost already always angrily badly bravely briefly brightly calmly carefully carelessly clearly
closely early easily eagerly exactly finally gently gladly happily hardly honestly instantly kindly lately loudly
maybe merrily mostly nearly neatly nervously never often openly patiently perfectly politely proudly quickly quietly
quite rarely really rudely sadly safely secretly seldom silently simply slowly smoothly sometimes soon strangely
suddenly surely sweetly swiftly together tomorrow tonight truly usually warmly wisely yesterday""".split()
PREPOSITIONS = """about above across after against along among around before behind below beneath beside between
beyond by despite during from inside into like near off on over past through toward under until upon with
without""".split()
TEMPLATES = """The {adj} {noun} {tverbs} {name}'s {noun}.|The {adj} {noun} {iverbs} near {name}'s {noun}.
{name} {tpast} the {adj} {noun}.|{name} {ipast} {adv} {prep} the {noun}.|{name} and {name} {tpast} {a adj} {noun}.
My {noun} is more {adj} than your {noun}.|The {noun} {prep} the {noun} was {adj}.|Why did the {noun} {iverb}?
Why does {name} {tverb} the {noun}?|Did {name} {tverb} {a noun} in {city}?|Can the {noun} {iverb} {prep} the {noun}?
Do not {tverb} the {adj} {noun}.|Please {tverb} the {noun} {prep} the {noun}.|Nobody {tpast} the {noun} but {name}.
The {noun} was {adj}, but the {noun} was {adj}.|If the {noun} {iverbs}, {tverb} the {noun}.
When {name} {ipast}, the {noun} {ipast} too.|{A adj} {noun} {iverbs} {adv}.|We {tpast} {a noun} and {a noun}.
They {adv} {tverb} {adj} {nouns}.|{nouns} and {nouns} are {adj}.|Some {nouns} {iverb} {prep} the {noun}.
All {adj} {nouns} {iverb} {adv}.|Is the {noun} {adj} or {adj}?|Where did you {tverb} the {adj} {noun}?
Who {tpast} the {noun} {prep} the {noun}?|What makes the {noun} so {adj}?|How {adj} is {name}'s {noun}?
I {adv} {ipast} {prep} {a adj} {noun}.|I want to {tverb} the {noun} with {name}.|I would like {a adj} {noun}.
She is {iing} {prep} the {noun}.|He was {ting} {a noun} {prep} the {noun}.|You should {adv} {tverb} your {noun}.
We have to {iverb} before the {noun} {iverbs}.|There is {a noun} {prep} the {adj} {noun}.
There were {nouns} {prep} the {noun}.|It was {a adj} {noun} in {city}.|The {noun} from {country} is {adj}.
In {month}, {name} {tpast} the {noun}.|On {day}, the {noun} {ipast} {adv}.|Every {noun} has {a adj} {noun}.
{name} is {a job} from {city}.|The {job} {tpast} the {animal} {prep} the {noun}.|The {animal} {ipast} {place}.
{name} lost {a color} {noun} {place}.|Put the {color} {noun} {place}.|Bring me the {adj} {noun}, {name}.
Tell {name} about the {noun}.|Ask the {job} why the {noun} is {adj}.|Let us {tverb} the {noun} {adv}.
After the {noun}, we {ipast} {prep} the {noun}.|Without {a noun}, no {noun} can {iverb}.
The {noun} that {name} {tpast} was {adj}.|{name} said that the {noun} was {adj}.|Neither {name} nor the {job} {ipast}.
The {job} and the {job} {tpast} each other.|{name}'s {noun} is {adv} {adj}.|That {noun} will {adv} {iverb}.
This {noun} {tverbs} {nouns} and {nouns}.|{tIng} {nouns} is {adj}.|{iIng} {prep} the {noun} makes {name} {adj}.
{adv}, the {adj} {noun} {ipast}.|The {nouns} of {country} are {adj}.|He {tpast} his {noun} and {ipast}.
She {ipast} because her {noun} was {adj}.|Although it was {adj}, {name} {tpast} it.|What {a adj} {noun}?
Have you {adv} seen {a adj} {noun}?|The {noun} {ipast} and the {noun} {ipast}.|Turn the {noun} to the {noun}.
{name}, {name} and {name} {tverb} {nouns}.|I think the {noun} {prep} the {noun} is {color}.
Give the {noun} to {name} and the {noun} to {name}.|My {noun}, my {noun} and my {noun} are {adj}.
It is too {adj} to {iverb} {prep} the {noun}.|We will {tverb} {a noun} on {day}.|Someone {tpast} the {nouns} {place}.
Show me how to {tverb} {a adj} {noun}.|{name} likes {drink} with {food}.|Would {name} rather {iverb} or {iverb}?
The {adj}, {adj} {noun} {adv} {ipast}.|{name} plays {sport} {prep} the {adj} {noun}.|Both {nouns} are {adj}.
First {tverb} the {noun}, then {iverb} {adv}.|{name} bought {food} and {a adj} {fruit}.|Only {name} can {tverb} it.
The {noun} looks like {a noun}.|Was it {name} or {name} who {ipast}?|I never {tpast} such {a adj} {noun}.
{name}'s {adj} {noun} {iverbs} {place}.|Her {noun} smells of {flower} and {fruit}.
The {noun} costs more than the {noun}.
Our {noun} needs {a adj} {noun}.|How do I {tverb} {a noun}?|{name} has {adj} {nouns} in {color} and {color}.""".replace(
    "\n", "|").split("|")
_DOUBLED = {word.split("/")[0].rstrip("+") for word in TRANSITIVE + INTRANSITIVE if word.endswith("+")}
_PAST = dict(word.rstrip("+").split("/") for word in TRANSITIVE + INTRANSITIVE if "/" in word)
_BASES = {"t": [word.rstrip("+").split("/")[0] for word in TRANSITIVE],
          "i": [word.rstrip("+").split("/")[0] for word in INTRANSITIVE]}
_PLURALS = {"knife": "knives", "leaf": "leaves", "shelf": "shelves", "wolf": "wolves", "thief": "thieves",
            "wife": "wives", "tooth": "teeth", "woman": "women", "person": "persons",
            "photo": "photos", "people": "people"}
_AN, _A = ("hour", "honest"), ("uni", "use", "usual", "european", "one")
_SLOT = re.compile(r"\{(a |A )?(\w+)\}")
_WORDS = {"noun": NOUNS, "adj": ADJECTIVES, "adv": ADVERBS, "prep": PREPOSITIONS, "name": world.FIRST_NAMES,
          "city": world.CITIES, "country": sorted(world.CAPITALS), "month": world.MONTHS, "day": world.WEEKDAYS,
          "job": world.JOBS, "animal": world.ANIMALS, "place": world.PLACES, "color": world.COLORS,
          "drink": world.DRINKS, "food": world.FOODS, "fruit": world.FRUITS, "flower": world.FLOWERS,
          "sport": world.SPORTS}


def _with_s(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) or word in ("potato", "echo", "hero", "volcano")
                   else "s")


def _past(word: str) -> str:
    if word in _PAST:
        return _PAST[word]
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ied"
    return word + ("d" if word.endswith("e") else word[-1] + "ed" if word in _DOUBLED else "ed")


def _ing(word: str) -> str:
    if word in _DOUBLED:
        return word + word[-1] + "ing"
    if word.endswith("ie"):
        return word[:-2] + "ying"
    return (word[:-1] if word.endswith("e") and not word.endswith("ee") else word) + "ing"


def forms():
    """Every word that a template can hold."""
    verbs = _BASES["t"] + _BASES["i"]
    return sorted({*NOUNS, *ADJECTIVES, *ADVERBS, *PREPOSITIONS, *map(plural, NOUNS), *verbs, *map(_with_s, verbs),
                   *map(_past, verbs), *map(_ing, verbs)})


def plural(noun: str) -> str:
    return _PLURALS.get(noun) or _with_s(noun)


def with_article(words: str) -> str:
    lower = words.lower()
    is_an = lower.startswith(_AN) or (lower[0] in "aeiou" and not lower.startswith(_A))
    return ("an " if is_an else "a ") + words


def _fill(rng, slot: str) -> str:
    if slot == "nouns":
        return plural(rng.choice(NOUNS))
    if slot in _WORDS:
        return rng.choice(_WORDS[slot])
    verb, form = rng.choice(_BASES[slot[0]]), slot[1:]
    return {"verb": lambda w: w, "verbs": _with_s, "past": _past, "ing": _ing, "Ing": _ing}[form](verb)


def template_sentence(rng) -> str:
    def draw(match):
        words = _fill(rng, match[2])
        return with_article(words) if match[1] else words
    text = _SLOT.sub(draw, rng.choice(TEMPLATES))
    return text[0].upper() + text[1:]
