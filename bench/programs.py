"""The programs whose speed is compared: how each is run and how its answer is read.

Every measurement is a dict of figures: "prefill", "prefill_8" and "decode" in tokens/s, "memory_bytes", and from
Parlance the bounds that it computes from what a step must read and multiply.
"""
import dataclasses
import hashlib
import json
import math

F16_CACHE = "1"  # llama.cpp's number of the type
SPEED_TESTS = ("prefill", "decode")


@dataclasses.dataclass(frozen=True)
class Case:
    """What is measured: one model with one number of threads behind `depth` tokens of context."""
    model: str  # path
    threads: int
    depth: int


@dataclasses.dataclass(frozen=True)
class Sizes:
    prompt: int
    answer: int
    batch: int  # of the small batch: what verifying drafted tokens costs


def build_of(path):
    """A short name for the very bytes of a program: figures of different builds must not be mixed."""
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]


def lengths(case, sizes, tests):
    """(lengths of prompts as a list in words, length of the answer) for some of SPEED_TESTS. The small batch goes with
    decode, which it is compared with."""
    prompts = [sizes.batch] if case.depth == 0 and "decode" in tests else []
    prompts += [sizes.prompt] if "prefill" in tests else []
    return ",".join(map(str, prompts or [0])), sizes.answer if "decode" in tests else 0


class Parlance:
    name = "Parlance"
    variant = ""
    max_depth = math.inf

    def __init__(self, path):
        self.path = path
        self.build = build_of(path)

    def _command(self, case, prompts, answer, depth):
        return [self.path, "bench", "-m", case.model, "-t", str(case.threads), "-p", prompts, "-n", str(answer), "-d",
                str(depth), "-r", "1", "--json"]

    def speed_command(self, case, sizes, tests=SPEED_TESTS):
        return self._command(case, *lengths(case, sizes, tests), case.depth)

    def decode_command(self, case, n):
        return self._command(case, "0", n, case.depth)

    def memory_command(self, case, sizes):
        """A context of `depth` tokens, filled, the last of them by a prompt as the peers' are."""
        n = min(sizes.prompt, case.depth)
        return self._command(case, str(n), 0, case.depth - n)

    def figures(self, outcome, sizes):
        run = json.loads(outcome.output)["runs"][0]
        figures = {"peaks": run["peaks"], "memory_bytes": run["peak_memory_bytes"] or outcome.peak_memory_bytes}
        for test in run["tests"]:
            name = test["test"]
            if name == "prefill" and test["n_tokens"] == sizes.batch:
                name = f"prefill_{sizes.batch}"
            read, arithmetic = test["share_of_read_bandwidth"], test["share_of_peak"]
            figures[name] = test["tokens_per_second"]
            figures[name + "_share"] = max(read, arithmetic)
            figures[name + "_limit"] = "memory" if read >= arithmetic else "arithmetic"
        return figures


class LlamaCpp:
    """llama.cpp or a fork of it, with flash attention or without.

    llama-bench computes the tokens of a depth before it times what follows. A depth bench, where there is one, is a
    program with the command line `MODEL threads flash typeK typeV depth n_gen n_pp repetitions` that fills the cache
    without computing, and prints {"tg": tokens/s} and {"pps": tokens/s} on lines of their own.
    """

    def __init__(self, name, path, depth_path, has_flash, max_computed_depth):
        self.name = name
        self.variant = "flash" if has_flash else "plain"
        self.path = path
        self.depth_path = depth_path
        self.flash = "1" if has_flash else "0"
        self.max_depth = math.inf if depth_path else max_computed_depth
        self.build = build_of(path)

    def _command(self, case, prompts, answer, depth):
        return [self.path, "-m", case.model, "-t", str(case.threads), "-p", prompts, "-n", str(answer), "-d",
                str(depth), "-fa", self.flash, "-ngl", "0", "-dev", "none", "-r", "1", "-o", "jsonl"]

    def speed_command(self, case, sizes, tests=SPEED_TESTS):
        prompts, answer = lengths(case, sizes, tests)
        if case.depth > 0 and self.depth_path:
            return [self.depth_path, case.model, str(case.threads), self.flash, F16_CACHE, F16_CACHE, str(case.depth),
                    str(answer), prompts, "1"]
        return self._command(case, prompts, answer, case.depth)

    def decode_command(self, case, n):
        return self._command(case, "0", n, case.depth)

    def memory_command(self, case, _sizes):
        return self._command(case, "0", 1, case.depth) + ["--no-warmup"]

    def figures(self, outcome, sizes):
        figures = {"memory_bytes": outcome.peak_memory_bytes}
        for line in outcome.output.splitlines():
            if not line.startswith("{"):
                continue
            row = json.loads(line)
            if "avg_ts" not in row:  # of a depth bench
                figures.update({"decode": row["tg"]} if "tg" in row else {"prefill": row["pps"]})
            elif row["n_gen"] > 0:
                figures["decode"] = row["avg_ts"]
            else:
                name = f"prefill_{sizes.batch}" if row["n_prompt"] == sizes.batch else "prefill"
                figures[name] = row["avg_ts"]
        return figures
