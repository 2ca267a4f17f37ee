"""The sounds of English that a corpus is labelled with: flite's names, to which espeak-ng's are mapped.

A track holds one number for each 10 ms of sound: 0 is silence, 255 is unknown.
"""

import numpy as np

PHONES = """pau aa ae ah ao aw ax ay b ch d dh eh er ey f g hh ih iy jh k l m n ng ow oy p r s sh t th uh uw v w y z
zh""".split()
SILENCE, UNKNOWN = 0, 255
SAMPLES_PER_PHONE_24K = 240
NUMBER = {name: n for n, name in enumerate(PHONES)}

# espeak-ng's mnemonics. Where a row names two sounds, each has half of the time; "R" is r in accents that sound it.
_ROWS = """0=aa 3=er 3:=er @=ax @-=ax @2=ax @5=ax @L=ax,l A:=aa A@=aa,R D=dh E=eh I=ih I#=ih I2=ih IR=er N=ng O=ao O2=ao
O:=ao O@=ao,R OI=oy S=sh T=th U=uh U@=uh,R U@2=uh,R V=ah VR=er Z=zh a=ae a#=ax aI=ay aI2=ay aI3=ay aI@=ay,ax
aI@3=ay,R aU=aw aU@=aw,R aa=ae b=b d=d dZ=jh e@=eh,R eI=ey f=f g=g h=hh i=iy i:=iy i@=iy,ax i@3=iy,R j=y k=k l=l m=m
n=n n-=n o@=ao,R oU=ow p=p r=r r-=r s=s t=t t#=t t2=t t[=t tS=ch u=uw u:=uw v=v w=w w#=w z=z ?=t _=pau _:=pau
_!=pau _|=pau ;="""
_RHOTIC = ("en-us", "en-gb-scotland")
_WITHOUT_R = {"0": "ao", "A@": "aa", "O@": "ao", "o@": "ao", "3": "ax", "aa": "aa"}     # no r, a rounded o


def espeak_table(accent: str) -> dict:
    """{mnemonic: (numbers)} for one of espeak-ng's voices, "en-us+m3"."""
    rows = dict(row.split("=") for row in _ROWS.split())
    sounds_r = accent.startswith(_RHOTIC)
    if not sounds_r:
        rows.update(_WITHOUT_R)
    names = {key: row.replace("R", "r" if sounds_r else "ax").split(",") for key, row in rows.items()}
    return {key: tuple(NUMBER[name] for name in row if name) for key, row in names.items()}


def track(numbers, ends, times) -> np.ndarray:
    """uint8: the sounds at these times. Sound n is `numbers[n]` and lasts from the end of the one before to ends[n]."""
    if not len(ends):
        return np.full(len(times), UNKNOWN, np.uint8)
    place = np.searchsorted(ends, times, side="right")
    found = np.append(np.asarray(numbers, np.uint8), SILENCE)[place]
    return np.where(np.asarray(times) < 0, SILENCE, found).astype(np.uint8)
