"""`parlance serve --wyoming` as Home Assistant uses it: what is said is heard, answered and spoken, each over a connection of its own,
with the bundled models."""
import array
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("PARLANCE_BUILD", ROOT / "build/release"))
FIXTURES = pathlib.Path(os.environ.get("PARLANCE_FIXTURES", ROOT.parent / "shared/fixtures")) / "server"
sys.path.insert(0, str(ROOT / "tests/server/clients"))
from wyoming_client import Wyoming  # noqa: E402

QUESTION = "What is the capital of France?"


def kinds(events):
    return "".join(f"<{kind}>" for kind, _, _ in events)


def words(text):
    return re.findall(r"[a-z]+", text.lower())


def in_form(samples, rate, width, channels):
    """16-bit samples at 24 kHz in another form; the rate by leaving out or repeating."""
    picked = samples if rate == 24000 else array.array("h", (samples[i * 24000 // rate] for i in range(len(samples) * rate // 24000)))
    out = bytearray()
    for sample in picked:
        value = sample * 2 ** (8 * (width - 2)) if width > 2 else sample >> 8 * (2 - width)
        one = bytes([value + 128]) if width == 1 else int(value).to_bytes(width, "little", signed=True)
        out += one * channels
    return bytes(out)


class HomeAssistant(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = subprocess.Popen([BUILD / "bin/parlance", "serve", "-m", ROOT / "models/demo", "--port", "0", "--wyoming",
                                       "127.0.0.1:0", "--wyoming-language", "en", "--no-state"], stdout=subprocess.PIPE, text=True)
        cls.server.stdout.readline()
        cls.port = int(re.search(r"wyoming on tcp://127.0.0.1:(\d+)", cls.server.stdout.readline())[1])
        cls.question = cls.spoken(cls, QUESTION)

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        cls.server.communicate(timeout=60)
        assert cls.server.returncode == 0, cls.server.returncode

    def connect(self):
        return Wyoming("127.0.0.1", self.port)

    def spoken(self, text, voice=None):
        """Samples of a text."""
        with Wyoming("127.0.0.1", self.port) as client:
            client.send("synthesize", {"text": text, "voice": voice})
            events = client.until("audio-stop", "error")
        assert re.fullmatch("<audio-start>(<audio-chunk>)+<audio-stop>", kinds(events)), kinds(events)
        sound = b"".join(payload for _, _, payload in events)
        assert all(len(payload) <= 4800 for _, _, payload in events)
        assert events[0][1] == {"rate": 24000, "width": 2, "channels": 1, "timestamp": 0}
        assert events[-1][1]["timestamp"] == len(sound) // 48
        return array.array("h", sound)

    def heard(self, samples, rate=24000, width=2, channels=1, asks=True):
        form = {"rate": rate, "width": width, "channels": channels}
        sound = in_form(samples, **form)
        with self.connect() as client:
            if asks:
                client.send("transcribe", {"language": "en"})
            client.send("audio-start", form | {"timestamp": 0})
            step = 1000 * width * channels
            for at in range(0, len(sound), step):
                client.send("audio-chunk", form, sound[at:at + step])
            client.send("audio-stop", {"timestamp": 0})
            events = client.until("transcript", "error")
            if "<transcript-start>" in kinds(events):
                events.append(client.receive())
        self.assertRegex(kinds(events), "^(<voice-started>|<voice-stopped>|<transcript-start>|<transcript-chunk>)*<transcript>"
                         "(<transcript-stop>)?$")
        chunks = [data["text"] for kind, data, _ in events if kind == "transcript-chunk"]
        transcript = next(data for kind, data, _ in events if kind == "transcript")
        if chunks:
            self.assertEqual("".join(chunks), transcript["text"])
        return transcript["text"], events

    def answered(self, text, conversation=None):
        with self.connect() as client:
            client.send("transcript", {"text": text, "language": "en", "context": {"conversation_id": conversation}})
            events = client.until("handled-stop", "error")
        self.assertRegex(kinds(events), "^<handled-start>(<handled-chunk>)+<handled><handled-stop>$")
        handled = events[-2][1]
        self.assertEqual("".join(data["text"] for kind, data, _ in events if kind == "handled-chunk"), handled["text"])
        self.assertEqual(handled["context"], {"conversation_id": conversation})
        return handled["text"]

    def test_a_question_is_heard_answered_and_spoken(self):
        text, events = self.heard(self.question)
        self.assertEqual(words(text), words(QUESTION))
        self.assertIn("<voice-started>", kinds(events))
        answer = self.answered(text, "kitchen")
        self.assertIn("Paris", answer)
        sound = self.spoken(answer)
        self.assertGreater(len(sound), 24000 // 2)
        self.assertEqual(words(self.heard(sound)[0]), words(answer))

    def test_sound_of_any_form_is_heard(self):
        for rate, width, channels in ((16000, 1, 2), (24000, 3, 1), (48000, 4, 1)):
            with self.subTest(rate=rate, width=width, channels=channels):
                text, _ = self.heard(self.question, rate, width, channels, asks=width != 4)
                self.assertEqual(words(text), words(QUESTION))

    def test_silence_is_no_text(self):
        text, events = self.heard(array.array("h", bytes(24000)))
        self.assertEqual((text, kinds(events)), ("", "<transcript>"))

    def test_a_format_does_not_change_within_a_sound(self):
        with self.connect() as client:
            client.send("audio-start", {"rate": 16000, "width": 2, "channels": 1})
            client.send("audio-chunk", {"rate": 8000, "width": 2, "channels": 1}, bytes(320))
            self.assertEqual(kinds(client.until("transcript")), "<error>")

    def test_the_first_sound_comes_while_the_text_is_being_written(self):
        with self.connect() as client:
            client.send("synthesize-start", {"voice": {"name": "default"}})
            client.send("synthesize-chunk", {"text": "The capital of France is Paris. "})
            client.send("synthesize-chunk", {"text": "The capital of"})
            first = [client.receive(), client.receive()]
            self.assertEqual(kinds(first), "<audio-start><audio-chunk>")
            client.send("synthesize-chunk", {"text": " Spain is Madrid."})
            client.send("synthesize", {"text": "The capital of France is Paris. The capital of Spain is Madrid."})
            client.send("synthesize-stop")
            events = first + client.until("synthesize-stopped", "error")
        self.assertRegex(kinds(events), "^<audio-start>(<audio-chunk>)+<audio-stop><synthesize-stopped>$")
        sound = array.array("h", b"".join(payload for _, _, payload in events))
        self.assertEqual(words(self.heard(sound)[0]), words("The capital of France is Paris. The capital of Spain is Madrid."))

    def test_an_empty_text_is_no_sound(self):
        with self.connect() as client:
            for text in ("", " \n", "…"):
                client.send("synthesize", {"text": text})
                self.assertEqual(kinds(client.until("audio-stop", "error")), "<audio-start><audio-stop>")

    def test_errors_are_told_and_end_the_connection(self):
        for kind, data in (("synthesize", {"text": "Hello", "voice": {"name": "nobody"}}),
                           ("synthesize", {"text": "<speak/>", "text_format": "ssml"}),
                           ("audio-start", {"rate": 7999, "width": 2, "channels": 1}),
                           ("audio-start", {"rate": 16000, "width": 5, "channels": 1})):
            with self.connect() as client:
                client.send(kind, data)
                self.assertEqual(kinds(client.until()), "<error>", data)
        with self.connect() as client:
            client.send_bytes(b'{"type": "ping", "data_length": 2}\n[]')
            self.assertEqual(kinds(client.until()), "<error>")
        with self.connect() as client:
            client.send_bytes(b"GET / HTTP/1.1\r\n")
            self.assertIsNone(client.receive())

    def test_a_conversation_is_remembered_by_its_name(self):
        self.answered("My name is Ada.", "hall")
        with self.connect() as client:
            client.send("transcript", {"text": "x", "context": {"conversation_id": "i" * 257}})
            self.assertEqual(kinds(client.until()), "<error>")
        self.answered("Hello")  # one without a name

    def test_what_was_asked_is_finished_after_the_end_of_input(self):
        with self.connect() as client:
            client.send("synthesize", {"text": "The capital of France is Paris."})
            client.end_input()
            self.assertRegex(kinds(client.until()), "^<audio-start>(<audio-chunk>)+<audio-stop>$")
        form = {"rate": 24000, "width": 2, "channels": 1}
        with self.connect() as client:
            client.send("audio-start", form)
            client.send("audio-chunk", form, self.question.tobytes())
            client.end_input()
            self.assertIn("<transcript>", kinds(client.until()))

    def test_who_leaves_does_not_disturb_others(self):
        for _ in range(5):
            client = self.connect()
            client.send("synthesize", {"text": "The capital of France is Paris."})
            client.receive()
            client.close()
        began = time.monotonic()
        self.assertIn("Paris", self.answered("What is the capital of France?"))
        self.assertLess(time.monotonic() - began, 20)

    def test_info_comes_at_once_and_has_every_member(self):
        with self.connect() as client:
            began = time.monotonic()
            client.send("describe")
            kind, info, _ = client.receive()
            self.assertLess(time.monotonic() - began, 1)
        self.assertEqual(kind, "info")
        self.assertEqual(sorted(info), ["asr", "handle", "intent", "mic", "snd", "tts", "wake"])
        self.assertIn("default", [voice["name"] for voice in info["tts"][0]["voices"]])
        self.assertEqual(info["asr"][0]["models"][0]["languages"], ["en"])
        if (FIXTURES / "wyoming.json").is_file():
            recorded = json.loads((FIXTURES / "wyoming.json").read_text())["info"]
            for service in ("asr", "tts", "handle"):
                self.assertEqual(sorted(info[service][0]), sorted(recorded[service][0]))
                models = "voices" if service == "tts" else "models"
                for model in info[service][0][models]:
                    self.assertEqual(sorted(model), sorted(recorded[service][0][models][0]))


if __name__ == "__main__":
    unittest.main()
