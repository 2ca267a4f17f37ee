"""The server as OpenAI's own client for JavaScript sees it, in the two versions that are in use: every call works, and the client's
own types accept every answer. And the examples of docs/server.md. The packages come from npm, at the versions and checksums of
clients/package-lock.json; where npm or its registry is not to be reached, their tests are skipped and say so."""
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PARLANCE_BUILD", ROOT / "build/release"))
CLIENTS = ROOT / "tests/server/clients"
DEMO = ROOT / "models/demo"


def packages():
    """Installed once for a lock file, in the build folder: the folder."""
    if not shutil.which("npm") or not shutil.which("node"):
        raise unittest.SkipTest("skipped: there is no npm or no node; install them (Debian: npm) for OpenAI's client")
    place = BUILD / "server_clients"
    place.mkdir(parents=True, exist_ok=True)
    lock = (CLIENTS / "package-lock.json").read_text()
    known = place / "installed.json"
    if not known.is_file() or known.read_text() != lock:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(CLIENTS / name, place)
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=place, capture_output=True,
                              text=True, timeout=240)
        if done.returncode != 0:
            raise unittest.SkipTest(f"skipped: npm does not reach its registry: {done.stderr.strip().splitlines()[-1:]}")
        known.write_text(lock)
    for program in CLIENTS.glob("*.mjs"):
        shutil.copy(program, place)
    return place


class Served(unittest.TestCase):
    """A server on the bundled models, as long as the tests of a class run."""
    key = None

    @classmethod
    def setUpClass(cls):
        embedding = next((DEMO / "text").glob("*.gguf"))
        environment = os.environ | ({"PARLANCE_API_KEY": cls.key} if cls.key else {})
        cls.server = subprocess.Popen([BUILD / "bin/parlance", "serve", "-m", DEMO, "--port", "0", "--embedding", embedding,
                                       "--ctx-size", "4096"], stdout=subprocess.PIPE, text=True, env=environment)
        cls.url = re.search(r"http://\S+:\d+", cls.server.stdout.readline())[0]

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        cls.server.communicate(timeout=60)
        assert cls.server.returncode == 0, cls.server.returncode


class OfficialClient(Served):
    key = "a-key-for-the-test-0123456789"

    @classmethod
    def setUpClass(cls):
        cls.place = packages()
        super().setUpClass()

    def in_both_versions(self, program, arguments, environment=None):
        """Runs the program with both, and has the compiler look at what they were answered."""
        types = []
        for package in ("openai", "openai-next"):
            types.append(self.place / f"{pathlib.Path(program).stem}-{package}.ts")
            done = subprocess.run(["node", program, package, *arguments, types[-1]], cwd=self.place, capture_output=True, text=True,
                                  timeout=240, env=environment)
            self.assertEqual(done.returncode, 0, f"{package}\n{done.stdout}{done.stderr}")
        done = subprocess.run(["node", "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022",
                               "--module", "nodenext", *types], cwd=self.place, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout[:4000])

    def test_every_call(self):
        self.in_both_versions("openai_client.mjs", [self.url, self.key])

    def test_realtime(self):
        if not shutil.which("openssl"):
            self.skipTest("skipped: there is no openssl for a certificate; install it for OpenAI's Realtime client")
        with tempfile.TemporaryDirectory() as folder:
            key, certificate = pathlib.Path(folder) / "key.pem", pathlib.Path(folder) / "certificate.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                            "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
            self.in_both_versions("openai_realtime.mjs", [self.url.rpartition(":")[2], self.key, certificate, key],
                                  os.environ | {"NODE_EXTRA_CA_CERTS": str(certificate)})


class DocumentedExamples(Served):
    def examples(self, language):
        """The blocks of the page in a language, which ask this server."""
        page = (ROOT / "docs/server.md").read_text()
        blocks = re.findall(rf"```{language}\n(.*?)```", page, re.S)
        return [block.replace("http://127.0.0.1:8080", self.url) for block in blocks]

    def said(self, *command, **options):
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_javascript(self):
        place = packages()
        [program] = self.examples("js")
        (place / "example.mjs").write_text(program)
        self.assertIn("13", self.said("node", "example.mjs", cwd=place))

    def test_python(self):
        if not importlib.util.find_spec("openai"):
            self.skipTest("skipped: Python has no openai package")
        [program] = self.examples("python")
        self.assertIn("13", self.said("python3", "-c", program))

    def test_curl(self):
        if not shutil.which("curl"):
            self.skipTest("skipped: there is no curl")
        chat, speech = (re.findall(r"^curl.*?(?<!\\)\n", block, re.S | re.M) for block in self.examples("sh")[:2])
        self.assertTrue(json.loads(self.said("sh", "-c", chat[0]))["choices"][0]["message"]["content"])
        with tempfile.TemporaryDirectory() as folder:
            heard = [self.said("sh", "-c", command, cwd=folder) for command in speech]
        self.assertEqual(json.loads(heard[-1])["text"], "What is 9 plus 4?")


if __name__ == "__main__":
    unittest.main(verbosity=2)
