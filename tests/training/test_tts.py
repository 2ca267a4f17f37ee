"""What the speech model's training masks, and with what it begins.

    python3 -m unittest discover tests/training
"""

import importlib.util
from pathlib import Path
import sys
import tempfile
from types import SimpleNamespace
import unittest

import numpy as np

TTS = Path(__file__).resolve().parents[2] / "training" / "tts"
HAS_TORCH = importlib.util.find_spec("torch") is not None
NAMES = ("model", "gguf_file", "losses", "score", "data", "train", "export", "evaluate", "prompt", "paths")    # which other folders have, too


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class Masks(unittest.TestCase):
    def setUp(self):
        self.modules, self.path = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}, list(sys.path)
        sys.path.insert(0, str(TTS))
        import torch
        import masks
        import network_input
        import speech_lm
        self.torch, self.masks, self.network_input, self.speech_lm = torch, masks, network_input, speech_lm

    def tearDown(self):
        for name in NAMES:
            sys.modules.pop(name, None)
        sys.modules.update(self.modules)
        sys.path[:] = self.path

    def test_blocks_end_where_decoding_ends_them(self):
        for n_frames, others, ends in ((47, 0, [47]), (48, 0, [32, 48]), (200, 0, [32, 200]), (47, 64, [47]), (127, 64, [32, 127]),
                                       (128, 64, [32, 96, 128]), (200, 64, [32, 96, 160, 200])):
            self.assertEqual(self.masks.block_ends(n_frames, 32, others), ends)

    def test_some_documents_are_decided_block_by_block(self):
        n_frames = np.full(4000, 150)
        blocks = self.masks.blocks(np.random.default_rng(1), n_frames)
        self.assertLessEqual({tuple(block) for block in blocks.tolist()},
                             {(0, 150), (0, 32), (32, 150), (32, 96), (96, 150)})
        is_part = (blocks[:, 1] - blocks[:, 0] < 150).mean()
        self.assertAlmostEqual(is_part, self.masks.IN_BLOCKS, delta=0.03)

    def test_all_is_known_before_a_block_and_nothing_behind_it(self):
        torch, n = self.torch, 20
        config = SimpleNamespace(mask=512)
        speech = SimpleNamespace(text_tokens=lambda: np.zeros(8, np.int32), codes=np.ones((8, 64), np.int64),
                                 phones=np.zeros((64, 4), np.uint8))
        batch = {"kind": np.full((1, n), self.network_input.TARGET, np.int8), "source": np.arange(n, dtype=np.int32)[None],
                 "pos": np.arange(n, dtype=np.int16)[None], "document": np.zeros((1, n), np.int16),
                 "known": np.array([[0.5] * 8, [1] * 8], np.float32), "block": np.array([[5, 12], [0, 0]], np.int32),
                 "targets": np.arange(n, dtype=np.int32), "n_targets": n}
        torch.manual_seed(1)
        x = self.network_input.Batches(speech, config, torch.device("cpu")).masked(batch, torch.ones(8))
        is_masked = x.codes[0] == config.mask
        self.assertFalse(is_masked[:5].any())
        self.assertTrue(is_masked[12:].all())
        self.assertTrue(0.2 < is_masked[5:12].float().mean() < 0.8)
        self.assertTrue(((x.weights > 0) == is_masked).all())

    def test_a_run_begins_with_a_file_of_another(self):
        import base_file
        import train
        from prompt import vocabulary
        make = lambda: self.speech_lm.SpeechLm(self.speech_lm.config_for(16, len(vocabulary(17)), n_embd=32, n_layer=1, n_ff=32))
        first, second = make(), make()
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/base.gguf"
            base_file.write(path, first.config, base_file.weights_of(first), "f32")
            train.begin_with(second, path, False, lambda text: None)
        for name, x in first.named_parameters():
            if base_file.is_shipped(name):
                self.assertTrue(self.torch.equal(x, dict(second.named_parameters())[name]), name)


if __name__ == "__main__":
    unittest.main()
