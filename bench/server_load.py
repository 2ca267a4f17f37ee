#!/usr/bin/env python3
"""Throughput and latency of parlance serve under load, beside llama-server where one is named.

  bench/server_load.py --model MODEL.gguf [--rival /path/to/llama-server] [--tests batch,shared] [--clients 1,4,8,16,64]

  streams      clients that are answered at length after a short prompt: how many answers share a step
  batch        clients that ask one after the other, each with a prompt of its own (closed loop)
  shared       as batch, and all prompts begin with the same 2048 tokens
  arrivals     requests that come by a Poisson process, whatever is still under way (open loop); times count from
               when a request was to come, so that waiting to be sent is not hidden
  health       how long GET /health takes while 1,500 clients hold half a request and 8 streams are written
  disconnects  clients that leave at any moment: how long their work goes on, and whether anything is left behind
  fairness     a crowd in the background beside somebody who reads along: how many steps of the model pass before his first token;
               and the other way round: how long the background waits between two of its tokens
  start        from the start of the program to the end of its first chat, with the bundled models

Both servers get the same tokens, answer greedily, past any end, as many tokens as are asked for, and run in turn
(A B A B). Prints a table and writes it as Markdown and JSON; other tests in the JSON file, and more rounds of the same
programs, stay in it.
"""
import argparse
import asyncio
import dataclasses
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import quiet_process
import rounds
from programs import build_of

SHARED = 2048  # tokens that all prompts of the test begin with
PROMPT = {"streams": 16, "shared": 32}  # of a prompt's own
ANSWER = {"streams": 192, "shared": 16}
USUAL_PROMPT, USUAL_ANSWER = 128, 64
token_range = (1000, 20000)  # of those that prompts are made of
START_S, ANSWER_S = 120, 600
SLOW_CLIENTS, STREAMS = 1500, 8
CROWD, ASKED_BESIDE = 24, 30  # clients of the test fairness, and requests beside them
LOAD_TESTS = ("streams", "batch", "shared", "arrivals")
TESTS = LOAD_TESTS + ("health", "disconnects", "fairness", "start")


class Server:
    """A program that serves on a port of this machine while the `with` lasts."""

    def __init__(self, name, command, port=None):
        self.name, self.command, self.port = name, command, port

    def __enter__(self):
        self.log = tempfile.TemporaryFile()
        out = subprocess.PIPE if self.port is None else self.log
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=self.log)
        if self.port is None:  # it says where it listens when it is ready
            line = self.process.stdout.readline().decode()
            if not line.startswith("listening on"):
                self._fail()
            self.port = int(line.rsplit(":", 1)[1])
        else:
            asyncio.run(self._wait())
        return self

    async def _wait(self):
        for _ in range(START_S * 10):
            if self.process.poll() is not None:
                self._fail()
            try:
                if (await ask(self.port, "GET", "/health")).status == 200:
                    return
            except OSError:
                pass
            await asyncio.sleep(0.1)
        self._fail()

    def _fail(self):
        self.process.kill()
        self.log.seek(0)
        sys.exit(f"{self.command[0]} does not serve: {self.log.read().decode(errors='replace')[-2000:]}")

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def processor_s(self):
        return quiet_process.process_s(self.process.pid)

    def memory_bytes(self):
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@dataclasses.dataclass
class Answer:
    status: int = 0
    body: bytes = b""
    first_s: float | None = None  # from when it was to be asked, to the first event with words
    gaps_s: list = dataclasses.field(default_factory=list)  # between two of these
    total_s: float = 0
    n_tokens: int = 0


def request_bytes(method, path, body, fields=""):
    text = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n" \
           f"Content-Length: {len(text)}\r\n{fields}Connection: close\r\n\r\n"
    return head.encode() + text


async def body_lines(reader, head):
    """Lines of a body, whole or in chunks."""
    if "transfer-encoding: chunked" not in head:
        async for line in reader:
            yield line
        return
    rest = b""
    while True:
        size = int((await reader.readuntil(b"\n")).split(b";")[0], 16)
        chunk = await reader.readexactly(size + 2)
        if size == 0:
            break
        *lines, rest = (rest + chunk[:-2]).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest


async def ask(port, method, path, body=None, due=None, fields=""):
    """One request on a connection of its own. `due`: when it was to be sent, by time.monotonic()."""
    due = time.monotonic() if due is None else due
    answer = Answer()
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    try:
        writer.write(request_bytes(method, path, body, fields))
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        answer.status = int(head.split()[1])
        last = None
        async for line in body_lines(reader, head):
            answer.body += line if answer.status != 200 or not (body or {}).get("stream") else b""
            if not line.startswith(b"data: {"):
                continue
            event, now = json.loads(line[6:]), time.monotonic()
            if event.get("choices") and event["choices"][0].get("text"):
                if last is None:
                    answer.first_s = now - due
                else:
                    answer.gaps_s.append(now - last)
                last = now
            answer.n_tokens = (event.get("usage") or {}).get("completion_tokens", answer.n_tokens)
    finally:
        writer.close()
    answer.total_s = time.monotonic() - due
    return answer


def tokens(seed, n):
    generator = random.Random(seed)
    return [generator.randint(*token_range) for _ in range(n)]


def completion(prompt, n, is_streamed=True):
    body = {"prompt": prompt, "max_tokens": n, "temperature": 0, "ignore_eos": True, "cache_prompt": True}
    if is_streamed:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    return body


def percentiles(values):
    if not values:
        return None
    ordered = sorted(values)
    pick = lambda share: round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 6)
    return {"p50": pick(0.5), "p90": pick(0.9), "p95": pick(0.95), "p99": pick(0.99), "max": round(ordered[-1], 6)}


def figures_of(server, answers, seconds, processor_s):
    good = [answer for answer in answers if answer.status == 200]
    return {"requests": len(answers), "failed": len(answers) - len(good), "seconds": round(seconds, 3),
            "requests_per_second": len(good) / seconds,
            "tokens_per_second": sum(answer.n_tokens for answer in good) / seconds,
            "first_s": percentiles([answer.first_s for answer in good if answer.first_s is not None]),
            "gap_s": percentiles([gap for answer in good for gap in answer.gaps_s]),
            "total_s": percentiles([answer.total_s for answer in good]),
            "processor_s": round(processor_s, 2), "memory_bytes": server.memory_bytes()}


async def closed_loop(server, prompts, n_answer, n_clients):
    """Clients that take the next prompt as soon as they have their answer."""
    waiting, answers = list(reversed(prompts)), []

    async def client():
        while waiting:
            answers.append(await ask(server.port, "POST", "/v1/completions", completion(waiting.pop(), n_answer)))

    before, start = server.processor_s(), time.monotonic()
    await asyncio.gather(*(client() for _ in range(n_clients)))
    return figures_of(server, answers, time.monotonic() - start, server.processor_s() - before)


async def arrivals(server, prompts, n_answer, per_second):
    generator, start = random.Random(7), time.monotonic()
    due, tasks, before = start, [], server.processor_s()
    for prompt in prompts:
        due += generator.expovariate(per_second)
        await asyncio.sleep(max(0, due - time.monotonic()))
        tasks.append(asyncio.create_task(
            ask(server.port, "POST", "/v1/completions", completion(prompt, n_answer), due)))
    answers = await asyncio.gather(*tasks)
    return figures_of(server, answers, time.monotonic() - start, server.processor_s() - before)


async def health(server, seconds):
    # What the model takes, and a step of eight answers, is there before the clients come.
    await asyncio.gather(*(ask(server.port, "POST", "/v1/completions", completion(tokens(seed, USUAL_PROMPT), 8)) for seed in range(STREAMS)))
    memory = server.memory_bytes()
    slow = []
    for _ in range(SLOW_CLIENTS):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        slow.append(writer)
    memory_with = server.memory_bytes()
    streams = [asyncio.create_task(ask(server.port, "POST", "/v1/completions",
                                       completion(tokens(seed, USUAL_PROMPT), 100000))) for seed in range(STREAMS)]
    await asyncio.sleep(1)
    times, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.monotonic()
        answer = await ask(server.port, "GET", "/health")
        if answer.status != 200:
            sys.exit(f"/health answers {answer.status}")
        times.append(time.monotonic() - start)
        for writer in random.sample(slow, 20):  # they do send something
            writer.write(b"x")
        await asyncio.sleep(0.01)
    for stream in streams:
        stream.cancel()
    await asyncio.gather(*streams, return_exceptions=True)
    for writer in slow:
        writer.close()
    return {"health_s": percentiles(times), "asked": len(times), "slow_client_bytes": (memory_with - memory) / SLOW_CLIENTS}


async def metrics_of(server):
    answer = await ask(server.port, "GET", "/metrics")
    found = {}
    for line in answer.body.decode().splitlines():
        if line and not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            found[name] = float(value)
    return found


async def all_work_ended(server):
    for _ in range(1000):
        found = await metrics_of(server)
        if not sum(value for name, value in found.items() if name.startswith("parlance_requests_")
                   and ("running" in name or "queued" in name)) and found[
                       'parlance_http_connections{state="active"}'] <= 1:
            return found
        await asyncio.sleep(0.02)
    sys.exit("work goes on long after its clients have left")


async def disconnects(server, n):
    """Clients that leave before their head, in it, in their body, and while they are answered."""
    generator = random.Random(3)
    whole = request_bytes("POST", "/v1/completions", completion(tokens(1, USUAL_PROMPT), 400))
    await ask(server.port, "POST", "/v1/completions", completion(tokens(2, USUAL_PROMPT), 4))
    before = await all_work_ended(server)

    async def leave():
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        is_whole = generator.random() < 0.7
        writer.write(whole if is_whole else whole[:generator.randrange(len(whole))])
        if is_whole:
            await asyncio.sleep(generator.expovariate(4))
        writer.transport.abort() if generator.random() < 0.5 else writer.close()

    left = n
    async def client():
        nonlocal left
        while left > 0:
            left -= 1
            await leave()

    await asyncio.gather(*(client() for _ in range(16)))
    after = await all_work_ended(server)
    await asyncio.sleep(0.5)
    after = await metrics_of(server)
    # All of the cache can be had still: what is known of texts gives way.
    n_ctx = json.loads((await ask(server.port, "GET", "/props")).body)["default_generation_settings"]["n_ctx"]
    full = await asyncio.gather(*(ask(server.port, "POST", "/v1/completions",
                                      completion(tokens(100 + i, n_ctx - 20), 8)) for i in range(2)))
    if any(answer.status != 200 for answer in full):
        sys.exit("a context's worth of cache is not to be had any more")
    bounds = {}
    for name, value in after.items():
        if name.startswith("parlance_cancel_seconds_bucket"):
            bound = float(re.search(r'le="([^"]+)"', name)[1].replace("+Inf", "inf"))
            bounds[bound] = bounds.get(bound, 0) + value
    n_cancelled = bounds[float("inf")]
    return {"clients": n, "cancelled": n_cancelled,
            "p99_within_s": min(bound for bound, count in bounds.items() if count >= 0.99 * n_cancelled),
            "share_within_80_ms": bounds[0.08] / max(n_cancelled, 1),
            "threads": [before["process_threads"], after["process_threads"]],
            "open_files": [before["process_open_fds"], after["process_open_fds"]],
            "memory_bytes": [before["process_resident_memory_bytes"], after["process_resident_memory_bytes"]]}


async def fairness(server):
    """Steps before the first token beside a crowd in the background; and what the background gets beside a crowd."""
    background, seeds = "X-Parlance-Class: background\r\n", iter(range(1000, 10**9))

    async def crowd_client(fields):
        while True:
            await ask(server.port, "POST", "/v1/completions", completion(tokens(next(seeds), USUAL_PROMPT), 200), fields=fields)

    async def beside_crowd(fields, what):
        crowd = [asyncio.create_task(crowd_client(fields)) for _ in range(CROWD)]
        await asyncio.sleep(3)
        try:
            return await what()
        finally:
            for client in crowd:
                client.cancel()
            await asyncio.gather(*crowd, return_exceptions=True)

    async def steps_to_first_token():
        steps, first_s = [], []
        for _ in range(ASKED_BESIDE):
            before = (await metrics_of(server))["llamacpp:n_decode_total"]
            answer = await ask(server.port, "POST", "/v1/completions", completion(tokens(next(seeds), 16), 1))
            steps.append((await metrics_of(server))["llamacpp:n_decode_total"] - before)
            first_s.append(answer.first_s)
            await asyncio.sleep(random.Random(next(seeds)).uniform(0, 0.3))
        return steps, first_s

    alone = [(await ask(server.port, "POST", "/v1/completions", completion(tokens(next(seeds), 16), 1))).first_s for _ in range(5)]
    steps, first_s = await beside_crowd(background, steps_to_first_token)
    patient = await beside_crowd("", lambda: ask(server.port, "POST", "/v1/completions",
                                                 completion(tokens(next(seeds), 16), 40), fields=background))
    return {"alone_s": statistics.median(alone), "steps": percentiles(steps), "first_s": percentiles(first_s),
            "background_first_s": patient.first_s, "background_gap_s": percentiles(patient.gaps_s)}


def start_time(program):
    """From the start of the program to the end of a chat of one token."""
    start = time.monotonic()
    with Server("Parlance", [program, "serve", "--port", "0", "--no-state", "--log-level", "warning"]) as server:
        listens = time.monotonic() - start
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
        answer = asyncio.run(ask(server.port, "POST", "/v1/chat/completions", body))
        if answer.status != 200:
            sys.exit(f"the first chat was answered {answer.status}")
        return {"listens_s": listens, "answer_s": time.monotonic() - start}


def prompts_of(test, n):
    common = tokens(99, SHARED) if test == "shared" else []
    return [common + tokens(seed, PROMPT.get(test, USUAL_PROMPT)) for seed in range(n)]


def server_of(name, arguments, n_clients, n_ctx):
    if name == "Parlance":
        return Server(name, [arguments.program, "serve", "-m", arguments.model, "--port", "0", "--parallel", str(n_clients),
                             "--ctx-size", str(n_ctx), "-t", str(arguments.threads), "--no-state", "--log-level",
                             "warning"])
    port = random.randint(20000, 40000)
    return Server(name, [arguments.rival, "-m", arguments.model, "--host", "127.0.0.1", "--port", str(port), "-np",
                         str(n_clients), "-c", str(n_ctx * n_clients), "-t", str(arguments.threads), "--cache-ram", "0",
                         "--no-webui"], port)


def measure(name, test, n_clients, arguments):
    n_answer = ANSWER.get(test, USUAL_ANSWER)
    n_requests = n_clients if test == "streams" else max(2 * n_clients if n_clients < 64 else n_clients, 4)
    prompts = prompts_of(test, n_requests)
    n_ctx = len(prompts[0]) + n_answer + 32
    with server_of(name, arguments, n_clients, -(-n_ctx // 64) * 64) as server:
        asyncio.run(ask(server.port, "POST", "/v1/completions", completion(tokens(5, 8), 2)))  # warm
        if test == "arrivals":
            return asyncio.run(arrivals(server, prompts, n_answer, arguments.per_second))
        return asyncio.run(closed_loop(server, prompts, n_answer, n_clients))


def measure_once(test, arguments):
    """Tests of one program alone."""
    if test == "start":
        return start_time(arguments.program)
    with server_of("Parlance", arguments, STREAMS, 2048) as server:
        if test == "health":
            return asyncio.run(health(server, 10))
        if test == "fairness":
            return asyncio.run(fairness(server))
        return asyncio.run(disconnects(server, arguments.disconnects))


def own_processor_s():
    """Of this process and of the servers that have ended."""
    return sum(os.times()[:4])


def kept_runs(runs, **wanted):
    return rounds.kept([run for run in runs if all(run.get(key) == value for key, value in wanted.items())])


def median(runs, *path):
    values = []
    for run in runs:
        value = run
        for key in path:
            value = value.get(key) if value else None
        if value is not None:
            values.append(value)
    return statistics.median(values) if values else None


def load_table(runs, rival):
    lines = [["test", "clients", "tokens/s", "requests/s", "first token p50", "p95", "between tokens p50", "p95"] +
             ([f"{rival}: tokens/s", "first token p50", "between p95", "ratio"] if rival else [])]
    for test, n_clients in sorted({(run["test"], run["clients"]) for run in runs if "tokens_per_second" in run}):
        ours = kept_runs(runs, program="Parlance", test=test, clients=n_clients)
        theirs = kept_runs(runs, program=rival, test=test, clients=n_clients)
        key = "requests_per_second" if test == "shared" else "tokens_per_second"
        speed = median(ours, key)
        line = [test, str(n_clients), f"{median(ours, 'tokens_per_second') or 0:.1f}",
                f"{median(ours, 'requests_per_second') or 0:.2f}"]
        line += [rounds.seconds(median(ours, *path)) for path in
                 (("first_s", "p50"), ("first_s", "p95"), ("gap_s", "p50"), ("gap_s", "p95"))]
        if rival:
            line += [f"{median(theirs, 'tokens_per_second'):.1f}" if theirs else "-",
                     rounds.seconds(median(theirs, "first_s", "p50")), rounds.seconds(median(theirs, "gap_s", "p95")),
                     f"{speed / median(theirs, key):.2f}" if theirs and speed else "-"]
        lines.append(line)
    return lines


def other_lines(runs):
    lines = []
    for test in ("streams", "batch"):
        alone = kept_runs(runs, program="Parlance", test=test, clients=1)
        for n_clients in sorted({run["clients"] for run in runs if run["test"] == test} - {1}):
            many = kept_runs(runs, program="Parlance", test=test, clients=n_clients)
            if alone and many:
                factor = median(many, "tokens_per_second") / median(alone, "tokens_per_second")
                lines.append(f"`{test}`: {n_clients} clients together get {factor:.2f} times the tokens/s of one.")
    for run in runs:
        if run["test"] == "health":
            times = run["health_s"]
            lines.append(f"`/health` with {SLOW_CLIENTS} slow clients and {STREAMS} streams: p50 {rounds.seconds(times['p50'])}, "
                         f"p99 {rounds.seconds(times['p99'])}, at most {rounds.seconds(times['max'])}; "
                         f"{run['slow_client_bytes'] / 1024:.1f} KiB a slow client.")
        elif run["test"] == "disconnects":
            lines.append(f"{run['clients']} clients that leave: {run['cancelled']:.0f} had begun to be answered, of "
                         f"which {100 * run['share_within_80_ms']:.1f} % were gone within 80 ms, 99 % within "
                         f"{1000 * run['p99_within_s']:.0f} ms; threads "
                         f"{run['threads'][0]:.0f} before and {run['threads'][1]:.0f} after, open files "
                         f"{run['open_files'][0]:.0f} and {run['open_files'][1]:.0f}.")
        elif run["test"] == "fairness":
            steps = run["steps"]
            lines.append(f"{CROWD} clients in the background, {STREAMS} answers at once, and somebody who asks for a word beside them: "
                         f"{steps['p50']:.0f} steps to his first token, at most {steps['max']:.0f}, that of his own prompt among them; "
                         f"{rounds.seconds(run['first_s']['p50'])}, at most {rounds.seconds(run['first_s']['max'])} "
                         f"({rounds.seconds(run['alone_s'])} alone). The other way round the background's first token comes after "
                         f"{rounds.seconds(run['background_first_s'])}, and at most {rounds.seconds(run['background_gap_s']['max'])} "
                         "pass between two of its tokens.")
    starts = [run for run in runs if run["test"] == "start"]
    if starts:
        lines.append(f"Start to first answer with the bundled models: {rounds.seconds(median(starts, 'answer_s'))} "
                     f"(median of {len(starts)}).")
    return lines


def bounds_of(arguments):
    """What the machine allows: from the program's own bench, prefill and decode alone."""
    out = subprocess.run([arguments.program, "bench", "-m", arguments.model, "-p", str(USUAL_PROMPT), "-n", "32", "-d",
                          "0,128", "-s",
                          "1,8,16", "-t", str(arguments.threads), "-r", "1"], capture_output=True, text=True, check=True).stdout
    return out.split("\n", 1)[1]  # without the path of the model


def write(path, stored, arguments):
    runs, rival = stored["runs"], next((run["program"] for run in stored["runs"] if run["program"] != "Parlance"), None)
    table = load_table(runs, rival)
    print(rounds.text(table))
    print("\n".join(other_lines(runs)))
    rounds.save(path + ".json", stored, [])
    with open(path + ".md", "w", encoding="utf-8") as file:
        file.write("# Speed of the server\n\nMade by `bench/server_load.py`.\n\n")
        file.write(f"{stored['head']['processor']}, {arguments.threads} threads; {stored['head']['model']}, random "
                   f"weights. Prompts of {USUAL_PROMPT} tokens and answers of {USUAL_ANSWER}; `streams`: {PROMPT['streams']} "
                   f"and {ANSWER['streams']}; `shared`: {SHARED} tokens in common, {PROMPT['shared']} of each, answers "
                   f"of {ANSWER['shared']}; `arrivals`: {arguments.per_second:g} a second on average, by a "
                   "Poisson process, for as many answers at once as there are clients. Medians of the rounds kept, in turn with the rival; ratio: of "
                   "tokens/s, for `shared` of requests/s.\n\n")
        file.write("\n".join("| " + " | ".join(line) + " |" for line in table[:1] + [["---"] * len(table[0])] + table[1:]))
        file.write("\n\n" + "\n".join(f"- {line}" for line in other_lines(runs)) + "\n")
        if stored.get("bounds"):
            file.write("\nWhat the machine allows, by `parlance bench`:\n\n```\n" + stored["bounds"].strip() + "\n```\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/parlance")
    parser.add_argument("--rival", help="a llama-server")
    parser.add_argument("--model", required=True, help="a GGUF file, such as bench/synthetic_model.py writes")
    parser.add_argument("--tests", default="batch,shared", help=f"of {', '.join(TESTS)}")
    parser.add_argument("--clients", default="1,4,8,16,64")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--token-range", default="1000-20000", help="that prompts are made of; small models have fewer")
    parser.add_argument("--per-second", type=float, default=1, help="requests of the test arrivals")
    parser.add_argument("--disconnects", type=int, default=1000)
    parser.add_argument("--bounds", action="store_true", help="also what the machine allows")
    parser.add_argument("--out", default="build/bench/server-speed")
    arguments = parser.parse_args()
    global token_range
    token_range = tuple(int(one) for one in arguments.token_range.split("-"))
    programs = {"Parlance": arguments.program} | ({"llama-server": arguments.rival} if arguments.rival else {})
    builds = {name: build_of(os.path.realpath(path)) for name, path in programs.items()}
    head = {"processor": rounds.processor(), "model": os.path.basename(arguments.model), "threads": arguments.threads}
    os.makedirs(os.path.dirname(arguments.out) or ".", exist_ok=True)
    stored = rounds.load(arguments.out + ".json", head, builds)
    unknown = set(arguments.tests.split(",")) - set(TESTS)
    if unknown:
        sys.exit(f"--tests: there is no test {', '.join(sorted(unknown))}; there are {', '.join(TESTS)}")
    for round_number in range(arguments.rounds):
        for test in arguments.tests.split(","):
            is_load = test in LOAD_TESTS
            for n_clients in [int(n) for n in arguments.clients.split(",")] if is_load else [STREAMS]:
                for name in programs if is_load else ["Parlance"]:
                    rounds.say(f"round {round_number + 1}, {test}, {n_clients} clients, {name}")
                    run = {"program": name, "build": builds[name], "test": test, "clients": n_clients}
                    before, busy_before = own_processor_s(), quiet_process.machine_s()
                    run |= measure(name, test, n_clients, arguments) if is_load else measure_once(test, arguments)
                    busy, all_s = (a - b for a, b in zip(quiet_process.machine_s(), busy_before))
                    run["others"] = round(max(0, busy - own_processor_s() + before) / max(all_s, 0.01), 4)
                    run["is_quiet"] = run["others"] <= quiet_process.MAX_OTHERS
                    stored["runs"].append(run)
                    rounds.save(arguments.out + ".json", stored, [])
    if arguments.bounds:
        stored["bounds"] = bounds_of(arguments)
    write(arguments.out, stored, arguments)


if __name__ == "__main__":
    main()
