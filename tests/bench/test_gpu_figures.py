"""What bench/gpu_figures.py does where a program is missing or fails.

    python3 -m unittest discover tests/bench
"""

import contextlib
import io
from pathlib import Path
import sys
import unittest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import gpu_figures  # noqa: E402


class Programs(unittest.TestCase):
    def test_one_that_is_not_built_is_told_with_how_to_build_it(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(gpu_figures.output_of(["/nowhere/device_attention_bench", "--device", "cuda:0"]), "")
        self.assertRegex(said.getvalue(), r"/nowhere/device_attention_bench is not built: .* bench_programs")

    def test_what_one_says_is_kept_and_why_it_fails_is_told(self):
        self.assertEqual(gpu_figures.output_of([sys.executable, "-c", "print(7)"]), "7\n")
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.assertEqual(gpu_figures.output_of([sys.executable, "-c", "raise SystemExit('no card')"]), "")
        self.assertIn("no card", said.getvalue())


if __name__ == "__main__":
    unittest.main()
