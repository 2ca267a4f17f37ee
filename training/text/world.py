"""The assistant's world as plain data: names, places, things and facts.

Everything the demo models may talk about is written here once. Speech models import the same lists, so that
they hear and say the words that the text model knows. No function in this file draws random numbers.
"""

FIRST_NAMES = """Adam Alice Alma Amir Amy Anna Arthur Ava Ben Bella Bruno Carl Carla Carmen Cara Chloe Clara Cleo
Colin Dana Daniel David Dora Edgar Elena Eli Ella Elsa Emil Emma Eric Eva Felix Fiona Frank Freya George Gina Grace
Greta Hana Hannah Harry Helen Henry Hugo Ian Ida Igor Iris Ivan Jack James Jana Jane Jasper Joan John Jonas Julia
Karen Karl Kate Kira Lara Laura Lena Leo Liam Lily Lina Linda Lisa Louis Lucas Lucy Luis Luna Marco Maria Martin
Mary Max Maya Mia Mila Mona Nadia Nina Noah Nora Oliver Olga Omar Oscar Otto Paul Paula Pedro Peter Petra Rita Robin
Rosa Ruth Sam Sara Simon Sofia Stella Susan Tara Theo Tim Tina Tom Vera Victor Walter Wendy Yara Zoe""".split()

CAPITALS = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "Portugal": "Lisbon",
    "Austria": "Vienna", "Switzerland": "Bern", "Belgium": "Brussels", "the Netherlands": "Amsterdam",
    "Denmark": "Copenhagen", "Sweden": "Stockholm", "Norway": "Oslo", "Finland": "Helsinki", "Iceland": "Reykjavik",
    "Ireland": "Dublin", "the United Kingdom": "London", "Poland": "Warsaw", "Hungary": "Budapest",
    "Greece": "Athens", "Turkey": "Ankara", "Russia": "Moscow", "Ukraine": "Kyiv", "Romania": "Bucharest",
    "Bulgaria": "Sofia", "Croatia": "Zagreb", "Serbia": "Belgrade", "Slovenia": "Ljubljana", "Slovakia": "Bratislava",
    "Estonia": "Tallinn", "Latvia": "Riga", "Lithuania": "Vilnius", "Albania": "Tirana", "Malta": "Valletta",
    "the United States": "Washington", "Canada": "Ottawa", "Mexico": "Mexico City", "Cuba": "Havana",
    "Jamaica": "Kingston", "Panama": "Panama City", "Brazil": "Brasilia", "Argentina": "Buenos Aires",
    "Chile": "Santiago", "Peru": "Lima", "Colombia": "Bogota", "Ecuador": "Quito", "Uruguay": "Montevideo",
    "Paraguay": "Asuncion", "Venezuela": "Caracas", "China": "Beijing", "Japan": "Tokyo", "South Korea": "Seoul",
    "India": "New Delhi", "Nepal": "Kathmandu", "Pakistan": "Islamabad", "Thailand": "Bangkok", "Vietnam": "Hanoi",
    "Indonesia": "Jakarta", "Malaysia": "Kuala Lumpur", "the Philippines": "Manila", "Mongolia": "Ulaanbaatar",
    "Iran": "Tehran", "Iraq": "Baghdad", "Israel": "Jerusalem", "Jordan": "Amman", "Lebanon": "Beirut",
    "Saudi Arabia": "Riyadh", "Qatar": "Doha", "Oman": "Muscat", "Egypt": "Cairo", "Morocco": "Rabat",
    "Algeria": "Algiers", "Tunisia": "Tunis", "Libya": "Tripoli", "Kenya": "Nairobi", "Ethiopia": "Addis Ababa",
    "Ghana": "Accra", "Nigeria": "Abuja", "Senegal": "Dakar", "Uganda": "Kampala", "Rwanda": "Kigali",
    "Zambia": "Lusaka", "Zimbabwe": "Harare", "Angola": "Luanda", "Namibia": "Windhoek", "Australia": "Canberra",
    "New Zealand": "Wellington", "Fiji": "Suva", "Samoa": "Apia",
}

_CONTINENT_MEMBERS = {
    "Europe": """France|Germany|Italy|Spain|Portugal|Austria|Switzerland|Belgium|the Netherlands|Denmark|Sweden|Norway|
Finland|Iceland|Ireland|the United Kingdom|Poland|Hungary|Greece|Ukraine|Romania|Bulgaria|Croatia|Serbia|Slovenia|
Slovakia|Estonia|Latvia|Lithuania|Albania|Malta""",
    "North America": "the United States|Canada|Mexico|Cuba|Jamaica|Panama",
    "South America": "Brazil|Argentina|Chile|Peru|Colombia|Ecuador|Uruguay|Paraguay|Venezuela",
    "Asia": """China|Japan|South Korea|India|Nepal|Pakistan|Thailand|Vietnam|Indonesia|Malaysia|the Philippines|
Mongolia|Iran|Iraq|Israel|Jordan|Lebanon|Saudi Arabia|Qatar|Oman""",
    "Africa": """Egypt|Morocco|Algeria|Tunisia|Libya|Kenya|Ethiopia|Ghana|Nigeria|Senegal|Uganda|Rwanda|Zambia|
Zimbabwe|Angola|Namibia""",
    "Oceania": "Australia|New Zealand|Fiji|Samoa",
}
CONTINENTS = {country.strip(): continent
              for continent, members in _CONTINENT_MEMBERS.items() for country in members.split("|")}

LANGUAGES = {
    "France": "French", "Germany": "German", "Italy": "Italian", "Spain": "Spanish", "Portugal": "Portuguese",
    "Austria": "German", "the Netherlands": "Dutch", "Denmark": "Danish", "Sweden": "Swedish", "Norway": "Norwegian",
    "Finland": "Finnish", "Iceland": "Icelandic", "the United Kingdom": "English", "Poland": "Polish",
    "Hungary": "Hungarian", "Greece": "Greek", "Turkey": "Turkish", "Russia": "Russian", "Romania": "Romanian",
    "the United States": "English", "Mexico": "Spanish", "Cuba": "Spanish", "Brazil": "Portuguese",
    "Argentina": "Spanish", "Chile": "Spanish", "Peru": "Spanish", "China": "Chinese", "Japan": "Japanese",
    "South Korea": "Korean", "Thailand": "Thai", "Vietnam": "Vietnamese", "Egypt": "Arabic", "Morocco": "Arabic",
    "Iran": "Persian", "Australia": "English",
}

CURRENCIES = {
    "France": "the euro", "Germany": "the euro", "Italy": "the euro", "Spain": "the euro", "Austria": "the euro",
    "Ireland": "the euro", "Finland": "the euro", "Switzerland": "the franc", "Denmark": "the krone",
    "Sweden": "the krona", "Norway": "the krone", "the United Kingdom": "the pound", "Poland": "the zloty",
    "Hungary": "the forint", "Turkey": "the lira", "Russia": "the ruble", "the United States": "the dollar",
    "Canada": "the dollar", "Mexico": "the peso", "Brazil": "the real", "Argentina": "the peso", "China": "the yuan",
    "Japan": "the yen", "South Korea": "the won", "India": "the rupee", "Thailand": "the baht", "Vietnam": "the dong",
    "Israel": "the shekel", "Egypt": "the pound", "Australia": "the dollar", "New Zealand": "the dollar",
}

COLORS_OF_THINGS = {
    "the sky on a clear day": "blue", "grass": "green", "snow": "white", "coal": "black", "a banana": "yellow",
    "a ripe tomato": "red", "a carrot": "orange", "milk": "white", "the sun": "yellow", "a lemon": "yellow",
    "chocolate": "brown", "an elephant": "gray", "a flamingo": "pink", "a crow": "black", "a fire truck": "red",
    "an emerald": "green", "a ruby": "red", "a sapphire": "blue", "a pumpkin": "orange", "a strawberry": "red",
    "blood": "red", "an eggplant": "purple", "a frog": "green", "a polar bear": "white", "broccoli": "green",
    "sand": "yellow", "a lobster when it is cooked": "red", "lavender": "purple", "salt": "white", "a swan": "white",
}

ANIMAL_SOUNDS = {
    "cow": "moos", "dog": "barks", "cat": "meows", "duck": "quacks", "sheep": "baas", "horse": "neighs",
    "pig": "oinks", "lion": "roars", "wolf": "howls", "bee": "buzzes", "snake": "hisses", "frog": "croaks",
    "owl": "hoots", "mouse": "squeaks", "rooster": "crows", "donkey": "brays", "elephant": "trumpets",
    "crow": "caws", "goose": "honks", "bird": "sings", "hen": "clucks", "dove": "coos", "monkey": "chatters",
}

ANIMAL_BABIES = {
    "dog": "a puppy", "cat": "a kitten", "cow": "a calf", "horse": "a foal", "sheep": "a lamb", "pig": "a piglet",
    "duck": "a duckling", "goose": "a gosling", "chicken": "a chick", "goat": "a kid", "deer": "a fawn",
    "bear": "a cub", "lion": "a cub", "kangaroo": "a joey", "frog": "a tadpole", "swan": "a cygnet",
    "owl": "an owlet", "rabbit": "a kit", "whale": "a calf", "elephant": "a calf", "eagle": "an eaglet",
    "butterfly": "a caterpillar", "seal": "a pup", "fox": "a kit",
}

ANIMAL_HOMES = {
    "bee": "a hive", "bird": "a nest", "spider": "a web", "fox": "a den", "rabbit": "a burrow", "horse": "a stable",
    "cow": "a barn", "dog": "a kennel", "pig": "a sty", "lion": "a den", "ant": "an anthill", "beaver": "a lodge",
    "mole": "a burrow", "hen": "a coop", "fish": "the water", "eagle": "a nest", "bear": "a den", "bat": "a cave",
}

ANIMAL_LEGS = {
    "dog": 4, "cat": 4, "horse": 4, "cow": 4, "spider": 8, "ant": 6, "bee": 6, "bird": 2, "chicken": 2, "snake": 0,
    "fish": 0, "crab": 10, "octopus": 0, "butterfly": 6, "frog": 4, "elephant": 4, "kangaroo": 2, "scorpion": 8,
    "lobster": 10, "beetle": 6, "duck": 2, "worm": 0, "lizard": 4,
}

CHEMICAL_SYMBOLS = {
    "hydrogen": "H", "helium": "He", "carbon": "C", "nitrogen": "N", "oxygen": "O", "fluorine": "F", "neon": "Ne",
    "sodium": "Na", "magnesium": "Mg", "aluminum": "Al", "silicon": "Si", "phosphorus": "P", "sulfur": "S",
    "chlorine": "Cl", "argon": "Ar", "potassium": "K", "calcium": "Ca", "titanium": "Ti", "chromium": "Cr",
    "iron": "Fe", "nickel": "Ni", "copper": "Cu", "zinc": "Zn", "silver": "Ag", "tin": "Sn", "iodine": "I",
    "platinum": "Pt", "gold": "Au", "mercury": "Hg", "lead": "Pb", "uranium": "U", "lithium": "Li",
}

OPPOSITES = {
    "hot": "cold", "big": "small", "tall": "short", "fast": "slow", "happy": "sad", "light": "dark", "full": "empty",
    "old": "young", "hard": "soft", "wet": "dry", "early": "late", "open": "closed", "high": "low", "loud": "quiet",
    "clean": "dirty", "rich": "poor", "strong": "weak", "thick": "thin", "wide": "narrow", "deep": "shallow",
    "heavy": "light", "good": "bad", "right": "wrong", "true": "false", "first": "last", "up": "down",
    "left": "right", "in": "out", "on": "off", "day": "night", "summer": "winter", "north": "south", "east": "west",
    "black": "white", "love": "hate", "begin": "end", "buy": "sell", "give": "take", "push": "pull", "win": "lose",
    "laugh": "cry", "ask": "answer", "remember": "forget", "arrive": "leave", "near": "far", "inside": "outside",
    "above": "below", "before": "after", "always": "never", "cheap": "expensive", "easy": "difficult",
    "sweet": "sour", "sharp": "dull", "smooth": "rough", "brave": "afraid", "alive": "dead", "awake": "asleep",
    "safe": "dangerous", "polite": "rude", "simple": "complicated", "front": "back", "top": "bottom",
    "friend": "enemy", "war": "peace", "question": "answer", "success": "failure", "arrival": "departure",
    "minimum": "maximum", "more": "less", "many": "few",
}

IRREGULAR_PLURALS = {
    "mouse": "mice", "child": "children", "foot": "feet", "tooth": "teeth", "goose": "geese", "man": "men",
    "woman": "women", "person": "people", "ox": "oxen", "leaf": "leaves", "knife": "knives", "wolf": "wolves",
    "life": "lives", "half": "halves", "sheep": "sheep", "fish": "fish", "deer": "deer", "cactus": "cacti",
    "box": "boxes", "city": "cities", "baby": "babies", "tomato": "tomatoes", "potato": "potatoes", "hero": "heroes",
    "shelf": "shelves", "thief": "thieves", "wife": "wives", "bus": "buses", "dish": "dishes", "story": "stories",
}

PAST_TENSES = {
    "go": "went", "eat": "ate", "see": "saw", "run": "ran", "swim": "swam", "sing": "sang", "write": "wrote",
    "drive": "drove", "fly": "flew", "take": "took", "give": "gave", "come": "came", "begin": "began",
    "drink": "drank", "speak": "spoke", "break": "broke", "buy": "bought", "bring": "brought", "think": "thought",
    "teach": "taught", "catch": "caught", "find": "found", "tell": "told", "sell": "sold", "make": "made",
    "know": "knew", "grow": "grew", "throw": "threw", "sleep": "slept", "keep": "kept", "leave": "left",
    "feel": "felt", "build": "built", "send": "sent", "lose": "lost", "win": "won", "sit": "sat", "stand": "stood",
    "fall": "fell", "wear": "wore", "ride": "rode", "choose": "chose",
}

SIDES_OF_SHAPES = {"triangle": 3, "square": 4, "rectangle": 4, "pentagon": 5, "hexagon": 6, "heptagon": 7,
                   "octagon": 8, "nonagon": 9, "decagon": 10}

PLANETS = ["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"]

# What is the KEY?  The KEY is VALUE.
SUPERLATIVES = {
    "largest planet": "Jupiter", "smallest planet": "Mercury", "hottest planet": "Venus",
    "largest ocean": "the Pacific Ocean", "smallest ocean": "the Arctic Ocean", "tallest mountain": "Mount Everest",
    "longest river": "the Nile", "largest desert": "Antarctica", "largest hot desert": "the Sahara",
    "largest country": "Russia", "smallest country": "Vatican City", "largest continent": "Asia",
    "smallest continent": "Australia", "coldest continent": "Antarctica", "fastest land animal": "the cheetah",
    "fastest bird": "the peregrine falcon", "largest animal": "the blue whale", "tallest animal": "the giraffe",
    "largest land animal": "the elephant", "largest bird": "the ostrich", "smallest bird": "the hummingbird",
    "hardest natural material": "diamond", "lightest element": "hydrogen", "largest organ of the body": "the skin",
    "longest bone in the body": "the thigh bone", "shortest month": "February", "first month of the year": "January",
    "last month of the year": "December", "largest island": "Greenland", "deepest lake": "Lake Baikal",
    "first letter of the alphabet": "A", "last letter of the alphabet": "Z", "smallest prime number": "2",
    "closest star to Earth": "the sun", "closest planet to the sun": "Mercury", "red planet": "Mars",
    "king of the jungle": "the lion", "capital of England": "London", "capital of Scotland": "Edinburgh",
    "capital of Wales": "Cardiff", "boiling point of water": "100 degrees Celsius",
    "freezing point of water": "0 degrees Celsius", "main gas in the air": "nitrogen",
    "national animal of Australia": "the kangaroo", "currency of Europe": "the euro",
    "opposite direction of north": "south", "festival on December 25": "Christmas",
}

# Who KEY?  VALUE KEY.
DEEDS = {
    "painted the Mona Lisa": "Leonardo da Vinci", "painted The Starry Night": "Vincent van Gogh",
    "painted Guernica": "Pablo Picasso", "painted The Scream": "Edvard Munch",
    "painted the ceiling of the Sistine Chapel": "Michelangelo", "wrote Romeo and Juliet": "William Shakespeare",
    "wrote Hamlet": "William Shakespeare", "wrote Faust": "Goethe", "wrote Don Quixote": "Miguel de Cervantes",
    "wrote War and Peace": "Leo Tolstoy", "wrote Oliver Twist": "Charles Dickens", "wrote Emma": "Jane Austen",
    "wrote Pride and Prejudice": "Jane Austen", "wrote Frankenstein": "Mary Shelley",
    "wrote Dracula": "Bram Stoker", "wrote Treasure Island": "Robert Louis Stevenson",
    "wrote The Odyssey": "Homer", "wrote The Little Mermaid": "Hans Christian Andersen",
    "wrote Alice in Wonderland": "Lewis Carroll", "wrote Tom Sawyer": "Mark Twain", "wrote Moby Dick": "Herman Melville",
    "wrote Les Miserables": "Victor Hugo", "wrote Around the World in 80 Days": "Jules Verne",
    "wrote The Jungle Book": "Rudyard Kipling", "composed the Moonlight Sonata": "Ludwig van Beethoven",
    "composed The Magic Flute": "Mozart", "composed The Four Seasons": "Antonio Vivaldi",
    "composed Swan Lake": "Tchaikovsky", "invented the telephone": "Alexander Graham Bell",
    "invented the light bulb": "Thomas Edison", "invented the printing press": "Johannes Gutenberg",
    "invented dynamite": "Alfred Nobel", "invented the World Wide Web": "Tim Berners-Lee",
    "built the first airplane": "the Wright brothers", "improved the steam engine": "James Watt",
    "discovered penicillin": "Alexander Fleming", "discovered radium": "Marie Curie",
    "discovered gravity": "Isaac Newton", "discovered the theory of relativity": "Albert Einstein",
    "discovered the moons of Jupiter": "Galileo Galilei", "was the first person on the moon": "Neil Armstrong",
    "was the first person in space": "Yuri Gagarin", "was the first president of the United States": "George Washington",
    "sailed to America in 1492": "Christopher Columbus", "wrote the first computer program": "Ada Lovelace",
    "designed the Eiffel Tower": "Gustave Eiffel",
}

# How many PARTS are in WHOLE?  There are N PARTS in WHOLE.
COUNTS = {
    ("days", "a week"): 7, ("months", "a year"): 12, ("hours", "a day"): 24, ("minutes", "an hour"): 60,
    ("seconds", "a minute"): 60, ("weeks", "a year"): 52, ("days", "a year"): 365, ("days", "a leap year"): 366,
    ("years", "a decade"): 10, ("years", "a century"): 100, ("years", "a millennium"): 1000,
    ("letters", "the alphabet"): 26, ("planets", "the solar system"): 8, ("continents", "the world"): 7,
    ("oceans", "the world"): 5, ("colors", "a rainbow"): 7, ("eggs", "a dozen"): 12, ("players", "a soccer team"): 11,
    ("players", "a basketball team"): 5, ("strings", "a violin"): 4, ("strings", "a guitar"): 6,
    ("keys", "a piano"): 88, ("seasons", "a year"): 4, ("cards", "a deck"): 52, ("squares", "a chessboard"): 64,
    ("bits", "a byte"): 8, ("cents", "a dollar"): 100, ("degrees", "a circle"): 360, ("bones", "the human body"): 206,
    ("fingers", "a hand"): 5, ("vowels", "the alphabet"): 5, ("quarters", "a year"): 4, ("dwarfs", "Snow White"): 7,
    ("inches", "a foot"): 12, ("feet", "a yard"): 3, ("states", "the United States"): 50,
    ("hands", "a clock"): 2, ("wheels", "a tricycle"): 3, ("teeth", "an adult mouth"): 32,
    ("chambers", "the heart"): 4, ("musicians", "a quartet"): 4, ("musicians", "a duet"): 2,
}

# What is a KEY?  A KEY is VALUE.
DEFINITIONS = {
    "baker": "a person who bakes bread", "teacher": "a person who teaches", "doctor": "a person who treats sick people",
    "pilot": "a person who flies planes", "farmer": "a person who grows food", "chef": "a person who cooks",
    "painter": "a person who paints", "dentist": "a doctor for teeth", "gardener": "a person who looks after plants",
    "sailor": "a person who works on a ship", "judge": "a person who decides in court",
    "violin": "an instrument with four strings", "drum": "an instrument that you hit",
    "flute": "an instrument that you blow", "piano": "an instrument with keys", "compass": "a tool that shows north",
    "thermometer": "a tool that measures temperature", "clock": "a tool that shows the time",
    "telescope": "a tool for looking at stars", "microscope": "a tool for looking at tiny things",
    "dictionary": "a book that explains words", "library": "a place where you borrow books",
    "hospital": "a place where sick people are treated", "bakery": "a place where bread is sold",
    "museum": "a place where art and old things are shown", "harbor": "a place where ships land",
    "island": "land with water all around it", "desert": "a dry place with little rain", "volcano": "a mountain that can erupt",
    "glacier": "a slow river of ice", "river": "water that flows to the sea", "forest": "a place with many trees",
    "planet": "a large body that goes around a star", "star": "a ball of hot gas in space", "mammal": "an animal that drinks milk when young",
    "insect": "an animal with six legs", "reptile": "an animal with dry scales", "fossil": "the remains of an old living thing",
    "triangle": "a shape with three sides", "circle": "a round shape", "cube": "a shape with six square faces",
    "bicycle": "a vehicle with two wheels", "submarine": "a ship that goes under water", "rocket": "a vehicle that flies into space",
    "umbrella": "a thing that keeps you dry in the rain", "blanket": "a cover that keeps you warm",
    "recipe": "a list of steps for cooking", "calendar": "a table of days and months", "poem": "a short text in verse",
    "dessert": "a sweet dish at the end of a meal",
}

# What do you use a KEY for?  You use a KEY to VALUE.
TOOL_USES = {
    "hammer": "hit nails", "saw": "cut wood", "broom": "sweep the floor", "pen": "write", "knife": "cut food",
    "spoon": "eat soup", "oven": "bake", "fridge": "keep food cold", "key": "open a lock", "ladder": "climb up",
    "needle": "sew", "shovel": "dig", "towel": "dry yourself", "camera": "take pictures", "phone": "call people",
    "lamp": "light a room", "scale": "weigh things", "ruler": "measure length", "comb": "tidy your hair",
    "toothbrush": "clean your teeth", "kettle": "boil water", "map": "find the way", "mirror": "see yourself",
    "pillow": "rest your head", "bucket": "carry water", "eraser": "remove pencil marks", "whistle": "make a loud sound",
    "glue": "stick things together", "candle": "make light", "helmet": "protect your head",
}

# What is KEY made of / from?  KEY is made from VALUE.
MADE_FROM = {
    "bread": "flour", "cheese": "milk", "butter": "milk", "wine": "grapes", "paper": "wood", "glass": "sand",
    "honey": "nectar", "chocolate": "cocoa beans", "jam": "fruit", "leather": "animal skin", "yogurt": "milk",
    "wool": "the hair of sheep", "silk": "the threads of silkworms", "raisins": "grapes", "cider": "apples",
    "tofu": "soybeans", "pasta": "flour", "ketchup": "tomatoes", "plastic": "oil", "steel": "iron",
}

# Where is LANDMARK?  LANDMARK is in VALUE.
LANDMARKS = {
    "the Eiffel Tower": "Paris", "the Colosseum": "Rome", "Big Ben": "London", "the Statue of Liberty": "New York",
    "the Brandenburg Gate": "Berlin", "the Acropolis": "Athens", "the Taj Mahal": "India", "the Great Wall": "China",
    "the Kremlin": "Moscow", "the Golden Gate Bridge": "San Francisco", "Machu Picchu": "Peru",
    "the Sagrada Familia": "Barcelona", "the Leaning Tower": "Pisa", "Mount Fuji": "Japan", "the Louvre": "Paris",
    "the Grand Canyon": "Arizona", "the Great Barrier Reef": "Australia", "Stonehenge": "England",
    "Niagara Falls": "North America", "the Amazon rainforest": "South America", "Mount Kilimanjaro": "Tanzania",
    "the White House": "Washington", "Buckingham Palace": "London", "the Blue Mosque": "Istanbul",
    "the Little Mermaid statue": "Copenhagen", "the Opera House with the white sails": "Sydney",
}

# Ordered lists: "Name three fruits" is answered with the first three.
GROUPS = {
    "fruits": ["apple", "banana", "cherry", "orange", "pear", "grape"],
    "vegetables": ["carrot", "potato", "onion", "pea", "tomato", "cabbage"],
    "animals": ["dog", "cat", "horse", "cow", "lion", "bear"],
    "farm animals": ["cow", "pig", "sheep", "goat", "hen", "horse"],
    "wild animals": ["lion", "tiger", "wolf", "bear", "fox", "deer"],
    "birds": ["eagle", "owl", "crow", "swan", "duck", "dove"],
    "insects": ["ant", "bee", "fly", "beetle", "moth", "wasp"],
    "fish": ["salmon", "trout", "tuna", "cod", "shark", "eel"],
    "trees": ["oak", "pine", "maple", "birch", "willow", "elm"],
    "flowers": ["rose", "tulip", "daisy", "lily", "violet", "poppy"],
    "colors": ["red", "green", "blue", "yellow", "orange", "purple"],
    "shapes": ["circle", "square", "triangle", "rectangle", "oval", "star"],
    "planets": ["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn"],
    "continents": ["Africa", "Asia", "Europe", "Australia", "Antarctica", "North America"],
    "oceans": ["the Pacific", "the Atlantic", "the Indian", "the Arctic", "the Southern"],
    "countries": ["France", "Japan", "Brazil", "Egypt", "Canada", "India"],
    "European countries": ["France", "Germany", "Italy", "Spain", "Poland", "Sweden"],
    "cities": ["London", "Paris", "Tokyo", "Rome", "Cairo", "Berlin"],
    "rivers": ["the Nile", "the Amazon", "the Danube", "the Rhine", "the Volga", "the Thames"],
    "languages": ["English", "Spanish", "French", "German", "Chinese", "Arabic"],
    "metals": ["iron", "gold", "silver", "copper", "tin", "lead"],
    "instruments": ["piano", "violin", "guitar", "flute", "drum", "trumpet"],
    "sports": ["soccer", "tennis", "swimming", "hockey", "golf", "rugby"],
    "jobs": ["teacher", "doctor", "baker", "pilot", "farmer", "nurse"],
    "tools": ["hammer", "saw", "drill", "wrench", "pliers", "axe"],
    "drinks": ["water", "tea", "coffee", "milk", "juice", "lemonade"],
    "vehicles": ["car", "bus", "train", "bicycle", "boat", "plane"],
    "rooms": ["kitchen", "bedroom", "bathroom", "hall", "attic", "cellar"],
    "pieces of furniture": ["table", "chair", "bed", "sofa", "shelf", "desk"],
    "clothes": ["shirt", "coat", "hat", "sock", "scarf", "glove"],
    "school subjects": ["math", "history", "music", "art", "biology", "geography"],
    "seasons": ["spring", "summer", "autumn", "winter"],
    "senses": ["sight", "hearing", "smell", "taste", "touch"],
    "primary colors": ["red", "yellow", "blue"],
    "desserts": ["cake", "ice cream", "pudding", "pie", "cookies", "fruit salad"],
    "breakfast foods": ["bread", "eggs", "cereal", "yogurt", "toast", "pancakes"],
    "vowels": ["A", "E", "I", "O", "U"],
    "weekdays": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday"],
}

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
          "November", "December"]
DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
SEASON_OF_MONTH = ["winter", "winter", "spring", "spring", "spring", "summer", "summer", "summer", "autumn", "autumn",
                   "autumn", "winter"]

COLORS = "red blue green yellow orange purple pink brown black white gray silver golden turquoise".split()
FOODS = """pizza|pasta|soup|rice|salad|pancakes|noodles|curry|sandwiches|tacos|dumplings|potatoes|lasagna|fish|waffles|
omelets|beans|chicken|sushi|stew""".replace("\n", "").split("|")
FRUITS = "apple banana cherry orange pear grape mango peach plum lemon melon kiwi fig apricot".split()
ANIMALS = """dog cat horse cow sheep goat pig rabbit fox wolf bear lion tiger monkey elephant giraffe zebra camel deer
mouse owl eagle crow swan duck goose penguin dolphin whale shark turtle frog snake lizard hedgehog squirrel otter
badger beaver parrot""".split()
DRINKS = "water|tea|coffee|milk|orange juice|lemonade|cocoa|apple juice|mint tea|ginger ale|iced tea|tomato juice".split("|")
SPORTS = "soccer tennis swimming hockey golf rugby chess skiing rowing running cycling judo sailing climbing".split()
FLOWERS = "rose tulip daisy lily violet poppy orchid sunflower iris marigold".split()
JOBS = """teacher doctor baker pilot farmer nurse chef painter dentist gardener sailor judge lawyer plumber tailor
driver singer actor writer engineer mechanic librarian""".split()
CITIES = """London Paris Berlin Rome Madrid Lisbon Vienna Oslo Dublin Prague Warsaw Athens Cairo Tokyo Toronto Boston
Chicago Sydney Geneva Munich Hamburg Milan Naples Seville Porto Lyon Bergen Krakow Dresden Bristol Oxford York Leeds
Denver Austin Seattle Havana Lima Quito Nairobi""".split()
OBJECTS = """umbrella lamp key box book cup chair table camera bicycle hat scarf coat bag bottle basket blanket pillow
clock radio guitar violin drum mirror vase candle ladder hammer saw broom bucket kettle pan plate spoon tent rope map
notebook pencil ruler puzzle kite ball sled suitcase wallet watch ring helmet jacket carpet painting telescope""".split()
PLACES = """in the attic|in the kitchen|in the garage|in the garden shed|under the bed|behind the sofa|on the top shelf|
in the blue drawer|on the balcony|in the cellar|next to the piano|in the car|on the kitchen table|in the hall closet|
behind the door|on the desk|under the stairs|in the laundry room|in the office|at the library|at the school|
in the big trunk|on the windowsill|in the guest room|near the fireplace|in the tool box|under the table|
in the bathroom cabinet""".replace("\n", "").split("|")
ROOMS = """kitchen library garage garden office hall cellar attic classroom gym museum cafeteria workshop lobby chapel
theater storeroom greenhouse""".split()
COUNTABLES = """chairs tables lamps boxes books cups windows pictures bottles candles baskets plants shelves desks plates
mirrors clocks umbrellas bicycles blankets""".split()
EVENTS = """picnic|concert|meeting|party|wedding|workshop|school play|book club|chess match|garden fair|bake sale|
job interview|dance class|swimming lesson|birthday dinner|team lunch|city tour|film night|yoga class|art show|
science fair|football game|hiking trip|family dinner""".replace("\n", "").split("|")
EVENT_PLACES = """town hall|city park|school gym|old mill|main library|harbor cafe|village church|community center|
music school|rose garden|train station|market square|sports club|art museum|beach house|grand hotel""".replace(
    "\n", "").split("|")
ADJECTIVES = """red blue green yellow black white brown silver small large old new wooden broken striped heavy tiny
round""".split()
PETS = "cat dog rabbit parrot hamster turtle pony goldfish".split()
PET_NAMES = """Momo Bingo Coco Daisy Luna Rocky Pepper Ginger Shadow Biscuit Muffin Pixie Toffee Ziggy Waffles Nibbles
Sunny Misty Bubbles Snowy Tiger Cookie Pumpkin Buster""".split()

# Words that the assistant can spell, beside every single word in the lists above.
SPELLING_WORDS = """about again alphabet answer apartment balloon banana beautiful because bicycle breakfast bridge
brother business butterfly castle chair chocolate church clever computer country cousin daughter diamond different
dinner doctor dolphin dragon dream eight elephant engine enough evening family father favorite finger fire flower
forest friend garden giraffe grandmother guitar hello hospital house hundred important island jacket journey juice
jungle kitchen knife language laugh letter library lightning machine magic medicine minute money morning mother
mountain music neighbor neighbour night number ocean orange parents people piano picture pillow planet pocket police
pumpkin queen question quiet rainbow restaurant rhythm river sandwich school science scissors secret shoulder sister
soldier spring station strange strawberry street student summer surprise table teacher telephone thousand through
ticket tiger together tomorrow tongue train treasure umbrella uncle vacation village violin water weather wednesday
whisper window winter wizard woman wonderful world write yellow yesterday zebra""".split()

SYSTEM_PROMPTS = [
    "You are a helpful assistant.", "You are a friendly assistant. Answer briefly.", "You are a helpful voice assistant.",
    "Answer in one short sentence.", "You are Parlance, a small demo assistant.", "You are a polite assistant.",
    "Be brief and clear.", "You are a small assistant that runs on this computer.",
    "You are a voice assistant. Keep your answers short.", "Please help the user.",
]
