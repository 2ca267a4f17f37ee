#!/usr/bin/env python3
"""Latency of Realtime sessions: somebody speaks, and it is timed when the answer is heard.

  bench/realtime_load.py [--parlance build/release/bin/parlance] [--tests turns,push,interrupt,many,idle,hesitate] [-m MODEL]

  turns      the questions of models/demo-eval/conversation, one after the other, as they are spoken: from the end of
             speech to the first sound of the answer, with the silence that ends a turn
  push       the same without detection: from the commit to the first sound
  interrupt  somebody speaks into each answer: from speech_started to the last sound that still comes
  many       16 sessions at once
  idle       the memory of 500 sessions in which nobody speaks
  hesitate   the questions of models/demo-eval/hesitations to semantic_vad, --together at once: how many are cut, because an answer
             sounds before all was said (not among those that are run where none are named)

Answers count as right when what was said is one that the set lists; of the others it is told how many were to questions
that the recogniser took for something else. Questions are sent at the rate at which they were
spoken; sound is timed when the client has it. Uses the standard library and Debian's ffmpeg.
"""
import argparse
import base64
import concurrent.futures
import json
import math
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/server/clients"))
from web_socket import Closed, WebSocket  # noqa: E402

PIECE_MS = 20
RATE = 16000
SET = ROOT / "models/demo-eval/conversation"
HESITATIONS = ROOT / "models/demo-eval/hesitations"


class Clip:
    """A question as it was spoken: pieces of 20 ms, and when its speech ends: behind its last piece that is within 40 dB
    of the loudest, for words end in sounds as soft as "th"."""

    def __init__(self, path):
        samples = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "s16le", "-ac", "1", "-ar", str(RATE), "-"], check=True,
                                 stdout=subprocess.PIPE).stdout
        n = 2 * RATE * PIECE_MS // 1000
        self.pieces = [samples[i : i + n] for i in range(0, len(samples) - n + 1, n)]
        levels = [math.sqrt(sum(s * s for s in memoryview(p).cast("h"))) for p in self.pieces]
        self.n_speech = 1 + max(i for i, level in enumerate(levels) if level >= max(levels) / 100)  # pieces up to its end
        self.silence = bytes(n)


class Question:
    def __init__(self, line):
        self.clip = Clip(SET / line["audio"])
        self.text, self.answers = line["text"], line["answers"]


class Turn:
    """What became of a question: milliseconds to the first sound (None: there was none), whether the answer was right,
    and what was understood."""

    def __init__(self, question, first_ms, said, heard):
        self.first_ms = first_ms
        self.is_right = any(plain(answer) and plain(answer) in plain(said) for answer in question.answers)
        self.is_misheard = plain(heard) != plain(question.text)
        if not self.is_right:
            print(f"  not right: {heard!r} -> {said!r}", file=sys.stderr)


class Session:
    """A client that notes when what came."""

    def __init__(self, port, settings=None):
        self.socket = WebSocket("127.0.0.1", port, "/v1/realtime", protocols=["realtime"])
        self.events, self.changed, self.is_over = [], threading.Condition(), False
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        session = {"type": "realtime", "audio": {"input": {"format": {"type": "audio/pcm", "rate": RATE},
                                                           "transcription": {}}}}
        for path, value in (settings or {}).items():
            *steps, last = path.split(".")
            inner = session
            for step in steps:
                inner = inner.setdefault(step, {})
            inner[last] = value
        self.socket.send({"type": "session.update", "session": session})
        self.wait_for("session.updated", 60)

    def close(self):
        self.socket.cut()

    def _read(self):
        while True:
            try:
                event = self.socket.receive(timeout=600)
            except (OSError, ValueError):  # left
                event = Closed(1006)
            with self.changed:
                self.is_over = isinstance(event, Closed)
                if not self.is_over:
                    self.events.append((time.monotonic(), event))
                self.changed.notify_all()
                if self.is_over:
                    return

    def wait_for(self, kind, timeout, since=0):
        """When and what: the first event of a kind behind the first `since` ones; None where none comes."""
        end = time.monotonic() + timeout
        with self.changed:
            at = since
            while True:
                for at in range(at, len(self.events)):
                    if self.events[at][1]["type"] == kind:
                        return self.events[at]
                at = len(self.events)
                left = end - time.monotonic()
                if left <= 0 or self.is_over:
                    return None
                self.changed.wait(left)

    def say(self, clip, until=None):
        """Sends the clip as it was spoken and silence behind it, until an event or for so many pieces of silence;
        yields when the speech ended."""
        began, ended = time.monotonic(), None
        since = len(self.events)
        i = 0
        while True:
            piece = clip.pieces[i] if i < clip.n_speech else clip.silence
            self.socket.send({"type": "input_audio_buffer.append", "audio": base64.b64encode(piece).decode()})
            i += 1
            if i == clip.n_speech:
                ended = time.monotonic()
                if until is None:
                    return ended
            if i >= clip.n_speech and isinstance(until, int) and i >= clip.n_speech + until:
                return ended
            if i >= clip.n_speech and isinstance(until, str):
                if any(e["type"] == until for _, e in self.events[since:]) or i > clip.n_speech + 500:
                    return ended
            time.sleep(max(0.0, began + i * PIECE_MS / 1000 - time.monotonic()))


def plain(text):
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def figures(values):
    if not values:
        return "none"
    values = sorted(values)
    p95 = values[min(len(values) - 1, int(0.95 * len(values)))]
    return f"median {statistics.median(values):.0f} ms, p95 {p95:.0f} ms, most {values[-1]:.0f} ms ({len(values)})"


def timing(sessions):
    """Medians of what the server tells of their turns, in ms since the end of speech."""
    told = [e["ms"] for session in sessions for _, e in session.events if e["type"] == "parlance.timing"]
    names = {name for ms in told for name in ms}
    medians = {name: statistics.median([ms[name] for ms in told if name in ms]) for name in names}
    return ", ".join(f"{name} {ms:.0f}" for name, ms in sorted(medians.items(), key=lambda one: one[1]))


def summary(turns):
    wrong = [turn for turn in turns if not turn.is_right]
    misheard = f", {sum(turn.is_misheard for turn in wrong)} of the others misheard" if wrong else ""
    first = figures([turn.first_ms for turn in turns if turn.first_ms is not None])
    return f"{first}; right {len(turns) - len(wrong)} of {len(turns)}{misheard}"


def take_turn(session, question, is_manual):
    since = len(session.events)
    if is_manual:
        session.say(question.clip)
        began = time.monotonic()
        session.socket.send({"type": "input_audio_buffer.commit"})
        session.socket.send({"type": "response.create"})
    else:
        began = session.say(question.clip, until="response.done")
    first = session.wait_for("response.output_audio.delta", 20, since)
    done = session.wait_for("response.done", 20, since)
    output = done[1]["response"]["output"] if done else []
    said = output[0]["content"][0].get("transcript", "") if output else ""
    heard = session.wait_for("conversation.item.input_audio_transcription.completed", 1, since)
    return Turn(question, 1000 * (first[0] - began) if first else None, said, heard[1]["transcript"] if heard else "")


def turns(port, questions, n, is_manual):
    settings = {"parlance": {"events": ["timing"]}}
    if is_manual:
        settings["audio.input.turn_detection"] = None
    session = Session(port, settings)
    taken = [take_turn(session, questions[i % len(questions)], is_manual) for i in range(n)]
    session.close()
    name = "from the commit" if is_manual else "from the end of speech"
    return f"first audio {name}: {summary(taken)}\n  server: {timing([session])}"


def interrupt(port, questions):
    """How long sound comes behind speech_started, and how late that is behind the first sound of speech."""
    late, noticed = [], []
    # Slowly enough that there is an answer left to interrupt.
    session = Session(port, {"audio.output.speed": 0.5, "parlance": {"pace": 0.3}})
    for question, other in zip(questions, questions[1:]):
        since = len(session.events)
        session.say(question.clip, until="response.output_audio.delta")
        began = time.monotonic()
        since = len(session.events)
        session.say(other.clip, until=40)
        started = session.wait_for("input_audio_buffer.speech_started", 5, since)
        if not started:
            continue
        noticed.append(1000 * (started[0] - began))
        cut = [e for _, e in session.events[since:] if e["type"] == "response.done" and
               e["response"]["status"] == "cancelled"]
        if cut:
            done_of = cut[0]["response"]["id"]
            sounds = [t for t, e in session.events[since:] if e["type"] == "response.output_audio.delta" and
                      e["response_id"] == done_of]
            late.append(max(0.0, 1000 * (max(sounds, default=0) - started[0])))
        session.wait_for("response.done", 20, len(session.events) - 1)
    session.close()
    return f"last sound behind speech_started: {figures(late)}; speech noticed after {figures(noticed)}"


def many(port, questions, n):
    sessions = [Session(port, {"parlance": {"events": ["timing"]}}) for _ in range(n)]
    taken, lock = [], threading.Lock()

    def talk(i):
        for k in range(4):
            turn = take_turn(sessions[i], questions[(i + 7 * k) % len(questions)], False)
            with lock:
                taken.append(turn)

    threads = [threading.Thread(target=talk, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
        time.sleep(0.13)  # people do not begin at the same moment
    for thread in threads:
        thread.join()
    for session in sessions:
        session.close()
    return f"{n} sessions, first audio from the end of speech: {summary(taken)}\n  server: {timing(sessions)}"


def hesitate(port, n_together):
    """How many questions an answer cuts, and how soon answers come to the others."""
    rows = [json.loads(line) for line in (HESITATIONS / "index.jsonl").read_text().splitlines()]

    def ask(row):
        session = Session(port, {"audio.input.turn_detection": {"type": "semantic_vad"}})
        ended = session.say(Clip(HESITATIONS / row["audio"]), until="response.output_audio.delta")
        first = session.wait_for("response.output_audio.delta", 0)
        session.close()
        return 1000 * (first[0] - ended) if first else None

    with concurrent.futures.ThreadPoolExecutor(n_together) as jobs:
        first = [ms for ms in jobs.map(ask, rows) if ms is not None]
    return (f"{sum(ms < 0 for ms in first)} of {len(rows)} cut, {len(rows) - len(first)} not answered; first audio of the others "
            f"{figures([ms for ms in first if ms >= 0])}")


def rss_mb(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS:"))


def idle(port, pid, n):
    Session(port).close()  # models are loaded
    time.sleep(1)
    before = rss_mb(pid)
    sockets = [WebSocket("127.0.0.1", port, "/v1/realtime") for _ in range(n)]
    for socket in sockets:
        assert socket.receive(timeout=30)["type"] == "session.created"
    time.sleep(2)
    after = rss_mb(pid)
    for socket in sockets:
        socket.close()
    return f"{n} idle sessions: {after - before:.0f} MB more ({before:.0f} to {after:.0f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parlance", default=str(ROOT / "build/release/bin/parlance"))
    parser.add_argument("-m", "--model", default="")
    parser.add_argument("--tests", default="turns,push,interrupt,many,idle")
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--sessions", type=int, default=16)
    parser.add_argument("--idle", type=int, default=500)
    parser.add_argument("--together", type=int, default=3)
    args = parser.parse_args()
    questions = [Question(json.loads(line)) for line in (SET / "index.jsonl").read_text().splitlines()]
    most = max(args.sessions, args.idle) + 8
    command = [args.parlance, "serve", "--port", "0", "--max-realtime", str(most)] + \
        (["-m", args.model] if args.model else [])
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            port = int(re.search(r":(\d+)\s*$", server.stdout.readline()).group(1))
            tests = {"turns": lambda: turns(port, questions, args.turns, False),
                     "push": lambda: turns(port, questions, args.turns, True),
                     "interrupt": lambda: interrupt(port, questions), "many": lambda: many(port, questions, args.sessions),
                     "idle": lambda: idle(port, server.pid, args.idle), "hesitate": lambda: hesitate(port, args.together)}
            for name in args.tests.split(","):
                print(f"{name}: {tests[name]()}", flush=True)
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
