"""The codec learns to hear through noise: what it is given, and what may move.

    python3 -m unittest discover tests/training
"""

from argparse import Namespace
import importlib.util
import math
from pathlib import Path
import sys
import tempfile
import unittest

CODEC = Path(__file__).resolve().parents[2] / "training" / "codec"
HAS_TORCH = importlib.util.find_spec("torch") is not None
NAMES = ("model", "gguf_file", "losses", "score", "data", "train", "trainer", "hearing", "average")     # which other folders have, too


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class Hearing(unittest.TestCase):
    def setUp(self):
        self.modules, self.path = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}, list(sys.path)
        sys.path.insert(0, str(CODEC))
        import torch
        import gguf_file
        import hearing
        import trainer
        self.torch, self.gguf_file, self.hearing, self.trainer = torch, gguf_file, hearing, trainer

    def tearDown(self):
        for name in NAMES:
            sys.modules.pop(name, None)
        sys.modules.update(self.modules)
        sys.path[:] = self.path

    def test_what_is_heard_differs_from_what_is_meant_by_noise_alone(self):
        torch = self.torch
        hear = self.hearing.Hearing(torch.device("cpu"), 1, 24000)
        sound = 0.1 * torch.sin(torch.arange(24000) * 0.1).repeat(40, 1)
        clean, heard = hear(sound)
        self.assertEqual((clean.shape, heard.shape), (sound.shape, sound.shape))
        is_noisy = (heard != clean).any(1)
        self.assertTrue(0.4 < is_noisy.float().mean() < 0.8)
        decibels = 10 * torch.log10(clean.square().mean(1) / (heard - clean).square().mean(1))[is_noisy]
        self.assertTrue(self.hearing.SNR_DB[0] - 3 < decibels.min() and decibels.max() < self.hearing.SNR_DB[1] + 3)
        is_another = (clean != sound).any(1)
        self.assertTrue(0.6 < is_another.float().mean() < 1.0)
        keeps = torch.arange(40) < 20
        clean, heard = hear(sound, keeps)
        self.assertTrue(torch.equal(clean[keeps], sound[keeps]) and not torch.equal(clean, sound))
        self.assertTrue(0.2 < (heard != clean).any(1)[keeps].float().mean() < 0.95)

    def test_another_throat_has_other_resonances_and_the_same_pitch(self):
        """A buzz of 120 Hz through a resonance at 1 kHz."""
        torch, n = self.torch, 24000
        pitch, resonance = 120, 1000
        k = torch.arange(1, 90)[:, None]
        partials = torch.cos(2 * math.pi * pitch * k * torch.arange(n) / n)
        buzz = (torch.exp(-((k * pitch - resonance) / 300.0) ** 2) * partials).sum(0)[None] * 0.05
        for factor in (0.8, 1.0, 1.25):
            made = self.hearing.other_throat(buzz, torch.tensor([factor]))
            power = torch.fft.rfft(made[0])[:4000].abs().square()
            on_pitch = power[::pitch].sum() / power.sum()
            centre = (power * torch.arange(4000)).sum() / power.sum()
            self.assertGreater(on_pitch, 0.9)
            self.assertAlmostEqual(float(centre) / (resonance * factor), 1.0, delta=0.08)
        self.assertLess(float((self.hearing.other_throat(buzz, torch.ones(1)) - buzz).abs().max()), 1e-4)

    def test_a_vocoder_keeps_resonances_and_loudness(self):
        """A buzz of 120 Hz through a resonance at 1 kHz."""
        import vocoder
        torch, n = self.torch, 24000
        k = torch.arange(1, 90)[:, None]
        partials = torch.cos(2 * math.pi * 120 * k * torch.arange(n) / n)
        buzz = (torch.exp(-((k * 120 - 1000) / 300.0) ** 2) * partials).sum(0).repeat(20, 1) * 0.05
        hertz, is_voiced = vocoder.pitch(buzz, n)
        self.assertTrue(is_voiced.float().mean() > 0.95 and abs(float(hertz[is_voiced].median()) / 120 - 1) < 0.02)
        self.assertFalse(vocoder.pitch(torch.randn(2, n), n)[1].float().mean() > 0.1)
        made = vocoder.vocoded(buzz, n, torch.Generator().manual_seed(1))
        self.assertLess(float((made.square().mean(1) / buzz.square().mean(1)).log().abs().max()), 1e-3)
        power = torch.fft.rfft(made)[:, :4000].abs().square()
        centre = (power * torch.arange(4000)).sum(1) / power.sum(1)
        self.assertLess(float((centre / 1000).log().abs().max()), 0.2)
        pitches = [float(vocoder.pitch(row[None], n)[0].median()) for row in made]
        self.assertLess(max(abs(math.log(each / 120)) for each in pitches), vocoder.TRANSPOSED + 0.05)
        self.assertGreater(max(pitches) / min(pitches), 1.15)
        self.assertEqual(float(vocoder.vocoded(torch.zeros(1, n), n, torch.Generator()).abs().max()), 0.0)

    def test_more_layers_begin_as_fewer(self):
        from dataclasses import replace
        from model import TINY, Codec, Config
        torch = self.torch
        torch.manual_seed(1)
        few = Config(**TINY, n_semantic_layer=1)
        first, grown = Codec(few).eval(), Codec(replace(few, n_semantic_layer=3)).eval()
        grown.take(first)
        x = torch.randn(2, 50, few.n_semantic)
        layers = [codec.semantic_model.encoder.layers for codec in (first, grown)]
        want = got = layers[0][0](x)
        for layer in layers[1][1:]:
            got = layer(got)
        self.assertLess(float((got - want).abs().max()), 1e-3)
        same = [name for name in first.state_dict() if torch.equal(first.state_dict()[name], grown.state_dict()[name])]
        self.assertEqual(len(same), len(first.state_dict()))

    def test_codes_keep_their_meaning(self):
        torch = self.torch
        torch.manual_seed(1)
        device, options = torch.device("cpu"), Namespace(smoke=True, keep_codes=False, see_through=True, recogniser=None, lr=1e-3,
                                                         critics_lr=1e-3)
        trainer = self.trainer.Trainer(options, device)
        with tempfile.TemporaryDirectory() as folder:
            self.gguf_file.write(Path(folder) / "codec.gguf", trainer.codec)
            trainer.start_from(Path(folder) / "codec.gguf")
        before = {name: x.clone() for name, x in trainer.codec.state_dict().items()}
        trainer.set(1.0, 0.0)
        real = 0.1 * torch.randn(2, 24000)
        for _ in range(2):
            parts = trainer.step(real, None, real + 0.02 * torch.randn(2, 24000))
        self.assertLessEqual({"mel", "same", "commitment"}, set(parts))
        moved = {name for name, x in trainer.codec.state_dict().items() if not torch.equal(x, before[name])}
        self.assertFalse([name for name in moved if name.startswith("quantizer.")])
        for part in ("acoustic_encoder.", "semantic_model.", "encoder_semantic.", "fc.", "fc2.", "acoustic_decoder."):
            self.assertTrue(any(name.startswith(part) for name in moved), part)
        after = trainer.averaged_codec().state_dict()
        self.assertTrue(all(torch.equal(after[name], before[name]) for name in before if name.startswith("quantizer.")))

    def test_a_mean_of_decoders(self):
        import average
        from model import TINY, Codec, Config
        first, second = Codec(Config(**TINY)), Codec(Config(**TINY))
        a, b = ({name: x.clone() for name, x in codec.state_dict().items()} for codec in (first, second))
        for name, x in average.average(first, second, 0.75).state_dict().items():
            is_decoder = name.startswith(("fc2.", "acoustic_decoder."))
            self.assertTrue(self.torch.allclose(x, 0.75 * a[name] + 0.25 * b[name] if is_decoder else a[name]), name)

    def test_a_mean_of_all_but_the_codes(self):
        import average
        from model import TINY, Codec, Config
        first, second = Codec(Config(**TINY)), Codec(Config(**TINY))
        with self.assertRaises(ValueError):
            average.average(first, second, 0.5, is_whole=True)
        second.quantizer.load_state_dict(first.quantizer.state_dict())
        a, b = ({name: x.clone() for name, x in codec.state_dict().items()} for codec in (first, second))
        for name, x in average.average(first, second, 0.5, is_whole=True).state_dict().items():
            self.assertTrue(self.torch.allclose(x, 0.5 * (a[name] + b[name])), name)


if __name__ == "__main__":
    unittest.main()
