"""The verifier of what loaders get: takes the library, and refuses everything else with a report that says why."""
import json
import shutil
import subprocess
import sys
import unittest

from built import BUILD, Folder, LIBRARIES, ROOT, exports, run

VERIFY = ROOT / "tools/verify-symbols.py"
STUB = BUILD / "lib/stub/libelizainference_stub.so"


class Verify(Folder):
    def verify(self, *options):
        done = subprocess.run([sys.executable, VERIFY, "--out-dir", self.folder, "--target", "linux-x64-cpu", *map(str, options)],
                              capture_output=True, text=True, timeout=60)
        report = json.loads((self.folder / "OMNIVOICE_FUSE_VERIFY.json").read_text())
        self.assertEqual(done.returncode, 0 if report["ok"] else 1, done.stderr)
        self.assertEqual(report["target"], "linux-x64-cpu")
        self.assertIn("checkedAt", report)
        return report

    def refused(self, word, *options):
        report = self.verify(*options)
        self.assertFalse(report["ok"])
        self.assertIn(word, report["error"])
        self.assertEqual(report["report"], str(self.folder / "OMNIVOICE_FUSE_VERIFY.json"))

    def put(self, source, name="libelizainference.so"):
        shutil.copy(source, self.folder / name)

    def test_takes_each_profile(self):
        (self.folder / "llama-server").write_text("")
        for abi, library in LIBRARIES.items():
            self.put(library)
            report = self.verify("--abi", abi)
            self.assertTrue(report["ok"], report)
            self.assertEqual(set(report["abiSymbols"]), {name for name in exports(abi) if name.startswith("eliza_")})
            self.assertEqual(report["abiSymbolCount"], len(report["abiSymbols"]))
            self.assertEqual(set(report["omnivoiceSymbols"]), {name for name in exports(abi) if name.startswith("ov_")})
            self.assertEqual(report["omnivoiceSymbolCount"], len(report["omnivoiceSymbols"]))
            self.assertGreater(report["llamaSymbolCount"], 0)
            self.assertFalse(report["llamaReexported"])
            self.assertEqual(report["library"], str(self.folder / "libelizainference.so"))
            self.assertEqual(report["server"], str(self.folder / "llama-server"))

    def test_refuses_what_lacks_something(self):
        self.refused("there is none of")
        self.put(LIBRARIES[3])
        self.refused("there is no llama-server")
        self.assertTrue(self.verify("--no-server")["ok"])
        self.refused("eliza_inference_llm_stream_next", "--no-server", "--abi", 12)
        library = self.folder / "libelizainference.so"
        whole = library.read_bytes()
        for name, word in ((b"ov_synthesize", "ov_synthesize"), (b"eliza_inference_vad_reset", "vad_reset")):
            library.write_bytes(whole.replace(name + b"\0", b"x" * len(name) + b"\0"))
            self.refused(word, "--no-server")
        for n_bytes in (0, 5, 64, 4096, len(whole) // 2):
            library.write_bytes(whole[:n_bytes])
            self.refused("", "--no-server")

    def test_refuses_the_stub(self):
        self.put(STUB, STUB.name)
        self.refused("only the stub")
        self.put(STUB)
        self.refused("is a stub")
        (self.folder / "libelizainference.so").unlink()
        (self.folder / "libelizainference.so").symlink_to(STUB.name)
        self.refused("is the stub libelizainference_stub.so")

    def test_installations_are_verified(self):
        run("cmake", "--install", BUILD, "--component", "library", "--prefix", self.folder)
        for place in ("lib", "lib/parlance/abi4", "lib/parlance/abi12"):
            self.assertTrue(json.loads((self.folder / place / "OMNIVOICE_FUSE_VERIFY.json").read_text())["ok"])
        self.assertTrue((self.folder / "include/elizainference.h").is_file())
        self.assertTrue((self.folder / "include/ov.h").is_file())

    def test_an_installation_that_lacks_a_name_fails(self):
        library = self.folder / "bad/libelizainference.so"
        library.parent.mkdir()
        library.write_bytes(LIBRARIES[3].read_bytes().replace(b"ov_synthesize\0", b"ov_synthesise\0"))
        script = self.folder / "install.cmake"
        script.write_text((BUILD / "cmake_install.cmake").read_text().replace(f'"{LIBRARIES[3]}"', f'"{library}"'))
        done = subprocess.run(["cmake", f"-DCMAKE_INSTALL_PREFIX={self.folder}/to", "-DCMAKE_INSTALL_COMPONENT=library", "-P", script],
                              capture_output=True, text=True, timeout=60)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("lacks ov_synthesize", done.stderr)


if __name__ == "__main__":
    unittest.main()
