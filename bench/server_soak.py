#!/usr/bin/env python3
"""Mixed traffic for a long time: whether parlance serve stays as it is.

  bench/server_soak.py [--minutes 30] [--clients 12]

Chats, streams, forms, tools, conversations and their files, beginnings that are kept warm, responses, Ollama's routes, speech and
transcriptions, on the bundled models; a third of the clients leave at any moment, some send what is no request. Fails where an answer has a status
that its request does not explain, where work goes on behind clients that have left, where threads or descriptors stay, or where
the memory of the last third of the time is more than 5 % above that of the third before.
"""
import argparse
import asyncio
import collections
import json
import random
import statistics
import sys
import tempfile
import time

from server_load import Server, all_work_ended, ask, metrics_of, request_bytes

CHAT, CONVERSATIONS = "/v1/chat/completions", "/v1/parlance/conversations"
GROWTH = 0.05  # of memory, that is nothing yet
LEAVES = 1 / 3
SCHEMA = {"type": "object", "properties": {"room": {"enum": ["kitchen", "hall"]}, "level": {"type": "integer"}},
          "required": ["room"]}
TOOL = {"type": "function", "function": {"name": "lamp", "parameters": SCHEMA}}
QUESTIONS = ["What is nine plus four?", "What is the capital of France?", "Which day follows Monday?", "Tell me a story.",
             "Who are you?", "Say something in ten words."]


def chat(choose, **more):
    messages = [{"role": "system", "content": "You answer briefly."}] if choose.random() < 0.5 else []
    for _ in range(choose.choice([1, 1, 2, 4])):
        messages += [{"role": "user", "content": choose.choice(QUESTIONS)}, {"role": "assistant", "content": "Well."}]
    return {"messages": messages[:-1], "max_tokens": choose.choice([1, 8, 40, 120]), "seed": choose.randrange(100),
            "temperature": choose.choice([0, 0.8]), "stream": choose.random() < 0.5} | more


def requests(choose):
    """One of the kinds of requests: method, path, body, and the statuses that it explains."""
    room = f"room-{choose.randrange(200)}"
    kinds = [
        lambda: ("POST", CHAT, chat(choose), (200,)),
        lambda: ("POST", CHAT, chat(choose, n=choose.choice([2, 4])), (200,)),
        lambda: ("POST", CHAT, chat(choose, session_id=room), (200, 409)),
        lambda: ("POST", CHAT, chat(choose, session_id=room, parlance={"ttl": "extended"}), (200, 409)),
        lambda: ("POST", CHAT, chat(choose, logprobs=True, top_logprobs=3), (200,)),
        lambda: ("POST", CHAT, chat(choose, tools=[TOOL], tool_choice=choose.choice(["auto", "none", "required"])), (200,)),
        lambda: ("POST", CHAT, chat(choose, response_format={"type": "json_schema", "json_schema": {
            "name": "a", "schema": SCHEMA | {"description": str(choose.randrange(100))}}}), (200,)),
        lambda: ("POST", CHAT, chat(choose, max_tokens=-choose.randrange(1, 9)), (400,)),
        lambda: ("POST", CHAT, {"messages": [{"role": "user", "content": "word " * 3000}]}, (400,)),
        lambda: ("POST", CHAT, chat(choose, grammar="root ::= " + "(" * choose.randrange(1, 200)), (400,)),
        lambda: ("POST", "/v1/completions", {"prompt": choose.choice(QUESTIONS), "max_tokens": 20,
                                             "stream": choose.random() < 0.5}, (200,)),
        lambda: ("POST", "/v1/parlance/prewarm", {"messages": chat(choose)["messages"], "conversation_id": room,
                                                  "wait": choose.random() < 0.5}, (200, 202, 409)),
        lambda: ("GET", CONVERSATIONS, None, (200,)),
        lambda: ("POST", f"{CONVERSATIONS}/{room}/save", {}, (200, 404)),
        lambda: ("POST", f"{CONVERSATIONS}/{room}/restore", {}, (200, 404)),
        lambda: ("DELETE", f"{CONVERSATIONS}/{room}" + choose.choice(["", "?erase=true"]), None, (200, 404)),
        lambda: ("GET", "/slots", None, (200,)),
        lambda: ("POST", "/v1/responses", {"input": choose.choice(QUESTIONS), "max_output_tokens": 16,
                                           "stream": choose.random() < 0.5}, (200,)),
        lambda: ("POST", "/api/chat", {"messages": chat(choose)["messages"], "options": {"num_predict": 12}}, (200,)),
        lambda: ("POST", "/tokenize", {"content": "some words " * choose.randrange(400)}, (200,)),
        lambda: ("GET", choose.choice(["/health", "/ready", "/v1/models", "/metrics", "/"]), None, (200, 503)),
        lambda: ("GET", "/nowhere/" + "x" * choose.randrange(300), None, (404,)),
    ]
    if choose.random() < 0.03:
        return "POST", "/v1/audio/speech", {"input": choose.choice(["Okay.", "One second."]), "response_format": "wav"}, (200,)
    return choose.choice(kinds)()


async def leave(server, choose, whole):
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    if choose.random() < 0.2:
        at = choose.randrange(len(whole))
        whole = whole[:at] + bytes([choose.randrange(256)]) + whole[at + 1:]
    writer.write(whole if choose.random() < 0.6 else whole[:choose.randrange(1, len(whole))])
    await asyncio.sleep(choose.expovariate(8))
    writer.transport.abort() if choose.random() < 0.5 else writer.close()


async def client(server, seed, end, counts, wrong):
    choose = random.Random(seed)
    while time.monotonic() < end and not wrong:
        method, path, body, explained = requests(choose)
        if choose.random() < LEAVES:
            await leave(server, choose, request_bytes(method, path, body))
            counts["left"] += 1
            continue
        answer = await ask(server.port, method, path, body)
        counts[answer.status] += 1
        if answer.status not in explained:
            wrong.append(f"{method} {path} {json.dumps(body)[:300]}: {answer.status} {answer.body[:300]}")


async def watch(server, end, memory):
    while time.monotonic() < end:
        memory.append(server.memory_bytes())
        await asyncio.sleep(1)


async def soak(server, arguments):
    await ask(server.port, "POST", "/v1/audio/speech", {"input": "Okay.", "response_format": "wav"})
    before = await all_work_ended(server)
    start, counts, wrong, memory = time.monotonic(), collections.Counter(), [], []
    end = start + 60 * arguments.minutes
    await asyncio.gather(watch(server, end, memory),
                         *(client(server, seed, end, counts, wrong) for seed in range(arguments.clients)))
    if wrong:
        sys.exit("an answer that its request does not explain: " + wrong[0])
    await all_work_ended(server)
    await asyncio.sleep(1)
    after = await metrics_of(server)
    third = len(memory) // 3
    middle, last = (statistics.median(part) for part in (memory[third:2 * third], memory[2 * third:]))
    print(json.dumps({"minutes": arguments.minutes, "requests": sum(counts.values()),
                      "by_status": {str(status): n for status, n in sorted(counts.items(), key=str)},
                      "memory_mb": {"first_second": round(memory[0] / 1e6, 1), "second_third": round(middle / 1e6, 1),
                                    "last_third": round(last / 1e6, 1), "most": round(max(memory) / 1e6, 1)},
                      "growth": round(last / middle - 1, 4)}, indent=1))
    for name in ("process_threads", "process_open_fds"):
        if after[name] > before[name] + 1:
            sys.exit(f"{name} was {before[name]:.0f} and is {after[name]:.0f}")
    if last > middle * (1 + GROWTH):
        sys.exit("the server's memory grows")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/parlance")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--clients", type=int, default=12)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.program, "serve", "--port", "0", "--ctx-size", "2048", "--state-dir", folder, "--log-level", "error"]
        with Server("parlance", command) as server:
            asyncio.run(soak(server, arguments))


if __name__ == "__main__":
    main()
