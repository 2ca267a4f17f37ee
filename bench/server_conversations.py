#!/usr/bin/env python3
"""What known beginnings and many conversations cost a server.

  bench/server_conversations.py PROGRAM --prefix MODEL.gguf [--tokens 4096] [--rounds 5]
  bench/server_conversations.py PROGRAM --many MODEL.gguf [--conversations 1000]

The first starts `PROGRAM serve` with a model, has a prompt of so many tokens computed, and measures in turns the time
of a decode step behind it and the time to the first token of an answer to the same prompt, and to it with a few new
tokens. The second has so many conversations that begin alike, then as many streams at once, and tells their time,
memory and files; with a model of a few kilobytes that is what the server itself takes. Python's standard library is all it needs.
"""
import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import tempfile
import time


class Server:
    def __init__(self, program, model, *options):
        self.process = subprocess.Popen([program, "serve", "-m", model, "--port", "0", "--draft", "none", *options],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        if "listening on" not in line:
            raise SystemExit(f"{program} serve did not start")
        self.port = int(line.rsplit(":", 1)[1])

    def rss(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmRSS"].split()[0]) * 1024

    def processor_s(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        began = time.perf_counter()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        return time.perf_counter() - began


async def post(port, path, body, fields=()):
    """The answer, and the seconds until its first byte of content and its end."""
    data = json.dumps(body).encode()
    head = [f"POST {path} HTTP/1.1", f"host: 127.0.0.1:{port}", "content-type: application/json",
            f"content-length: {len(data)}", "connection: close", *fields]
    began = time.perf_counter()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + data)
    first = await reader.read(1)
    to_first = time.perf_counter() - began
    answer = first + await reader.read()
    writer.close()
    status = int(answer.split(b" ", 2)[1])
    if status == 503:  # too many came at once: as it says, later
        await asyncio.sleep(0.3)
        return await post(port, path, body, fields)
    if status != 200:
        raise SystemExit(f"{path}: {answer[:400]!r}")
    return answer.split(b"\r\n\r\n", 1)[1], to_first, time.perf_counter() - began


async def complete(port, tokens, n):
    body = {"prompt": tokens, "max_tokens": n, "temperature": 0, "ignore_eos": True}
    return json.loads((await post(port, "/v1/completions", body))[0])


async def prefix(options):
    server = Server(options.program, options.prefix, "-c", str(options.tokens + 1024), "--parallel", "2", "--no-state")
    choose = random.Random(7)
    prompt = [choose.randrange(1000, 30000) for _ in range(options.tokens)]
    cold = (await complete(server.port, prompt, 1))["parlance"]["ttft_ms"]
    figures = {"step": [], "hit": [], "new": [], "prefill": []}
    for _ in range(options.rounds):
        said = (await complete(server.port, prompt, 17))["timings"]
        figures["step"].append(said["predicted_ms"] / 16)
        hit = await complete(server.port, prompt, 1)
        assert hit["usage"]["prompt_tokens_details"]["cached_tokens"] == options.tokens - 1
        figures["hit"].append(hit["parlance"]["ttft_ms"])
        more = [choose.randrange(1000, 30000) for _ in range(options.new)]
        figures["new"].append((await complete(server.port, prompt + more, 1))["parlance"]["ttft_ms"])
    step, hit, new = (statistics.median(figures[name]) for name in ("step", "hit", "new"))
    print(json.dumps({"prompt_tokens": options.tokens, "cold_ms": round(cold, 1), "step_ms": round(step, 2),
                      "hit_ttft_ms": round(hit, 2), "hit_by_step": round(hit / step, 3), "new_tokens": options.new,
                      "new_ttft_ms": round(new, 2)}))
    server.stop()


def chat(question, n):
    system = "You are a friendly helper. " + " ".join(f"Rule {i}: be kind." for i in range(30))
    return {"messages": [{"role": "system", "content": system}, {"role": "user", "content": question}],
            "max_tokens": n, "temperature": 0, "ignore_eos": True}


async def many(options):
    n = options.conversations
    with tempfile.TemporaryDirectory() as folder:
        server = Server(options.program, options.many, "-c", "1024", "--parallel", "8", "--queue", str(n + 64),
                        "--state-dir", folder)
        await post(server.port, "/v1/chat/completions", chat("Hello", 4))
        rss_before, processor_before = server.rss(), server.processor_s()
        times = []
        for i in range(n):
            _, _, seconds = await post(server.port, "/v1/chat/completions", chat(f"Hello {i}", 1),
                                       [f"x-conversation-id: room-{i}"])
            times.append(seconds)
        figures = {"conversations": n, "request_ms_first_100": round(1000 * statistics.median(times[:100]), 2),
                   "request_ms_last_100": round(1000 * statistics.median(times[-100:]), 2),
                   "processor_us_each": round(1e6 * (server.processor_s() - processor_before) / n),
                   "rss_bytes_each": (server.rss() - rss_before) // n}
        began = time.perf_counter()
        body = {**chat("Tell me a story", 16), "stream": True}
        rss_before, processor_before = server.rss(), server.processor_s()
        results = asyncio.gather(*(post(server.port, "/v1/chat/completions", body, [f"x-conversation-id: room-{i}"])
                                   for i in range(n)))
        most = rss_before
        while not results.done():
            await asyncio.sleep(0.05)
            most = max(most, server.rss())
        await results
        seconds = time.perf_counter() - began
        figures |= {"streams_at_once": n, "seconds": round(seconds, 2), "tokens_per_s": round(16 * n / seconds),
                    "processor_us_each_stream": round(1e6 * (server.processor_s() - processor_before) / n),
                    "rss_bytes_each_stream": (most - rss_before) // n}
        figures["put_away_s"] = round(server.stop(), 2)
        files = [os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names]
        figures |= {"files": len(files), "bytes_each_file": sum(files) // max(len(files), 1)}
        print(json.dumps(figures))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--prefix", metavar="MODEL")
    parser.add_argument("--many", metavar="MODEL")
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--new", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--conversations", type=int, default=1000)
    options = parser.parse_args()
    if not options.prefix and not options.many:
        parser.error("give --prefix or --many")
    asyncio.run(prefix(options) if options.prefix else many(options))


if __name__ == "__main__":
    main()
