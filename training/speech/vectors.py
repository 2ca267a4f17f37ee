"""Writes spoken_form.json: texts with what spoken_form.py makes of them, which its C++ twin must make too.

    python3 training/speech/vectors.py
"""

import json
from pathlib import Path
import random

import sentences
from spoken_form import spoken, to_say

FILE = Path(__file__).resolve().with_name("spoken_form.json")
N_SENTENCES = 120

TEXTS = """0|7|10|13|20|21|99|100|101|110|119|120|999|1000|1001|1100|1492|1899|1900|1905|1910|1984|1999|2000|2005|
2009|2010|2024|2099|2100|9999|10000|12345|100000|100001|123456|999999|1000000|1234567|007|0134|00|3.5|0.25|10.05|
1,000|1,984|12,345|1,234.5|3:40 pm|3:05|3:00 pm|3:00|12:00|15:40|15:00|0:05|00:30|23:59|3:40pm|3 pm|3pm|12 am.|
12:00 am|at 3:40 p.m.|9:05 a.m. sharp|3:00, pm|ten am|four twenty-five am|I am ten.|Which one am I?|am I|pm|1st|2nd|
3rd|4th|5th|8th|9th|11th|12th|13th|20th|21st|22nd|30th|31st|40th|100th|101st|112th|999th|$5|$1|$0|$5.50|$1,000|$2.05|
€5|€1|£20|It costs $25.|5%|1%|3.5%|20°|20°C|20 °C|68°F|-5°C|5 % of it|3 km|1 km|3km|5 kg|1 kg.|250 g|2 cm, 3 mm|10 m|
1.5 l|5 ml|6 ft|2 lbs|8 oz|60 mph|90 km/h|30 min|10 s|2 h|1 h|km|12+5|12 + 5 = 17|12 + 789 =|7-3|7 - 3|7 − 3 = 4|
ten - four|4*5|4 × 5|1 x 12|1 × 12|x|8/2|8 / 2|8 ÷ 2|and/or|AC/DC|-5|- 5|it is -12 degrees|5 + -3|a - b|well - no|
yes -- no|555-0134|4-7-1|1-800-555-0199|12-34|2020-2024|24-hour|24-hour time|a 3-legged dog|10-year-old|B12|4a|MP3|3D|
7up|1980s|the 90s|#5|# 5|R&B|you & me|me@home|H-E-L-L-O|p-a-r-i-s|C, O, M, P.|A, B, C|a, b, c|The letters A and B.|
A dove coos.|A|a|A.|Is A before B?|What is A?|Yes. A dog.|Yes: A dog.|the letter a|a b|p a r i s|x y z|I|i am|Do I?|O|
The symbol is He.|He is here.|Is it He?|Yes. He is.|Hg|Au and Ag|Na, Cl|hg|Pb|The symbol for iron is Fe.|Co|U.S.|
U.S.A. today|e.g. this|i.e.|a.m.|p.m.|TV|USA|UK|AI|NASA|OK|ok|okay|BBC|CDs|hmm|shh|xyz|rhythm|brr|mth|Mr. Smith|
Mr Smith|Mrs. Jones|Ms. Lee|Dr. Who?|mr|dr|cats vs. dogs|etc.|twenty-three|Twenty-Three|wake-up time|well-known|
-hello-|it's|It’s|don't|James'|'quoted'|“quoted”|rock 'n' roll|o'clock|three o'clock|Café|naïve|über|Zürich, 5°|Señor|
…|wait… what|one—two|one–two|1–2|(in brackets)|[a] {b}|*bold*|a_b|50~60|...|?!|Really?!|Hello!  How   are you?|
  spaces  |semi; colon: done|1, 2, 3|1,2,3|10, 11 and 12.|No. 5|5.|5?|3.|Version 2.0.1|192.168.0.1|1.|03/04|1/2|
3/4 cup|100 percent|Room 101.|in 1492|May 6, 1984|March 3rd|the 6th of March|Call 911|Route 66|2x|2x4|99 bottles|
one two three|10 pm to 6 am|from 7:30 am to 7:15 pm|at 12|12:5|1:234|25:61|5'|6'2"|3"|^|5 > 3|1e5|C++|C#|F-16|A-1|Q&A|
Los Angeles|E. coli|J. R. R. Tolkien|St. Ives|Ph.D.|x-ray|T-shirt|e-mail|vitamin C|plan B|Henry VIII|
World War II""".replace("\n", "").split("|")


def vectors():
    rng = random.Random(1)
    texts = TEXTS + [sentences.sentence(rng, split) for split in ("train", "held") for _ in range(N_SENTENCES // 2)]
    return [{"text": text, "spoken": spoken(text), "to_say": to_say(text)} for text in texts]


def dump() -> str:
    lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in vectors())
    return f"[\n{lines}\n]\n"


if __name__ == "__main__":
    FILE.write_text(dump(), encoding="utf-8")
    print(f"{FILE}: {len(vectors())} vectors")
