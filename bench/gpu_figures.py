#!/usr/bin/env python3
"""Speed on a GPU beside what the card allows and beside PyTorch, all in one run of a few minutes.

  bench/gpu_figures.py [--devices cuda:0,vulkan:0] [--shapes qwen3-0.6b,qwen3-8b] [--types f16,q8_0,q4_0]
                       [--depths 0,8192,32768] [--sequences 8,64] [--no-pytorch] [--work DIR] [--json FILE]

Models with random weights are written to the work folder one after another and removed again. Printed are tokens/s of
prefill (512 tokens) and decode at each depth, decode's share of the card's copy bandwidth and prefill's share of its
bf16 matrix rate, both measured here with PyTorch, and decode against PyTorch (transformers, bf16, static cache,
compiled) with a context of 512; then steps that verify drafts of 16 tokens, in time of a plain step, and many answers
at once at a depth of 4096. The bounds and the rival need PyTorch and transformers.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import synthetic_model

N_PROMPT = 512
N_DECODE = 128
N_VERIFIED = 16  # rows of a step that verifies a draft
MANY_DEPTH = 4096
N_MANY_DECODE = 32


def card_bounds():
    """(bytes/s of a copy inside the card, read and written; FLOP/s of a bf16 matrix product)."""
    import torch

    def seconds(work, n):
        work()
        times = []
        for _ in range(n):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            work()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) / 1e3)
        return statistics.median(times)

    a = torch.randint(0, 100, (1 << 30,), dtype=torch.int32, device="cuda")
    b = torch.empty_like(a)
    copy = 2 * a.numel() * 4 / seconds(lambda: b.copy_(a), 10)
    del a, b
    x, y = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    flops = 2 * 8192**3 / seconds(lambda: x @ y, 20)
    return copy, flops


def pytorch_figures(shape_name):
    """Tokens/s of transformers on the same shape: prefill of 512 tokens, and compiled decode behind it."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    shape = synthetic_model.SHAPES[shape_name]
    config = Qwen3Config(vocab_size=synthetic_model.N_VOCAB, hidden_size=shape["n_embd"],
                         intermediate_size=shape["n_ff"], num_hidden_layers=shape["n_layer"],
                         num_attention_heads=shape["n_head"], num_key_value_heads=shape["n_head_kv"],
                         head_dim=shape["head_dim"], max_position_embeddings=synthetic_model.N_CTX,
                         tie_word_embeddings=shape["tied"])
    torch.set_default_dtype(torch.bfloat16)
    torch.set_float32_matmul_precision("high")
    with torch.device("cuda"):
        model = Qwen3ForCausalLM(config).eval()
    prompt = torch.randint(0, 1000, (1, N_PROMPT), device="cuda")

    def generate(n):
        torch.cuda.synchronize()
        start = time.perf_counter()
        model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=n, min_new_tokens=n,
                       do_sample=False, cache_implementation="static", pad_token_id=0)
        torch.cuda.synchronize()
        return time.perf_counter() - start

    def prefill():
        torch.cuda.synchronize()
        start = time.perf_counter()
        model(prompt, logits_to_keep=1)
        torch.cuda.synchronize()
        return time.perf_counter() - start

    with torch.no_grad():
        prefill()
        prefill_s = statistics.median(prefill() for _ in range(5))
        for n in (N_DECODE, N_DECODE, 8):
            generate(n)  # compiles
        decode_s = statistics.median(generate(N_DECODE + 8) for _ in range(3)) - statistics.median(
            generate(8) for _ in range(3))
    del model
    torch.cuda.empty_cache()
    return N_PROMPT / prefill_s, N_DECODE / decode_s


def parlance_figures(args, path, device, *options):
    command = [args.parlance, "bench", "-m", path, "--device", device, "-r", "3", "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{' '.join(command)}: {done.stderr.strip() or 'failed'}", file=sys.stderr)
        return []
    return json.loads(done.stdout)["runs"][0]["tests"]


def verification_figures(args, path, device):
    """By depth, how many plain steps one takes that verifies N_VERIFIED rows."""
    tests = parlance_figures(args, path, device, "-p", "0", "-n", "0", "-d", args.depths, "--verify", f"1,{N_VERIFIED}")
    seconds = {(test["n_tokens"], test["depth"]): test["n_tokens"] / test["tokens_per_second"] for test in tests}
    return {depth: seconds[n, depth] / seconds[1, depth] for n, depth in seconds if n == N_VERIFIED}


def many_figures(args, path, device):
    """(answers at once, tokens/s of all)."""
    tests = parlance_figures(args, path, device, "-p", "0", "-n", str(N_MANY_DECODE), "-d", str(MANY_DEPTH), "-s",
                             args.sequences)
    return [(test["n_sequences"], test["tokens_per_second"]) for test in tests]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parlance", default="build/release/bin/parlance")
    parser.add_argument("--devices", default="cuda:0,vulkan:0")
    parser.add_argument("--shapes", default="qwen3-0.6b,qwen3-8b")
    parser.add_argument("--types", default="f16,q8_0,q4_0")
    parser.add_argument("--depths", default="0,8192,32768")
    parser.add_argument("--sequences", default="8,64")
    parser.add_argument("--no-pytorch", action="store_true")
    parser.add_argument("--work", default=tempfile.gettempdir())
    parser.add_argument("--json")
    args = parser.parse_args()

    copy, flops = (None, None) if args.no_pytorch else card_bounds()
    if copy:
        print(f"bounds: copy {copy / 1e12:.2f} TB/s, bf16 matrix product {flops / 1e12:.0f} TFLOP/s", flush=True)
    rows = []
    for shape in args.shapes.split(","):
        rival_prefill, rival_decode = (None, None) if args.no_pytorch else pytorch_figures(shape)
        if rival_decode:
            print(f"{shape}: PyTorch prefill {rival_prefill:.0f}, decode {rival_decode:.0f} tokens/s", flush=True)
        for dtype in args.types.split(","):
            path = os.path.join(args.work, f"{shape}-{dtype}.gguf")
            synthetic_model.write(path, shape, dtype)
            for device in args.devices.split(","):
                for test in parlance_figures(args, path, device, "-p", str(N_PROMPT), "-n", str(N_DECODE), "-d",
                                             args.depths):
                    decode = test["test"] == "decode"
                    bound = copy if decode else flops
                    reached = test["bytes_per_second"] if decode else test["ops_per_second"]
                    rival = rival_decode if decode else rival_prefill
                    row = dict(shape=shape, type=dtype, device=device, test=test["test"], depth=test["depth"],
                               tokens_per_second=test["tokens_per_second"], share=reached / bound if bound else None,
                               pytorch=rival)
                    rows.append(row)
                    print(f"{shape:11} {dtype:5} {device:9} {row['test']:7} @ {row['depth']:<6}"
                          f"{row['tokens_per_second']:9.1f} tokens/s"
                          + (f"  {100 * row['share']:5.1f} % of {'copy' if decode else 'bf16 '}" if bound else "")
                          + (f"  {row['tokens_per_second'] / rival:5.2f} x PyTorch" if rival and row["depth"] == 0 else ""),
                          flush=True)
                name = f"{shape:11} {dtype:5} {device:9}"
                for depth, steps in verification_figures(args, path, device).items():
                    rows.append(dict(shape=shape, type=dtype, device=device, test="verify", depth=depth,
                                     n_rows=N_VERIFIED, plain_steps=steps))
                    print(f"{name} {N_VERIFIED} rows verified @ {depth}: {steps:.2f} plain steps", flush=True)
                for n, rate in many_figures(args, path, device):
                    rows.append(dict(shape=shape, type=dtype, device=device, test="many", depth=MANY_DEPTH,
                                     n_sequences=n, tokens_per_second=rate))
                    print(f"{name} {n} answers @ {MANY_DEPTH}: {rate:.1f} tokens/s", flush=True)
            os.remove(path)
    if args.json:
        with open(args.json, "w") as out:
            json.dump(dict(copy_bytes_per_second=copy, bf16_flops=flops, rows=rows), out, indent=1)


if __name__ == "__main__":
    main()
