"""llama.cpp's own examples, compiled as they stand against its header and linked with this library, say what they say with
llama.cpp. Nothing of it is part of this project: two environment variables name what somebody has of it, and without them the
tests are skipped and say so.

    PARLANCE_LLAMA_CPP        a folder with its header and libraries below root/usr (as unpacked packages have them)
    PARLANCE_LLAMA_SOURCES    its sources, for examples/ and common/
    PARLANCE_LLAMA_MODELS     more models to compare vectors on, separated by ':'
"""
from concurrent.futures import ThreadPoolExecutor
import json
import os
from pathlib import Path
import platform
import re
import subprocess
import unittest

from built import BUILD, COMPILER, DEMO, Folder, LIBRARIES, ROOT, run

PREFIX = Path(os.environ.get("PARLANCE_LLAMA_CPP") or "/nonexistent")
SOURCES = Path(os.environ.get("PARLANCE_LLAMA_SOURCES") or "/nonexistent")
INCLUDE = PREFIX / "root/usr/include"
DEMO_TEXT = DEMO / "text/parlance-demo-text-q8_0.gguf"
MODELS = [DEMO_TEXT, *(Path(path) for path in os.environ.get("PARLANCE_LLAMA_MODELS", "").split(":") if path)]
LIBRARY = LIBRARIES[3]
# Floats within this of each other are the same vector where weights are floats. Weights in blocks meet activations that both
# round to bytes, each in its own way.
SAME_VECTOR, SAME_VECTOR_OF_BLOCKS = 1e-3, 5e-3

LAYOUT = """
#include <cstddef>
#include "llama.h"
#include "capi/llama/functions.h"
#define SIZE(type, bytes) static_assert(sizeof(struct type) == (bytes), #type);
#define AT(type, field, bytes) static_assert(offsetof(struct type, field) == (bytes), #type "." #field);
#define IS(name, value) static_assert((name) == (value), #name);
#include "capi/llama/layout.def"
"""
# Samplers of unknown seed get that of the environment, in both programs alike.
SEED = """
#include <stdint.h>
#include <stdlib.h>
void *__real_llama_sampler_init_dist(uint32_t seed);
void *__wrap_llama_sampler_init_dist(uint32_t seed) {
  return __real_llama_sampler_init_dist(getenv("SEED") ? (uint32_t)atoi(getenv("SEED")) : seed);
}
"""


def libraries():
    """The folder of llama.cpp's libraries, and how programs linked with them are started."""
    folder = PREFIX / f"root/usr/lib/{platform.machine()}-linux-gnu"
    loader = PREFIX / "run/ld.so"
    below = ":".join(map(str, (folder, PREFIX / f"root/lib/{platform.machine()}-linux-gnu", folder / "ggml/backends0")))
    own = f"{LIBRARY.parent}:{below}:/usr/lib/{platform.machine()}-linux-gnu:/lib/{platform.machine()}-linux-gnu"
    start = [loader, "--library-path"] if loader.is_file() else None
    return folder, ([*start, below] if start else []), ([*start, own] if start else [])


def is_of_blocks(model):
    return re.search(r"-q\d|Q\d", model.name) is not None


class Pinned(Folder):
    def setUp(self):
        super().setUp()
        if not (INCLUDE / "llama.h").is_file():
            self.skipTest("skipped: PARLANCE_LLAMA_CPP names no folder with llama.cpp's header (root/usr/include/llama.h)")

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name


class Header(Pinned):
    def test_declarations_and_layouts_are_the_headers(self):
        source = self.write("layout.cpp", LAYOUT)
        run(COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-isystem", INCLUDE, "-I", ROOT / "src", source)
        wrong = (ROOT / "src/capi/llama/functions.h").read_text().replace("llama_token token, char* buf", "int64_t token, char* buf")
        self.write("functions.h", wrong)
        source.write_text(LAYOUT.replace("capi/llama/functions.h", "functions.h"))
        with self.assertRaisesRegex(AssertionError, "llama_token_to_piece"):
            run(COMPILER, "-std=c++20", "-fsyntax-only", "-isystem", INCLUDE, "-I", ROOT / "src", source)


class Examples(Pinned):
    def setUp(self):
        super().setUp()
        if not (SOURCES / "examples/simple/simple.cpp").is_file():
            self.skipTest("skipped: PARLANCE_LLAMA_SOURCES names no folder with llama.cpp's sources (examples/simple/simple.cpp)")
        self.theirs, self.start_theirs, self.start_ours = libraries()
        self.their_libraries = [self.theirs / name for name in ("libllama.so.0", "libggml.so.0", "libggml-base.so.0")]

    def both(self, name):
        """The example, linked with this library and with llama.cpp's, as commands."""
        seed = self.write("seed.c", SEED)
        run(COMPILER, "-x", "c", "-c", seed, "-o", self.folder / "seed.o")
        common = ["-std=c++17", "-O1", "-w", "-I", INCLUDE, SOURCES / f"examples/{name}/{name}.cpp", self.folder / "seed.o",
                  "-Wl,--wrap=llama_sampler_init_dist"]
        run(COMPILER, *common, "-o", self.folder / "ours", LIBRARY, f"-Wl,-rpath,{LIBRARY.parent}")
        run(COMPILER, *common, "-o", self.folder / "theirs", *self.their_libraries, "-Wl,--allow-shlib-undefined")
        return [self.folder / "ours"], [*self.start_theirs, self.folder / "theirs"]

    def test_simple(self):
        prompts = ["Hello my name is", "The weather today", "<|im_start|>user\nTell me a joke<|im_end|>\n<|im_start|>assistant\n"]
        command = self.both("simple")
        for prompt in prompts:
            said = [run(*start, "-m", DEMO_TEXT, "-n", 48, prompt) for start in command]
            self.assertEqual(*said, prompt)
            self.assertGreater(len(said[0]), len(prompt) + 2)

    def test_simple_chat(self):
        turns = "What is the capital of France?\nAnd of Italy?\nTell me a joke\nWhat can you do?\n\n"
        command = self.both("simple-chat")
        for seed in (1, 2, 3):
            said = [run(*start, "-m", DEMO_TEXT, input=turns, env=os.environ | {"SEED": str(seed)}) for start in command]
            self.assertEqual(*said, f"seed {seed}")
            self.assertIn("The capital of Italy is Rome.", said[0])

    def embedding(self):
        """The same of the one that is built on common/, which names functions that it does not call: these end the program."""
        place = BUILD / "capi_llama"
        place.mkdir(parents=True, exist_ok=True)
        flags = ["-std=c++17", "-O0", "-w", "-ffunction-sections", "-I", SOURCES / "common", "-I", SOURCES / "vendor", "-I", INCLUDE]
        info = place / "build-info.cpp"
        info.write_text(re.sub(r"@\w+@", "0", (SOURCES / "common/build-info.cpp.in").read_text()))
        sources = [path for folder in ("common", "common/jinja", "common/parsers", "vendor/cpp-httplib")
                   for path in sorted((SOURCES / folder).glob("*.cpp"))]

        def compiled(source):
            target = place / (re.sub(r"\W", "_", str(source)) + ".o")
            if not target.is_file():
                run(COMPILER, *flags, "-c", source, "-o", target.with_suffix(".part"))
                target.with_suffix(".part").rename(target)
            return target

        with ThreadPoolExecutor(2) as pool:
            objects = list(pool.map(compiled, [*sources, info, SOURCES / "examples/embedding/embedding.cpp"]))
        archive = place / "common.a"
        archive.unlink(missing_ok=True)
        run("ar", "rcs", archive, *objects[:-1])
        base = [COMPILER, objects[-1], archive, "-Wl,--gc-sections,--no-demangle,--allow-shlib-undefined", "-pthread"]
        run(*base, "-o", self.folder / "theirs", *self.their_libraries)
        ours = [*base, "-o", self.folder / "ours", LIBRARY, *self.their_libraries[1:]]
        done = subprocess.run([*map(str, ours)], capture_output=True, text=True, timeout=300)
        absent = sorted(set(re.findall(r"undefined reference to [`'](\w+)'", done.stderr)))
        stubs = "".join(f'void absent{i}(void) __asm__("{name}");\nvoid absent{i}(void) {{ puts("not there: {name}"); abort(); }}\n'
                        for i, name in enumerate(absent))
        run(COMPILER, "-x", "c", "-c", self.write("absent.c", "#include <stdio.h>\n#include <stdlib.h>\n" + stubs), "-o",
            self.folder / "absent.o")
        run(*ours, self.folder / "absent.o")
        return [*self.start_ours, self.folder / "ours"], [*self.start_theirs, self.folder / "theirs"]

    def vectors(self, start, *options):
        """What it prints; again where its log ended before its last lines, as llama.cpp's sometimes does."""
        for _ in range(10):
            text = run(*start, "--fit", "off", "--samplers", "top_k", "--embd-output-format", "array", *options)
            try:
                return json.loads(text)
            except json.JSONDecodeError:
                self.assertNotIn("not there", text)
        raise AssertionError(f"no whole list of vectors came: {text[-200:]}")

    def test_embedding(self):
        command = self.embedding()
        for model in MODELS:
            limit = SAME_VECTOR_OF_BLOCKS if is_of_blocks(model) else SAME_VECTOR
            for pooling, n in (("mean", 2), ("cls", 2), ("last", 2), ("none", None)):
                ours, theirs = [self.vectors(start, "-m", model, "--pooling", pooling, "-p", "hello world, what is up\nThe weather")
                                for start in command]
                self.assertEqual(len(ours), len(theirs))
                self.assertEqual(len(ours), n or len(theirs))
                most = max(abs(a - b) for x, y in zip(ours, theirs) for a, b in zip(x, y))
                print(f"{model.name}: {pooling}: {len(ours)} vectors, the largest difference is {most:.1e}")
                self.assertLess(most, limit, f"{model}: {pooling}")


if __name__ == "__main__":
    unittest.main(verbosity=2)  # which says what was skipped, and why
