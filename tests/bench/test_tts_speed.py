"""What bench/tts_speed.py reads from a rival's log and what its table says, and that synthetic synthesisers have tensors of
the published shapes.

    python3 -m unittest discover tests/bench
"""
from pathlib import Path
import struct
import sys
import tempfile
import unittest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import synthetic_model  # noqa: E402
import synthetic_omnivoice  # noqa: E402
import tts_speed  # noqa: E402

SENTENCE = tts_speed.CASES["sentence"]
LOG = """\
10.000000 [TTS] Prompt: B'=2 K=8 S=190 c_len=190 u_len=163
13.000000 [MaskGIT-Step] 1/4 demask=43 remaining=1261
15.000000 [MaskGIT-Step] 2/4 demask=77 remaining=1184
18.000000 [MaskGIT-Step] 3/4 demask=183 remaining=1001
20.500000 [MaskGIT-Step] 4/4 demask=1001 remaining=0
20.600000 [TTS] Decode: K=8 T=163 expected_samples=156480
23.600000 [TTS-Long] Post-proc: 156480 -> 161280 samples
"""


def ours(i, step, is_quiet=True):
    figures = {name: step for name in tts_speed.RIVAL_STEP}
    return {"program": "Parlance", "type": "q8_0", "case": "sentence", "round": i, "is_quiet": is_quiet, **figures,
            "bounds": {name: step / 2 for name in figures}, "memory_bytes": 5e7, "first_sound": {"hard": 32 * step},
            "real_time_factor": {"hard": 4}}


def theirs(i, step):
    return {"program": "llama.cpp", "type": "q8_0", "case": "sentence", "round": i, "is_quiet": True, "step": step,
            "decode": 2 * step}


class RivalTest(unittest.TestCase):
    def test_reads_steps_after_the_first_and_the_decoder(self):
        figures = tts_speed.rival_figures("9.0 other words\n" + LOG, SENTENCE)
        self.assertAlmostEqual(figures["step"], 2.5)
        self.assertAlmostEqual(figures["decode"], 3)

    def test_refuses_another_log_and_another_length(self):
        for log in ("", "\n".join(LOG.splitlines()[:-1]), LOG.replace("S=190", "S=191")):
            with self.assertRaises(ValueError):
                tts_speed.rival_figures(log, SENTENCE)

    def test_prompts_have_as_many_tokens_as_the_case(self):
        for case in tts_speed.CASES.values():
            said, reference = tts_speed.texts_of(case)
            self.assertNotIn("th", said + reference)  # which is one token
            n = len(said) + tts_speed.STYLE_TOKENS + tts_speed.BODY_TOKENS
            if case.n_reference:
                n += len(reference) + 1 + tts_speed.DENOISE_TOKENS
            self.assertEqual(n, case.n_text)

    def test_packs_codes(self):
        data = tts_speed.packed_codes(3)
        self.assertEqual(len(data), 33)
        bits = int.from_bytes(data, "little")
        self.assertTrue(all((bits >> (11 * i)) % 2048 < 1024 for i in range(24)))


class SummaryTest(unittest.TestCase):
    def test_compares_round_by_round(self):
        rows = tts_speed.summarise([ours(0, 1), theirs(0, 3), ours(1, 2), theirs(1, 10)])
        self.assertEqual([row.step for row in rows], list(tts_speed.NAMES.values()))
        self.assertEqual((rows[0].ours, rows[0].bound, rows[0].rival, rows[0].ratio), (1.5, 0.75, 6.5, 4))
        self.assertEqual(rows[2].rival, 13)

    def test_leaves_disturbed_rounds_out_while_there_are_others(self):
        rows = tts_speed.summarise([ours(0, 1), ours(1, 9, is_quiet=False)])
        self.assertEqual((rows[0].ours, rows[0].rival, rows[0].n_kept), (1, None, 1))
        self.assertEqual(tts_speed.cells(rows[0])[6:], ["-", "-", "1"])

    def test_says_when_sound_comes(self):
        self.assertIn("| q8_0 | sentence | 32.00 s | 4.00 | 50 MB |", tts_speed.sound_lines([ours(0, 1)]))


class SyntheticSynthesiserTest(unittest.TestCase):
    def test_has_the_published_tensors(self):
        lm = {name: (sizes, dtype) for name, sizes, dtype in
              synthetic_omnivoice.lm_tensors(synthetic_omnivoice.LM, "bf16")}
        self.assertEqual(len(lm), 312)
        self.assertEqual(lm["audio_heads.weight"], ((1024, 8200), "bf16"))
        self.assertEqual(lm["llm.layers.27.mlp.down_proj.weight"], ((3072, 1024), "bf16"))
        codec = {name: sizes for name, sizes, _ in synthetic_omnivoice.codec_tensors(synthetic_omnivoice.CODEC, "f32")}
        self.assertEqual(len(codec), 486)
        self.assertEqual(codec["acoustic_decoder.block.1.conv_t1.weight"], (10, 256, 512))
        self.assertEqual(codec["acoustic_decoder.block.1.conv_t1.bias"], (256,))
        self.assertEqual(codec["semantic_model.encoder.pos_conv_embed.conv.weight"], (128, 48, 768))

    def test_special_tokens_end_the_vocabulary(self):
        meta = synthetic_omnivoice.lm_metadata("name", synthetic_omnivoice.LM)
        tokens = meta["tokenizer.ggml.tokens"]
        self.assertEqual((len(tokens), len(set(tokens))), (151676, 151676))
        self.assertEqual(tokens[meta["omnivoice.special.denoise"]], "<|denoise|>")
        self.assertEqual(meta["omnivoice.special.text_end"], 151675)

    def test_writes_bf16_as_the_upper_half_of_f32(self):
        self.assertEqual(synthetic_model.packed([1.0, -2.0], "bf16"), struct.pack("<HH", 0x3F80, 0xC000))

    def test_codec_weights_keep_the_strength_of_a_signal(self):
        fill = synthetic_omnivoice.codec_values(1)
        weights = struct.unpack_from("<10000f", fill("acoustic_decoder.conv1.weight", (7, 256, 1024), "f32"))
        strength = sum(w * w for w in weights) / len(weights) * 7 * 256
        self.assertGreater(strength, 0.4)
        self.assertLess(strength, 2.5)
        self.assertEqual(struct.unpack("<3f", fill("x.snake1.alpha", (1, 3, 1), "f32")), (1, 1, 1))

    def test_writes_a_file_with_its_own_values(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.gguf"
            synthetic_model.write_file(path, {"a": 1}, [("x.weight", (8, 4), "f32")], 1,
                                       lambda *_: struct.pack("<f", 3))
            self.assertEqual(struct.unpack("<32f", path.read_bytes()[-128:]), (3.0,) * 32)


if __name__ == "__main__":
    unittest.main()
