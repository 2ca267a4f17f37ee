"""The speech corpus: spoken forms, canonical spellings, held-out sentences, voices, files and augmentation.

    python3 -m unittest discover tests/training
"""

import importlib.util
import json
from pathlib import Path
import random
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = Path(__file__).resolve().parents[2]
SPEECH = ROOT / "training" / "speech"
sys.path[:0] = [str(SPEECH), str(ROOT / "training" / "text")]

import canonical as canonical_module  # noqa: E402
import homophones  # noqa: E402
import sentences  # noqa: E402
from spoken_form import cardinal, spoken, to_say  # noqa: E402
import templates  # noqa: E402
import world  # noqa: E402

HAS_NUMPY = importlib.util.find_spec("numpy") is not None
HAS_TORCH = importlib.util.find_spec("torch") is not None
N_SENTENCES = 2400


def synthesizers_are_present():
    if not HAS_NUMPY:
        return False
    import engines
    return engines.is_present()


class SpokenForm(unittest.TestCase):
    def test_vectors(self):
        for vector in json.loads((SPEECH / "spoken_form.json").read_text(encoding="utf-8")):
            with self.subTest(vector["text"]):
                self.assertEqual(spoken(vector["text"]), vector["spoken"])
                self.assertEqual(to_say(vector["text"]), vector["to_say"])
                self.assertEqual(spoken(vector["spoken"]), vector["spoken"])
                self.assertRegex(vector["spoken"], r"\A([a-z']+( [a-z']+)*)?\Z")

    def test_numbers_are_told_apart(self):
        self.assertEqual(len({cardinal(n) for n in range(20000)}), 20000)

    def test_any_text_yields_words_only(self):
        rng = random.Random(1)
        for _ in range(5000):
            codes = [rng.choice((rng.randrange(32, 127), rng.randrange(32, 0x2100))) for _ in range(rng.randrange(20))]
            text = "".join(map(chr, codes))
            self.assertRegex(spoken(text), r"\A[a-z' ]*\Z")


class Canonical(unittest.TestCase):
    CASES = {
        "What is twenty-three plus five?": "What is 23 plus 5?", "12 + 789 =": "12 plus 789.", "1 x 12": "1 times 12.",
        "see you at three forty pm": "See you at 3:40 pm.", "two pm": "2:00 pm.", "three oh five pm": "3:05 pm.",
        "Name 5 European countries.": "Name five European countries.",
        "A spider has 8 legs.": "A spider has eight legs.",
        "the twenty-first of May": "The 21st of May.", "Tell me the 7th planet.": "Tell me the seventh planet.",
        "What is the colour of snow?": "What is the color of snow?", "Hello!": "Hello.",
        "How do you spell karen?": "How do you spell Karen?",
        "four hundred thirty-six minus twenty-eight": "436 minus 28.", "One day, it rained.": "One day, it rained.",
        "Which one is a fruit?": "Which one is a fruit?", "$25": "25 dollars.",
    }

    def test_cases(self):
        for text, expected in self.CASES.items():
            self.assertEqual(canonical_module.canonical(text), expected)

    def test_sentences_are_canonical_and_can_be_said(self):
        rng = random.Random(2)
        for split, mix in (("train", "assistant"), ("held", "assistant"), ("train", "asr"), ("held", "tts")):
            for _ in range(N_SENTENCES // 6):
                text = sentences.sentence(rng, split, mix)
                self.assertEqual(canonical_module.canonical(text), text)
                self.assertLessEqual(len(text), sentences.MAX_LENGTH)
                self.assertIn(text[-1], ".?")
                self.assertTrue(spoken(text))
                self.assertEqual(spoken(spoken(text)), spoken(text))
                self.assertFalse(re.search("[0-9]", to_say(text)))


class Mixes(unittest.TestCase):
    def test_templates(self):
        rng = random.Random(4)
        self.assertGreaterEqual(len(set(templates.TEMPLATES)), 60)
        texts = [templates.template_sentence(rng) for _ in range(N_SENTENCES)]
        self.assertGreater(len(set(texts)), 0.99 * len(texts))
        for text in texts:
            self.assertNotRegex(text, r"[{}]|\ba [aeio]")
            self.assertTrue(text[0].isupper() and text[-1] in ".?", text)
        verbs = [(templates._past(w), templates._ing(w), templates._with_s(w)) for w in ("stop", "carry", "tie", "free")]
        self.assertEqual(verbs, [("stopped", "stopping", "stops"), ("carried", "carrying", "carries"),
                                 ("tied", "tying", "ties"), ("freed", "freeing", "frees")])

    def test_everyday_sentences_are_filled_and_whole(self):
        import everyday
        slots = set(re.findall(r"\{(\w+)\}", " ".join([*everyday.FRAMES, *everyday.ACTIVITIES, *everyday.WORDS.values()])))
        self.assertEqual(slots - set(everyday.CHOICES) - {"do", "does", "did", "done", "doing", "a", "an", "the"}, set())
        for verb, does, did, done, doing in (("go home", "goes home", "went home", "gone home", "going home"),
                                             ("lie down", "lies down", "lay down", "lain down", "lying down"),
                                             ("stop", "stops", "stopped", "stopped", "stopping"),
                                             ("try it", "tries it", "tried it", "tried it", "trying it"),
                                             ("see", "sees", "saw", "seen", "seeing")):
            self.assertEqual([everyday.inflected(verb, form) for form in ("does", "did", "done", "doing")],
                             [does, did, done, doing])
        rng = random.Random(4)
        held = set((ROOT / "training/speech/everyday_held.txt").read_text().splitlines())
        for _ in range(N_SENTENCES):
            text = everyday.everyday_sentence(rng)
            self.assertRegex(text, r"^[A-Z][A-Za-z', -]*[.?]$")
            self.assertNotIn(text, held)

    def test_common_words_sound_like_no_other(self):
        import common_words
        try:
            lists = common_words.common_words(frozenset({"the"}))
        except FileNotFoundError as error:
            self.skipTest(str(error))
        words = [word for words in lists for word in words]
        sounds = common_words.sounds()
        self.assertEqual(len({sounds[word] for word in words}), len(words))
        self.assertNotIn("the", words)
        self.assertGreater(len(words), 20000)

    def test_varied_sentences_are_everyday_ones_with_other_words(self):
        import everyday
        import varied
        import written
        try:
            self.assertGreater(len(varied.ranks()), 35_000)
        except FileNotFoundError as error:
            self.skipTest(str(error))
        rng, found = random.Random(9), set()
        plain = set(re.findall(r"[a-z']+", " ".join(written.written()).lower()))
        held = (SPEECH / "everyday_held.txt").read_text().splitlines()
        for _ in range(N_SENTENCES):
            plain.update(re.findall(r"[a-z']+", everyday.everyday_sentence(rng).lower()))
            text = varied.varied_sentence(rng)
            self.assertRegex(text, r"^[A-Z][A-Za-z', -]*[.?]$")
            self.assertNotIn(text, held)
            found.update(re.findall(r"[a-z']+", text.lower()))
        self.assertGreater(len(found.intersection(varied.ranks()) - plain), 1_300)

    def test_written_sentences_are_whole_and_none_is_nearly_a_held_out_one(self):
        import written
        words = lambda text: re.findall(r"[a-z']+", text.lower())
        fives = lambda text: set(zip(*(words(text)[i:] for i in range(5))))
        held_out = (SPEECH / "everyday_held.txt").read_text().splitlines()
        held, held_fives = [set(words(text)) for text in held_out], set().union(*map(fives, held_out))
        self.assertGreater(len(held_fives), 500)
        self.assertEqual(len(set(written.written())), len(written.written()))
        for text in written.written():
            self.assertRegex(text, r"^[A-Z][A-Za-z', ]+[.?]$")
            own = set(words(text))
            self.assertLessEqual(max(len(own & other) / len(own | other) for other in held), 0.5, text)
            self.assertFalse(fives(text) & held_fives, text)

    def test_examples_are_whole_sentences_of_words_with_known_sounds(self):
        import examples
        try:
            found = examples.examples()
        except FileNotFoundError as error:
            self.skipTest(str(error))
        self.assertGreater(len(found), 30_000)
        self.assertFalse(set(found).intersection((SPEECH / "everyday_held.txt").read_text().splitlines()))
        for text in found:
            self.assertTrue(re.fullmatch(r"[A-Z][A-Za-z', .?]*[A-Za-z'][.?]", text) and ".." not in text, text)
        for example, sentence in (("the sky was leaden and thick", "The sky was leaden and thick."),
                                  ("when are you expected to arrive?", "When are you expected to arrive?"),
                                  ("do you know him", "Do you know him?"), ("Clean the stove!", "Clean the stove."),
                                  ("first came; then they won't go!", "First came, then they won't go."),
                                  ("it's a quarter til 4", None), ("a clean qzx throw", None)):
            self.assertEqual(examples.cleaned(example), sentence)

    def test_what_is_most_usual_stays(self):
        import varied
        try:
            usual = [word for word, rank in varied.ranks().items() if rank < varied.MOST_USUAL]
        except FileNotFoundError as error:
            self.skipTest(str(error))
        self.assertEqual({varied._tag(word) for word in usual}, {None})
        self.assertEqual([varied._tag(word) for word in ("kettle", "kettles", "the", "Anna")], ["nn", "nns", None, None])

    def test_subjects_are_contracted_as_they_are_said(self):
        import everyday
        always = random.Random(0)
        always.random = lambda: 0.0
        for text, expected in (("The kettle is broken.", "The kettle's broken."), ("Is the kettle on?", "Is the kettle on?"),
                               ("My sister has gone home.", "My sister's gone home."), ("My sister has a cat.", "My sister has a cat."),
                               ("The bus is late.", "The bus is late."), ("I think the shop is shut.", "I think the shop's shut."),
                               ("The box is empty.", "The box is empty."), ("The dog is out.", "The dog's out."),
                               ("The path is long.", "The path's long."), ("The music is loud.", "The music's loud."),
                               ("The church is old.", "The church is old."), ("The quiz is hard.", "The quiz is hard."),
                               ("My brush has broken.", "My brush has broken.")):
            self.assertEqual(everyday.contracted(always, text), expected)

    def test_sequences_hold_every_word_but_rarer_homophones(self):
        rng, found = random.Random(5), set()
        for _ in range(20 * N_SENTENCES):
            found.update(sentences._free_words(rng, "train", False)[:-1].lower().split())
        self.assertFalse(found & homophones.RARER)
        self.assertGreater(len(found & set(map(str.lower, sentences.CONTENT_WORDS))), 0.99 * len(sentences.CONTENT_WORDS))

    def test_texts_do_not_come_again(self):
        rng = random.Random(6)
        for mix in ("asr", "tts"):
            seen = set()
            is_new = lambda text: text not in seen and not seen.add(text)
            texts = [sentences.sentence(rng, "train", mix, is_new) for _ in range(N_SENTENCES)]
            self.assertGreater(len(set(texts)), 0.95 * len(texts), mix)

    def test_no_words_are_invented_for_measuring(self):
        rng, known = random.Random(7), set(map(str.lower, world.CAPITALS))
        words = {word.lower() for word in sentences.VOCABULARY}
        for _ in range(N_SENTENCES):
            item = sentences._item(rng, "held", False)
            self.assertTrue(item.key[0] != "unknown" or item.key[-1].lower() in known)
            _, subject, _ = sentences._note(rng, False)
            self.assertTrue(" " in subject or subject.lower() in words, subject)
            name = re.fullmatch(r"Hello, (.*)\.", sentences._name(rng, "held", False))
            self.assertTrue(not name or name[1] in world.FIRST_NAMES)


class Hesitations(unittest.TestCase):
    def test_fillers_and_beginnings(self):
        from hesitant import FILLERS, hesitant
        rng, kinds = random.Random(8), {"filler": 0, "begun": 0, "before": 0}
        for _ in range(N_SENTENCES):
            text = sentences.sentence(rng, "train", "asr")
            written, said = hesitant(rng, text)
            self.assertEqual(canonical_module.canonical(said).rstrip(",.?"), written.rstrip(".?"), text)
            self.assertFalse(re.search("[0-9]", to_say(said)))
            if said != written:
                self.assertEqual(said, written + ",")
                self.assertNotIn(written[-1], ".,?!:")
                kinds["begun"] += 1
            elif written != text:
                fillers = [word for word in FILLERS if re.search(rf"\b{word},", written.lower())]
                self.assertTrue(fillers, written)
                kinds["before" if written.lower().startswith(tuple(f"{word}," for word in FILLERS)) else "filler"] += 1
        for kind, n in kinds.items():
            self.assertGreater(n, N_SENTENCES / 50, kind)

    def test_a_time_of_day_may_stop_behind_its_hour(self):
        from hesitant import hesitant
        rng = random.Random(9)
        written = {hesitant(rng, "How much time passes between 12:25 pm and 11:55 pm?")[0] for _ in range(400)}
        for beginning in ("How much time passes between 12:25 pm and 11", "How much time passes between 12:25 pm and 11:55"):
            self.assertIn(beginning, written)

    def test_a_word_alone_stays(self):
        from hesitant import hesitant
        self.assertEqual(hesitant(random.Random(1), "Stop."), ("Stop.", "Stop."))


@unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
class Resampling(unittest.TestCase):
    def test_tones_keep_their_place_and_height(self):
        import numpy as np
        from resample import resample
        for rate, to in ((16000, 24000), (24000, 16000), (22050, 24000), (15750, 24000), (8000, 24000)):
            for n in (1, 2, 99, 4000, 4001):
                tone = lambda r, count: np.sin(2 * np.pi * 500 * np.arange(count) / r).astype(np.float32)
                out = resample(tone(rate, n), rate, to)
                self.assertEqual(len(out), -(-n * to // rate))
                middle = slice(len(out) // 4, -(len(out) // 4))
                if n > 1000:
                    self.assertLess(np.abs(out - tone(to, len(out)))[middle].max(), 2e-3, (rate, to))
        x = np.ones(7, np.float32)
        self.assertIs(resample(x, 24000, 24000), x)

    def test_what_the_lower_rate_cannot_hold_goes(self):
        import numpy as np
        from resample import resample
        x = np.sin(2 * np.pi * 11000 * np.arange(24000) / 24000).astype(np.float32)
        self.assertLess(np.abs(resample(x, 24000, 16000))[200:-200].max(), 5e-3)


class HeldOut(unittest.TestCase):
    def test_no_held_out_sentence_is_trained(self):
        rng = random.Random(3)
        train = {sentences.sentence(rng, "train").lower() for _ in range(N_SENTENCES)}
        held = {sentences.sentence(rng, "held").lower() for _ in range(N_SENTENCES // 8)}
        train |= {sentences.sentence(rng, "train", mix).lower() for mix in ("asr", "tts") for _ in range(N_SENTENCES)}
        self.assertEqual(train & held - {command.lower() for command in sentences.COMMANDS}, set())


@unittest.skipUnless(HAS_NUMPY, "numpy is not installed")
class Voices(unittest.TestCase):
    def test_splits_and_presets(self):
        import voices
        (seen, weights), (unseen, _) = voices.choices("seen"), voices.choices("unseen")
        self.assertFalse(set(seen) & set(unseen))
        self.assertGreaterEqual(len(unseen), 12)
        recorded = sum(w for name, w in zip(seen, weights) if voices.VOICES[name].engine != "espeak")
        self.assertAlmostEqual(recorded / sum(weights), 0.5)
        bases = {(v.engine, v.base) for v in voices.VOICES.values() if v.split == voices.SEEN}
        self.assertFalse(bases & {(v.engine, v.base) for v in voices.VOICES.values() if v.split == voices.UNSEEN})
        names, shares = voices.choices("tts")
        self.assertLessEqual(set(names), set(seen))
        self.assertAlmostEqual(sum(shares[:len(voices.PRESET_NAMES)]), voices.TTS_PRESET_SHARE)
        self.assertAlmostEqual(sum(shares), 1)
        for name, words in voices.PRESETS.items():
            self.assertIn(name, seen)
            self.assertEqual([v.name for v in voices.VOICES.values() if v.attributes == words], [name])


class CorpusFiles(unittest.TestCase):
    def test_constant_edges_and_phones(self):
        if not synthesizers_are_present():
            self.skipTest("flite, espeak-ng or numpy is not installed")
        import numpy as np
        import generate
        import phones
        text, rng = "She sees a shoe.", random.Random(1)
        orders = []
        for voice in ("slt", "rms-deep", "awb", "us-klatt2", "scotland-m4", "kal"):
            x, track = generate.utterance(rng, text, voice, 1.0, constant=True)
            generate.utterance(rng, "Something else.", "slt", 1.1)
            again, _ = generate.utterance(rng, text, voice, 1.0, constant=True)
            if voice in ("slt", "rms-deep", "awb"):
                self.assertTrue(np.array_equal(x, again), voice)
            self.assertEqual((len(x) % 960, len(track)), (0, len(x) // 240))
            self.assertTrue(abs(np.sqrt(np.square(x).mean()) - 0.1) < 1e-3 or abs(x).max() > 0.98, voice)
            level = np.sqrt(np.square(x.reshape(-1, 240)).mean(1))
            first = int(np.flatnonzero(level > 0.008 * level.max())[0])
            self.assertTrue(7 <= first <= 9, (voice, first))
            self.assertLess(np.square(level[track == phones.SILENCE]).sum(), 0.02 * np.square(level).sum(), voice)
            names = [phones.PHONES[n] for n in track]
            orders.append([a for a, b in zip(names, names[1:] + [""]) if a != b and a != "pau"])
            high = np.abs(np.fft.rfft(x.reshape(-1, 240)))[:, 40:].sum(1) / (level + 1e-3)   # above 4 kHz
            place = lambda *which: np.isin(names, which)
            self.assertGreater(high[place("s", "sh")].mean(), 2 * high[place("iy", "uw")].mean(), voice)
        for order in orders:
            self.assertEqual(order, ["sh", "iy", "s", "iy", "z", "ax", "sh", "uw"])

    def test_one_rate(self):
        if not synthesizers_are_present():
            self.skipTest("flite, espeak-ng or numpy is not installed")
        from corpus import Corpus
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, str(SPEECH / "generate.py"), "--out", folder, "--hours", "0.004", "--workers", "1"]
            options = ["--rates", "16", "--mix", "asr", "--voices", "tts"]
            subprocess.run(command + options, check=True, stdout=subprocess.DEVNULL)
            corpus = Corpus(folder)
            self.assertEqual(len(corpus.audio(16)), corpus.n16.sum())
            self.assertEqual(len(corpus.phones()) * 160, corpus.n16.sum())
            self.assertFalse((Path(folder) / "audio_24k.s16").exists())

    def test_a_corpus_reads_back_and_repeats(self):
        if not synthesizers_are_present():
            self.skipTest("flite, espeak-ng or numpy is not installed")
        import numpy as np
        from corpus import Corpus
        with tempfile.TemporaryDirectory() as folder:
            for name in ("a", "b"):
                command = [sys.executable, str(SPEECH / "generate.py"), "--out", f"{folder}/{name}", "--hours", "0.008"]
                subprocess.run(command + ["--workers", "2"], check=True, stdout=subprocess.DEVNULL)
            corpus, again = Corpus(f"{folder}/a"), Corpus(f"{folder}/b")
            self.assertEqual(corpus.text, again.text)
            self.assertTrue(np.array_equal(corpus.audio(24), again.audio(24)))
            self.assertTrue((corpus.n24 % 960 == 0).all())
            self.assertTrue((corpus.n16 * 3 == corpus.n24 * 2).all())
            self.assertTrue((corpus.start24[1:] == (corpus.start24 + corpus.n24)[:-1]).all())
            self.assertTrue((corpus.start16 * 3 == corpus.start24 * 2).all())
            self.assertEqual(len(corpus.audio(24)), corpus.n24.sum())
            self.assertEqual(len(corpus.audio(16)), corpus.n16.sum())
            self.assertEqual(len(corpus.phones()) * 240, corpus.n24.sum())
            self.assertLess(corpus.phones().max(), len(corpus.phone_names()))
            for n in range(len(corpus)):
                x, low = corpus.utterance(n, 24), corpus.utterance(n, 16)
                self.assertTrue(0.2 < abs(x).max() < 0.92, corpus.text[n])
                self.assertEqual(abs(x[:1200]).max(), 0)
                self.assertTrue(12000 <= len(x) <= 242000)
                power, low_power = float(np.square(x).mean()), float(np.square(low).mean())
                self.assertAlmostEqual(power, low_power, delta=0.15 * power)
            self.assertTrue(0.85 < float(np.median(corpus.pace)) < 1.15)


@unittest.skipUnless(HAS_TORCH, "torch is not installed")
class Augmentation(unittest.TestCase):
    def setUp(self):
        import torch
        import augment
        torch.set_num_threads(1)
        self.torch, self.augment = torch, augment
        self.noise = augment.Noise(16000, torch.Generator().manual_seed(1))

    def test_every_noise_has_unit_level(self):
        for kind in self.augment.SEEN_NOISES + self.augment.UNSEEN_NOISES:
            x = self.noise.draw(kind, 2, 16000)
            self.assertEqual(x.shape, (2, 16000))
            self.assertTrue(self.torch.allclose(x.square().mean(1), self.torch.ones(2), atol=0.01), kind)

    def test_mixing_speed_and_the_whole(self):
        tone = self.torch.sin(2 * 3.14159265 * 440 * self.torch.arange(16000) / 16000).repeat(8, 1)
        noisy = self.augment.mix(tone, self.noise.draw("white", 8, 16000), self.torch.full((8,), 10.0), 16000)
        self.assertAlmostEqual(float(tone.square().mean() / (noisy - tone).square().mean()), 10.0, delta=0.1)
        faster = self.augment.changed_speed(tone, self.torch.full((8,), 1.25))
        self.assertEqual(int(self.torch.fft.rfft(faster[0, :12800]).abs().argmax()) * 16000 // 12800, 550)
        out = self.augment.augment(tone, self.noise)
        self.assertTrue(bool(self.torch.isfinite(out).all()) and float(out.abs().max()) <= 1)


if __name__ == "__main__":
    unittest.main()
