"""tools/make-hard-models.py writes models that compute the same as before."""
import importlib.util
import os
import struct
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
DEMO = os.path.join(ROOT, "models", "demo", "text", "parlance-demo-text-q8_0.gguf")


def load_script():
    spec = importlib.util.spec_from_file_location("hard_models", os.path.join(ROOT, "tools", "make-hard-models.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def norms(model, side, layer):
    return model.tensors[f"blk.{layer}.attn_{side}_norm.weight"].row(0)


@unittest.skipUnless(os.path.exists(DEMO), "the bundled model is not there")
class HardModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.script = load_script()
        cls.script.TEXT = cls.script.TEXT[:12]  # plain Python takes seconds for each token
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def rewritten(self, change):
        """What the script reads of a file that it wrote, and the model that it was made of."""
        model, path = self.script.Model(DEMO), os.path.join(self.folder.name, "model.gguf")
        change(model)
        model.write(path)
        return self.script.Model(DEMO), self.script.Model(path)

    def test_what_is_not_changed_is_the_same_file(self):
        before, after = self.rewritten(lambda model: None)
        self.assertEqual(before.data, after.data)

    def test_outliers_of_keys_are_taken_back_by_queries_to_the_last_bit(self):
        before, after = self.rewritten(lambda model: self.script.add_outliers(model, [0, 5]))
        for layer in range(before.n_layer()):
            factors = [b / a for a, b in zip(norms(before, "k", layer), norms(after, "k", layer))]
            self.assertEqual(sorted(set(factors)), [1, 8, 16, 32] if layer in (0, 5) else [1])
            for a, b, factor in zip(norms(before, "q", layer), norms(after, "q", layer), factors):
                self.assertEqual(a, b * factor)

    def test_small_values_are_taken_back_by_the_output(self):
        before, after = self.rewritten(self.script.shrink_values)
        for name, factor in (("attn_v", 1 / 8), ("attn_output", 8)):
            a, b = (m.tensors[f"blk.2.{name}.weight"].row(3) for m in (before, after))
            for x, y in zip(a, b):
                self.assertAlmostEqual(y, x * factor, delta=abs(x) * 0.01 * factor + 1e-9)
        self.assertEqual([16 * x for x in norms(before, "k", 2)], list(norms(after, "k", 2)))

    def test_biases_have_the_length_that_was_asked_for(self):
        def change(model):
            self.script.take_norms_out(model)
            self.script.add_biases(model, [1], 150)
        _, after = self.rewritten(change)
        self.assertEqual(after.values["general.architecture"], "qwen2")
        bias = after.tensors["blk.1.attn_k.bias"].row(0)
        for head in after.heads("attn_k", 1):
            self.assertAlmostEqual(sum(bias[row] ** 2 for row in head) ** 0.5, 150, places=3)
        self.assertEqual(set(after.tensors["blk.0.attn_k.bias"].row(0)), {0.0})

    def test_biases_want_a_model_without_norms(self):
        with self.assertRaises(SystemExit):
            self.script.add_biases(self.script.Model(DEMO), [0], 150)


if __name__ == "__main__":
    unittest.main()
