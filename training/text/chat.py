"""Small talk, short stories, and what the assistant says when it does not know."""

from item import Item, capitalise, with_article, wordings
from facts import RELATIONS
import world

UNKNOWN = "I don't know that. I'm a small demo model."

# name: (wordings, replies). All replies are accepted; training draws one of them.
INTENTS = {
    "hello": (wordings("""
        Hey, hi!
        Hello, hello.
        Hello again.
        Hi again.
        Hello.
        Hello!
        Hi.
        Hi!
        Hey.
        Hi there.
        Hello there!
        Hey there.
        Good day.
        Hello, assistant.
        Hello Parlance.
        Hi, can you hear me?
        Hello, is anyone there?""", """
        Hey, hello!
        Hello, can you hear me?"""), ["Hello! How can I help you?"]),
    "good morning": (wordings("""
        A very good morning!
        Good morning, assistant.
        Hello and good morning.
        Good morning.
        Good morning!
        Good morning to you.
        Morning!""", """
        A good morning to you."""), ["Good morning! How can I help you?"]),
    "good evening": (wordings("""
        A very good evening!
        Good evening, assistant.
        Hello and good evening.
        A nice evening to you.
        Good evening.
        Good evening!
        Good evening to you.""", """
        A good evening to you."""), ["Good evening! How can I help you?"]),
    "good night": (wordings("""
        I wish you a good night.
        It is late, good night.
        I am going to sleep now.
        Good night.
        Good night!
        I'm going to bed now.
        Sleep well.
        Good night, assistant.""", """
        I am going to bed, good night.
        Good night and sleep well."""), ["Good night! Sleep well."]),
    "how are you": (wordings("""
        How are you feeling?
        Are you doing okay?
        How do you do?
        How have you been?
        How are you?
        How are you doing?
        How are you today?
        How do you feel?
        How is it going?
        How's it going?
        Are you okay?
        Are you well?
        What's up?
        How are things?""", """
        How are you feeling today?
        Are you doing well?
        How are you doing today?"""), ["I'm doing well, thank you."]),
    "who are you": (wordings("""
        Who are you?
        What are you?
        What is your name?
        What's your name?
        Do you have a name?
        Tell me your name.
        Who am I talking to?
        What should I call you?
        Introduce yourself.
        Can you introduce yourself?""", """
        Can you tell me your name?
        Tell me who you are.
        Who am I speaking with?"""), ["I'm Parlance, a small demo assistant."]),
    "what can you do": (wordings("""
        What may I ask you?
        What things can I ask?
        What sort of things do you know?
        Which questions can I ask you?
        What are your skills?
        What can you do?
        What can you help me with?
        How can you help me?
        What are you able to do?
        What do you know?
        Help!
        Can you help me?
        What can I ask you?
        What do you do?
        I need help.""", """
        What can I ask you about?
        Tell me what you can do.
        What kind of things can you do?"""),
        ["I can answer simple questions, do small sums and read your notes."]),
    "are you human": (wordings("""
        Are you a real human?
        Are you a living being?
        Are you a human or a machine?
        Are you a human?
        Are you a person?
        Are you a robot?
        Are you real?
        Are you a machine?
        Are you a computer?
        Are you an AI?""", """
        Are you a real person?
        Are you a human being?"""), ["I'm a small computer program."]),
    "who made you": (wordings("""
        Who was it that built you?
        Who programmed this?
        Who wrote you?
        Who made you?
        Who built you?
        Who created you?
        Where do you come from?
        Who trained you?""", """
        Who was it that made you?
        Who programmed you?"""), ["I was trained as a demo for Parlance."]),
    "how old": (wordings("""
        How old are you?
        What is your age?
        When were you born?
        When is your birthday?""", """
        Tell me how old you are."""), ["I'm a computer program, so I have no age."]),
    "thanks": (wordings("""
        Thank you so much for that.
        Thanks so much.
        Thanks for the answer.
        Thank you.
        Thanks.
        Thanks!
        Thank you very much.
        Thanks a lot.
        Many thanks.
        Great, thank you.
        Thank you for your help.
        That was helpful, thanks.
        Perfect, thanks.""", """
        Thank you so much.
        Thanks for your help."""), ["You're welcome!"]),
    "bye": (wordings("""
        Okay, bye.
        Bye for now.
        Goodbye and thank you.
        I have to leave now.
        Bye.
        Goodbye.
        Goodbye!
        See you later.
        See you.
        Bye bye.
        See you tomorrow.
        I have to go now.
        That's all for today.
        Talk to you later.""", """
        Okay, goodbye.
        I have to go, bye.
        Bye, see you later."""), ["Goodbye! Have a nice day."]),
    "praise": (wordings("""
        What a great answer.
        That was great.
        That was a good answer.
        That was very good.
        You did well.
        You are really good.
        You are really smart.
        You are great.
        Well done!
        Good job.
        You're smart.
        You are very helpful.
        That's right.
        Great answer.
        Nice work.""", """
        You are really helpful.
        That was a great answer."""), ["Thank you, that's kind."]),
    "wrong": (wordings("""
        You made a mistake.
        I think that is wrong.
        That's not correct.
        That answer is wrong.
        That's wrong.
        That is not right.
        You are wrong.
        I think that's a mistake.
        No, that's not correct.""", """
        I think you are wrong.
        That is not correct."""), ["I'm sorry, I make mistakes sometimes."]),
    "sad": (wordings("""
        I feel sad.
        I feel down today.
        Today was terrible.
        My day was bad.
        I feel terrible.
        I am sad.
        I'm sad today.
        I feel bad.
        I had a bad day.
        I'm not feeling well.
        I am unhappy.
        I feel lonely.""", """
        I feel sad today.
        Today was a bad day."""), ["I'm sorry to hear that. I hope it gets better soon."]),
    "happy": (wordings("""
        I feel happy.
        I feel good today.
        I feel wonderful.
        Today was a wonderful day.
        My day was great.
        I am happy.
        I'm happy today.
        I feel great.
        I had a good day.
        Today is a great day.
        I'm in a good mood.""", """
        I feel happy today.
        I had a great day."""), ["That's great to hear!"]),
    "tired": (wordings("""
        I'm very tired.
        I feel sleepy.
        I am very tired now.
        I am tired.
        I'm so tired.
        I am sleepy.
        I need some sleep.
        I feel tired today.""", """
        I'm very tired today."""), ["Then have a good rest."]),
    "bored": (wordings("""
        I feel so bored.
        I feel bored today.
        I'm very bored.
        Nothing to do here.
        I am bored.
        I'm bored.
        I have nothing to do.
        This is boring.
        I am so bored today.""", """
        I feel bored."""), ["I can tell you a story or a joke."]),
    "hungry": (wordings("""
        I am very hungry.
        I feel hungry.
        I'm hungry now.
        I am hungry.
        I'm hungry.
        I'm so hungry.
        I want something to eat.
        I need some food.""", """
        I am very hungry now."""), ["How about a sandwich?"]),
    "okay": (wordings("""
        Okay.
        All right.
        I see.
        Good.
        Fine.
        Got it.
        Ok.""", """
        Okay, I see."""), ["Is there anything else?"]),
    "favorite color": (wordings("""
        What is your favorite color?
        What's your favorite color?
        Which color do you like best?
        Do you have a favorite color?
        What color do you like?""", """
        Tell me your favorite color."""), ["I like blue."]),
    "favorite animal": (wordings("""
        What is your favorite animal?
        What's your favorite animal?
        Which animal do you like best?
        Do you have a favorite animal?
        What animal do you like?""", """
        Tell me your favorite animal."""), ["I like owls."]),
    "favorite food": (wordings("""
        What is your favorite food?
        What do you like to eat?
        Do you eat?
        What did you eat today?
        Are you hungry?""", """
        Tell me your favorite food."""), ["I'm a computer program, so I don't eat."]),
    "sleep": (wordings("""
        Do you sleep?
        Are you tired?
        When do you sleep?
        Do you dream?""", """
        Do you ever sleep?"""), ["I'm a computer program, so I don't sleep."]),
    "speak": (wordings("""
        Which languages do you speak?
        Do you speak English?
        What languages do you speak?
        Can you speak German?
        Do you speak French?""", """
        Which languages can you speak?"""), ["I only speak English."]),
    "sure": (wordings("""
        Are you very sure?
        Is that really true?
        Are you really certain?
        Are you sure?
        Really?
        Is that true?
        Is that right?
        Are you certain?""", """
        Are you really sure?"""), ["I think so, but I can be wrong."]),
    "sorry": (wordings("""
        Sorry.
        I'm sorry.
        Excuse me.
        Pardon me.
        My mistake.""", """
        Oh, sorry."""), ["No problem."]),
    "love": (wordings("""
        I really love you.
        I like you a lot.
        I really like talking to you.
        You are my friend.
        I love you.
        Do you love me?
        I like you.
        Do you like me?
        Will you marry me?""", """
        I really like you."""), ["That's kind. I'm only a small program."]),
    "wait": (wordings("""
        Wait a second.
        Wait please.
        Just a moment.
        Hold on a moment.
        One second.
        Wait.
        One moment.
        Stop.
        Hold on.
        Just a second.
        Please wait.""", """
        Wait a moment."""), ["Okay, I'm waiting."]),
    "empty": (wordings("""
        Um.
        Hmm.
        Uh.
        Ah.
        Well.
        So.
        What?
        Huh?""", """
        Hm."""), ["How can I help you?"]),
    "joke": (wordings("""
        Do you know a good joke?
        Any jokes?
        I like jokes, tell me one.
        Can you say something funny?
        Do you have jokes?
        Tell me a joke.
        Do you know a joke?
        Can you tell me a joke?
        Say something funny.
        Make me laugh.
        I want to hear a joke.
        Tell me something funny.""", """
        Please tell me a joke.
        Do you know any jokes?"""),
        ["Why did the bicycle fall over? It was too tired.",
         "What has hands but cannot clap? A clock.",
         "What gets wet while it dries? A towel.",
         "Why is six afraid of seven? Because seven ate nine.",
         "What has four wheels and flies? A garbage truck."]),
}

OFF_TOPIC = wordings("""
    What is the weather like today?
    What will the weather be like tomorrow?
    Is it going to rain today?
    What time is it?
    What time is it now?
    What day is it today?
    What is the date today?
    Who won the {s} game yesterday?
    Who is the best {s} player in the world?
    Who is the president?
    Who is the king of {c}?
    How many people live in {c}?
    How many people live in {k}?
    What is the population of {k}?
    How far is it from {c} to {k}?
    How do I get to {c}?
    How do I repair a {o}?
    How do I cook {f}?
    How much does a {o} cost?
    Where can I buy a {o}?
    Where is my {o}?
    What is the price of gold?
    What is the stock market doing?
    Play some music.
    Play my favorite song.
    Turn on the lights.
    Turn off the {o}.
    Set an alarm for seven.
    Set a timer for ten minutes.
    Call {n}.
    Call my mother.
    Send a message to {n}.
    Write an email to {n}.
    Who is {n}?
    Where is {n}?
    How old is {n}?
    What is {n} doing?
    What did I eat yesterday?
    What is my bank account number?
    What should I wear today?
    What should I do today?
    What is the meaning of life?
    What is the best movie?
    Who won the last election?
    Explain quantum physics.
    How does a computer work?
    How does a {o} work?
    Why is the sky blue?
    Why do {a}s sleep?
    What is love?
    What is the square root of {x}?
    Translate {o} into French.
    How do you say {o} in Spanish?
    What does {o} mean in Latin?
    Write a program for me.
    Write a poem about a {a}.
    Sing a song.
    Read me the news.
    What is in the news today?
    Who wrote the book about the {a} and the {o}?
    Who invented the {o}?
    When was the {o} invented?
    When did the war begin?
    What happened in {y}?
    Who was born in {y}?
    Can you book a flight to {c}?
    Order a pizza.
    Find a restaurant in {c}.
    Which train goes to {c}?
    What is the best {o}?
    How heavy is a {a}?
    How long does a {a} live?
    How tall is the president?
    Which team won in {y}?
    Is there life on other planets?
    What is the speed of light?
    How deep is the ocean?
    What is your phone number?
    Do you know my {o}?
    What am I thinking about?
    Can you see me?
    Open the door.
    Tell me about {c}.
    Tell me about {s}.
    Tell me about the history of {k}.
    What do you think about {s}?""", """
    Will it rain tomorrow?
    How far away is {c}?
    Who is the mayor of {c}?
    What happened in {k} in {y}?
    How do I build a {o}?
    Turn on the {o}.
    How fast is a {a}?
    Which song is number one?
    Who won the {s} cup in {y}?
    Can you order a {o} for me?""")

MY_NAME = wordings("""
    My name is {n}.
    I am {n}.
    I'm {n}.
    Hello, my name is {n}.
    Hi, I'm {n}.
    Call me {n}.
    You can call me {n}.
    My name's {n}.
    Hi, my name is {n}, nice to meet you.""", """
    Hello, I am {n}.
    Please call me {n}.""")
ASK_MY_NAME = wordings("""
    What is my name?
    What's my name?
    Do you know my name?
    Who am I?
    Do you remember my name?
    Tell me my name.
    What am I called?
    Say my name.""", """
    Can you tell me my name?
    Do you still know my name?""")
NAME_UNKNOWN = "You haven't told me your name."

PREFERENCES = {"favorite color": world.COLORS, "favorite food": world.FOODS, "favorite animal": world.ANIMALS,
               "favorite sport": world.SPORTS, "favorite fruit": world.FRUITS}
MY_PREFERENCE = wordings("""
    My {a} is {v}.
    I want you to know that my {a} is {v}.
    Remember that my {a} is {v}.
    Please remember: my {a} is {v}.""", """
    Please remember that my {a} is {v}.""")
ASK_MY_PREFERENCE = wordings("""
    What is my {a}?
    What's my {a}?
    Do you know my {a}?
    Do you remember my {a}?
    Tell me my {a}.""", """
    Can you tell me my {a}?""")

STORY = wordings("""
    Tell me a story.
    Tell me a short story.
    Tell me a story about a {h}.
    Tell me a short story about a {h}.
    Can you tell me a story about a {h}?
    I want to hear a story.
    I want a story about a {h}.
    Do you know a story?
    Do you know a story about a {h}?
    Please tell me a short story about a {h} and a {o}.
    Tell me a story about a {h} and a {o}.
    Make up a story about a {h}.""", """
    Please tell me a story about a {h}.
    Could you tell me a short story?""")
STORY_PLACES = "in a forest|by a lake|on a farm|near a river|on a hill|in a quiet village|by the sea|in a big city|on an island".split("|")
MOODS = "kind|brave|shy|curious|lazy|clever|lonely|cheerful".split("|")


def _slots(rng):
    return dict(s=rng.choice(world.SPORTS), c=rng.choice(world.CITIES), k=rng.choice(list(world.CAPITALS)), o=rng.choice(world.OBJECTS),
                f=rng.choice(world.FOODS), n=rng.choice(world.FIRST_NAMES), a=rng.choice(world.ANIMALS), x=rng.randint(2, 900), y=rng.randint(1900, 2029))


def off_topic_item(rng, split):
    if rng.random() < 0.3:
        return _unknown_entity_item(rng, split)
    wording = OFF_TOPIC.pick(rng, split)
    return Item("chat", wording.format(**_slots(rng)), [UNKNOWN], ("off topic", wording), wording, "wording")


def invented_word(rng):
    """A word that no table holds: "Blorania"."""
    onset, vowel, coda = "b bl br d dr f fl g gr k kl l m n p pr r s st t tr v z".split(), "a e i o u".split(), ["", "", "n", "r", "l", "s", "m"]
    word = "".join(rng.choice(onset) + rng.choice(vowel) + rng.choice(coda) for _ in range(rng.randint(2, 3)))
    return word.capitalize()


def _unknown_entity_item(rng, split):
    """A known kind of question about something that the table does not hold."""
    relation = rng.choice(RELATIONS[:5])
    if relation.name in ("language", "currency") and rng.random() < 0.5:
        key = rng.choice([country for country in world.CAPITALS if country not in relation.table])
    else:
        key = invented_word(rng)
        if relation.name != "country of capital" and rng.random() < 0.5:
            key += rng.choice(("ia", "land", "stan"))
    wording = relation.ask.pick(rng, split)
    return Item("chat", capitalise(wording.format(k=key)), [UNKNOWN], ("unknown", relation.name, key), wording, "wording")


_NAMES_OF_INTENTS = list(INTENTS)


def intent_item(rng, split, name=None):
    name = name or rng.choice(_NAMES_OF_INTENTS)
    asks, replies = INTENTS[name]
    wording = asks.pick(rng, split)
    answers = list(replies)
    rng.shuffle(answers)
    return Item("chat", wording, answers, ("intent", name), wording, "wording")


def story_item(rng, split):
    hero, thing = rng.choice(world.ANIMALS), rng.choice(world.OBJECTS)
    wording = STORY.pick(rng, split)
    name, friend = rng.sample(world.PET_NAMES, 2)
    other = rng.choice([animal for animal in world.ANIMALS if animal != hero])
    place, mood = rng.choice(STORY_PLACES), rng.choice(MOODS)
    opening = f"Once upon a time, {with_article(mood)} {hero} named {name} lived {place}."
    plot = rng.randrange(4)
    if plot == 0:
        middle = (f"One day, {name} lost {with_article(thing)}. {friend} the {other} helped to look for it. "
                  f"They found the {thing} under a tree.")
    elif plot == 1:
        middle = (f"One morning, {name} found {with_article(thing)}. It belonged to {friend} the {other}. "
                  f"{name} brought the {thing} back.")
    elif plot == 2:
        middle = (f"{name} wanted to give {friend} the {other} a present. So {name} made {with_article(thing)}. "
                  f"{friend} liked the {thing} very much.")
    else:
        middle = (f"One night, there was a big storm. {friend} the {other} had no home, only {with_article(thing)}. "
                  f"{name} opened the door and shared a warm meal.")
    ending = rng.choice((f"From that day on, they were best friends.", f"In the evening, they both laughed and went home.",
                         f"And so {name} was never lonely again."))
    question = wording.format(h=hero, o=thing)
    if question.startswith(("Tell", "Can", "I want", "Do", "Make", "Please", "Could")):
        for noun in (hero, thing):
            question = question.replace(f" a {noun}", " " + with_article(noun))
    return Item("story", question, [f"{opening} {middle} {ending}"], ("story", hero, thing), wording, "wording")


def chat_item(rng, split):
    return off_topic_item(rng, split) if rng.random() < 0.4 else intent_item(rng, split)


def memory_turns(rng, split):
    """Two turns, the second of which asks for what the first said; in between, other turns may stand."""
    if rng.random() < 0.6:
        name = rng.choice(world.FIRST_NAMES) if rng.random() < 0.7 else invented_word(rng)
        tell, ask = MY_NAME.pick(rng, split), ASK_MY_NAME.pick(rng, split)
        return (Item("chat", tell.format(n=name), [f"Nice to meet you, {name}."], ("my name", name), tell, "wording"),
                Item("chat", ask, [f"Your name is {name}."], ("ask name", name), ask, "wording"))
    attribute = rng.choice(list(PREFERENCES))
    value = rng.choice(PREFERENCES[attribute])
    tell, ask = MY_PREFERENCE.pick(rng, split), ASK_MY_PREFERENCE.pick(rng, split)
    return (Item("chat", tell.format(a=attribute, v=value), ["Okay, I will remember that."], ("my", attribute, value), tell, "wording"),
            Item("chat", ask.format(a=attribute), [f"Your {attribute} is {value}."], ("ask my", attribute, value), ask, "wording"))


def forgotten_item(rng, split):
    """Asked for a name that nobody gave."""
    ask = ASK_MY_NAME.pick(rng, split)
    return Item("chat", ask, [NAME_UNKNOWN], ("ask name", None), ask, "wording")
