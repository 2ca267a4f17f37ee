"""parlance smoke voice: the library as programs load it, in every mode of cancelling, and what goes wrong."""
import json
import os
import stat
import subprocess
import unittest

from built import BUILD, DEMO, Folder, LIBRARIES

PROGRAM = BUILD / "bin/parlance"
FEW = ("--maskgit-steps", "4", "--warmup-runs", "0")
CANCELLED = -7


def smoke(*arguments, what=("voice",), **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ELIZA_")}
    return subprocess.run([PROGRAM, "smoke", *what, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          env=environment | variables)


class Smoke(Folder):
    def report_of(self, *arguments, code=0, **variables):
        path = self.folder / "report.json"
        path.unlink(missing_ok=True)
        done = smoke("--bundle", DEMO, "--report", path, *arguments, **variables)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        report = json.loads(path.read_text())
        self.assertEqual(report["ok"], code == 0)
        self.assertEqual(report["error"] is None, code == 0)
        self.assertEqual(list(self.folder.iterdir()), [path], "nothing else is left")
        return report

    def refused(self, code, *words, arguments=(), **options):
        done = smoke(*arguments, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_every_profile_speaks(self):
        for abi, library in LIBRARIES.items():
            report = self.report_of("--library", library, *FEW)
            self.assertEqual(report["abiVersion"], str(abi))
            self.assertEqual(report["library"], str(library))
            self.assertEqual(report["codecBackendPolicy"], {"speechModel": "pass", "codec": "pass"})
            self.assertEqual(report["cancelMode"], "none")
            self.assertNotIn("cancel", report)
            self.assertGreater(report["samples"], 24000)
            self.assertAlmostEqual(report["audioSeconds"], report["samples"] / 24000)
            self.assertAlmostEqual(report["rtf"], report["totalMs"] / 1e3 / report["audioSeconds"])
            self.assertGreaterEqual(report["totalMs"], report["firstAudioMs"])
            self.assertGreaterEqual(report["largestChunkSamples"], report["firstChunkSamples"])
            self.assertGreaterEqual(report["chunks"], 1)
            self.assertGreater(report["createMs"], 0)

    def test_is_found_beside_the_program(self):
        done = smoke("--bundle", DEMO, "--report", "-", *FEW)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(os.path.realpath(json.loads(done.stdout)["library"]), str(LIBRARIES[3].resolve()))
        people = smoke("--bundle", DEMO, "--warmup-runs", "1", "--maskgit-steps", "4")
        self.assertIn("the first sound after", people.stdout)
        self.assertEqual(people.stderr, "")

    def test_every_mode_of_cancelling(self):
        for mode in ("before", "during", "after"):
            report = self.report_of("--cancel-mode", mode, "--warmup-runs", "1")
            self.assertEqual(report["cancelMode"], mode)
            cancel = report["cancel"]
            self.assertEqual(cancel["status"], 0 if mode == "after" else CANCELLED, mode)
            self.assertLess(cancel["requestedMs"], report["totalMs"])
            if mode == "after":
                self.assertEqual(cancel["chunks"], report["chunks"])
            else:
                self.assertEqual(cancel["chunks"], 0, mode)
                self.assertGreaterEqual(cancel["latencyMs"], 0)
            if mode == "during":
                self.assertGreater(cancel["requestedMs"], 0)

    def test_options_are_what_the_library_does(self):
        text = "The first thing is said here. The second thing comes now. And this is the third one of them."
        whole = self.report_of("--text", text, *FEW, "--chunk-threshold-sec", "100")
        parts = self.report_of("--text", text, *FEW, "--chunk-threshold-sec", "0.5", "--chunk-duration-sec", "1.5")
        self.assertEqual((parts["chunkThresholdSec"], parts["chunkDurationSec"], parts["maskgitSteps"]), (0.5, 1.5, 4))
        self.assertNotEqual(whole["samples"], parts["samples"])
        self.assertNotEqual(self.report_of("--text", text, "--maskgit-steps", "5", "--warmup-runs", "0")["samples"], 0)

    def test_failures_are_reported_too(self):
        missing = self.report_of("--library", self.folder / "none.so", code=1)
        self.assertIn("none.so: there is no such file", missing["error"])
        self.assertEqual(missing["codecBackendPolicy"], {"speechModel": "not-run", "codec": "not-run"})
        foreign = self.report_of("--library", DEMO / "about.json", code=1)
        self.assertIn("cannot be loaded", foreign["error"])
        nobody = self.report_of("--voice", "nobody", code=1)
        self.assertIn("nobody", nobody["error"])
        self.assertEqual(nobody["abiVersion"], "3")
        stub = self.report_of("--library", BUILD / "lib/stub/libelizainference_stub.so", code=1)
        self.assertIn("stream", stub["error"])
        variable = self.report_of(code=1, ELIZA_ASR_THREADS="none")
        self.assertIn("ELIZA_ASR_THREADS is 'none'", variable["error"])

    def test_a_bundle_that_is_none_is_named(self):
        self.refused(1, "does not exist", arguments=("--bundle", self.folder / "nowhere"))
        self.refused(1, "tts", arguments=("--bundle", self.folder))

    def test_reports_that_cannot_be_written(self):
        self.refused(1, "no/such/folder", arguments=("--bundle", DEMO, "--report", "/no/such/folder/report.json"))
        self.folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        try:
            if not os.access(self.folder, os.W_OK):
                self.refused(1, str(self.folder), arguments=("--bundle", DEMO, "--report", self.folder / "report.json"))
        finally:
            self.folder.chmod(stat.S_IRWXU)

    def test_mistakes_in_the_command_line(self):
        self.refused(2, "WHAT", what=())
        self.refused(2, "'ears' cannot be tried out", what=("ears",))
        self.refused(2, "--cancel-mode", "none, before, during, after", arguments=("--cancel-mode", "later"))
        self.refused(2, "--maskgit-steps", "64", arguments=("--maskgit-steps", "65"))
        self.refused(2, "--chunk-threshold-sec", arguments=("--chunk-threshold-sec", "0"))
        self.refused(2, "--chunk-duration-sec", arguments=("--chunk-duration-sec", "121"))
        self.refused(2, "--warmup-runs", arguments=("--warmup-runs", "-1"))
        self.refused(2, "--text", arguments=("--text", ""))
        self.refused(2, "--verbose", arguments=("--verbose",))


if __name__ == "__main__":
    unittest.main()
