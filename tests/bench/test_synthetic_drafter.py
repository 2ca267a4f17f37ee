"""bench/synthetic_model.py writes drafters that read the layers which published ones read."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import synthetic_model  # noqa: E402


class SyntheticDrafter(unittest.TestCase):
    def layers_read(self, n_model, n_drafter):
        shape = synthetic_model.SHAPES["qwen3-8b"] | {"n_layer": n_model}
        meta = synthetic_model.drafter_metadata("tiny", shape, n_drafter)
        return meta["dflash-draft.dflash.target_layer_ids"]

    def test_layers_are_spread_as_in_the_reference(self):
        self.assertEqual(self.layers_read(36, 5), [1, 9, 17, 25, 33])
        self.assertEqual(self.layers_read(64, 5), [1, 16, 31, 46, 61])
        self.assertEqual(self.layers_read(28, 1), [14])

    def test_embedding_and_output_are_the_models(self):
        shape = synthetic_model.SHAPES["qwen3-8b"]  # which has an output of its own
        sizes = {name: ne for name, ne, _ in synthetic_model.drafter_tensors(shape, "q4_0", 3)}
        self.assertFalse({"token_embd.weight", "output.weight"} & set(sizes))
        self.assertEqual(sizes["dflash_fc.weight"], (3 * 4096, 4096))
        self.assertIn("blk.2.ffn_down.weight", sizes)
        self.assertNotIn("blk.3.ffn_down.weight", sizes)


if __name__ == "__main__":
    unittest.main()
