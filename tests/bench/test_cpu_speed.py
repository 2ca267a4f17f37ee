"""What the table of `make bench` says follows from its runs: medians, the better variant, ratios, disturbed rounds.

    python3 -m unittest discover tests/bench
"""

from pathlib import Path
import sys
import tempfile
import unittest
from xml.dom import minidom

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import line_chart  # noqa: E402
import programs  # noqa: E402
import quiet_process  # noqa: E402
import report  # noqa: E402
import results  # noqa: E402

SIZES = programs.Sizes(512, 64, 8)
HEAD = {"machine": {"processor": "a processor", "n_processors": 2}}
PEAKS = {"read_bytes_per_second": 30e9, "int8_ops_per_second": 2e12, "f32_ops_per_second": 5e11,
         "bf16_ops_per_second": 0}


def run(program, i, variant="", is_quiet=True, kind="speed", **figures):
    if program == "Parlance":
        figures |= {"peaks": PEAKS, **{f"{test}_share": 0.5 for test in ("prefill", "decode")},
                    **{f"{test}_limit": "memory" for test in ("prefill", "decode")}}
    return {"program": program, "variant": variant, "build": "b", "model": "Q8_0", "model_bytes": 1, "threads": 2,
            "depth": 0, "kind": kind, "round": i, "is_quiet": is_quiet, "memory_bytes": 2**20, **figures}


def rows_of(*runs):
    store = results.Results("", HEAD)
    store.runs = list(runs)
    return {row.test: row for row in results.summarise(store, SIZES.batch)}


class SummaryTest(unittest.TestCase):
    def test_takes_medians_and_ratios_round_by_round(self):
        rows = rows_of(*[run("Parlance", i, decode=value) for i, value in enumerate((10, 20, 60))],
                       *[run("llama.cpp", i, "plain", decode=value) for i, value in enumerate((5, 20, 20))])
        self.assertEqual(rows["decode"].ours, 20)
        self.assertEqual(rows["decode"].peers["llama.cpp"].value, 20)
        self.assertEqual(rows["decode"].peers["llama.cpp"].ratio, 2)  # of 2, 1 and 3
        self.assertEqual((rows["decode"].bound, rows["decode"].limit), (40, "memory"))

    def test_quotes_the_better_variant_of_each_test(self):
        rows = rows_of(run("Parlance", 0, prefill=100, decode=10),
                       run("llama.cpp", 0, "plain", prefill=50, decode=20),
                       run("llama.cpp", 0, "flash", prefill=80, decode=5))
        self.assertEqual(rows["prefill"].peers["llama.cpp"].variant, "flash")
        self.assertEqual(rows["decode"].peers["llama.cpp"].variant, "plain")
        self.assertEqual(rows["decode"].peers["llama.cpp"].ratio, 0.5)

    def test_leaves_disturbed_rounds_out_while_there_are_others(self):
        rows = rows_of(run("Parlance", 0, decode=1, is_quiet=False), run("Parlance", 1, decode=10))
        self.assertEqual((rows["decode"].ours, rows["decode"].n_kept, rows["decode"].n_rounds), (10, 1, 2))
        rows = rows_of(run("Parlance", 0, decode=1, is_quiet=False))
        self.assertEqual((rows["decode"].ours, rows["decode"].n_kept), (1, 0))
        self.assertIn("1.00 *", report.cells(rows["decode"], [], SIZES))

    def test_small_batch_is_a_cost(self):
        rows = rows_of(run("Parlance", 0, decode=10, prefill_8=40),
                       run("llama.cpp", 0, "plain", decode=10, prefill_8=20),
                       run("llama.cpp", 0, "flash", decode=10, prefill_8=16))
        self.assertEqual(rows["small batch"].ours, 2)
        self.assertEqual(rows["small batch"].peers["llama.cpp"].value, 4)

    def test_says_what_a_busy_core_leaves(self):
        rows = rows_of(run("Parlance", 0, decode=10), run("Parlance", 0, kind="loaded", decode=8),
                       run("llama.cpp", 0, "plain", decode=10), run("llama.cpp", 0, "plain", kind="loaded", decode=1))
        self.assertEqual(report.busy_lines(rows.values()), ["Q8_0, 2 threads: Parlance 80 %, llama.cpp 10 %"])


class ResultsTest(unittest.TestCase):
    def test_resumes_only_what_the_same_programs_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            store = results.Results(folder + "/r.json", HEAD)
            store.runs = [run("Parlance", 0, decode=1), run("llama.cpp", 0, "plain", decode=1)]
            store.save()
            again = results.Results(store.path, HEAD)
            self.assertEqual(again.load({("Parlance", ""): "other", ("llama.cpp", "plain"): "b"}, {"Q8_0": 1}), 1)
            self.assertEqual(again.runs[0]["program"], "llama.cpp")
            other_machine = results.Results(store.path, {"machine": {}})
            self.assertEqual(other_machine.load({("Parlance", ""): "b"}, {"Q8_0": 1}), 0)


class ProgramsTest(unittest.TestCase):
    def test_lengths_leave_out_what_is_not_wanted(self):
        shallow, deep = programs.Case("m", 2, 0), programs.Case("m", 2, 4096)
        self.assertEqual(programs.lengths(shallow, SIZES, ("prefill", "decode")), ("8,512", 64))
        self.assertEqual(programs.lengths(deep, SIZES, ("decode",)), ("0", 64))
        self.assertEqual(programs.lengths(shallow, SIZES, ("prefill",)), ("512", 0))

    def test_reads_llama_bench_and_depth_bench(self):
        rival = programs.LlamaCpp("llama.cpp", __file__, "", False, 8192)
        lines = ('# noise\n{"n_prompt": 8, "n_gen": 0, "avg_ts": 1}\n{"n_prompt": 512, "n_gen": 0, "avg_ts": 2}\n'
                 '{"n_prompt": 0, "n_gen": 64, "avg_ts": 3}\n')
        outcome = quiet_process.Outcome(lines, "", 0, True, 5, 1)
        self.assertEqual(rival.figures(outcome, SIZES),
                         {"memory_bytes": 5, "prefill_8": 1, "prefill": 2, "decode": 3})
        outcome.output = '# load\n{"depth": 9, "tg": 4.5}\n{"depth": 9, "pp": 512, "pps": 6.5}\n'
        self.assertEqual(rival.figures(outcome, SIZES), {"memory_bytes": 5, "decode": 4.5, "prefill": 6.5})


class QuietProcessTest(unittest.TestCase):
    def test_says_how_a_program_failed(self):
        outcome = quiet_process.run([sys.executable, "-c", "import sys; sys.exit('no such model')"])
        self.assertIn("ended with code 1: no such model", outcome.error)

    def test_measures_the_peak_of_memory(self):
        outcome = quiet_process.run([sys.executable, "-c", "print(len(b'1' * (64 << 20)))"])
        self.assertEqual((outcome.output, outcome.error), (f"{64 << 20}\n", ""))
        self.assertGreater(outcome.peak_memory_bytes, 64 << 20)


class ChartTest(unittest.TestCase):
    def test_is_well_formed_with_one_depth_and_with_several(self):
        for depths in ([0], [0, 4096, 32768]):
            series = {name: {depth: 10 + depth / 1000 for depth in depths} for name in ("Parlance", "a & b", "bound")}
            svg = line_chart.draw("t", {"Q8_0": {"decode": series}}, {"prefill": "p", "decode": "d"})
            self.assertEqual(minidom.parseString(svg).documentElement.tagName, "svg")


if __name__ == "__main__":
    unittest.main()
