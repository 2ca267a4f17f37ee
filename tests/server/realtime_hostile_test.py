"""Realtime sockets of the running server against clients that mean no good, and those that cut their messages oddly: each gets one
error or one close code, and the next client does not notice."""
import base64
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import time
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PARLANCE_BUILD", ROOT / "build/release"))
sys.path.insert(0, str(ROOT / "tests/server/clients"))
from web_socket import BINARY, CLOSE, CONTINUATION, PING, TEXT, Closed, WebSocket, frame  # noqa: E402

MOST_BYTES = 16 << 20  # of a message
MOST_FRAGMENTS = 1024
# At the rate at which sound is kept.
MANUAL = {"type": "session.update", "session": {"type": "realtime", "audio": {"input": {
    "format": {"type": "audio/pcm", "rate": 16000}, "turn_detection": None}}}}


def append(samples):
    return json.dumps({"type": "input_audio_buffer.append", "audio": base64.b64encode(samples).decode()}).encode()


def in_frames(message, size, opcode=TEXT):
    pieces = [message[i:i + size] for i in range(0, len(message), size)]
    return [frame(CONTINUATION if i else opcode, piece, i + 1 == len(pieces)) for i, piece in enumerate(pieces)]


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen([BUILD / "bin/parlance", "serve", "-m", ROOT / "models/demo", "--port", "0", "--no-state"],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        cls.port = int(re.search(r":(\d+)\s*$", cls.server.stdout.readline())[1])
        cls.open_session().close()  # models are loaded

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        assert cls.server.wait(60) == 0, cls.server.returncode
        cls.server.stdout.close()

    @classmethod
    def open_session(cls):
        session = WebSocket("127.0.0.1", cls.port, "/v1/realtime", protocols=["realtime"])
        assert session.receive()["type"] == "session.created"
        assert session.receive()["type"] == "conversation.created"
        return session

    def setUp(self):
        self.session = self.open_session()
        self.addCleanup(self.session.cut)

    def next(self, kind):
        while True:
            event = self.session.receive()
            self.assertIsInstance(event, dict, kind)
            self.assertTrue(kind == "error" or event["type"] != "error", event)
            if event["type"] == kind:
                return event

    def closed(self):
        while not isinstance(message := self.session.receive(), Closed):
            pass
        return message.code

    def rss_mb(self):
        status = pathlib.Path(f"/proc/{self.server.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024

    def test_frames_that_may_not_be_have_their_code(self):
        large = bytes([0x80 | TEXT, 0x80 | 127]) + struct.pack(">Q", MOST_BYTES + 1) + bytes(4)
        for name, data, code in (
                ("no UTF-8", frame(TEXT, b'{"type":"\xc3\x28"}'), 1007),
                ("half a character", frame(TEXT, '{"type":"é'.encode()[:-1]), 1007),
                ("too large", large, 1009),
                ("too large in pieces", b"".join(in_frames(bytes(MOST_BYTES + 1), 1 << 20, BINARY)), 1009),
                ("too many pieces", b"".join(in_frames(b" " * (MOST_FRAGMENTS + 1), 1)), 1009),
                ("not masked", b"\x81\x02{}", 1002),
                ("a kind that there is not", frame(3, b"x"), 1002),
                ("a long ping", frame(PING, bytes(126)), 1002),
                ("a ping in pieces", frame(PING, b"x", is_final=False), 1002),
                ("a continuation of nothing", frame(CONTINUATION, b"x"), 1002),
                ("a message within another", frame(TEXT, b"{", is_final=False) + frame(TEXT, b"{}"), 1002),
                ("a bad code", frame(CLOSE, struct.pack(">H", 1005)), 1002)):
            with self.subTest(name):
                self.session = self.open_session()
                try:
                    self.session.send_bytes(data)
                except OSError:  # it is cut while we still send
                    pass
                self.assertEqual(self.closed(), code)
                self.session.cut()

    def test_what_is_no_event_is_one_error(self):
        for text in ("", "nonsense", "[]", "1", "null", '"text"', "{", "{}", '{"type":1}', '{"type":null}', '{"type":"no such"}',
                     '{"type":""}', "[" * 100000, '{"type":"a","b":' + "[" * 100000, '{"type":"response.create","response":1}',
                     '{"type":"input_audio_buffer.append"}', '{"type":"input_audio_buffer.append","audio":"***"}',
                     '{"type":"input_audio_buffer.append","audio":"AA"}', '{"type":"session.update","session":{"type":9}}',
                     '{"type":"session.update","session":{"audio":{"input":{"format":{"type":"audio/pcm","rate":1e999}}}}}',
                     '{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_image"}]}}',
                     '{"type":"conversation.item.truncate","item_id":"no","content_index":0,"audio_end_ms":-1}',
                     '{"type":"conversation.item.delete","item_id":"' + "x" * 100000 + '"}', '{"type":"\\ud800"}',
                     '{"type":"response.cancel"}', '{"type":"input_audio_buffer.commit"}'):
            with self.subTest(text[:60]):
                self.session.send(text)
                error = self.next("error")["error"]
                self.assertTrue(error["code"] and error["message"], error)
                self.assertLess(len(error["message"]), 1000)
        self.session.send(b"\0\0")
        self.assertTrue(self.next("error")["error"]["code"])
        self.session.send(MANUAL)
        self.next("session.updated")  # and nothing else before

    def test_messages_come_in_frames_of_every_size(self):
        self.session.send(MANUAL)
        self.next("session.updated")
        said = bytes(range(256)) * 2  # samples
        message = append(said)
        self.assertLess(len(message), MOST_FRAGMENTS)
        sizes = range(1, len(message) + 1)
        for size in sizes:
            self.session.send_bytes(b"".join(in_frames(message, size)))
        for byte in b"".join(in_frames(message, 1)):  # and bytes, one by one
            self.session.send_bytes(bytes([byte]))
        sent = said * (len(sizes) + 1)
        for n in (125, 126, 127, 65535, 65536, 1 << 20):  # the lengths of a frame have three forms
            more = bytes(n & ~1)
            self.session.send_bytes(frame(TEXT, append(more)))
            sent += more
        self.session.send({"type": "input_audio_buffer.commit"})
        item = self.next("input_audio_buffer.committed")["item_id"]
        self.session.send({"type": "conversation.item.retrieve", "item_id": item})
        kept = base64.b64decode(self.next("conversation.item.retrieved")["item"]["content"][0]["audio"])
        self.assertEqual(kept, sent)

    def test_a_message_may_be_as_long_as_the_limit(self):
        self.session.send(MANUAL)
        self.next("session.updated")
        event = append(bytes((12 << 20) - 3072))  # three bytes are four letters
        self.session.send_bytes(frame(TEXT, event + b" " * (MOST_BYTES - len(event))))
        self.session.send({"type": "input_audio_buffer.commit"})
        self.next("input_audio_buffer.committed")

    def test_ten_thousand_pings_and_appends_cost_no_memory(self):
        self.session.send(MANUAL)
        self.next("session.updated")
        before = self.rss_mb()
        other = self.open_session()
        for kind in ("pings", "appends"):
            data = frame(PING, b"x" * 125) if kind == "pings" else frame(TEXT, append(bytes(48)))
            began = time.monotonic()
            for _ in range(100):
                self.session.send_bytes(data * 100)
            self.session.send({"type": "input_audio_buffer.clear"})
            other.send({"type": "conversation.item.delete", "item_id": "none"})
            self.assertEqual(other.receive()["type"], "error")
            self.next("input_audio_buffer.cleared")
            self.assertLess(time.monotonic() - began, 10, kind)
        other.close()
        self.assertLess(self.rss_mb() - before, 64)

    def test_who_leaves_in_the_middle_is_gone(self):
        def n_open():
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
                return float(re.search(r"^parlance_realtime_sessions(?:\{[^}]*\})? (\S+)", answer.read().decode(), re.M)[1])

        before = n_open()
        message = append(bytes(4800))
        for cut in range(0, len(message), len(message) // 5):
            left = self.open_session()
            left.send_bytes(frame(TEXT, message)[:cut + 1])
            left.cut()
        for _ in range(200):
            if n_open() <= before:
                return
            time.sleep(0.02)
        self.fail("sessions stay")


if __name__ == "__main__":
    unittest.main(verbosity=2)
