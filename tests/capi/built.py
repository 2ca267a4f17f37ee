"""What the tests of the C library's clients need to know of the build: the environment variables that CMake sets."""
import importlib.util
import os
from pathlib import Path
import re
import subprocess
import tempfile
import unittest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PARLANCE_BUILD", ROOT / "build/release"))
COMPILER = os.environ.get("PARLANCE_CXX", "c++")
DEMO = ROOT / "models/demo"
QUESTION = "What is the capital of France?"
ANSWER = "The capital of France is Paris."
LIBRARIES = {3: BUILD / "lib/libelizainference.so", 4: BUILD / "lib/parlance/abi4/libelizainference.so",
             12: BUILD / "lib/parlance/abi12/libelizainference.so"}


def exports(abi):
    """The names of a profile in src/capi/exports.txt."""
    lines = [line.split() for line in (ROOT / "src/capi/exports.txt").read_text().splitlines()]
    return {words[0] for words in lines if words and words[0] != "#" and str(abi) in words[1:]}


def tool(name):
    """A script of tools/ as a module."""
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*command, **options):
    """What a command printed; its whole output when it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def declared(header, abi):
    """The functions that a header declares for a profile."""
    text = run(COMPILER, "-x", "c", "-std=c11", "-E", "-P", f"-DELIZA_INFERENCE_ABI={abi}", ROOT / "include" / header)
    return set(re.findall(r"\b((?:eliza_inference|ov)_\w+)\s*\((?!\*)", re.sub(r"typedef[^;]*;", "", text)))


class Folder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
