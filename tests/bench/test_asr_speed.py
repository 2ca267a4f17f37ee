"""What bench/asr_speed.py reads from a rival's log, what its table says, and that synthetic recognisers are files of the
shape they claim.

    python3 -m unittest discover tests/bench
"""
from pathlib import Path
import struct
import sys
import tempfile
import unittest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import asr_speed  # noqa: E402
import synthetic_model  # noqa: E402

TURN = """\
0.{0:02d}.000.000 I encoding audio slice...
0.{0:02d}.400.000 I audio slice encoded in {1} ms
0.{0:02d}.500.000 I decoding audio batch 1/1, n_tokens_batch = 375
0.{0:02d}.900.000 I audio decoded (batch 1/1) in {2} ms
"""
END = "0.40.000.000 I llama_perf_context_print:        eval time =    6000.00 ms /   300 runs   (   20.00 ms per token)\n"


def run(program, i, total, variant="", is_quiet=True):
    figures = {step: total for step in asr_speed.STEPS}
    return {"program": program, "variant": variant, "type": "q8_0", "round": i, "is_quiet": is_quiet, **figures,
            "bounds": {step: total / 2 for step in asr_speed.STEPS}}


class RivalTest(unittest.TestCase):
    def test_reads_the_answers_after_the_first(self):
        log = TURN.format(1, 900, 900) + TURN.format(11, 500, 300) + TURN.format(18, 700, 500) + END
        figures = asr_speed.rival_figures("other words\n" + log, 10)
        self.assertAlmostEqual(figures["encoder"], 0.6)
        self.assertAlmostEqual(figures["prefill"], 0.4)
        self.assertAlmostEqual(figures["decode"], 0.2)
        self.assertAlmostEqual(figures["total"], 7)

    def test_adds_up_the_slices_of_a_recording(self):
        log = "".join(TURN.format(second, 500, 300) for second in (1, 2, 11, 12, 21, 22)) + END
        figures = asr_speed.rival_figures(log, 10)
        self.assertAlmostEqual(figures["encoder"], 1)
        self.assertAlmostEqual(figures["total"], 10)
        self.assertEqual(figures["slices"], 2)

    def test_refuses_another_log(self):
        for log in ("", TURN.format(1, 1, 1) * 3, TURN.format(1, 1, 1) + END):
            with self.assertRaises(ValueError):
                asr_speed.rival_figures(log, 10)


class SummaryTest(unittest.TestCase):
    def test_compares_with_the_better_variant_round_by_round(self):
        rows = asr_speed.summarise([run("Parlance", 0, 1), run("llama.cpp", 0, 3, "plain"),
                                    run("llama.cpp", 0, 2, "flash"), run("Parlance", 1, 2),
                                    run("llama.cpp", 1, 9, "plain"), run("llama.cpp", 1, 8, "flash")])
        self.assertEqual([row.step for row in rows], list(asr_speed.STEPS))
        self.assertEqual((rows[0].ours, rows[0].rival, rows[0].variant), (1.5, 5, "flash"))
        self.assertEqual((rows[0].ratio, rows[0].bound, rows[0].n_kept), (3, 0.75, 2))

    def test_leaves_disturbed_rounds_out_while_there_are_others(self):
        rows = asr_speed.summarise([run("Parlance", 0, 1), run("Parlance", 1, 9, is_quiet=False)])
        self.assertEqual((rows[0].ours, rows[0].rival, rows[0].n_kept), (1, None, 1))
        self.assertEqual(asr_speed.cells(rows[0])[5:8], ["-", "", "-"])


class SyntheticRecogniserTest(unittest.TestCase):
    SHAPE = dict(n_layer=2, n_embd=64, n_head=1, n_ff=128, n_out=32, n_channel=32, n_mel=128, n_pos=3)

    def test_writes_an_encoder(self):
        entries = list(synthetic_model.encoder_tensors(self.SHAPE, "q8_0"))
        sizes = {name: (ne, dtype) for name, ne, dtype in entries}
        self.assertEqual(sizes["a.conv2d.2.weight"], ((3, 3, 32, 32), "f16"))
        self.assertEqual(sizes["a.blk.1.ffn_down.weight"], ((128, 64), "q8_0"))
        self.assertEqual(sizes["mm.a.mlp.2.bias"], ((32,), "f32"))
        self.assertEqual(len(entries), 6 + 2 + 2 * 16 + 2 + 4)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.gguf"
            synthetic_model.write_file(path, synthetic_model.encoder_metadata("tiny", self.SHAPE), entries, 1)
            data = path.read_bytes()
        self.assertEqual(struct.unpack_from("<IIQ", data), (0x46554747, 3, len(entries)))
        n_bytes = sum(-(-synthetic_model.n_bytes(ne, dtype) // 32) * 32 for _, ne, dtype in entries)
        self.assertLess(n_bytes, len(data))
        self.assertLess(len(data) - n_bytes, 10000)  # the header

    def test_positions_are_sines_then_cosines(self):
        table = synthetic_model.float_bytes("a.position_embd.weight", (4, 2))
        first, second = struct.unpack("<4f", table[:16]), struct.unpack("<4f", table[16:])
        self.assertEqual(first, (0, 0, 1, 1))
        self.assertAlmostEqual(second[0], 0.84147098, 6)
        self.assertAlmostEqual(second[3], 0.99999999, 6)

    def test_special_tokens_lie_where_the_published_vocabulary_has_them(self):
        tokens, types, _ = synthetic_model.vocabulary(synthetic_model.ASR_TOKENS, {})
        self.assertEqual(len(tokens), synthetic_model.N_VOCAB)
        self.assertEqual((tokens[151669], types[151669]), ("<|audio_start|>", synthetic_model.CONTROL))
        self.assertEqual((tokens[151704], types[151704]), ("<asr_text>", synthetic_model.USER_DEFINED))
        self.assertEqual(len(set(tokens)), len(tokens))

    def test_merges_make_one_token_of_each_word_of_the_prompt(self):
        tokens, _, merges = synthetic_model.vocabulary(synthetic_model.ASR_TOKENS, synthetic_model.ASR_WORDS)
        self.assertEqual(len(set(tokens)), synthetic_model.N_VOCAB)
        known, ranks = set(tokens), {tuple(merge.split(" ")): rank for rank, merge in enumerate(merges)}
        for token, word in synthetic_model.ASR_WORDS.items():
            pieces = list(word)
            while len(pieces) > 1:
                rank, at = min((ranks[pair], i) for i, pair in enumerate(zip(pieces, pieces[1:])) if pair in ranks)
                pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
                self.assertIn(pieces[at], known)
            self.assertEqual(tokens.index(pieces[0]), token)

    def test_a_signal_like_speech_is_loudest_first(self):
        samples = list(asr_speed.speech_like(2))
        self.assertEqual(len(samples), 32000)
        self.assertLess(max(map(abs, samples)), 1)
        self.assertGreater(max(map(abs, samples[:16000])), 1.5 * max(map(abs, samples[16000:])))


if __name__ == "__main__":
    unittest.main()
