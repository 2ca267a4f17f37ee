#!/usr/bin/env python3
"""Whether parlance serve, killed at any moment while it saves, leaves each conversation's file old or new, and never broken.

  bench/server_kills.py [--saves 1000]

Conversations grow by a turn each and are saved at once; the server is killed at a random moment of that and started again. Each file
must then have the conversation as it was saved last or as it was being saved, and the model must say behind it what it said before.
"""
import argparse
import asyncio
import collections
import json
import os
import random
import signal
import sys
import tempfile

from server_load import Server, ask, metrics_of

AT_ONCE = 4  # conversations
MOST_TURNS = 6  # of one; then a new one begins
CHAT, CONVERSATIONS = "/v1/chat/completions", "/v1/parlance/conversations"
WORDS = "nine four kitchen hall lamp window garden river stone cloud".split()


class Conversation:
    def __init__(self, name, choose):
        self.name, self.choose = name, choose
        self.messages = [{"role": "system", "content": f"You are {choose.choice(WORDS)} {name}."}]
        self.saved = None  # tokens of the last save that was answered

    async def ask(self, server, text):
        self.messages.append({"role": "user", "content": text})
        answer = await ask(server.port, "POST", CHAT, {"messages": self.messages, "max_tokens": 8, "temperature": 0,
                                                       "session_id": self.name})
        said = json.loads(answer.body)
        if answer.status != 200:
            sys.exit(f"a chat is answered {answer.status}: {answer.body[:300]}")
        self.messages.append({"role": "assistant", "content": said["choices"][0]["message"]["content"]})
        return said

    async def look(self, server):
        answer = await ask(server.port, "GET", f"{CONVERSATIONS}/{self.name}")
        return json.loads(answer.body)["n_tokens"] if answer.status == 200 else None


async def save(server, conversation, counts):
    try:
        answer = await ask(server.port, "POST", f"{CONVERSATIONS}/{conversation.name}/save")
        if answer.status == 200:
            conversation.saved = json.loads(answer.body)["n_saved"]
            counts["answered"] += 1
            return
        sys.exit(f"a save is answered {answer.status}: {answer.body[:300]}")
    except (OSError, asyncio.IncompleteReadError):
        counts["cut"] += 1


async def grow_and_kill(server, conversations, choose, save_s, counts):
    """Seconds that all saves took, where they were done before the server was killed."""
    for conversation in conversations:
        await conversation.ask(server, " ".join(choose.choices(WORDS, k=choose.choice([1, 4, 40]))))
        conversation.now = await conversation.look(server)
    start = asyncio.get_running_loop().time()
    saves = asyncio.gather(*(save(server, conversation, counts) for conversation in conversations))
    done, _ = await asyncio.wait([saves], timeout=choose.uniform(0, 1.2 * save_s))
    taken = asyncio.get_running_loop().time() - start if done else None
    os.kill(server.process.pid, signal.SIGKILL)
    server.process.wait()
    await saves
    return taken


async def check(server, conversation, counts):
    answer = await ask(server.port, "POST", f"{CONVERSATIONS}/{conversation.name}/restore")
    if answer.status == 404 and conversation.saved is None:
        counts["none yet"] += 1
        return
    if answer.status != 200:
        sys.exit(f"{conversation.name}: what was left is answered {answer.status}: {answer.body[:300]}")
    n = json.loads(answer.body)["n_restored"]
    is_new = n in (conversation.now - 1, conversation.now)  # the last token of an answer is not computed
    if not is_new and n != conversation.saved:
        sys.exit(f"{conversation.name}: {n} tokens, where {conversation.saved} and {conversation.now} were saved")
    counts["new" if is_new else "old"] += 1
    conversation.saved = n
    said = json.loads((await ask(server.port, "POST", CHAT, {
        "messages": conversation.messages[:-1], "max_tokens": 8, "temperature": 0, "session_id": conversation.name})).body)
    if said["choices"][0]["message"]["content"] != conversation.messages[-1]["content"]:
        sys.exit(f"{conversation.name}: the model goes on in another way than before")


async def run(arguments, command, folder):
    choose, counts, save_s, number = random.Random(arguments.seed), collections.Counter(), 0.1, 0
    conversations = []
    while counts["answered"] + counts["cut"] < arguments.saves:
        with Server("parlance", command) as server:
            for conversation in conversations:
                await check(server, conversation, counts)
            refused = sum(value for name, value in (await metrics_of(server)).items() if name.startswith("parlance_snapshot_refused"))
            if refused:
                sys.exit(f"{refused:.0f} files were refused")
            conversations = [c for c in conversations if len(c.messages) < 2 * MOST_TURNS]
            while len(conversations) < AT_ONCE:
                number += 1
                conversations.append(Conversation(f"room-{number}", choose))
            taken = await grow_and_kill(server, conversations, choose, save_s, counts)
            save_s = min(1.1 * save_s, 2) if taken is None else 0.7 * save_s + 0.3 * taken
            counts["kills"] += 1
    left = [name for _, _, names in os.walk(folder) for name in names if not name.endswith(".bin")]
    print(json.dumps(dict(counts) | {"other_files_left": len(left)}, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/release/bin/parlance")
    parser.add_argument("--saves", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.program, "serve", "--port", "0", "--ctx-size", "2048", "--state-dir", folder, "--log-level", "error",
                   "--deterministic"]
        asyncio.run(run(arguments, command, folder))


if __name__ == "__main__":
    main()
