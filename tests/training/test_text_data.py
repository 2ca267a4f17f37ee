"""The demo text model's data: nothing held out is trained, the tokenizer is what it says, the file format is exact.

    python3 -m unittest discover tests/training
"""

from pathlib import Path
import random
import struct
import sys
import tempfile
import unittest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "training" / "text"))

import dialogue  # noqa: E402
import evaluate  # noqa: E402
import notes  # noqa: E402
import tokenizer as tok  # noqa: E402
from item import HELD, TRAIN  # noqa: E402

N_TRAIN, N_HELD = 20_000, 2_000
MODEL = ROOT / "models" / "demo" / "text" / "parlance-demo-text-q8_0.gguf"
EVAL = ROOT / "models" / "demo-eval" / "text.jsonl"


def value_of_5_bits(block, k):
    """Value k of a block of Q5_0, as its layout says."""
    import numpy as np
    d, high = struct.unpack("<eI", block[:6])
    low = block[6 + k % 16] >> (4 if k >= 16 else 0) & 15
    return float(np.float32(d) * np.float32((low | (high >> k & 1) << 4) - 16))


def value_of_6_bits(block, k):
    """Value k of a block of Q6_K, as its layout says."""
    import numpy as np
    half, line, at = k // 128, k // 32 % 4, k % 32
    low = block[64 * half + 32 * (line % 2) + at] >> (4 if line >= 2 else 0) & 15
    high = block[128 + 32 * half + at] >> (2 * line) & 3
    scale, = struct.unpack_from("<b", block, 192 + k // 16)
    d, = struct.unpack_from("<e", block, 208)
    return float(np.float32(d) * np.float32(scale) * np.float32((low | high << 4) - 32))


class HeldOut(unittest.TestCase):
    def test_no_held_out_wording_or_combination_is_trained(self):
        for category, (generator, _) in evaluate.SHORT_CATEGORIES.items():
            with self.subTest(category):
                rng = random.Random(7)
                trained = [generator(rng, TRAIN) for _ in range(N_TRAIN)]
                keys, wordings = {item.key for item in trained}, {item.wording.lower() for item in trained}
                for item in (generator(rng, HELD) for _ in range(N_HELD)):
                    if item.holds_out == "combination":
                        self.assertNotIn(item.key, keys)
                    else:
                        self.assertNotIn(item.wording.lower(), wordings)

    def test_held_out_notes_are_never_stated_nor_asked_in_training(self):
        rng = random.Random(8)
        stated = set()
        for _ in range(300):
            book = notes.Notebook(rng, TRAIN, 800, lambda line: len(line) // 4)
            stated.update(book.seen)
            stated.add(book.unanswerable_question()[2])
        asked = 0
        for _ in range(100):
            book = notes.Notebook(rng, HELD, 800, lambda line: len(line) // 4)
            for note in book.askable():
                asked += 1
                self.assertNotIn(book.question(note)[2], stated)
            self.assertNotIn(book.unanswerable_question()[2], stated)
        self.assertGreater(asked, 100)

    def test_no_evaluation_question_occurs_in_training_conversations(self):
        rng = random.Random(9)
        trained = set()
        for _ in range(N_TRAIN):
            for message in dialogue.conversation(rng):
                if message["role"] == "user":
                    trained.add(evaluate.normalise(dialogue.as_spoken(message["content"])))
        questions = evaluate.read_questions(EVAL)
        for question in questions:
            if question["category"] != "chat":
                asked = evaluate.normalise(dialogue.as_spoken(question["messages"][-1]["content"]))
                self.assertNotIn(asked, trained, question["id"])

    def test_shipped_evaluation_is_what_the_generator_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "eval.jsonl"
            evaluate.build(path)
            self.assertEqual(path.read_bytes(), EVAL.read_bytes())

    def test_prompts_of_notes_have_their_stated_length(self):
        tokenizer = tok.Tokenizer()
        for question in evaluate.read_questions(EVAL):
            limits = evaluate.NOTE_CATEGORIES.get(question["category"])
            if limits:
                self.assertTrue(limits[0] <= len(tokenizer.encode_prompt(question["messages"])) <= limits[1], question["id"])


class BytePairs(unittest.TestCase):
    def setUp(self):
        self.tokenizer = tok.Tokenizer()

    def test_vocabulary(self):
        self.assertEqual(len(self.tokenizer.tokens), tok.N_VOCAB)
        self.assertEqual(len(set(self.tokenizer.tokens)), tok.N_VOCAB)
        self.assertEqual(len(self.tokenizer.tokens), len(self.tokenizer.types))

    def test_both_pre_tokenizers_agree(self):
        rng = random.Random(3)
        alphabet = "abZ '19.,?!-\n\r\t  's'RE're\"(+"
        for _ in range(20_000):
            text = "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 12)))
            self.assertEqual(tok.pre_tokens(text), tok.pre_tokens_fast(text), repr(text))

    def test_any_text_comes_back(self):
        for text in ("", "Hello, Anna!", "3:40 pm", "naïve café \u4f60\u597d \U0001f600", "a\n\n  b\t", "''s 're"):
            self.assertEqual(self.tokenizer.decode(self.tokenizer.encode(text)), text)

    def test_prompt_equals_its_parts(self):
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
        ids = self.tokenizer.encode_prompt(messages)
        self.assertEqual(ids[0], self.tokenizer.im_start)
        self.assertEqual(ids.count(self.tokenizer.im_end), 2)
        self.assertEqual(self.tokenizer.decode(ids), "system\nBe brief.\nuser\nHi\nassistant\n")


class Scoring(unittest.TestCase):
    def test_replies_are_compared_without_case_space_and_final_punctuation(self):
        self.assertTrue(evaluate.is_right("  the capital of\nFrance is Paris ", ["The capital of France is Paris."]))
        self.assertFalse(evaluate.is_right("Paris, I think", ["Paris"]))


class File(unittest.TestCase):
    def setUp(self):
        try:
            import gguf
            import gguf_file
        except ImportError as missing:
            self.skipTest(f"{missing.name} is not installed")
        self.gguf_file, self.gguf = gguf_file, gguf

    def test_q8_0_rounds_half_away_from_zero(self):
        import numpy as np
        x = np.zeros((1, 32), np.float32)
        x[0, :4] = 127, 0.5, -0.5, 2.5      # d = 1
        data = self.gguf.quantise_q8_0(x)
        self.assertEqual(len(data), 34)
        self.assertEqual(list(np.frombuffer(data[2:], np.int8)[:4]), [127, 1, -1, 3])

    def test_blocks_of_5_and_6_bits_are_read_back_value_by_value(self):
        import numpy as np
        rng = np.random.default_rng(1)
        rows = [rng.normal(size=256) * 10.0 ** scale for scale in (-1, 0, 3)] + [np.zeros(256), np.ones(256), np.linspace(-1, 1, 256)]
        x = np.array(rows, np.float32)
        for kind, bits, run in ((self.gguf.Q5_0, 5, 32), (self.gguf.Q6_K, 6, 16)):
            data = self.gguf.encode_tensor(x, kind)
            self.assertEqual(len(data), self.gguf.n_bytes(kind, x.shape))
            again = self.gguf.decode_tensor(data, kind, x.shape)
            values, size = self.gguf.BLOCKS[kind]
            one = value_of_5_bits if bits == 5 else value_of_6_bits
            for n, value in enumerate(again.reshape(-1)):
                block = data[n // values * size:][:size]
                self.assertEqual(float(value), one(block, n % values), (kind, n))
            largest = np.abs(x.reshape(-1, run)).max(1, keepdims=True)
            error = np.abs(again - x).reshape(-1, run)
            self.assertLessEqual(float((error - largest * 1.1 / 2 ** (bits - 1)).max()), 0)

    def test_reading_and_writing_the_shipped_model_gives_the_same_file(self):
        config, weights = self.gguf_file.read(MODEL)
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy.gguf"
            self.gguf_file.write(copy, config, weights, "q8_0")
            self.assertEqual(copy.stat().st_size, MODEL.stat().st_size)
            again = self.gguf_file.read(copy)[1]
        largest = max(float(abs(again[name] - weights[name]).max()) for name in weights)
        self.assertLess(largest, 0.02)


if __name__ == "__main__":
    unittest.main()
