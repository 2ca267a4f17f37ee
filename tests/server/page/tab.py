"""What the tests of the web page have in common: a browser with a microphone that hears a file, tabs, and a server that says what a
test has it say."""
import array
import base64
import json
import math
import os
import pathlib
import re
import tempfile
import unittest
import wave

import browser
import fake_server

ROOT = pathlib.Path(__file__).resolve().parents[3]
HERE = ROOT / "tests/server/page"
BUILD = pathlib.Path(os.environ.get("PARLANCE_BUILD", ROOT / "build/release"))
FIXTURES = pathlib.Path(os.environ.get("PARLANCE_FIXTURES", ROOT.parent / "shared/fixtures"))
EVAL = ROOT / "models/demo-eval"
PICTURES = BUILD / "page"
PLAYED = (HERE / "played.js").read_text()
HEARS = tempfile.NamedTemporaryFile(suffix=".wav")  # what the microphone hears from when it is opened
HEARS_HERTZ = 310  # the tone that is there before a test puts something else
STATE = "document.body.dataset.state"


def write_wav(file, samples, rate):
    with wave.open(str(file), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(samples)


def chromium():
    """One for all tests: starting it costs more than most of them."""
    if not hasattr(chromium, "one"):
        write_wav(HEARS.name, fake_server.tone(20, HEARS_HERTZ, 8000), 24000)
        chromium.one = browser.Browser(browser.find(), "--use-fake-ui-for-media-stream", f"--use-file-for-fake-audio-capture={HEARS.name}%noloop",
                                       "--host-resolver-rules=MAP parlance.test 127.0.0.1")
    return chromium.one


class Page(unittest.TestCase):
    """A tab, and what every test expects of it at its end: it complained of nothing and asked nobody else."""
    width, height = 1280, 800

    def setUp(self):
        self.tab = chromium().tab(self.width, self.height, origin=self.url)
        self.tab.before_page(PLAYED)
        self.complaints_expected = ""
        self.addCleanup(self.tab.close)

    def tearDown(self):
        complaints = [one for one in self.tab.complaints if not (self.complaints_expected and re.search(self.complaints_expected, one))]
        self.assertEqual(complaints, [])
        host = self.url.split("//")[1]
        self.assertEqual([one for one in self.tab.requests if not re.match(rf"(http|ws)://(parlance\.test(?=:)|{re.escape(host.split(':')[0])}):{host.split(':')[1]}/", one)], [])

    def state_is(self, state, seconds=10):
        self.tab.wait(f"{STATE} === '{state}'", seconds)

    def text_of(self, selector):
        return self.tab.run(f"document.querySelector({json.dumps(selector)})?.textContent.trim().replace(/\\s+/g, ' ')")

    def turns(self):
        return [tuple(one) for one in self.tab.run(
            "[...document.querySelectorAll('[data-testid=turn]')].map((e) => [e.dataset.role, e.dataset.heard, e.querySelector('.open').textContent])")]

    def wait_for_turn(self, role, heard, seconds=10):
        self.tab.wait(f"[...document.querySelectorAll('[data-role={role}]')].some((e) => e.dataset.heard === {json.dumps(heard)})", seconds)

    def error(self):
        return self.tab.wait("document.querySelector('[data-testid=error]:not([hidden]) p')?.textContent")

    def take_played(self):
        """What was played since: samples, and how many a second."""
        samples = array.array("h", base64.b64decode(self.tab.run("takePlayed()")))
        return samples, self.tab.run("played.rate")


def loudness(samples):
    return math.sqrt(sum(one * one for one in samples) / max(1, len(samples)))


class Scripted(Page):
    @classmethod
    def setUpClass(cls):
        cls.fake = fake_server.FakeServer()
        cls.url = cls.fake.url

    @classmethod
    def tearDownClass(cls):
        cls.fake.close()

    def setUp(self):
        super().setUp()
        self.fake.refusals.clear()
        self.fake.keys.clear()
        while not self.fake.sessions.empty():
            self.fake.sessions.get()

    def open(self):
        self.tab.open(self.url)
        session = self.fake.session()
        self.settings = session.begin()
        self.state_is("ready")
        return session

    def ask(self, session, text):
        """A question is written; its item."""
        self.tab.write("[data-testid=text-input]", text)
        self.tab.click("[data-testid=send]")
        item = session.expect("conversation.item.create")["item"]
        session.expect("response.create")
        return item

    def go_hands_free(self, session):
        self.tab.click("[data-testid=hands-free]")
        settings = session.expect("session.update")["session"]
        session.send("session.updated", session=settings)
        self.state_is("listening")
        return settings
