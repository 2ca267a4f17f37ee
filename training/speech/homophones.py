"""Words that sound like a commoner one: without a sentence around them, nobody can tell which was said.

Sequences of words and the words that are spelled avoid them.
"""

RARER = frozenset("""aisle ate aunt ava bare bee bern buy bye cent coarse coco dear die dye ewe fare feat fined
finnish flour four franc fur gogh grate guessed hana hare heal hear herd hour hymn idol inn it's karl kneel knew
know knows krona lead les lesson lewis lina luis lyon maid male mane mary meat missed mourning mousse neighbour
none nun oar our pail pair passed patience peace plain poll poor pour pray prayed praying prays principal quay
read reign rein rite role root rows sale scene sea sell sent sew shone shoo site sole son sore stair steak steel
suite sum tale tee thai their they're threw throne thyme tied tire toe too two vain waist ware weak wear weigh
weighed weighing weighs weight whole witch won wood wore would wright write yolk you're""".split())
