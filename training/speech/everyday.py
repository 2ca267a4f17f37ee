"""Sentences as people say them at home, at work and on the way: what a verb wants, in all its forms, within many frames.

An activity is written once, as "pick up {some} {food}"; its verb is inflected wherever a frame asks for it: {do} is the
plain form, {does}, {did}, {doing} and {done} are the others. {he}, {they} and {i} are subjects that agree with them.
Everything else in braces is drawn from the lists below, again and again, until no brace is left.
"""

import re

import templates
import world

# base past participle; where two words are given both forms are the same
_IRREGULAR = """be was been|become became become|begin began begun|bend bent|bite bit bitten|bleed bled|blow blew blown|
break broke broken|bring brought|build built|burn burned|buy bought|catch caught|choose chose chosen|come came come|
cost cost|cut cut|deal dealt|dig dug|do did done|draw drew drawn|drink drank drunk|drive drove driven|eat ate eaten|
fall fell fallen|feed fed|feel felt|fight fought|find found|fly flew flown|forget forgot forgotten|
forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone|grow grew grown|hang hung|
have had|hear heard|hide hid hidden|hit hit|hold held|hurt hurt|keep kept|know knew known|lay laid|lead led|leave left|
lend lent|let let|lie lay lain|light lit|lose lost|make made|mean meant|meet met|pay paid|put put|quit quit|read read|
ride rode ridden|ring rang rung|rise rose risen|run ran run|say said|see saw seen|sell sold|send sent|set set|
shake shook shaken|shine shone|shoot shot|show showed shown|shut shut|sing sang sung|sink sank sunk|sit sat|
sleep slept|slide slid|speak spoke spoken|spend spent|spill spilled|spread spread|stand stood|steal stole stolen|
stick stuck|sweep swept|swim swam swum|take took taken|teach taught|tear tore torn|tell told|think thought|
throw threw thrown|understand understood|wake woke woken|wear wore worn|win won|write wrote written""".replace("\n", "")
_FORMS = {row.split()[0]: row.split()[1:] for row in _IRREGULAR.split("|")}
_DOUBLED = frozenset("""begin chat chop clap cut dig drop fit forget get grab hit hop hug jog knit let mop nap pat pet
plan put quit rip rub run set shop shut sit skip slip step stop swim tip trim unplug wrap zip""".split())
_WITH_S = {"be": "is", "have": "has", "do": "does", "go": "goes"}


def inflected(activity: str, form: str) -> str:
    """The activity with its first word, the verb, in the form "do", "does", "did", "done" or "doing"."""
    verb, _, rest = activity.partition(" ")
    if form == "does":
        verb = _WITH_S.get(verb) or templates._with_s(verb)
    elif form == "doing":
        verb = (verb + verb[-1] + "ing" if verb in _DOUBLED else verb[:-2] + "ying" if verb.endswith("ie") else
                verb[:-1] + "ing" if verb.endswith("e") and verb != "be" and not verb.endswith("ee") else verb + "ing")
    elif form in ("did", "done"):
        if verb in _FORMS:
            verb = _FORMS[verb][0 if form == "did" else -1]
        else:
            verb = (verb + verb[-1] + "ed" if verb in _DOUBLED else verb + "d" if verb.endswith("e") else
                    verb[:-1] + "ied" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "ed")
    return f"{verb} {rest}".strip()


def _list(text: str):
    return [" ".join(part.split()) for part in text.split("|") if part.strip()]


ACTIVITIES = _list("""pick up {some} {food}|pick up the {kids} from {where_kids}|pick {rel} up from the {station}|
call {rel}|call the {worker}|call {them} back|call you {when}|text {them} the address|send {them} {a} message|
answer the {phone}|charge {my} {phone}|leave {my} {small} {in} the {room}|leave before the traffic gets {bad}|
leave work early|leave the {door} open|leave the {light} on|lock the {door}|close the {door}|open the {door}|
shut the {door}|knock on the door|turn off the {light}|turn on the {light}|turn down the {music}|turn up the {heat}|
switch off the {machine}|switch on the {machine}|turn left at the {corner}|turn around|unplug the {machine}|
plug in the {machine}|fix the {machine}|repair the {machine}|replace the {part}|change the {part}|clean the {room}|
clean up the {room}|vacuum the {room}|mop the floor|sweep the {floor}|dust the shelves|wipe the {table}|
wash the {dishes}|do the {dishes}|do the laundry|fold the {clothes}|iron {my} {garment}|hang up {my} {garment}|
put away the {dishes}|put the {food} in the {fridge}|put {my} {small} on the {table}|put on {a} {garment}|
put the {kids} to bed|take off {my} {garment}|take out the {trash}|take the {pet} for a walk|walk the {pet}|
feed the {pet}|water the {plants}|mow the lawn|rake the leaves|shovel the snow|plant {some} {plants}|trim the hedge|
set the table|set {an} alarm for {clock}|set a timer for {minutes}|make {some} {drink}|make {some} {dish}|
make dinner|make breakfast for {them}|make a list|make the bed|make a mistake|make {a} {adj} decision|make sense|
make {an} appointment with the {worker}|make {a} reservation for {number} people|make {them} laugh|make some noise|
cook {dish} for dinner|cook for {number} people|bake {a} {cake}|fry {some} {food}|boil {some} water|chop the {food}|
peel the {food}|stir the {dish}|taste the {dish}|add {some} {spice}|burn the {dish}|heat up the {dish}|
order {some} {dish}|order {a} {drink}|order {a} new {machine}|eat {some} {food}|eat at {a} {restaurant}|eat lunch|
eat dinner with {them}|eat less {food}|have breakfast|have lunch with {them}|have dinner at the {restaurant}|
have {a} {illness}|have {an} appointment at {clock}|have {a} meeting {when}|have fun|have a good time|have a baby|
have {a} question|have enough {stuff}|have time to {do}|have trouble sleeping|have a look at the {machine}|
drink {some} {drink}|drink too much {drink}|spill {drink} on the {floor}|drop {my} {small}|break {my} {body}|
break the {dishware}|hurt {my} {body}|cut {my} finger|fall asleep|fall off {my} bike|fall down the stairs|feel {feeling}|
feel better|feel like {doing}|get {feeling}|get ready for {event}|get up early|get up at {clock}|get out of bed|
get dressed|get married|get a haircut|get a job at the {workplace}|get home {late}|get lost|get stuck in traffic|
get rid of the old {furniture}|get on the {vehicle}|get off the {vehicle}|get along with {rel}|get a new {machine}|
go to bed|go to sleep|go to work|go to school|go to the {place}|go home|go for a walk|go for a run|go shopping|
go swimming|go fishing|go camping|go hiking|go skiing|go out for dinner|go on vacation|go on a trip|go upstairs|
go downstairs|go back to the {place}|go outside|go straight ahead|go see the doctor|come home {late}|come over for {meal}|
come back {when}|come to {event}|come inside|come with {them}|come from {country}|drive to the {place}|drive home|
drive to work|drive {them} to the {station}|drive too fast|park the {car}|park in front of the {building}|
wash the {car}|fill up the tank|rent {a} {car}|sell {my} {car}|buy {a} {garment}|buy {some} {food}|
buy {a} new {machine}|buy {a} present for {rel}|buy {a} ticket|buy {a} {bigger} house|pay the {bill}|pay for {dinner}|
pay by card|pay with cash|save money|spend too much money|spend the {day} at the {place}|spend time with {them}|
borrow {my} {tool}|lend {them} some money|owe {them} some money|return the {garment}|return the {book}|
read {a} {book}|read the {news}|read a story to the {kids}|write {a} letter|write an email to {rel}|write it down|
watch {a} {movie}|watch {the_game}|watch the {news}|watch {tv}|listen to the {music}|listen to {music_kind}|
listen to {them}|play the {instrument}|play {sport}|play {a} game|play with the {kids}|play outside|play cards|
practice the {instrument}|learn {to_skill}|learn {language}|study for the {exam}|study {subject}|teach {subject}|
take {a} {class_} in {subject}|take {an} exam|take {a} shower|take {a} bath|take {a} nap|take {a} break|
take {a} picture of the {sight}|take {a} walk along the {sight}|take the {vehicle} to work|take the stairs|
take care of the {kids}|take your time|take {some} medicine|take {a} day off|take it easy|brush {my} {teeth}|
comb {my} hair|wash {my} {hands}|shave|sleep on the {sofa}|sleep late|sleep well|sleep through the alarm|
wake up early|wake up at {clock}|wake {them} up|dream about the {sight}|sit on the {sofa}|sit down|
sit next to {them}|stand in line|stand up|stay at {a} {hotel}|stay home|stay in bed|stay up late|stay with {rel}|
stay for {meal}|wait for {them}|wait for the {vehicle}|wait in the {room}|wait {a} few minutes|wait until {clock}|
miss the {vehicle}|miss {rel}|miss {event}|catch the {vehicle}|catch {a} {illness}|meet {them} at the {place}|
meet {some} friends|meet the new {worker}|visit {rel}|visit the {sight}|invite {them} to {event}|
help {them} with the {work}|help {them} move|help {them} find {my} {small}|ask {them} about {event}|
ask for help|ask {a} question|ask for the check|tell {them} the truth|tell {them} about {event}|tell {a} {joke}|
say hello to {rel}|say goodbye|say something {adj}|say sorry|talk to {rel}|talk about {topic}|talk on the phone|
speak {language}|speak to the {worker}|speak louder|speak more slowly|argue about {topic}|complain about the {topic2}|
agree with {them}|explain the {work} to {them}|laugh at the {joke}|cry|smile at {them}|shout at {them}|whisper|
forget {my} {small}|forget to {do}|forget about {event}|remember to {do}|remember {my} password|remember {them}|
lose {my} {small}|lose the game|lose weight|find {my} {small}|find {a} place to park|find {a} job|find out about it|
look for {my} {small}|look for {a} new apartment|look at the {sight}|look after the {kids}|look {adj}|look it up|
look forward to {event}|see the doctor|see {a} {movie}|see {them} {when}|hear {a} strange noise|hear the {news}|
smell {something}|try to {do}|try on {a} {garment}|try the {dish}|try again|start {doing}|stop {doing}|keep {doing}|
finish the {work}|finish {doing}|work at the {workplace}|work late|work from home|work on the {work}|work on {weekday}|
need {a} {tool}|need {some} help|need more time|need to {do}|want to {do}|want {some} {food}|want {a} new {machine}|
like {food}|like {doing}|love {food}|love {doing}|hate {doing}|prefer {food}|enjoy {doing}|plan {a} trip to {city}|
plan to {do}|decide to {do}|promise to {do}|move to {city}|move into {a} {bigger} apartment|move the {furniture}|
carry the {heavy}|lift the {heavy}|push the {heavy}|pull the {heavy}|build {a} {built}|paint the {room}|paint the fence|
draw {a} picture|sing {a} song|dance|run {distance}|run out of {food}|run late|ride {my} bike to {work_}|
climb the {sight}|swim in the {water}|fly to {city}|travel to {country}|pack {my} {suitcase}|book {a} flight|
book {a} {hotel} room|cancel {event}|cancel the order|change {my} mind|change {my} clothes|check {my} email|
check the {weather}|check the {part}|check in at the {hotel}|print the {paper}|sign the {paper}|save the file|
send {an} email|download the {app}|install the {app}|restart the computer|type the password|search for {a} {dish} recipe|
upload the {photos}|share the {photos}|delete the {photos}|wear {a} {garment}|fit|believe {them}|trust {them}|
worry about {topic}|think about {topic}|hope for the best|guess|know the answer|know {them}|understand the {paper}|
celebrate {my} birthday|win the game|join the {club}|quit {my} job|apply for {a} job|lie down|rest|exercise|
stretch {my} {body}|catch up with {rel}|give {them} {a} present|give {them} {a} ride|give up|give it back|
show {them} the {photos}|bring {a} {dish} to {event}|bring {my} {small}|hurry up|slow down|calm down|relax|
throw away the old {furniture}|throw the ball|hold {my} hand|hide the {presents}|keep {a} secret|keep quiet|
deal with {the_problem}|solve the problem|cause a problem|happen again|matter|depend on the {weather}|belong to {rel}|
cost too much|arrive at the {station}|arrive {late}|land on time|lead the way|follow {them}|cross the {street}|
cut down the tree|catch fish|feed the birds|count the {things}|measure the {furniture}|weigh the {food}|share the {dish}""")

WORDS = {
    "some": "some|some|some more|a little|a few|any|enough|fresh|the|our|half of the",
    "food": """milk|eggs|bread|butter|cheese|fruit|vegetables|potatoes|tomatoes|onions|carrots|apples|bananas|oranges|
grapes|strawberries|lemons|chicken|beef|fish|shrimp|bacon|sausages|ham|rice|noodles|pasta|beans|flour|sugar|salt|cereal|
yogurt|cream|ice cream|chocolate|candy|cookies|crackers|chips|nuts|peanuts|honey|jam|lettuce|spinach|cucumbers|peppers|
garlic|ginger|mushrooms|broccoli|corn|peas|pumpkin|cabbage|blueberries|cherries|peaches|pears|melon|pineapple|coconut|
groceries|snacks|leftovers|frozen pizza|whole wheat bread|dog food|cat food|tofu|salmon|turkey|lamb|oatmeal|raisins""",
    "drink": """coffee|tea|water|juice|orange juice|apple juice|lemonade|hot chocolate|milk|beer|wine|soda|iced tea|
green tea|sparkling water|a smoothie|a glass of water|a cup of coffee|a cup of tea""",
    "dish": """soup|chicken soup|pizza|spaghetti|lasagna|salad|a sandwich|sandwiches|pancakes|waffles|an omelet|curry|
stew|fried rice|tacos|burgers|meatballs|mashed potatoes|roast chicken|sushi|dumplings|chili|toast|casserole|sauce|
scrambled eggs|french fries|noodle soup|vegetable soup|grilled cheese|fish and chips|a snack|dessert|pudding""",
    "cake": "cake|birthday cake|chocolate cake|carrot cake|apple pie|cheesecake|loaf of bread|batch of cookies|pie|muffin",
    "spice": "salt|pepper|sugar|garlic|cinnamon|basil|oil|vinegar|butter|cream|lemon juice|parsley|curry powder|vanilla",
    "kids": "kids|children|baby|twins|boys|girls|grandchildren|little ones|toddler|students",
    "where_kids": "school|daycare|kindergarten|practice|the playground|the pool|their grandparents|soccer practice|camp",
    "rel": """my mother|my father|my sister|my brother|my wife|my husband|my son|my daughter|my aunt|my uncle|my cousin|
my grandmother|my grandfather|my grandma|my grandpa|my mom|my dad|my parents|my boss|my neighbor|my roommate|
my girlfriend|my boyfriend|my best friend|my friend|my teacher|my landlord|my doctor|my lawyer|my coach|my partner|
your mother|your father|your sister|your brother|your wife|your husband|your son|your daughter|your mom|your dad|
your parents|your boss|your friend|our neighbors|our friends|our daughter|our son|our teacher|his wife|her husband|
his mother|her father|his brother|her sister|their kids|their parents|an old friend|a friend of mine|{name}|{name}|
{name} and {name}|the neighbors|somebody|everybody|the whole family""",
    "them": """me|you|him|her|us|them|him|her|them|everyone|{rel}|{rel}|{rel}""",
    "worker": """doctor|dentist|plumber|electrician|mechanic|teacher|nurse|vet|landlord|manager|waiter|waitress|lawyer|
receptionist|cashier|driver|taxi driver|police officer|firefighter|mailman|delivery man|babysitter|neighbor|
hairdresser|pharmacist|librarian|carpenter|painter|gardener|engineer|scientist|journalist|pilot|farmer|chef|baker|
butcher|tailor|secretary|accountant|salesman|guard|coach|principal|therapist|specialist|surgeon|programmer""",
    "name": "|".join(world.FIRST_NAMES), "city": "|".join(world.CITIES), "country": "|".join(sorted(world.CAPITALS)),
    "weekday": "|".join(world.WEEKDAYS), "month": "|".join(world.MONTHS),
    "my": "my|my|my|your|your|his|her|our|their|the|the",
    "small": """keys|car keys|phone|wallet|purse|glasses|sunglasses|umbrella|bag|backpack|book|notebook|charger|
phone charger|headphones|laptop|tablet|watch|ring|passport|ticket|tickets|credit card|card|camera|pen|pencil|hat|gloves|
scarf|jacket|coat|lunch|homework|water bottle|cup|toothbrush|medicine|pills|remote|notes|folder|letter|package|
suitcase|key|lighter|flashlight|helmet|earrings|necklace|briefcase|badge|mask|towel|list|map|money|change|receipt""",
    "in": "in|in|at|on|under|behind|near|next to|outside|inside",
    "room": """kitchen|bathroom|bedroom|living room|dining room|garage|basement|attic|hallway|office|garden|backyard|
front yard|yard|closet|balcony|porch|car|house|apartment|garden shed|laundry room|guest room|pantry|driveway|nursery""",
    "phone": "phone|phone|cell phone|laptop|tablet|watch|camera|battery|headphones|door|doorbell",
    "door": """door|front door|back door|window|windows|gate|garage door|fridge|bathroom door|curtains|blinds|drawer|
cupboard|car door|kitchen window|box|lid|oven door|trunk|closet|mailbox|bottle|jar|can|package|safe""",
    "light": """light|lights|lamp|bathroom light|kitchen light|porch light|hall light|bedroom lights|television|tv|radio|
heating|oven|stove|computer|fan|air conditioner|music|alarm|water|heater|fireplace|engine|printer|coffee machine""",
    "music": "music|volume|radio|television|speakers|sound|song|album|podcast|heat|lights|brightness|air conditioning",
    "heat": "heat|heating|volume|temperature|radio|thermostat|music|air conditioning|speakers",
    "machine": """washing machine|dishwasher|dryer|fridge|refrigerator|freezer|oven|stove|microwave|toaster|kettle|
coffee machine|vacuum cleaner|computer|printer|laptop|phone|television|remote|radio|heater|air conditioner|fan|
lawn mower|car|bike|elevator|faucet|sink|toilet|shower|alarm clock|doorbell|router|camera|speaker|keyboard|mouse|
screen|monitor|scanner|blender|mixer|iron|sewing machine|smoke detector|thermostat|hair dryer|garage door|game console""",
    "part": """battery|batteries|light bulb|filter|tire|tires|brakes|lock|fuse|handle|switch|hose|pipe|oil|wheel|cable|
sheets|locks|headlights|windshield|mirror|engine|chain|seat belt|cartridge|smoke detector|water level|pressure""",
    "floor": "floor|kitchen floor|porch|stairs|carpet|rug|driveway|patio|sidewalk|hallway",
    "table": "table|counter|kitchen table|desk|shelf|nightstand|windowsill|bench|chair|bed|couch|coffee table|stove",
    "dishes": "dishes|plates|glasses|cups|pots|pans|pots and pans|silverware|toys|groceries|clothes|bowls|forks and knives",
    "dishware": "glass|plate|vase|window|mirror|cup|mug|bowl|lamp|screen|chair|toy|remote|handle|dish",
    "clothes": "clothes|laundry|towels|shirts|sheets|socks|blankets|sweaters|pants|diapers",
    "garment": """shirt|jacket|coat|sweater|dress|skirt|suit|tie|t-shirt|jeans|pants|shorts|shoes|boots|sneakers|sandals|
slippers|socks|hat|cap|gloves|scarf|belt|uniform|swimsuit|raincoat|hoodie|vest|pajamas|blouse|winter coat|
running shoes|new pair of shoes|sunglasses|costume|robe|apron|sweatshirt|blazer|nice shirt|wedding dress""",
    "fridge": "fridge|freezer|oven|microwave|cupboard|pantry|pot|pan|bowl|bag|basket|sink|box|car|trunk",
    "trash": "trash|garbage|recycling|rubbish|dog|bottles|old newspapers|garbage bags|compost",
    "pet": "dog|cat|puppy|kitten|rabbit|hamster|parrot|fish|turtle|horse|pony|chickens|ducks|guinea pig|birds|dogs|cats",
    "plants": "plants|flowers|roses|garden|tomatoes|grass|tulips|trees|herbs|seeds|vegetables|bushes|lawn|sunflowers",
    "station": """airport|train station|bus station|bus stop|station|subway|harbor|hospital|office|school|hotel|gate|
front entrance|parking lot|ferry|terminal|platform""",
    "place": """store|supermarket|grocery store|pharmacy|bakery|bank|post office|library|hospital|gym|park|beach|mall|
museum|zoo|market|farmers market|school|university|church|restaurant|cafe|coffee shop|movie theater|theater|pool|
swimming pool|playground|office|gas station|hardware store|bookstore|barber shop|dentist|doctor|vet|stadium|concert hall|
police station|town hall|train station|airport|lake|river|forest|mountains|countryside|city|farm|harbor|castle|garden|
aquarium|amusement park|flea market|shoe store|toy store|pet store|laundromat|embassy|courthouse|factory|warehouse""",
    "building": "house|building|store|school|hospital|hotel|garage|driveway|office|church|library|restaurant|bank|gate",
    "corner": "corner|next corner|traffic light|stop sign|next street|bridge|church|gas station|roundabout|second light",
    "street": "street|road|bridge|border|river|square|parking lot|highway|tracks|park|field|intersection",
    "car": "car|truck|van|bike|motorcycle|old car|jeep|boat|trailer|bus|company car|rental car|red car|pickup truck",
    "vehicle": "bus|train|subway|plane|ferry|tram|taxi|boat|ship|elevator|last bus|early train|night train|next bus|flight",
    "workplace": """hospital|office|bank|factory|school|university|restaurant|bakery|library|museum|airport|post office|
police station|farm|garage|hotel|supermarket|lab|newspaper|radio station|law firm|car dealership|construction site|
clinic|theater|software company|design studio|call center|nursing home|bookstore""",
    "work": """homework|report|project|paper|dishes|laundry|presentation|essay|housework|puzzle|work|cooking|packing|
shopping|invitation|application|assignment|article|book|painting|speech|garden|yard work|repair|taxes|budget|contract|
dinner|letter|plan|design|experiment|research|shift|course|song|story|game""",
    "work_": "work|school|the store|the park|the office|the beach|town|the lake|the gym",
    "furniture": """couch|sofa|table|chair|bed|desk|bookshelf|dresser|mattress|carpet|curtains|lamp|wardrobe|armchair|
cabinet|mirror|rug|bench|piano|television|shelf|stove|fridge|newspapers|magazines|clothes|toys|boxes|computer""",
    "heavy": "box|boxes|suitcase|couch|table|piano|bags|groceries|luggage|cart|stroller|ladder|bed|bricks|furniture|crate",
    "sofa": "sofa|couch|bed|chair|armchair|bench|floor|porch|balcony|grass|front row|back seat|rocking chair|bus|train",
    "tool": """hammer|screwdriver|ladder|drill|saw|wrench|shovel|pen|umbrella|bike|car|lawn mower|tent|flashlight|rope|
bucket|broom|needle|stapler|calculator|charger|jacket|pencil|eraser|ruler|pair of scissors|spoon|knife|towel|blanket|
pillow|bottle opener|napkin|tissue|bag|bandage|battery|stamp|envelope|candle|lighter|key|dictionary|notebook""",
    "illness": """cold|fever|headache|cough|sore throat|stomachache|toothache|runny nose|backache|flu|allergy|broken leg|
rash|infection|bad cold|terrible headache|heart attack|fracture|bruise|blister|migraine""",
    "body": """back|arm|leg|knee|ankle|shoulder|neck|head|foot|hand|finger|toe|elbow|wrist|hip|thumb|nose|ear|jaw|heel|
stomach|chest|left arm|right hand|left knee|right foot|lower back|muscles|eyes""",
    "teeth": "teeth|hair|dog|shoes|teeth twice a day",
    "hands": "hands|face|hair|feet|car|clothes|windows|sheets|jeans|dog|sweater|fruit|vegetables|hands before dinner",
    "feeling": """tired|sick|hungry|thirsty|cold|hot|happy|sad|angry|bored|lonely|nervous|excited|sleepy|dizzy|worried|
upset|guilty|proud|scared|embarrassed|confused|relaxed|stressed|jealous|disappointed|surprised|annoyed|comfortable|
uncomfortable|sorry|better|worse|fine|good|great|terrible|awful|lucky|exhausted|frustrated|grateful|homesick|ashamed|
curious|anxious|calm|cheerful|depressed|impatient|weak|strong|old|young|ready|busy|fantastic|miserable|hopeful""",
    "event": """the meeting|the party|the wedding|the concert|the game|the exam|the interview|dinner|lunch|the holidays|
the weekend|your birthday|my birthday|the trip|the test|the appointment|the movie|the show|the picnic|the funeral|
class|work|school|vacation|the festival|the parade|the race|the play|the barbecue|the birthday party|Christmas|
Thanksgiving|Halloween|New Year|Easter|the ceremony|the conference|the reunion|the graduation|the flight|practice|
the competition|the opening|the tournament|the presentation|summer|winter|spring|fall|the first day of school""",
    "meal": "breakfast|lunch|dinner|coffee|a drink|tea|a snack|brunch|the weekend|the holidays|a few days|supper|dessert",
    "dinner": "dinner|lunch|the tickets|the drinks|the meal|the taxi|everything|the groceries|the damage|parking|gas",
    "bill": "bill|bills|rent|electric bill|phone bill|water bill|taxes|fine|mortgage|insurance|deposit|fee|cashier",
    "bigger": "bigger|bigger|smaller|nicer|new|cheaper|larger|different|better|quiet|modern|two bedroom|cozy|brand new",
    "book": """book|novel|magazine|newspaper|letter|comic book|good book|mystery|poem|article|library book|cookbook|
fairy tale|biography|manual|dictionary|textbook|children's book|diary|travel guide|detective story|short story""",
    "news": "news|newspaper|weather report|evening news|instructions|menu|sign|label|article|mail|morning paper|headlines",
    "movie": """movie|good movie|scary movie|funny movie|documentary|show|play|cartoon|film|series|comedy|horror movie|
game show|cooking show|new movie|old movie|soap opera|thriller|western|musical|video|ballet""",
    "the_game": "the game|the match|the race|the news|the sunset|the kids|the stars|the birds|the parade|the fireworks|TV",
    "tv": "television|TV|cartoons|the game|videos|too much television|old movies|the stars|football|the ocean",
    "music_kind": "music|jazz|classical music|rock music|the radio|a podcast|an audiobook|the birds|loud music|country music",
    "instrument": "piano|guitar|violin|drums|flute|trumpet|cello|saxophone|clarinet|harp|banjo|harmonica|accordion|bass",
    "sport": "soccer|football|basketball|tennis|baseball|volleyball|hockey|golf|chess|badminton|cards|table tennis|rugby",
    "to_skill": """to swim|to drive|to cook|to dance|to play the {instrument}|to ride a bike|to speak {language}|to knit|
to sew|to paint|to ski|to surf|to type|to skate|to bake bread|to read music|to fix {a} {machine}|to fly a plane""",
    "language": "English|Spanish|French|German|Italian|Chinese|Japanese|Korean|Arabic|Portuguese|Russian|Dutch|Polish|Greek",
    "subject": """math|history|science|biology|chemistry|physics|geography|art|music|English|French|law|medicine|cooking|
economics|psychology|philosophy|literature|engineering|dancing|drawing|photography|pottery|computer science|business""",
    "exam": "exam|test|final exam|math test|driving test|history exam|quiz|spelling test|entrance exam",
    "class_": "class|course|lesson|seminar|workshop|look|test",
    "club": "club|team|gym|choir|band|army|book club|group|company|meeting|line|chess club|swim team|party",
    "sight": """mountain|mountains|river|lake|ocean|beach|sunset|castle|bridge|tower|waterfall|garden|forest|old town|
stars|moon|museum|cathedral|statue|view|rainbow|harbor|desert|canyon|valley|island|coast|lighthouse|temple|palace|trees""",
    "water": "lake|ocean|pool|river|sea|cold water|deep end|bay|pond",
    "hotel": "hotel|motel|hostel|cheap hotel|small hotel|campground|friend's place|guest house|beach house|cabin|resort",
    "restaurant": """restaurant|Italian restaurant|Chinese restaurant|cafe|new place downtown|diner|food truck|
little restaurant around the corner|pizza place|steak house|cafeteria|buffet|seafood restaurant|friend's house""",
    "joke": "joke|story|lie|secret|funny joke|funny story|bedtime story|long story|fairy tale",
    "topic": """the weather|work|the future|money|politics|the news|our plans|the problem|the accident|the kids|school|
your health|the past|everything|nothing|the game|it|that|this|the trip|the new job|the price|the rent|music|books|
the exam|moving|retirement|the results|the test|our neighbors|the noise|the same thing|what happened|climate change""",
    "topic2": "food|noise|weather|service|price|traffic|prices|smell|heat|cold|neighbors|boss|homework|wait|bill|rent|mess",
    "the_problem": "the problem|the mess|the customers|the noise|stress|this|the insurance company|the paperwork|it tomorrow",
    "paper": "report|contract|form|document|letter|ticket|map|question|instructions|rules|photo|card|lease|petition|lesson",
    "photos": "photos|pictures|video|file|files|document|letter|new apartment|garden|list|recipe|message|results|house",
    "app": "app|update|new program|game|file|software|song|new version|printer driver|map",
    "weather": "weather|forecast|traffic|schedule|price|temperature|wind|time|mail|calendar|map|size|situation|season",
    "suitcase": "suitcase|bag|bags|lunch|backpack|boxes|things|clothes|luggage|gym bag",
    "built": "house|treehouse|snowman|sandcastle|fence|table|fire|bookshelf|birdhouse|wall|campfire|shed|model airplane|tower",
    "presents": "presents|cookies|money|candy|keys|evidence|chocolate|Christmas presents|eggs|mess|surprise|spare key",
    "things": "money|people|days|sheep|votes|coins|chairs|plates|calories|guests|cars|stars|boxes|mistakes|steps",
    "distance": "a mile|two miles|five kilometers|a marathon|every morning|around the lake|to catch the bus|a race|away",
    "something": "smoke|gas|something burning|the flowers|fresh bread|coffee|bad|wonderful|funny|like rain|like garlic",
    "stuff": "time|money|food|sleep|space|energy|chairs|room|patience|plates|help|information|experience|gas|water",
    "late": "late|early|on time|around noon|after dark|at midnight|too late|at last|safely|in the evening|before dinner",
    "bad": "bad|worse|too heavy|crazy|terrible|really bad|any worse",
    "number": "two|three|four|five|six|seven|eight|ten|twelve",
    "clock": """seven|eight|nine|ten|noon|midnight|six o'clock|three o'clock|five thirty|half past seven|a quarter to nine|
two in the afternoon|seven in the morning|eleven tonight|four tomorrow""",
    "minutes": "five minutes|ten minutes|twenty minutes|half an hour|an hour|forty minutes|two hours|a minute",
    "when": """today|tomorrow|tonight|yesterday|this morning|this afternoon|this evening|this weekend|next week|next month|
next year|last night|later|soon|in a minute|in an hour|after work|after school|after dinner|after lunch|before bed|
before lunch|on {weekday}|on {weekday} morning|on {weekday} night|on the weekend|at noon|tomorrow morning|
tomorrow night|right now|right away|as soon as possible|in the morning|in the evening|every day|on my way home""",
    "past": """yesterday|last night|last week|last month|last year|last summer|last {weekday}|last weekend|this morning|
two days ago|a few minutes ago|an hour ago|a long time ago|earlier today|the other day|on {weekday}|in {month}|
when I was a child|a couple of weeks ago|the day before yesterday|many years ago|just now|three years ago""",
    "future": """tomorrow|tonight|next week|next month|next year|next summer|later|soon|this weekend|on {weekday}|
in a few minutes|in an hour|later today|after lunch|after dinner|tomorrow morning|tomorrow afternoon|by {weekday}|
in {month}|one day|some day|in two weeks|at {clock}|before it gets dark|when I have time|as soon as I can""",
    "often": """every day|every morning|every night|every week|every summer|every {weekday}|once a week|twice a month|
all the time|all day|on weekends|in the morning|at night|after work|before breakfast|most of the time|now and then|
every other day|these days|in the winter|in the summer|on rainy days|whenever possible""",
    "freq": "always|usually|often|sometimes|never|rarely|hardly ever|almost always|still|just|really|also|even",
    "adv": """really|very|so|too|quite|pretty|a bit|a little|extremely|rather|kind of|much too|not very|incredibly""",
    "adj": """nice|good|bad|great|beautiful|funny|strange|interesting|boring|easy|difficult|hard|expensive|cheap|small|big|
huge|tiny|old|new|dirty|clean|loud|quiet|dark|bright|warm|cool|wet|dry|heavy|light|soft|comfortable|dangerous|safe|
important|special|different|similar|simple|complicated|delicious|spicy|salty|sweet|bitter|sour|fresh|rotten|crowded|
empty|full|busy|slow|fast|late|early|long|short|tall|wide|narrow|thick|thin|tight|loose|smooth|rough|sharp|weak|
strong|rich|poor|famous|popular|friendly|rude|polite|honest|lazy|smart|clever|stupid|silly|crazy|serious|careful|
careless|patient|generous|selfish|shy|brave|gentle|helpful|amazing|wonderful|terrible|horrible|awful|perfect|ridiculous|
impossible|possible|reasonable|normal|unusual|typical|weird|scary|exciting|relaxing|embarrassing|disgusting|annoying|
surprising|convenient|necessary|useful|useless|broken|lovely|cute|ugly|fancy|plain|fantastic|excellent|ordinary""",
    "thing_is": """food|weather|soup|coffee|music|movie|book|traffic|house|room|hotel|water|bed|couch|party|game|homework|
test|dress|jacket|restaurant|service|trip|beach|park|dog|cat|baby|teacher|boss|neighbor|train|bus|flight|phone|internet|
computer|screen|battery|milk|bread|chicken|salad|pizza|cake|garden|kitchen|bathroom|elevator|store|bill|price|rent|noise|
smell|story|joke|idea|plan|answer|question|problem|job|meeting|class|exam|road|bridge|view|sunset|sky|moon|wind|rain|snow|
ice|fire|light|color|picture|song|knife|box|bag|shirt|shoes|floor|ceiling|wall|door|window|lock|key|map|sign""",
    "thing": """the {thing_is}|the {thing_is}|my {small}|your {small}|this {thing_is}|that {thing_is}|the {machine}|
the {adj} {thing_is}|his new {car}|her {garment}|our {furniture}|the old {building}|the {dish}|this {adj} {garment}|
the {pet}|your {garment}|my {body}|the {worker}|everything|the whole {room}|the {vehicle}|their {room}""",
    "trouble": """is broken|is not working|is not working anymore|stopped working {past}|won't start|is making a strange noise|
doesn't work|keeps making noise|is out of order|is too {adj}|is leaking|is stuck|is empty|is dead|is dirty again|
is missing|needs to be replaced|needs to be repaired|has to be cleaned|is on fire|fell off the {table}|is overheating|
has been {doing} all day|was stolen {past}|got wet|is full|is falling apart|has a scratch|smells {adj}|looks {adj}""",
    "he": """he|she|he|she|it|{rel1}|{rel1}|{name}|the {worker}|somebody|nobody|everybody|my {pet1}|the {pet1}|
the woman next door|the man on the phone|the girl|the boy|that guy|one of my friends|the new {worker}|someone""",
    "rel1": """my mother|my father|my sister|my brother|my wife|my husband|my son|my daughter|my aunt|my uncle|my cousin|
my grandmother|my grandfather|my mom|my dad|my boss|my neighbor|my roommate|my girlfriend|my boyfriend|my best friend|
your mother|your brother|your sister|your son|our daughter|our teacher|his wife|her husband|her mother|his father""",
    "pet1": "dog|cat|puppy|kitten|rabbit|hamster|parrot|horse",
    "they": """we|you|they|we|they|you|my parents|the kids|the children|the neighbors|my friends|our friends|{name} and I|
{name} and {name}|some people|most people|the guests|the students|the boys|the girls|my brother and I|the people next door""",
    "i": "I|I|I|we|you|they", "any1": "I|we|you|they|he|she|{he}|{they}",
    "polite": "please|if you can|if you don't mind|when you have a moment|thank you|will you|okay|before you leave",
    "hey": """hey|well|oh|okay|so|sorry|excuse me|listen|look|actually|maybe|honestly|by the way|of course|no problem|yes|no|
sure|thanks|anyway|unfortunately|luckily|hopefully|wow|hi {name}|{name}|I mean|you know|all right|oh no|oh dear""",
    "because": """because {clause}|because {clause}|so {clause}|but {clause}|and {clause}|while {clause}|when {clause}|
before {clause}|after {clause}|until {clause}|since {clause}|even though {clause}|if {clause}|although {clause}|
as soon as {clause}|unless {clause}|or {clause}|in case {clause}""",
    "clause": """I {did} {past}|{he} {did}|{they} {did} {past}|{he} {does} {often}|I {do} {often}|I have to {do}|
{he} has to {do}|I don't want to {do}|I can't {do}|{he} can't {do}|{he} doesn't {do}|I am {feeling}|{he} is {feeling}|
I was {feeling}|{they} are {doing}|{he} was {doing}|I was {doing}|it is {adv} {adj}|the {thing_is} is {adv} {adj}|
the {thing_is} was {adv} {adj}|there is no {stuff} left|it is raining|it is getting {adj}|the {machine} {trouble}|
I will {do} {future}|{he} will {do}|I didn't {do}|{he} didn't {do}|we need to {do}|I feel {feeling}|I had to {do}|
nobody {did}|it started to rain|the {vehicle} was late|I like {doing}|you should {do}|it was too late|the sun is shining""",
    "do_what": "say|buy|eat|do|find|see|order|cook|need|think|want|learn|play|read|watch|make|bring|wear|go|study|stay|work",
    "doing_": "doing|saying|eating|cooking|reading|watching|making|wearing|looking at|talking about|thinking about|waiting for",
    "did_what": "bought|read|found|ordered|borrowed|saw|lost|wanted|got|needed|chose|wrote|liked",
    "do_who": "meet|call|see|talk to|invite|ask|tell|visit|help|vote for|go with|stay with",
    "day": "day|afternoon|evening|weekend|morning|summer|holidays|night|week|whole day",
    "day_": "day|afternoon|evening|weekend|night|trip|vacation|morning|week|birthday|holiday|flight|meeting",
    "season": "winter|summer|spring|fall|evening|morning|afternoon|mountains|desert|dark",
    "event_": "party|meeting|concert|wedding|storm|test|surprise|sale|parade|barbecue|game|dance|fire drill",
}
FRAMES = _list("""Could you {do}?|Could you {do}, please?|Can you {do} {future}?|Can you help me {do}?|Would you mind {doing}?|
Would you {do} for me?|Will you {do} {future}?|Please {do}.|Please {do} {future}.|Please don't {do}.|Don't {do}.|
Don't forget to {do}.|Please remember to {do} {future}.|Remind me to {do} {future}.|Let's {do}.|Let's {do} {future}.|
Let's not {do}.|Let me {do}.|Let me know when {clause}.|Make sure to {do} before {clause}.|I have to {do} {future}.|
I need to {do}.|I need {a} {tool}.|I want to {do} {future}.|I would like to {do}.|I'd like to {do}, please.|
I'd rather {do} than {do}.|I would rather {do}.|I'm going to {do} {future}.|I'm {doing} right now.|I am {doing}.|
I was {doing} when {clause}.|I {did} {past}.|I {did}.|I already {did}.|I just {did}.|I have already {done}.|
I have never {done}.|I've {done} before.|I haven't {done} yet.|I've been {doing} {often}.|I've been {doing} for {minutes}.|
I used to {do}.|I used to {do} when I was young.|I forgot to {do}.|I can't {do}.|I can't believe {clause}.|
I couldn't {do} because {clause}.|I don't want to {do}.|I don't know how to {do}.|I don't know why {clause}.|
I don't think {clause}.|I don't {do} very often.|I didn't {do}.|I didn't know that {clause}.|I think {clause}.|
I think we should {do}.|I thought {clause}.|I hope {clause}.|I hope we can {do} {future}.|I wish I could {do}.|
I wonder if {clause}.|I wonder what {he} is {doing}.|I'm not sure if {clause}.|I'm sorry, {clause}.|I'm sorry that {clause}.|
I'm glad that {clause}.|I'm afraid {clause}.|I'm trying to {do}.|I'm tired of {doing}.|I'm looking forward to {doing}.|
I'm thinking about {doing} {future}.|I'm ready to {do}.|I'm too {feeling} to {do}.|I'm so {feeling} that I could {do}.|
I'll {do} {future}.|I'll {do} if {clause}.|I might {do} {future}.|I must {do}.|I should {do} more often.|
I {freq} {do} {often}.|I {do} {often}.|I enjoy {doing} {often}.|I like to {do} {often}.|I love {doing}.|
I feel {adv} {feeling} today.|I'm {adv} {feeling}.|I'm feeling {feeling} because {clause}.|I heard that {clause}.|
I saw {he} {doing} {past}.|I met {rel} at the {place} {past}.|I left {my} {small} {in} the {room}.|
I lost {my} {small} {past}.|I can't find {my} {small}.|I bought {a} {adj} {garment} {past}.|I have {a} {adj} {illness}.|
I have been {feeling} all day.|We {did} {past}.|We should {do} {future}.|We should {do} instead of {doing}.|
We could {do} or {do}.|We need to {do} before {clause}.|We need {some} {food} and {some} {food}.|We have to {do}.|
We're going to {do} {future}.|We're {doing}.|We ran out of {food} {past}.|We are almost out of {food}.|
We're having {dish} for dinner.|We had {dish} and {dish} for lunch.|We went to the {place} {past}.|We used to {do}.|
We spent the whole day {doing}.|We were {doing} when {clause}.|We never {do}.|We can {do} {future}.|We don't {do} {often}.|
You should {do}.|You should {do} {future}.|You shouldn't {do}.|You have to {do} first.|You can {do} if {clause}.|
You don't have to {do}.|You must be {feeling}.|You look {adv} {feeling}.|You look {adj} in that {garment}.|
You never {do} when {clause}.|You forgot to {do}.|You said that {clause}.|You are {adv} {adj}.|You need to {do}.|
{he} {did} {past}.|{he} {did}, {because}.|{he} {does} {often}.|{he} {freq} {does}.|{he} is {doing}.|
{he} is always {doing}.|{he} was {doing} {past}.|{he} has been {doing} since {past}.|{he} has {done} {number} times.|
{he} wants to {do}.|{he} wants me to {do}.|{he} asked me to {do}.|{he} told me that {clause}.|{he} told me to {do}.|
{he} said that {clause}.|{he} says {clause}.|{he} thinks {clause}.|{he} is going to {do} {future}.|{he} has to {do}.|
{he} had to {do} {past}.|{he} can't {do} anymore.|{he} doesn't {do} anymore.|{he} didn't {do} {past}.|
{he} will {do} {future}.|{he} might {do}.|{he} would never {do}.|{he} tried to {do} but {clause}.|{he} is {adv} {adj}.|
{he} is too {adj} to {do}.|{he} is {feeling} because {clause}.|{he} looks {feeling}.|{he} needs to {do}.|
{he} works at the {workplace} as {a} {worker}.|{he} wants to become {a} {worker}.|{he} is {a} {worker}.|
{he} is learning {to_skill}.|{he} is allergic to {food}.|{he} hurt {my} {body} {past}.|{he} keeps {doing}.|
{he} promised to {do} {future}.|{he} forgot to {do} {past}.|{he} left without {doing}.|{he} never {does}.|
{he} lives next to the {place}.|{he} moved to {city} {past}.|{he} hasn't {done} since {past}.|{he} loves {doing}.|
{they} {did} {past}.|{they} {do} {often}.|{they} are {doing}.|{they} are going to {do} {future}.|{they} want to {do}.|
{they} have {done} before.|{they} were {doing} {past}.|{they} didn't {do}.|{they} don't {do} anymore.|
{they} have to {do} {future}.|{they} can't {do} because {clause}.|{they} used to {do}.|{they} will {do} {future}.|
{thing} is {adv} {adj}.|{thing} was {adv} {adj} {past}.|{thing} looks {adj}.|{thing} {trouble}.|The {machine} {trouble}.|
My {small} {trouble}.|The {part} {trouble}.|{thing} costs {number} dollars.|{thing} is {in} the {room}.|
{thing} is more {adj} than {thing}.|{thing} is as {adj} as {thing}.|{thing} isn't {adj} enough.|{thing} doesn't fit.|
The {thing_is} needs a little more {spice}.|The {dish} tastes {adj}.|The {vehicle} was late because {clause}.|
The {vehicle} leaves at {clock}.|The {place} closes at {clock}.|The {place} will be closed until {month}.|
The {place} is next to the {place}.|The {pet} needs to go outside.|The {pet} is {doing} again.|The {kids} are {doing}.|
The {kids} want to {do}.|The {worker} said that {clause}.|The {worker} was {adv} {adj}.|The {machine} in the {room} {trouble}.|
My {body} hurts.|My {body} hurts when I {do}.|My {body} hurts from {doing}.|My {small} is {in} the {room}.|
There is {a} {adj} {thing_is} {in} the {room}.|There's {a} {small} on the {table}.|There is no more {food}.|
There are too many people at the {place}.|There isn't enough {stuff}.|There was {a} {worker} at the {place}.|
There's something wrong with the {machine}.|There were {number} {pet}s in the {room}.|It is {adv} {adj} today.|
It's {adv} {adj}.|It was {adv} {adj} {past}.|It looks like {clause}.|It might {do} {future}.|It's going to rain {future}.|
It's {adj} to {do}.|It was nice of you to {do}.|It takes {minutes} to {do}.|It's time to {do}.|It's too {adj} to {do}.|
It's been {adj} lately.|It's not worth {doing}.|It's my turn to {do}.|It depends on whether {clause}.|It's none of your business.|
It was so {adj} that {clause}.|It has been a long {day_}.|It gets {adj} in the {season}.|It doesn't matter if {clause}.|
That {restaurant} has the best {dish} in town.|That was {adv} {adj}.|That's {adv} {adj}.|That's why {clause}.|
That's what I {did} {past}.|This {thing_is} is {adv} {adj}.|This is the first time I {did}.|This is {adj}.|
Do you want to {do}?|Do you want to {do} {future}?|Do you want some {food}?|Do you have to {do}?|Do you have any {food}?|
Do you know how to {do}?|Do you know where my {small} is?|Do you know if {clause}?|Do you think {clause}?|
Do you think we should {do}?|Do you like {food}?|Do you like {doing}?|Do you mind if I {do}?|Do you {freq} {do}?|
Do you need help {doing}?|Do you need anything from the {place}?|Do you remember when we {did}?|Do we have enough {food}?|
Does {he} {do}?|Does {he} want to {do}?|Does anybody know if {clause}?|Does this {vehicle} go to the {place}?|
Does it hurt when you {do}?|Did you {do}?|Did you {do} {past}?|Did you remember to {do}?|Did you forget to {do}?|
Did you see my {small}?|Did {he} {do} {past}?|Did you hear that {clause}?|Did you know that {clause}?|Didn't you {do}?|
Have you {done}?|Have you {done} yet?|Have you ever {done}?|Have you seen my {small} anywhere?|Have you heard the news?|
Has {he} {done}?|Has anybody {done}?|Haven't you {done} yet?|Are you {doing}?|Are you going to {do} {future}?|
Are you {feeling}?|Are you feeling {feeling}?|Are you ready to {do}?|Are you sure that {clause}?|Are there any {food} left?|
Are the {kids} {doing}?|Are you allergic to {food}?|Aren't you {feeling}?|Is there {a} {place} near here?|Is {he} {feeling}?|
Is {he} {doing}?|Is the {machine} on?|Is the {thing_is} too {adj}?|Is it okay if I {do}?|Is it going to rain {future}?|
Is it {adj}?|Is there anything I can do?|Is there any {food} left?|Is this your {small}?|Isn't it {adj}?|Was it {adj}?|
Was {he} {feeling}?|Were you {doing}?|Can I {do}?|Can I have {some} {drink}, please?|Can I get {a} {dish}?|Can I borrow your {tool}?|
Can we {do} {future}?|Can we talk about {topic}?|Can you {do}?|Can you hear {he}?|Can you tell me how to {do}?|
Can you tell me where the {place} is?|Can {he} {do}?|Could I have {a} {drink}?|Could we {do} {future}?|
Could you tell me what time {clause}?|Should I {do}?|Should we {do} {future}?|Should we {do} or {do}?|Shall we {do}?|
May I {do}?|May I ask {a} question?|Why don't we {do}?|Why don't you {do}?|Why are you {doing}?|Why are you so {feeling}?|
Why did you {do}?|Why did {he} {do}?|Why is {he} {doing}?|Why is the {thing_is} so {adj}?|Why didn't you {do}?|
Why do I have to {do}?|Why can't {he} {do}?|Why haven't you {done}?|What are you {doing}?|What are you {doing_} {future}?|
What are you planning to {do}?|What are you looking for?|What are we having for {meal}?|What did {he} say about {topic}?|
What did you do {past}?|What did you {do_what} {past}?|What do you think about {topic}?|What do you want to {do_what}?|
What do you need from the {place}?|What do you usually do {often}?|What does {he} {do_what}?|What happened {past}?|
What happened to your {small}?|What is {he} {doing_}?|What is wrong with the {machine}?|What is the best way to {do}?|
What is for {meal}?|What kind of {food} do you like?|What time does the {place} close?|What time did you {do}?|
What time do you want to {do}?|What time is {event}?|What should I {do_what}?|What if {clause}?|What's {in} the {room}?|
What's your favorite {movie}?|What a {adj} {thing_is}.|Who {did} {past}?|Who {did}?|Who is {doing}?|Who is going to {do}?|
Who left the {door} open?|Who wants to {do}?|Who told you that {clause}?|Who did you {do_who}?|Who ate the {food}?|
Where did you {do_what}?|Where did you put my {small}?|Where did {he} {do_what}?|Where is my {small}?|Where is the {place}?|
Where are my {small}?|Where are you going {future}?|Where can I {do_what} {some} {food}?|Where do you keep the {dishes}?|
Where do you want to {do_what}?|Where have you been?|Where should I put the {furniture}?|Where does {he} live?|
When are you going to {do}?|When did {he} {do}?|When do you have to {do}?|When does the {vehicle} leave?|When is {event}?|
When will {he} {do}?|When was the last time you {did}?|How about {doing}?|How are you today?|How are you feeling?|
How can I {do}?|How did you {do_what}?|How do I {do}?|How do you like the {dish}?|How do you {do_what}?|How does it work?|
How far is it to the {place}?|How long did you {do}?|How long does it take to {do}?|How long have you been {doing}?|
How long will it take you to {do}?|How many {things} are there?|How many people are coming to {event}?|How much does it cost to {do}?|
How much is the {garment}?|How much do I owe you for {dinner}?|How much {food} do we need?|How often do you {do}?|
How old is your {pet}?|How was {event}?|How was your {day_}?|How's your {body}?|Which {vehicle} goes to the {place}?|
Which {garment} should I wear to {event}?|Which one is {adj}?|Whose {small} is this?|Whose turn is it to {do}?|
Thanks for {doing}.|Thank you for {doing}.|Thank you so much for the {drink}.|
Nobody told me that {clause}.|Somebody {did} again.|Somebody has to {do}.|Everybody {did}.|Everything is {adj}.|
Nothing is more {adj} than {doing}.|Something is wrong with the {machine}.|Put the {small} {in} the {room}, please.|
Put {my} {garment} in the {fridge}.|Take {a} {tool} with you.|Take your {garment} off.|Take the {vehicle} to the {place}.|
Turn off the {light} before you {do}.|Turn the {music} down, {clause}.|Tell {them} to {do}.|Tell {them} that {clause}.|
Tell me what you {did} {past}.|Tell me about {event}.|Ask {them} if {clause}.|Ask {them} to {do}.|Give me the {tool}, please.|
Give {them} {a} {tool}.|Bring me {a} {drink}, please.|Show me how to {do}.|Show me your {small}.|Look at that {pet}.|
Look at the {sight}, it is so {adj}.|Come here and {do}.|Come over for {meal} {future}.|Call me when {clause}.|
Wait until {clause}.|Hurry up, {clause}.|Be careful, the {thing_is} is {adj}.|Be quiet, the {kids} are {doing}.|
Stop {doing}.|Keep {doing} until {clause}.|Try to {do}.|Try {doing}.|Get me {some} {food} from the {place}.|Go and {do}.|
Have some {food}.|Have a good {day_}.|Have fun at {event}.|Happy birthday, {name}.|Good luck with {event}.|See you {future}.|
Never mind.|Welcome home.|Take care.|Excuse me, where is the {place}?|Excuse me, can I {do}?|Sorry, I didn't {do}.|
{hey}, {clause}.|{hey}, I {did}.|{hey}, let's {do}.|{hey}, can you {do}?|{hey}, I think {clause}.|{hey}, I have to {do}.|
{clause}, {because}.|{clause}, {because}.|{clause}, {because}.|{clause}.|{clause}.|If {clause}, {clause}.|
When {clause}, {clause}.|When I was young, I {did}.|After {doing}, I {did}.|Before {doing}, {they} {did}.|While {clause}, {clause}.|
Because {clause}, I {did}.|Even though {clause}, {clause}.|As soon as {clause}, I will {do}.|Maybe we should {do}.|
Maybe {clause}.|Sometimes I {do}.|Sometimes {he} {does}.|Usually I {do} {often}.|Yesterday {he} {did}.|Tomorrow I will {do}.|
Last night I {did}.|Last {weekday}, {they} {did}.|On {weekday} I have to {do}.|In the morning I {freq} {do}.|
First we {did}, then we {did}.|Unfortunately, {clause}.|Actually, I {did} {past}.|Of course you can {do}.|No, I haven't {done}.|
Yes, I {did} {past}.|Well, I {freq} {do}.|Instead of {doing}, you should {do}.|Everyone says {clause}.|The problem is that {clause}.|
The best thing is to {do}.|The last time I {did}, {clause}.|The {book} I {did_what} is {adj}.|The {garment} I bought is too {adj}.|
The {worker} who {did} is {adj}.|One of the {kids} {did}.|Most of the {food} is {adj}.|All of the {dishes} are {adj}.|
Both of them {did}.|Neither of us {did}.|A lot of people {do} {often}.|More and more people {do}.|You can't just {do}.|
You'd better {do} before {clause}.|He'd never {done} before.|She'd like to {do}.|They've {done}.|We've {done} {number} times.|
It'll be {adj} {future}.|That'll be {number} dollars.|He's {doing} again.|She's {feeling} today.|They're {doing}.|
Who's {doing}?|What's he {doing_}?|Where's my {small}?|There'll be {a} {event_} {future}.|Wasn't it {adj}?|
Couldn't you {do}?|Wouldn't it be {adj} to {do}?|Won't you {do}?|I won't {do}.|She won't {do}.|He shouldn't {do}.|I'd {do} if {clause}.""")
CHOICES = {name: _list(text) for name, text in WORDS.items()}
_FORM_NAMES = ("do", "does", "did", "done", "doing")
_SLOT = re.compile(r"\{(\w+)\}")
_ARTICLE = re.compile(r"\b(a|an) (?=([a-zA-Z]+))")
_MASS = re.compile(r"\b(?:a|an) ((?:[a-z]+ )?(?:soup|salad|pants|jeans|shoes|boots|sneakers|sandals|slippers|socks|gloves|"
                   r"pajamas|sunglasses|shorts|running shoes|coffee|tea|water|juice|milk|wine|lemonade|money|keys|glasses|"
                   r"pills|headphones|tickets|notes|earrings|medicine|change|homework|clothes|a |an |the |some )\b)")
# Not behind a hiss, as in "the bus is" and "the box is".
_SUBJECT_IS = re.compile(r"(\b(?:[Tt]he|[Mm]y|[Yy]our|[Hh]is|[Hh]er|[Oo]ur|[Tt]heir|[Tt]his|[Tt]hat) [a-z]*(?:[a-gi-rt-wy]|[^cs]h)) "
                         r"(?:is|has(?= [a-z]+(?:ed|en|wn|one|ade|ought|aught|eft|ost|ept)\b)) ")
CONTRACTED_SHARE = 0.3
MOST_DEPTH = 8


def _draw(rng, text: str, depth: int = 0) -> str:
    def fill(match):
        name = match[1]
        if name in ("a", "an"):
            return "a" if rng.random() < 0.75 else rng.choice(("the", "my", "your", "another", "this"))
        if name in _FORM_NAMES:
            part = inflected(rng.choice(ACTIVITIES), name)
        else:
            part = rng.choice(CHOICES[name])
        return _draw(rng, part, depth + 1) if depth < MOST_DEPTH else _SLOT.sub("it", part)
    return _SLOT.sub(fill, text)


def polished(text: str) -> str:
    text = _MASS.sub(r"some \1", text)
    for twice in ("some a ", "some an ", "some the ", "some some ", "the a ", "the an "):
        text = text.replace(twice, "the ")

    def article(match):
        word = match[2].lower()
        is_an = word.startswith(templates._AN) or (word[0] in "aeiou" and not word.startswith(templates._A))
        return "an " if is_an else "a "
    text = _ARTICLE.sub(article, text)
    text = re.sub(r"\b(\w+) \1\b", r"\1", text)
    return text[0].upper() + text[1:]


def contracted(rng, text: str) -> str:
    """"The kettle is broken" as it is mostly said; the apostrophe cannot be heard."""
    return _SUBJECT_IS.sub(lambda match: f"{match[1]}'s " if rng.random() < CONTRACTED_SHARE else match[0], text)


def everyday_sentence(rng) -> str:
    return polished(_draw(rng, rng.choice(FRAMES)))
