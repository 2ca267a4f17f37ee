#!/usr/bin/env python3
"""Speed on a GPU beside what the card allows, and beside PyTorch and llama.cpp, all in one run of some minutes.

  bench/gpu_figures.py [--blocks throughput,attention,models,caches,speech] [--devices cuda:0,vulkan:0]
                       [--shapes qwen3-0.6b,qwen3-8b] [--types f16,q8_0,q4_0] [--depths 0,8192,32768]
                       [--sequences 8,64] [--caches f16,q8_0,tbq4_0] [--no-pytorch] [--llama-bench PROGRAM]
                       [--work DIR] [--json FILE]
  bench/gpu_figures.py --report FILE... [--out docs]          a "note" in a FILE is printed above its tables

Models with random weights are written to the work folder one after another and removed again. The blocks:
  throughput  instructions of a multiprocessor in a clock, and the card's memory (build/.../bin/gpu_throughput)
  attention   one layer alone, by cache format, depth and rows (device_attention_bench), beside PyTorch's
              scaled_dot_product_attention in a CUDA graph
  models      tokens/s of prefill and decode at each depth beside the card's copy bandwidth and bf16 matrix rate and
              beside transformers (bf16, static cache, compiled) and llama.cpp on the same file; a long prompt in one
              batch; steps that verify drafts of 16 tokens, in time of a plain step; many answers at once at a depth of
              4096; answers that are drawn beside those without chance
  caches      tokens/s of decode at each depth, and of many answers at once, with keys and values of each format
  speech      passes of OmniVoice's shape and its codec, first sounds of speech that is made in blocks, and a
              recording through Qwen3-ASR's
The JSON file is written after every figure, so that what a run that is cut off has measured is there. --report makes
gpu-speed.md of such files.
"""
import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import wave

import gpu_report
import gpu_rivals
import synthetic_model
import synthetic_omnivoice

N_PROMPT = 512
N_LONG_PROMPT = 2048  # in one batch
N_DECODE = 128
N_VERIFIED = 16  # rows of a step that verifies a draft
MANY_DEPTH = 4096
N_MANY_DECODE = 32
N_DRAWN = (1, 64)  # answers at once
DRAWN = ("--temp", "0.7", "--top-k", "20", "--top-p", "0.95")
RECORDING_S = 30
IN_BLOCKS = ("--quality", "fast", "--quality", "standard", "--case", "long", "--case", "answer", "--case", "clause")
BLOCKS = ("throughput", "attention", "models", "caches", "speech")


class Figures:
    """What was measured, kept in a file."""

    def __init__(self, args):
        self.path = args.json
        self.all = {"command": command_of(args), "card": card_name(), "rows": []}

    def set(self, **values):
        self.all.update(values)
        self.save()

    def add(self, block, text, **row):
        self.all["rows"].append({"block": block, **row})
        print(text, flush=True)
        self.save()

    def save(self):
        if not self.path:
            return
        with open(self.path, "w", encoding="utf-8") as out:
            json.dump(self.all, out, indent=1)


def command_of(args):
    """What says what was measured: without where files were."""
    names = ("blocks", "devices", "shapes", "types", "depths", "sequences",
             *(["caches"] if "caches" in args.blocks.split(",") else []))
    return " ".join(["bench/gpu_figures.py", *(f"--{name} {getattr(args, name)}" for name in names),
                     *(["--no-pytorch"] if args.no_pytorch else []), *(["--llama-bench llama-bench"] if args.llama_bench else [])])


def card_name():
    if not shutil.which("nvidia-smi"):
        return "a card without nvidia-smi"
    done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip().splitlines()[0] if done.returncode == 0 else ""


def output_of(command):
    """Of a program; empty, with its complaint, where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        print(f"{command[0]} is not built: cmake --build --preset release --target parlance bench_programs", file=sys.stderr, flush=True)
        return ""
    if done.returncode == 0:
        return done.stdout
    print(f"{' '.join(command)}: {done.stderr.strip() or 'failed'}", file=sys.stderr, flush=True)
    return ""


def beside(args, name):
    """A program that was built beside parlance."""
    return os.path.join(os.path.dirname(args.parlance), name)


def measure_throughput(args, figures):
    for line in output_of([beside(args, "gpu_throughput")]).splitlines():
        figures.add("throughput", line, **json.loads(line))


def measure_attention(args, figures):
    for device in args.devices.split(","):
        command = [beside(args, "device_attention_bench"), "--device", device]
        for line in output_of(command).splitlines():
            row = json.loads(line)
            figures.add("attention", f"{device} {row['pair']} {row['keys']} keys, {row['rows']} rows: "
                        f"{row['seconds'] * 1e6:.1f} us", device=device, **row)
    if args.no_pytorch:
        return
    for n_keys in (4096, 8192, 32768, 131072):
        for n_rows in (1, 16):
            for name, seconds in gpu_rivals.attention_seconds(n_keys, n_rows).items():
                figures.add("attention", f"PyTorch, {name}: {n_keys} keys, {n_rows} rows: {seconds * 1e6:.1f} us",
                            device=f"PyTorch, {name}", pair="bf16/bf16", keys=n_keys, rows=n_rows, seconds=seconds)


def tests_of(args, path, device, *options):
    text = output_of([args.parlance, "bench", "-m", path, "--device", device, "-r", "3", "--json", *options])
    return json.loads(text)["runs"][0]["tests"] if text else []


def verification_figures(args, path, device):
    """By depth, how many plain steps one takes that verifies N_VERIFIED rows."""
    tests = tests_of(args, path, device, "-p", "0", "-n", "0", "-d", args.depths, "--verify", f"1,{N_VERIFIED}")
    seconds = {(test["n_tokens"], test["depth"]): test["n_tokens"] / test["tokens_per_second"] for test in tests}
    return {depth: seconds[n, depth] / seconds[1, depth] for n, depth in seconds if n == N_VERIFIED}


def drawn_figures(args, path, device):
    """By the number of answers at once, tokens/s where tokens are drawn and where they are the likeliest."""
    options = ["-p", "0", "-n", str(N_DECODE), "-d", "0", "-s", ",".join(map(str, N_DRAWN))]
    rates = [{test["n_sequences"]: test["tokens_per_second"] for test in tests_of(args, path, device, *options, *how)}
             for how in (DRAWN, ())]
    return {n: tuple(of[n] for of in rates) for n in rates[0] if n in rates[1]}


def measure_llama_cpp(args, figures, shape, dtype, path):
    """The same file by llama.cpp, all of it on the card, with flash attention."""
    text = output_of([args.llama_bench, "-m", path, "-ngl", "99", "-fa", "1", "-p", str(N_PROMPT), "-n", str(N_DECODE), "-d",
                      args.depths, "-r", "3", "-o", "json"])
    long_text = output_of([args.llama_bench, "-m", path, "-ngl", "99", "-fa", "1", "-p", str(N_LONG_PROMPT), "-n", "0", "-ub",
                           str(N_LONG_PROMPT), "-r", "3", "-o", "json"])
    for run in [*json.loads(text or "[]"), *json.loads(long_text or "[]")]:
        is_decode = run["n_gen"] > 0
        test = "decode" if is_decode else "prefill" if run["n_prompt"] == N_PROMPT else "long"
        figures.add("models", f"{shape:11} {dtype:5} llama.cpp {test:7} @ {run['n_depth']:<6}{run['avg_ts']:9.1f} tokens/s",
                    shape=shape, type=dtype, device="llama.cpp", test=test, depth=run["n_depth"],
                    tokens_per_second=run["avg_ts"], share=None)


def measure_model(args, figures, shape, dtype, device, path):
    bounds, rival = figures.all.get("bounds", {}), figures.all.get("pytorch", {}).get(shape, {})
    name = f"{shape:11} {dtype:5} {device:9}"
    same = dict(shape=shape, type=dtype, device=device)
    for test in tests_of(args, path, device, "-p", str(N_PROMPT), "-n", str(N_DECODE), "-d", args.depths):
        is_decode = test["test"] == "decode"
        reached = test["bytes_per_second"] if is_decode else test["ops_per_second"]
        bound = bounds.get("copy_bytes_per_second" if is_decode else "bf16_flops")
        rate, other = test["tokens_per_second"], rival.get(test["test"])
        text = f"{name} {test['test']:7} @ {test['depth']:<6}{rate:9.1f} tokens/s"
        if bound:
            text += f"  {100 * reached / bound:5.1f} % of {'copy' if is_decode else 'bf16'}"
        if other and test["depth"] == 0:
            text += f"  {rate / other:5.2f} x PyTorch"
        figures.add("models", text, **same, test=test["test"], depth=test["depth"], tokens_per_second=rate,
                    share=reached / bound if bound else None)
    for test in tests_of(args, path, device, "-p", str(N_LONG_PROMPT), "-n", "0", "-d", "0", "-b", str(N_LONG_PROMPT)):
        figures.add("models", f"{name} {N_LONG_PROMPT} tokens in one batch: {test['tokens_per_second']:.0f} tokens/s", **same,
                    test="long", depth=0, tokens_per_second=test["tokens_per_second"],
                    share=test["ops_per_second"] / bounds["bf16_flops"] if bounds else None)
    for depth, steps in verification_figures(args, path, device).items():
        figures.add("models", f"{name} {N_VERIFIED} rows verified @ {depth}: {steps:.2f} plain steps", **same,
                    test="verify", depth=depth, n_rows=N_VERIFIED, plain_steps=steps)
    for test in tests_of(args, path, device, "-p", "0", "-n", str(N_MANY_DECODE), "-d", str(MANY_DEPTH), "-s",
                         args.sequences):
        figures.add("models", f"{name} {test['n_sequences']} answers @ {MANY_DEPTH}: "
                    f"{test['tokens_per_second']:.1f} tokens/s", **same, test="many", depth=MANY_DEPTH,
                    n_sequences=test["n_sequences"], tokens_per_second=test["tokens_per_second"])
    for n, (drawn, likeliest) in drawn_figures(args, path, device).items():
        figures.add("models", f"{name} {n} answers drawn: {drawn:.1f} tokens/s, the likeliest taken: {likeliest:.1f}",
                    **same, test="drawn", depth=0, n_sequences=n, tokens_per_second=drawn,
                    likeliest_tokens_per_second=likeliest)


def measure_models(args, figures):
    for shape in args.shapes.split(","):
        if not args.no_pytorch:
            prefill, decode = gpu_rivals.model_figures(shape, N_PROMPT, N_DECODE)
            figures.set(pytorch={**figures.all.get("pytorch", {}), shape: {"prefill": prefill, "decode": decode}})
            print(f"{shape}: PyTorch prefill {prefill:.0f}, decode {decode:.0f} tokens/s", flush=True)
        for dtype in args.types.split(","):
            path = os.path.join(args.work, f"{shape}-{dtype}.gguf")
            synthetic_model.write(path, shape, dtype)
            for device in args.devices.split(","):
                measure_model(args, figures, shape, dtype, device, path)
            if args.llama_bench:
                measure_llama_cpp(args, figures, shape, dtype, path)
            os.remove(path)


def measure_caches(args, figures):
    for shape in args.shapes.split(","):
        for dtype in args.types.split(","):
            path = os.path.join(args.work, f"{shape}-{dtype}.gguf")
            synthetic_model.write(path, shape, dtype)
            for device in args.devices.split(","):
                for cache in args.caches.split(","):
                    same = dict(shape=shape, type=dtype, device=device, cache=cache)
                    formats = ("-ctk", cache, "-ctv", cache)
                    tests = [*tests_of(args, path, device, "-p", "0", "-n", str(N_DECODE), "-d", args.depths, *formats),
                             *tests_of(args, path, device, "-p", "0", "-n", str(N_MANY_DECODE), "-d", str(MANY_DEPTH), "-s",
                                       args.sequences, *formats)]
                    for test in tests:
                        n = test["n_sequences"]
                        figures.add("caches", f"{shape:11} {dtype:5} {device:9} cache {cache}: {n} answers @ "
                                    f"{test['depth']}: {test['tokens_per_second']:.1f} tokens/s", **same,
                                    depth=test["depth"], n_sequences=n, tokens_per_second=test["tokens_per_second"])
            os.remove(path)


def write_noise(path):
    """A recording without words: nothing is said of the text, only of the time."""
    with wave.open(path, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(16000)
        out.writeframes((os.urandom(2 * 16000)) * RECORDING_S)


def measure_speech(args, figures):
    folder = os.path.join(args.work, "omnivoice")
    synthetic_omnivoice.write(folder, "q8_0", "f16")
    for device in args.devices.split(","):
        text = output_of([args.parlance, "bench", "say", "-m", folder, "--device", device, "-r", "31", "--json"])
        for case in json.loads(text)["runs"][0]["cases"] if text else []:
            step, decode = case["steps"][0], case["decode"]
            figures.add("speech", f"{device} say {case['case']}: step {step['pass_seconds'] * 1e3:.2f} ms, codec "
                        f"{decode['windowed_seconds'] * 1e3:.1f} ms, real-time factor {step['real_time_factor']:.4f}",
                        device=device, test="say", case=case["case"], audio_seconds=case["audio_seconds"],
                        columns=step["columns"], step_seconds=step["pass_seconds"],
                        codec_seconds=decode["windowed_seconds"], first_window_seconds=decode["first_window_seconds"],
                        real_time_factor=step["real_time_factor"])
        text = output_of([args.parlance, "bench", "say", "-m", folder, "--device", device, "-r", "7", *IN_BLOCKS, "--json"])
        for case in json.loads(text)["runs"][0]["whole"] if text else []:
            figures.add("speech", f"{device} say {case['case']} in {case['quality']}: first sound "
                        f"{case['first_sound_seconds'] * 1e3:.1f} ms", device=device, test="blocks", case=case["case"],
                        **{key: case[key] for key in ("quality", "audio_seconds", "first_sound_seconds", "model_seconds",
                                                      "codec_seconds")})
    shutil.rmtree(folder)
    folder = os.path.join(args.work, "asr")
    synthetic_model.write_asr(folder, "qwen3-asr-0.6b", "q8_0")
    recording = os.path.join(args.work, "noise.wav")
    write_noise(recording)
    for device in args.devices.split(","):
        text = output_of([args.parlance, "bench", "listen", "-m", folder, "--audio", recording, "--device", device, "-r",
                          "3", "--no-live", "--json"])
        if text:
            batch = json.loads(text)["runs"][0]["batch"]
            stages = {stage["stage"]: stage["seconds"] for stage in batch["stages"]}
            figures.add("speech", f"{device} listen to {RECORDING_S} s: {batch['total_seconds'] * 1e3:.1f} ms, "
                        f"real-time factor {batch['real_time_factor']:.4f} {stages}", device=device, test="listen",
                        stages=stages, total_seconds=batch["total_seconds"],
                        real_time_factor=batch["real_time_factor"])
    shutil.rmtree(folder)
    os.remove(recording)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parlance", default="build/release/bin/parlance")
    parser.add_argument("--blocks", default=",".join(BLOCKS))
    parser.add_argument("--devices", default="cuda:0,vulkan:0")
    parser.add_argument("--shapes", default="qwen3-0.6b,qwen3-8b")
    parser.add_argument("--types", default="f16,q8_0,q4_0")
    parser.add_argument("--depths", default="0,8192,32768")
    parser.add_argument("--sequences", default="8,64")
    parser.add_argument("--caches", default="f16,q8_0,q4_0,tbq4_0,tbq3_0,q4_polar")
    parser.add_argument("--no-pytorch", action="store_true")
    parser.add_argument("--llama-bench", metavar="PROGRAM", help="of a llama.cpp that computes on the card")
    parser.add_argument("--work", default=tempfile.gettempdir())
    parser.add_argument("--json")
    parser.add_argument("--report", nargs="+", metavar="FILE")
    parser.add_argument("--out", default="docs")
    args = parser.parse_args()
    if args.report:
        return gpu_report.write(args.report, os.path.join(args.out, "gpu-speed.md"))
    blocks = args.blocks.split(",")
    unknown = [block for block in blocks if block not in BLOCKS]
    if unknown:
        parser.error(f"--blocks: '{unknown[0]}' is not one of {', '.join(BLOCKS)}")

    os.makedirs(args.work, exist_ok=True)
    figures = Figures(args)
    if importlib.util.find_spec("torch"):  # what the card allows is measured with it, beside rivals or without
        copy, flops = gpu_rivals.card_bounds()
        figures.set(bounds={"copy_bytes_per_second": copy, "bf16_flops": flops})
        print(f"bounds: copy {copy / 1e12:.2f} TB/s, bf16 matrix product {flops / 1e12:.0f} TFLOP/s", flush=True)
    for block in blocks:
        {"throughput": measure_throughput, "attention": measure_attention, "models": measure_models,
         "caches": measure_caches, "speech": measure_speech}[block](args, figures)


if __name__ == "__main__":
    main()
