"""parlance pull against a hub on this machine that works well, badly, and not at all."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fake_hub  # noqa: E402

BUILD = pathlib.Path(os.environ.get("PARLANCE_BUILD", "build/release"))
SOURCE = pathlib.Path(__file__).resolve().parents[2]
DEMO = SOURCE / "models/demo"
REPO = "some/Model-GGUF"


def noise(n, seed):
    return random.Random(seed).randbytes(n)


class Pull(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.hub = fake_hub.FakeHub()
        cls.small = noise(5000, 1)
        cls.hub.repos[REPO] = {
            "README.md": b"about", ".gitattributes": b"*", "Model-Q4_K_M.gguf": cls.small,
            "Model-Q8_0.gguf": noise(300000, 2), "mmproj-Model-f16.gguf": noise(700, 3),
            "big/Model-F16-00001-of-00002.gguf": noise(900, 4), "big/Model-F16-00002-of-00002.gguf": noise(800, 5),
            "Model-imatrix.gguf": b"not one to talk with"}

    @classmethod
    def tearDownClass(cls):
        cls.hub.close()

    def setUp(self):
        self.hub.forget()
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.cache = self.folder / "home/hub"
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "HF_HOME": str(self.folder / "home"),
                            "HF_ENDPOINT": self.hub.address, "XDG_CACHE_HOME": str(self.folder / "cache"),
                            "XDG_STATE_HOME": str(self.folder / "state")}

    def command(self, *arguments):
        return [str(BUILD.resolve() / "bin/parlance"), *map(str, arguments)]

    def run_program(self, *arguments, code=0, **environment):
        done = subprocess.run(self.command(*arguments), env={**self.environment, **environment}, cwd=self.folder,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def pull(self, *arguments, **more):
        return json.loads(self.run_program("pull", "--json", *arguments, **more).stdout)

    def fetched(self, *arguments, **more):
        """Bytes of the model's own file that came over the network."""
        return self.pull(*arguments, **more)["files"][0]["fetched_bytes"]

    def refusal(self, *arguments, **more):
        done = self.run_program("pull", *arguments, code=1, **more)
        line = done.stderr.splitlines()[-1]
        self.assertTrue(line.startswith("parlance: "), done.stderr)
        self.assertEqual(done.stdout, "")
        return line

    def repo_folder(self, repo=REPO):
        return self.cache / ("models--" + repo.replace("/", "--"))

    def partial_files(self):
        return [path for path in self.folder.rglob("*.incomplete")]

    def snapshot_file(self, path):
        return self.repo_folder() / "snapshots" / fake_hub.COMMIT / path

    def test_the_usual_file_and_what_belongs_to_it_lie_as_other_programs_have_them(self):
        pulled = self.pull(REPO)
        model = self.snapshot_file("Model-Q4_K_M.gguf")
        self.assertEqual(pulled["path"], str(model))
        self.assertEqual(model.read_bytes(), self.small)
        self.assertEqual(pulled["mmproj"], str(self.snapshot_file("mmproj-Model-f16.gguf")))
        self.assertEqual(os.readlink(model), f"../../blobs/{fake_hub.sha256(self.small)}")
        self.assertEqual((self.repo_folder() / "refs/main").read_text(), fake_hub.COMMIT)
        self.assertEqual(self.partial_files(), [])
        self.assertEqual(pulled["fetched_bytes"], 5700)
        # Nothing of it comes again; with the cache alone, nobody is asked.
        self.hub.asked.clear()
        self.assertEqual(self.pull(REPO)["fetched_bytes"], 0)
        self.assertEqual(self.hub.contents_asked(), [])
        self.hub.asked.clear()
        self.assertEqual(self.pull(REPO, "--offline")["path"], str(model))
        self.assertEqual(self.pull(REPO, HF_HUB_OFFLINE="1")["path"], str(model))
        self.assertEqual(self.hub.asked, [])
        self.assertIn("parlance pull", self.refusal(f"{REPO}:Q8_0", "--offline"))

    def test_names_that_people_use(self):
        for name, file in ((f"{REPO}:q8_0", "Model-Q8_0.gguf"), (f"hf:{REPO}:Q8_0", "Model-Q8_0.gguf"),
                           (f"{REPO}/Model-Q8_0.gguf", "Model-Q8_0.gguf"),
                           (f"{self.hub.address}/{REPO}/blob/main/Model-Q8_0.gguf", "Model-Q8_0.gguf"),
                           (f"https://huggingface.co/{REPO}", "Model-Q4_K_M.gguf"),
                           (f"hf.co/{REPO}:Q4_K_M", "Model-Q4_K_M.gguf"),
                           (f"{REPO}@{fake_hub.COMMIT}:Q4_K_M", "Model-Q4_K_M.gguf")):
            self.assertEqual(self.pull(name)["path"], str(self.snapshot_file(file)), name)
        parts = self.pull(f"{REPO}:F16")
        self.assertEqual([file["path"] for file in parts["files"]],
                         ["big/Model-F16-00001-of-00002.gguf", "big/Model-F16-00002-of-00002.gguf",
                          "mmproj-Model-f16.gguf"])
        self.assertEqual(self.snapshot_file("big/Model-F16-00002-of-00002.gguf").read_bytes(), noise(800, 5))

    def test_what_is_not_there_is_said_with_what_is(self):
        for name, words in ((f"{REPO}:Q5_K_M", ["Q5_K_M", "Q4_K_M, Q8_0"]),
                            (f"{REPO}/Model-Q8.gguf", ["did you mean Model-Q8_0.gguf"]),
                            ("some/Modell-GGUF", ["some/Modell-GGUF", "404"]),
                            (f"{REPO}@next", ["no such branch"]), ("no name", ["ORG/NAME"]),
                            ("../../etc/passwd", ["ORG/NAME"]), (f"{REPO}/../../x.gguf", ["ORG/NAME"])):
            line = self.refusal(name)
            for word in words:
                self.assertIn(word, line)
        self.assertFalse(self.cache.exists() and list(self.cache.rglob("*.gguf")))

    def test_a_token_goes_to_the_hub_and_to_nobody_else(self):
        self.hub.token = "hf_secret"
        self.assertIn("HF_TOKEN", self.refusal(REPO))
        self.assertIn("token", self.refusal(REPO, HF_TOKEN="hf_wrong"))
        self.hub.asked.clear()
        self.pull(REPO, HF_TOKEN="hf_secret")
        (self.folder / "home/token").write_text("hf_secret\n")
        self.pull(f"{REPO}:Q8_0")
        for role, path, fields in self.hub.asked:
            self.assertEqual(fields.get("Authorization"), "Bearer hf_secret" if role == "hub" else None, path)
        self.assertIn("HF_TOKEN", self.refusal(REPO, HF_TOKEN="two\nlines"))
        self.assertIn("HF_ENDPOINT", self.refusal(REPO, HF_ENDPOINT="hub"))

    def test_wherever_it_is_cut_it_goes_on_from_there(self):
        size = 5000
        for cut in (0, 1, 2, 511, 512, 4095, 4096, size - 2, size - 1):
            shutil.rmtree(self.cache, ignore_errors=True)
            self.hub.asked.clear()
            self.hub.cuts = [cut, 1]
            pulled = self.pull(f"{REPO}/Model-Q4_K_M.gguf")
            self.assertEqual(self.snapshot_file("Model-Q4_K_M.gguf").read_bytes(), self.small, cut)
            begun = [cut, cut + 1]
            expected = [None] + [f"bytes={n}-" if n else None for n in begun if n < size]
            self.assertEqual(self.hub.contents_asked()[:len(expected)], expected)
            self.assertEqual(pulled["files"][0]["fetched_bytes"], size, cut)

    def test_the_next_call_goes_on_and_one_without_ranges_begins_anew(self):
        for has_ranges in (True, False):
            shutil.rmtree(self.cache, ignore_errors=True)
            self.hub.forget()
            self.hub.cuts = [3000]
            self.assertIn("kept", self.refusal(f"{REPO}/Model-Q4_K_M.gguf", "--retries", "0"))
            self.assertEqual([path.stat().st_size for path in self.partial_files()], [3000])
            self.assertFalse(self.snapshot_file("Model-Q4_K_M.gguf").exists())
            self.hub.has_ranges = has_ranges
            self.assertEqual(self.fetched(f"{REPO}/Model-Q4_K_M.gguf"), 2000 if has_ranges else 5000)
            self.assertEqual(self.snapshot_file("Model-Q4_K_M.gguf").read_bytes(), self.small)
            self.assertEqual(self.partial_files(), [])

    def test_a_server_without_ranges_that_always_cuts_is_left_in_the_end(self):
        self.hub.has_ranges = False
        self.hub.cuts = [2500] * 50
        self.assertIn("after 3 tries", self.refusal(f"{REPO}/Model-Q4_K_M.gguf", "--retries", "2"))

    def test_a_wrong_checksum_leaves_nothing(self):
        self.hub.spoils = True
        self.assertIn("checksum", self.refusal(f"{REPO}/Model-Q4_K_M.gguf"))
        self.assertEqual([p for p in self.repo_folder().rglob("*") if p.is_file()], [])
        # What an earlier call left may be to blame: then all is fetched anew.
        self.hub.forget()
        blob = self.repo_folder() / "blobs" / (fake_hub.sha256(self.small) + ".incomplete")
        for left in (b"x" * 2000, b"x" * 5000, b"x" * 6000):
            blob.parent.mkdir(parents=True, exist_ok=True)
            blob.write_bytes(left)
            self.pull(f"{REPO}/Model-Q4_K_M.gguf")
            self.assertEqual(self.snapshot_file("Model-Q4_K_M.gguf").read_bytes(), self.small)
            shutil.rmtree(self.cache)

    def test_small_files_are_checked_as_git_has_them(self):
        self.pull(f"{REPO}/README.md")
        self.assertEqual(os.readlink(self.snapshot_file("README.md")), f"../../blobs/{fake_hub.git_sha1(b'about')}")
        self.hub.spoils = True
        shutil.rmtree(self.cache)
        self.assertIn("checksum", self.refusal(f"{REPO}/README.md"))

    def test_another_length_than_listed_is_refused_at_its_head(self):
        self.hub.sizes["Model-Q4_K_M.gguf"] = 4000
        self.assertIn("expected 4000 bytes, the server has 5000", self.refusal(f"{REPO}/Model-Q4_K_M.gguf"))
        self.hub.hides_length = True
        self.assertIn("more than the 4000 bytes", self.refusal(f"{REPO}/Model-Q4_K_M.gguf"))
        self.hub.sizes["Model-Q4_K_M.gguf"] = 6000
        shutil.rmtree(self.cache)
        self.assertIn("after 2 tries", self.refusal(f"{REPO}/Model-Q4_K_M.gguf", "--retries", "1"))

    def test_a_server_that_wants_to_be_left_alone_is_asked_later(self):
        self.hub.refusals = {"hub": [(429, {"Retry-After": "1"}), (503, {})], "store": [(500, {}), (429, {"Retry-After": "1"})]}
        begin = time.monotonic()
        done = self.run_program("pull", f"{REPO}/Model-Q4_K_M.gguf")
        self.assertGreaterEqual(time.monotonic() - begin, 2)
        self.assertIn("429", done.stderr)
        self.hub.refusals = {"hub": [(429, {"Retry-After": "7200"})], "store": []}
        self.assertIn("120 minutes", self.refusal(REPO))
        self.hub.refusals = {"hub": [(503, {"Retry-After": "0"})] * 9, "store": []}
        self.assertIn("after 3 tries", self.refusal(REPO, "--retries", "2"))

    def test_a_silent_server_is_asked_again(self):
        self.hub.cuts, self.hub.silent_s = [100], 30
        begin = time.monotonic()
        self.pull(f"{REPO}/Model-Q4_K_M.gguf", "--timeout", "1")
        self.assertLess(time.monotonic() - begin, 20)

    def test_too_little_room_is_said_before_anything_comes(self):
        self.hub.sizes["Model-Q4_K_M.gguf"] = 1 << 49
        line = self.refusal(f"{REPO}/Model-Q4_K_M.gguf")
        self.assertIn("524288.00 GiB", line)
        self.assertIn("HF_HOME", line)
        self.assertEqual(self.hub.contents_asked(), [])

    def test_names_from_the_server_lead_nowhere(self):
        evil = {"../../../../evil.gguf": b"1" * 600, "/evil.gguf": b"2" * 600, "a/../../b.gguf": b"3" * 600,
                "ok-Q8_0.gguf": b"4" * 600, "ctl\n.gguf": b"5", "a\\b.gguf": b"6"}
        self.hub.repos["some/evil"] = evil
        pulled = self.pull("some/evil")
        self.assertEqual([file["path"] for file in pulled["files"]], ["ok-Q8_0.gguf"])
        self.assertEqual([p.name for p in self.folder.rglob("*evil*.gguf")], [])

    def test_two_calls_at_once_fetch_it_once(self):
        self.hub.piece, self.hub.pause = 20000, 0.05
        both = [subprocess.Popen(self.command("pull", "--json", f"{REPO}/Model-Q8_0.gguf"), env=self.environment,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        texts = [process.communicate(timeout=60) for process in both]
        self.assertEqual([process.returncode for process in both], [0, 0], texts)
        self.assertEqual(sorted(json.loads(out)["files"][0]["fetched_bytes"] for out, _ in texts), [0, 300000])
        self.assertEqual(len(self.hub.contents_asked()), 2)  # with the encoder's

    def test_ctrl_c_leaves_what_the_next_call_goes_on_with(self):
        self.hub.piece, self.hub.pause = 10000, 0.05
        process = subprocess.Popen(self.command("pull", f"{REPO}/Model-Q8_0.gguf"), env=self.environment,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not any(path.stat().st_size for path in self.partial_files()):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("kept", err)
        left = self.partial_files()[0].stat().st_size
        self.assertTrue(0 < left < 300000)
        self.hub.pause = 0
        self.assertEqual(self.fetched(f"{REPO}/Model-Q8_0.gguf"), 300000 - left)

    def test_an_address(self):
        store = self.hub.servers[1].address
        url = f"{store}/{REPO}/Model-Q4_K_M.gguf?x=1"
        target = self.folder / "here/model.gguf"
        self.hub.marks["Model-Q4_K_M.gguf"] = '"first"'
        self.hub.cuts = [1000]
        self.refusal(url, "-o", target, "--retries", "0")
        self.assertFalse(target.exists())
        self.assertEqual(self.pull(url, "-o", target)["fetched_bytes"], 4000)
        self.assertEqual(target.read_bytes(), self.small)
        # What has changed meanwhile is fetched anew, and so is what nothing is known of.
        for mark, changed in (('"second"', True), (None, True), ('"first"', False)):
            target.unlink()
            self.hub.marks["Model-Q4_K_M.gguf"] = mark if not changed else '"first"'
            self.hub.cuts = [1000]
            self.refusal(url, "-o", target, "--retries", "0")
            self.hub.marks["Model-Q4_K_M.gguf"] = mark
            self.assertEqual(self.pull(url, "-o", target)["fetched_bytes"], 5000 if changed else 4000)
            self.assertEqual(target.read_bytes(), self.small)
        self.assertIn("checksum", self.refusal(url, "-o", self.folder / "no.gguf", "--sha256", "0" * 64))
        right = fake_hub.sha256(self.small)
        self.assertEqual(self.pull(url, "--sha256", right)["files"][0]["digest"], right)
        self.assertEqual(sorted(p.name for p in (self.folder / "here").glob("*")), ["model.gguf"])
        self.assertIn("name of a file", self.refusal(f"{store}/"))
        self.hub.hides_length = True
        self.assertEqual(self.pull(url, "-o", self.folder / "length.gguf")["fetched_bytes"], 5000)

    def test_no_server_there(self):
        self.hub.asked.clear()
        line = self.refusal(REPO, "--retries", "1", HF_ENDPOINT="http://127.0.0.1:9")
        self.assertIn("127.0.0.1", line)
        self.assertIn("after 2 tries", line)


class Models(Pull):
    """Real models by the hub's names, in the verbs that load them."""

    def setUp(self):
        super().setUp()
        text = next((DEMO / "text").glob("*.gguf"))
        self.hub.repos["some/Text-GGUF"] = {"text-Q8_0.gguf": text.read_bytes()}

    def test_a_verb_fetches_what_it_needs_once(self):
        ask = ("chat", "-p", "What is the capital of France?", "--greedy", "--max-tokens", "8")
        expected = self.run_program(*ask, "-m", next((DEMO / "text").glob("*.gguf"))).stdout
        first = self.run_program(*ask, "-m", "hf:some/Text-GGUF")
        self.assertEqual(first.stdout, expected)
        self.assertIn("fetching hf:some/Text-GGUF", first.stderr)
        self.hub.asked.clear()
        self.assertEqual(self.run_program(*ask, "-hf", "some/Text-GGUF:Q8_0").stdout, expected)
        self.assertEqual(self.run_program(*ask, PARLANCE_MODEL="hf:some/Text-GGUF").stdout, expected)
        self.assertIn("some/Text-GGUF", self.run_program("info", "hf:some/Text-GGUF", "--json").stdout.replace("--", "/"))
        self.assertEqual(self.hub.asked, [])
        done = self.run_program("chat", "-p", "x", "-m", "hf:some/Other-GGUF", code=1)
        self.assertIn("some/Other-GGUF", done.stderr.splitlines()[-1])

    def test_a_pair_that_listens_and_a_bundle(self):
        files = {path.name.replace("mmproj", "mmproj"): path.read_bytes() for path in (DEMO / "asr").glob("*.gguf")}
        self.hub.repos["some/Ears-GGUF"] = files
        recording = next((SOURCE / "models/demo-eval/questions").glob("*.flac"))
        expected = self.run_program("listen", recording).stdout
        self.assertEqual(self.run_program("listen", "-m", "hf:some/Ears-GGUF", recording).stdout, expected)
        self.assertEqual(self.run_program("listen", "--asr", "hf:some/Ears-GGUF", recording).stdout, expected)
        self.hub.repos["some/bundle"] = {
            path.relative_to(DEMO).as_posix(): path.read_bytes() for path in DEMO.rglob("*") if path.is_file()}
        pulled = self.pull("some/bundle")
        self.assertEqual(pulled["kind"], "bundle")
        self.assertEqual(self.run_program("listen", "-m", "hf:some/bundle", recording).stdout, expected)
        ask = ("chat", "-p", "What is the capital of France?", "--greedy", "--max-tokens", "8")
        self.assertEqual(self.run_program(*ask, "-m", "hf:some/bundle").stdout, self.run_program(*ask).stdout)


# The tests of the hub itself run once.
for name in [name for name in dir(Pull) if name.startswith("test_")]:
    setattr(Models, name, None)

if __name__ == "__main__":
    unittest.main(argv=sys.argv)
