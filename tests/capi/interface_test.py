"""One interface, told in five places: the table of exports, the libraries, the headers, the documentation and the loader that
the tests bring. They can only change together."""
import re
import shutil
import unittest

from built import BUILD, COMPILER, Folder, LIBRARIES, ROOT, declared, exports, run, tool

CLIENTS = ROOT / "tests/capi/clients"

LAYOUT = """
#include "elizainference.h"
#include "ov.h"
#include <stddef.h>
#ifdef __cplusplus
#define CHECK static_assert
#else
#define CHECK _Static_assert
#endif
#define AT(type, field, offset) CHECK(offsetof(type, field) == offset, #field)
CHECK(sizeof(EliVerifierEvent) == 40, "event");
AT(EliVerifierEvent, n_accepted, 8); AT(EliVerifierEvent, rejected_from, 16); AT(EliVerifierEvent, rejected_to, 20);
AT(EliVerifierEvent, corrected_token_ids, 24); AT(EliVerifierEvent, n_corrected, 32);
CHECK(sizeof(EliLlmStreamConfigV3) == 56, "v3"); CHECK(sizeof(EliLlmStreamConfigV8) == 80, "v8");
AT(EliLlmStreamConfigV3, slot_id, 20); AT(EliLlmStreamConfigV3, prompt_cache_key, 24); AT(EliLlmStreamConfigV3, draft_min, 32);
AT(EliLlmStreamConfigV3, drafter_path, 40); AT(EliLlmStreamConfigV3, disable_thinking, 48);
AT(EliLlmStreamConfigV8, drafter_path, 40); AT(EliLlmStreamConfigV8, gbnf_grammar, 48); AT(EliLlmStreamConfigV8, disable_thinking, 56);
AT(EliLlmStreamConfigV8, n_gpu_layers, 60); AT(EliLlmStreamConfigV8, cache_type_k, 64); AT(EliLlmStreamConfigV8, cache_type_v, 72);
CHECK(sizeof(EliLlmStreamConfig) == (ELIZA_INFERENCE_ABI >= 12 ? 80 : 56), "the profile's");
CHECK(sizeof(struct ov_audio) == 24 && sizeof(struct ov_init_params) == 32 && sizeof(struct ov_tts_params) == 160, "ov");
"""


class Interface(Folder):
    def test_libraries_export_what_the_table_says(self):
        elf_exports = tool("verify-symbols").elf_exports
        for abi, library in LIBRARIES.items():
            self.assertEqual(elf_exports(library.read_bytes()), exports(abi), abi)

    def test_headers_declare_what_the_table_says(self):
        for abi in LIBRARIES:
            named = {name for name in exports(abi) if not name.startswith(("llama_", "ggml_"))}
            self.assertEqual(declared("elizainference.h", abi) | declared("ov.h", abi), named, abi)

    def test_the_documentation_names_all(self):
        text = (ROOT / "docs/c-library.md").read_text()
        table = text[text.index("## Functions"):]
        told = {}
        for profiles, names in re.findall(r"^\|[^|]*\| ([\d, ]+) \| (.*) \|$", table, re.M):
            for name in re.findall(r"`(\w+)`", names):
                told[name] = {int(abi) for abi in profiles.split(",")}
        self.assertEqual(told, {name: {abi for abi in LIBRARIES if name in exports(abi)}
                                for abi in LIBRARIES for name in exports(abi)})

    def test_the_documentation_has_the_headers_codes(self):
        codes = re.findall(r"#define (ELIZA_\w+) \(?(-?\d)\)?", (ROOT / "include/elizainference.h").read_text())
        told = re.findall(r"^\| `(ELIZA_\w+)` (-?\d) ", (ROOT / "docs/c-library.md").read_text(), re.M)
        self.assertEqual([code for code in codes if code[0] == "ELIZA_OK" or "_ERR_" in code[0]], told)
        self.assertEqual(len(told), 8)

    def test_the_documentation_has_the_environment(self):
        source = (ROOT / "src/capi/knobs.cpp").read_text()
        table = re.search(r"kVariables = (.*?)\n\}\);", source, re.S)[1]
        table = table.replace("kSwitch", re.search(r"kSwitch = (\".*?\");", source)[1])
        cell = r'((?:"[^"]*"\s*)+)'
        known = [tuple("".join(re.findall(r'"([^"]*)"', part)) for part in row)
                 for row in re.findall(rf"\{{{cell},\s*{cell},\s*{cell},", table)]
        told = re.findall(r"^\| `((?:ELIZA|PARLANCE)_\w+)` \| (.*) \| (.*) \|$", (ROOT / "docs/c-library.md").read_text(), re.M)
        self.assertEqual(known, told)
        self.assertGreater(len(known), 15)
        self.assertEqual(len(known), table.count('{"'))

    def test_the_loader_knows_the_table(self):
        loader = (CLIENTS / "loader.ts").read_text()
        named = {f"eliza_inference_{name}" for name in re.findall(r"^    (\w+): \[\[", loader, re.M)}
        self.assertEqual(named, {name for name in exports(12) if name.startswith("eliza_")})
        self.assertEqual({int(abi) for abi in re.findall(r"^  (\d+): \[", loader, re.M)}, {3, 12})

    def test_headers_are_c11_and_cpp(self):
        source = self.folder / "layout"
        source.write_text(LAYOUT)
        for language, standard in (("c", "c11"), ("c++", "c++11"), ("c++", "c++20")):
            for abi in LIBRARIES:
                run(COMPILER, "-x", language, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only",
                    f"-DELIZA_INFERENCE_ABI={abi}", "-I", ROOT / "include", source)

    def test_libraries_are_small_and_whole(self):
        for abi, library in LIBRARIES.items():
            head = run("readelf", "-dW", library)
            self.assertIn("Library soname: [libelizainference.so]", head)
            self.assertNotIn("TEXTREL", head)
            needed = set(re.findall(r"NEEDED.*\[(\S+?)\.so", head))
            self.assertLessEqual(needed, {"libc", "libm", "libgcc_s", "libstdc++", "ld-linux-x86-64", "ld-linux-aarch64", "libdl",
                                          "libpthread", "librt", "libfmt", "libnettle", "libutf8proc", "libsndfile", "libsoxr"}, abi)
            symbols = run("readelf", "--dyn-syms", "-W", library)
            self.assertNotIn("UNIQUE", symbols)
            stripped = self.folder / f"{abi}.so"
            shutil.copy(library, stripped)
            run("strip", stripped)
            if not re.search(r"^CMAKE_CUDA_COMPILER:\w+=(?!.*NOTFOUND)", (BUILD / "CMakeCache.txt").read_text(), re.M):
                self.assertLess(stripped.stat().st_size, 15 << 20, abi)


if __name__ == "__main__":
    unittest.main()
