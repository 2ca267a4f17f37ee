"""docs/gpu-speed.md from files of bench/gpu_figures.py."""
import json


def rows_of(run, block, **wanted):
    return [row for row in run["rows"] if row["block"] == block and all(row.get(k) == v for k, v in wanted.items())]


def table(titles, lines):
    return ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles),
            *("| " + " | ".join(line) + " |" for line in lines), ""]


def ordered(values):
    return list(dict.fromkeys(values))


def number(value, digits=3):
    if value is None:
        return "–"
    return f"{value:,.0f}".replace(",", " ") if value >= 1000 else f"{value:.{digits}g}"


def throughput_lines(run):
    rows = rows_of(run, "throughput")
    instructions = [row for row in rows if "instruction" in row]
    if not instructions:
        return []
    memory = ", ".join(f"{row['memory']} {row['bytes_per_second'] / 1e12:.2f} TB/s" for row in rows if "memory" in row)
    return ["### What a multiprocessor does in a clock", "",
            "Lanes, or multiply-adds of matrices; by `gpu_throughput`." + (f" Memory: {memory}." if memory else ""), "",
            *table(["instruction", "in a clock"],
                   [[row["instruction"], number(row["per_clock"], 4)] for row in instructions])]


def attention_lines(run):
    rows = rows_of(run, "attention")
    if not rows:
        return []
    sizes = ordered((row["keys"], row["rows"]) for row in rows)
    sizes.sort(key=lambda size: (size[1], size[0]))
    by = {(row["device"], row["pair"], row["keys"], row["rows"]): row["seconds"] for row in rows}
    return ["### Attention alone", "",
            "Microseconds of one layer with 32 query and 8 KV heads of 128, by keys, for one row and for the 16 rows of a "
            "draft; calls recorded in a graph, over caches that are larger than L2.", "",
            *table(["", "keys / values", *(f"{keys} × {n}" for keys, n in sizes)],
                   [[device, pair, *(number(by[device, pair, *size] * 1e6) if (device, pair, *size) in by else "–"
                                     for size in sizes)]
                    for device, pair in ordered((row["device"], row["pair"]) for row in rows)])]


def model_lines(run):
    rows = rows_of(run, "models")
    if not rows:
        return []
    bounds, pytorch = run.get("bounds"), run.get("pytorch", {})
    lines = ["### Language models", "", "Tokens/s of prefill (512 tokens, and 2 048 in one batch) and decode behind so many tokens; "
             "cache f16. A decoded token is the likeliest one, which the card itself finds."]
    if bounds:
        lines += [f"The card copies {bounds['copy_bytes_per_second'] / 1e12:.2f} TB/s (read and written) and multiplies "
                  f"bf16 matrices at {bounds['bf16_flops'] / 1e12:.0f} TFLOP/s: the shares at depth 0 are of these."]
    for shape, rates in pytorch.items():
        lines += [f"PyTorch (transformers, bf16, static cache, compiled) reaches {number(rates['prefill'])} and "
                  f"{number(rates['decode'])} with {shape}."]
    if any(row["device"] == "llama.cpp" for row in rows):
        lines += ["llama.cpp reads the same files, all of it on the card, with flash attention."]
    names = {"prefill": "prefill", "long": "prefill of 2 048", "decode": "decode"}
    speeds = [row for row in rows if row["test"] in names]
    depths = sorted({row["depth"] for row in speeds})
    by = {(row["shape"], row["type"], row["device"], row["test"], row["depth"]): row for row in speeds}
    body = []
    for key in ordered((row["shape"], row["type"], row["device"], row["test"]) for row in speeds):
        share = by[*key, depths[0]].get("share") if (*key, depths[0]) in by else None
        body.append([*key[:3], names[key[3]], *(number(by[*key, depth]["tokens_per_second"], 4) if (*key, depth) in by else "–"
                             for depth in depths), *([f"{100 * share:.0f} %" if share else "–"] if bounds else [])])
    lines += ["", *table(["shape", "weights", "device", "", *(f"@ {depth}" for depth in depths),
                          *(["share"] if bounds else [])], body)]
    verified = [row for row in rows if row["test"] == "verify"]
    if verified:
        lines += ["A step that verifies a draft of 16 tokens, in time of a plain one:", "",
                  *table(["shape", "weights", "device", "depth", "plain steps"],
                         [[row["shape"], row["type"], row["device"], str(row["depth"]), f"{row['plain_steps']:.2f}"]
                          for row in verified])]
    many = [row for row in rows if row["test"] == "many"]
    if many:
        lines += [f"Answers at once, behind {many[0]['depth']} tokens each:", "",
                  *table(["shape", "weights", "device", "answers", "tokens/s of all"],
                         [[row["shape"], row["type"], row["device"], str(row["n_sequences"]),
                           number(row["tokens_per_second"], 4)] for row in many])]
    drawn = [row for row in rows if row["test"] == "drawn"]
    if drawn:
        lines += ["Answers whose tokens are drawn (temperature 0.7, top-k 20, top-p 0.95), beside the likeliest ones, from the "
                  "start of the context:", "",
                  *table(["shape", "weights", "device", "answers", "tokens/s of all, drawn", "the likeliest"],
                         [[row["shape"], row["type"], row["device"], str(row["n_sequences"]),
                           number(row["tokens_per_second"], 4), number(row["likeliest_tokens_per_second"], 4)]
                          for row in drawn])]
    return lines


def cache_lines(run):
    rows = rows_of(run, "caches")
    if not rows:
        return []
    tests = sorted({(row["n_sequences"], row["depth"]) for row in rows})
    by = {(row["shape"], row["type"], row["device"], row["cache"], row["n_sequences"], row["depth"]): row for row in rows}
    return ["### Caches", "",
            "Tokens/s of decode with keys and values of these formats: one answer behind so many tokens, and all of many "
            "answers at once.", "",
            *table(["shape", "weights", "device", "cache", *(f"{n} @ {depth}" for n, depth in tests)],
                   [[*key, *(number(by[*key, *test]["tokens_per_second"], 4) if (*key, *test) in by else "–"
                             for test in tests)]
                    for key in ordered((row["shape"], row["type"], row["device"], row["cache"]) for row in rows)])]


def speech_lines(run):
    say, blocks, listen = (rows_of(run, "speech", test=test) for test in ("say", "blocks", "listen"))
    lines = ["### Speech", ""] if say or blocks or listen else []
    if say:
        lines += ["OmniVoice's shape, weights q8_0, codec f16, 32 steps with guidance; a step includes its decisions.", "",
                  *table(["device", "", "sound", "columns", "step", "codec", "first window", "real-time factor"],
                         [[row["device"], row["case"], f"{row['audio_seconds']:.1f} s", str(row["columns"]),
                           f"{row['step_seconds'] * 1e3:.2f} ms", f"{row['codec_seconds'] * 1e3:.1f} ms",
                           f"{row['first_window_seconds'] * 1e3:.1f} ms", f"{row['real_time_factor']:.4f}"]
                          for row in say])]
    if blocks:
        lines += ["Made in blocks, from the text to the first sound: ten seconds in one part behind a reference of 3.5 s, an answer "
                  "of ten seconds in parts, and a clause.", "",
                  *table(["device", "", "sound", "quality", "first sound", "network", "codec"],
                         [[row["device"], row["case"], f"{row['audio_seconds']:.1f} s", row["quality"],
                           *(f"{row[stage] * 1e3:.1f} ms" for stage in
                             ("first_sound_seconds", "model_seconds", "codec_seconds"))] for row in blocks])]
    if listen:
        stages = ordered(stage for row in listen for stage in row["stages"])
        lines += ["Qwen3-ASR's 0.6B shape, weights q8_0, a recording of 30 s, three tokens of answer for each second:", "",
                  *table(["device", *stages, "in one call", "real-time factor"],
                         [[row["device"], *(f"{row['stages'][stage] * 1e3:.1f} ms" for stage in stages),
                           f"{row['total_seconds'] * 1e3:.1f} ms", f"{row['real_time_factor']:.4f}"]
                          for row in listen])]
    return lines


def write(paths, out):
    lines = ["# Speed on GPUs", "",
             "Models have the shapes of published ones and random weights. Figures of different cards are not to be "
             "compared; each section is of one machine, by the command that it names. [gpu-limits.md](gpu-limits.md) says where the "
             "time goes.", ""]
    for path in paths:
        with open(path, encoding="utf-8") as file:
            run = json.load(file)
        note = [run["note"], ""] if run.get("note") else []
        lines += [f"## {run['card']}", "", f"`{run['command']}`", "", *note, *throughput_lines(run), *attention_lines(run),
                  *model_lines(run), *cache_lines(run), *speech_lines(run)]
    with open(out, "w", encoding="utf-8") as file:
        file.write("\n".join(lines).rstrip() + "\n")
    print(f"written: {out}")
