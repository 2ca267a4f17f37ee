"""The server as OpenAI's own client for JavaScript sees it, in the two versions that are in use: every call works, and the client's
own types accept every answer. The packages come from npm, at the versions and checksums of clients/package-lock.json; where npm
or its registry is not to be reached, the test is skipped and says so."""
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
KEY = "a-key-for-the-test-0123456789"


class OfficialClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not shutil.which("npm") or not shutil.which("node"):
            raise unittest.SkipTest("skipped: there is no npm or no node; install them (Debian: npm) for OpenAI's client")
        cls.place = BUILD / "server_clients"
        cls.place.mkdir(parents=True, exist_ok=True)
        lock = (CLIENTS / "package-lock.json").read_text()
        known = cls.place / "installed.json"
        if not known.is_file() or known.read_text() != lock:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(CLIENTS / name, cls.place)
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=cls.place, capture_output=True,
                                  text=True, timeout=240)
            if done.returncode != 0:
                raise unittest.SkipTest(f"skipped: npm does not reach its registry: {done.stderr.strip().splitlines()[-1:]}")
            known.write_text(lock)
        shutil.copy(CLIENTS / "openai_client.mjs", cls.place)
        embedding = next((DEMO / "text").glob("*.gguf"))
        cls.server = subprocess.Popen([BUILD / "bin/parlance", "serve", "-m", DEMO, "--port", "0", "--embedding", embedding,
                                       "--ctx-size", "4096"],
                                      stdout=subprocess.PIPE, text=True, env=os.environ | {"PARLANCE_API_KEY": KEY})
        cls.url = re.search(r"http://\S+:\d+", cls.server.stdout.readline())[0]

    @classmethod
    def tearDownClass(cls):
        if hasattr(cls, "server"):
            cls.server.terminate()
            cls.server.communicate(timeout=60)
            assert cls.server.returncode == 0, cls.server.returncode

    def test_every_call_in_both_versions(self):
        types = []
        for package in ("openai", "openai-next"):
            types.append(self.place / f"{package}.ts")
            done = subprocess.run(["node", "openai_client.mjs", package, self.url, KEY, types[-1]], cwd=self.place,
                                  capture_output=True, text=True, timeout=240)
            self.assertEqual(done.returncode, 0, f"{package}\n{done.stdout}{done.stderr}")
        done = subprocess.run(["node", "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022",
                               "--module", "nodenext", *types], cwd=self.place, capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout[:4000])


if __name__ == "__main__":
    unittest.main(verbosity=2)
