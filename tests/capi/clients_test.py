"""Programs in several languages that use the library for real: create, acquire, speak, hear, detect, answer, cancel, close.
Bun and koffi come from npm, at the versions and checksums of clients/package-lock.json; where npm or its registry is not to be
reached, their tests are skipped and say so."""
import os
import re
import shutil
import subprocess
import sys
import unittest

from built import ANSWER, BUILD, COMPILER, DEMO, Folder, LIBRARIES, QUESTION, ROOT, run

CLIENTS = ROOT / "tests/capi/clients"


class NativeClients(Folder):
    def test_the_documentations_program(self):
        """Compiled as C and as C++ is read, against headers and pkg-config files of an installation."""
        run("cmake", "--install", BUILD, "--component", "library", "--prefix", self.folder)
        program = re.search(r"```c\n(.*?)```", (ROOT / "docs/c-library.md").read_text(), re.S)[1]
        (self.folder / "program.c").write_text(program)
        flags = ["-I", self.folder / "include", "-DELIZA_INFERENCE_ABI=3", "-L", self.folder / "lib", "-lelizainference"]
        if shutil.which("pkg-config"):
            told = run("pkg-config", "--cflags", "--libs", "elizainference",
                       env=os.environ | {"PKG_CONFIG_PATH": str(self.folder / "lib/pkgconfig")}).split()
            self.assertIn("-DELIZA_INFERENCE_ABI=3", told)
            flags = told
        run(COMPILER, "-x", "c", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", self.folder / "program.c",
            "-o", self.folder / "program", *flags, f"-Wl,-rpath,{self.folder}/lib")
        self.assertEqual(run(self.folder / "program", DEMO), f"heard: {QUESTION}\nanswer: {ANSWER}\nstreamed\n")
        done = subprocess.run([self.folder / "program", self.folder / "none"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("bundle_dir does not exist", done.stderr)

    def test_python(self):
        """Twice: what a cache does to the model is found out in the first run, and known in the second."""
        for abi, library in [*LIBRARIES.items(), (12, LIBRARIES[12])]:
            self.assertIn(f"ABI {abi}", run(sys.executable, CLIENTS / "ctypes_client.py", library, DEMO,
                                            env=os.environ | {"XDG_CACHE_HOME": str(self.folder)}))


class ScriptClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Installed once for a lock file, in the build folder, with the clients beside their packages."""
        if not shutil.which("npm"):
            raise unittest.SkipTest("skipped: there is no npm; install it (Debian: npm) for the clients in JavaScript")
        cls.place = BUILD / "capi_clients"
        cls.place.mkdir(parents=True, exist_ok=True)
        lock = (CLIENTS / "package-lock.json").read_text()
        known = cls.place / "installed.json"
        if not known.is_file() or known.read_text() != lock:
            for name in ("package.json", "package-lock.json"):
                shutil.copy(CLIENTS / name, cls.place)
            done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=cls.place, capture_output=True,
                                  text=True, timeout=240)
            if done.returncode != 0:
                raise unittest.SkipTest(f"skipped: npm does not reach its registry, or has not these packages for this machine: "
                                        f"{done.stderr.strip().splitlines()[-1:]}")
            known.write_text(lock)
        for name in ("loader.ts", "bun_client.ts", "node_client.mjs"):
            shutil.copy(CLIENTS / name, cls.place)

    def bun(self, *arguments):
        return subprocess.run([self.place / "node_modules/@oven/bun-linux-x64-baseline/bin/bun", *map(str, arguments)], cwd=self.place,
                              capture_output=True, text=True, timeout=120)

    def test_bun_through_the_loader(self):
        for constant, families in ((3, 2), (12, 11)):
            done = self.bun("bun_client.ts", LIBRARIES[constant], constant, DEMO)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(f"ABI {constant}, {families} families", done.stdout)

    def test_loaders_refuse_what_they_were_not_written_for(self):
        for constant, abi in ((3, 4), (3, 12), (12, 4)):
            done = self.bun("-e", f'import {{ Loader }} from "./loader"; try {{ new Loader("{LIBRARIES[abi]}", {constant}); '
                                  'console.log("taken"); } catch (e) { console.log(e.message); }')
            taken = (constant, abi) == (12, 4)  # of which it binds what version 4 had
            self.assertEqual("taken" in done.stdout, taken, done.stdout + done.stderr)

    def test_node_through_koffi(self):
        if not shutil.which("node"):
            self.skipTest("skipped: there is no node")
        self.assertIn("koffi", run("node", "node_client.mjs", LIBRARIES[12], DEMO, cwd=self.place))


if __name__ == "__main__":
    unittest.main()
