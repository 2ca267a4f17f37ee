"""The web page in a real browser: Chromium without a window, with a microphone that hears a file. First with a server that says
what a test has it say, then with the real one and the bundled models. Pictures of it are left in the build folder. Skipped where there
is no Chromium."""
import array
import itertools
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "page"))

import browser  # noqa: E402
from served import Locked, Served, Talks  # noqa: E402, F401
from tab import BUILD, FIXTURES, HEARS_HERTZ, HERE, PICTURES, STATE, Scripted, chromium, loudness  # noqa: E402

SKIPPED = 77


def undisturbed_periods(samples, rate):
    """Of a tone: samples from one rise to the next, but for what lies within ten milliseconds of silence."""
    gaps, at = [], 0
    for is_quiet, run in itertools.groupby(samples, key=lambda sample: abs(sample) < 100):
        n = len(list(run))
        if is_quiet and n >= rate // 1000:
            gaps.append((at - rate // 100, at + n + rate // 100))
        at += n
    rises = [i for i, (a, b) in enumerate(zip(samples, samples[1:])) if a < 0 <= b]
    return [to - since for since, to in zip(rises, rises[1:]) if all(to <= first or last <= since for first, last in gaps)]


class Written(Scripted):
    def test_an_answer_is_shown_as_it_is_heard(self):
        session = self.open()
        self.assertEqual(self.settings["audio"]["input"]["turn_detection"], None)
        self.assertEqual(self.settings["parlance"], {"events": ["timing", "barge_in", "partial"], "barge_in": "confirm", "playback": True})
        item = self.ask(session, "What is nine plus four?")
        self.assertEqual(item["content"], [{"type": "input_text", "text": "What is nine plus four?"}])
        self.state_is("thinking")
        self.tab.run("""window.shown = [];
            new MutationObserver(() => {
              const turn = [...document.querySelectorAll('[data-role=assistant]')].at(-1);
              if (!turn?.textContent.includes('thirteen.')) return;
              const one = [turn.dataset.heard, turn.querySelector('.open').textContent];
              if (JSON.stringify(one) !== JSON.stringify(window.shown.at(-1))) window.shown.push(one);
            }).observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true}); 0""")
        session.answer("item_a", [("Nine plus four ", 0.5), ("is thirteen.", 0.5)])
        session.send("parlance.timing", response_id="resp_item_a", item_id="item_a", ms={"llm-start": 0, "phrase-emit": 20, "tts-first-audio-chunk": 90})
        self.state_is("speaking")
        self.tab.wait(f"{STATE} !== 'speaking'")
        # However seldom a busy machine shows it: more of the sentence each time, and never anything else.
        shown = self.tab.run("window.shown")
        self.assertGreaterEqual(len(shown), 3, shown)
        self.assertEqual(shown, sorted(shown, key=lambda one: len(one[0])))
        for heard, rest in shown:
            self.assertEqual(re.sub(r"\s+", " ", f"{heard} {rest}").strip(), "Nine plus four is thirteen.")
        self.assertEqual(self.turns(), [("user", "What is nine plus four?", ""), ("assistant", "Nine plus four is thirteen.", "")])
        # The server is told how far it was heard, often enough, up to the end.
        reports = [session.expect("parlance.playback")["played_ms"]]
        while reports[-1] < 1000:
            reports.append(session.expect("parlance.playback")["played_ms"])
        self.assertEqual(reports, sorted(reports))
        self.assertLessEqual(statistics.median(b - a for a, b in zip(reports, reports[1:])), 100, reports)
        # And it sounded as it should: a second of a tone of 440 Hz. A busy machine may have left gaps in it.
        time.sleep(0.2)
        samples, rate = self.take_played()
        pieces = [samples[i:i + rate // 100] for i in range(0, len(samples), rate // 100)]
        tone = [one for piece in pieces if max(map(abs, piece)) > 1000 for one in piece]
        self.assertAlmostEqual(len(tone) / rate, 1, delta=0.05)
        middle = tone[480:-480]
        loud = [i for i, one in enumerate(samples) if abs(one) > 1000]
        periods = undisturbed_periods(samples[loud[0] + 480:loud[-1] - 480], rate)
        self.assertGreater(len(periods), 100)
        self.assertAlmostEqual(rate / statistics.mean(periods), 440, delta=9)
        self.assertAlmostEqual(loudness(middle), 12000 / math.sqrt(2), delta=900)
        first = int(self.tab.wait("document.querySelector('[data-role=assistant]').dataset.firstAudioMs"))
        self.assertTrue(0 <= first < 3000, first)
        self.assertRegex(self.text_of("[data-testid=timeline] li"), r"nine plus four\?.*thought 20 spoke 70 first sound \d+")

    def test_escape_stops_the_answer_and_nothing_more_of_it_sounds(self):
        session = self.open()
        self.ask(session, "Tell me a story.")
        session.answer("item_a", [("Once upon a time ", 1), ("there was a sailor.", 1)], ends=False)
        self.tab.wait("document.querySelector('[data-role=assistant]')?.dataset.heard.includes('upon')")
        self.tab.press("Escape", "Escape")
        self.assertEqual(session.expect("response.cancel")["response_id"], "resp_item_a")
        session.answer_more("item_a", 1)
        session.end("item_a", "cancelled")
        cut = session.expect("conversation.item.truncate")
        self.assertEqual((cut["item_id"], cut["content_index"]), ("item_a", 0))
        self.state_is("ready")
        self.assertIn("were not heard", self.text_of("[data-role=assistant]"))
        time.sleep(0.3)
        self.take_played()
        time.sleep(0.3)
        samples, _ = self.take_played()
        self.assertGreater(len(samples), 4000)
        self.assertLess(max(map(abs, samples)), 100)
        # What the model remembers is what is shown.
        session.send("conversation.item.truncated", item_id="item_a", content_index=0, audio_end_ms=cut["audio_end_ms"])
        session.expect("conversation.item.retrieve")
        content = [{"type": "output_audio", "transcript": "Once"}]
        session.send("conversation.item.retrieved", item={"id": "item_a", "type": "message", "role": "assistant", "content": content})
        self.wait_for_turn("assistant", "Once")
        self.assertEqual(self.turns()[-1], ("assistant", "Once", "upon a time there was a sailor."))

    def test_an_answer_that_nobody_waits_for_any_more(self):
        session = self.open()
        self.ask(session, "Tell me a story.")
        self.state_is("thinking")
        self.tab.write("[data-testid=text-input]", "What is nine plus four?")
        self.tab.click("[data-testid=send]")
        self.assertNotIn("response_id", session.expect("response.cancel"))  # it has none that the page knows
        session.expect("response.create")
        session.text("item_a", ["Thirteen."])
        self.wait_for_turn("assistant", "Thirteen.")
        # It ends while the page asks for that: too late, and nobody's fault.
        session.answer("item_b", [("Once upon a time ", 1)], ends=False)
        self.state_is("speaking")
        self.tab.press("Escape", "Escape")
        cancel = session.expect("response.cancel")
        session.end("item_b")
        error = {"type": "invalid_request_error", "code": "response_cancel_not_active", "message": "there is no such response to cancel", "param": None}
        session.send("error", error=error | {"event_id": cancel.get("event_id")})
        session.expect("conversation.item.truncate")
        session.item("item_u", "user", "And then?")
        self.wait_for_turn("user", "And then?")
        self.assertTrue(self.tab.run("document.querySelector('[data-testid=error]').hidden"), self.text_of("#error-text"))

    def test_heard_words_are_those_of_the_server(self):
        file = FIXTURES / "server/truncate.json"
        if not file.is_file():
            self.skipTest("skipped: no recorded vectors; PARLANCE_FIXTURES names their folder")
        self.open()
        cases = json.loads(file.read_text())["cases"]
        wrong = self.tab.run(f"""import('/app.js').then(({{heardText}}) => {json.dumps(cases)}.filter(({{phrases, samples, heard}}) =>
            heardText(phrases.map(([text, begin, end]) => ({{text, begin, end}})), samples) !== heard))""")
        self.assertGreater(len(cases), 10)
        self.assertEqual(wrong, [])


class Spoken(Scripted):
    def hears(self, session, seconds):
        """For so long, and until so much more sound has come."""
        end, wanted = time.monotonic() + 20, session.n_bytes + seconds * 48000
        time.sleep(seconds)
        while session.n_bytes < wanted:
            self.assertLess(time.monotonic(), end, f"{seconds} s of sound do not come")
            time.sleep(0.02)

    def test_hands_free_with_words_on_their_way_and_an_interruption(self):
        session = self.open()
        began = time.monotonic()
        settings = self.go_hands_free(session)
        detection = settings["audio"]["input"]["turn_detection"]
        self.assertEqual((detection["type"], detection["silence_duration_ms"]), ("server_vad", 350))
        self.tab.wait("document.querySelector('[data-testid=level]').value > 0.1")
        self.hears(session, 1)
        n_bytes = session.n_bytes
        self.assertLess(n_bytes / 48000, time.monotonic() - began)  # nothing is sent twice
        # What the microphone hears, frame to frame: 20 ms are no whole number of periods, so that a lost one breaks one of six.
        periods = undisturbed_periods(array.array("h", bytes(session.sound[n_bytes - 48000:n_bytes])), 24000)
        self.assertGreater(len(periods), 50)
        whole = [period for period in periods if abs(period - 24000 / HEARS_HERTZ) < 3]
        self.assertGreater(len(whole), 0.95 * len(periods), periods)
        self.assertAlmostEqual(24000 / statistics.mean(whole), HEARS_HERTZ, delta=3)

        session.send("input_audio_buffer.speech_started", audio_start_ms=100, item_id="item_u")
        transcription = "conversation.item.input_audio_transcription"
        session.send(f"{transcription}.delta", item_id="item_u", content_index=0, delta="Tell me")
        session.send("parlance.partial", item_id="item_u", text="Tell me a store", stable=7)
        self.tab.wait("document.querySelector('.open').textContent")
        self.assertEqual(self.turns(), [("user", "Tell me", "a store")])
        session.send("input_audio_buffer.speech_stopped", audio_end_ms=800, item_id="item_u")
        session.send("input_audio_buffer.committed", item_id="item_u", previous_item_id=None)
        session.send(f"{transcription}.completed", item_id="item_u", content_index=0, transcript="Tell me a story.")
        session.answer("item_a", [("Once upon a time there was a sailor. ", 2), ("He loved the sea.", 8)], ends=False)
        self.state_is("speaking")
        time.sleep(0.4)

        def level():
            self.take_played()
            time.sleep(0.35)
            samples, rate = self.take_played()
            return loudness(samples[-int(0.1 * rate):])

        def becomes(part):
            end = time.monotonic() + 4
            while abs(level() / loud - part) > 0.05:
                self.assertLess(time.monotonic(), end, f"it is not {part} as loud as it was")

        loud = level()
        session.send("input_audio_buffer.speech_started", audio_start_ms=2000, item_id="item_v")
        session.send("parlance.barge_in", phase="tentative")
        self.state_is("listening")
        becomes(0.2)
        session.send("parlance.barge_in", phase="dismissed")
        becomes(1)
        session.send("parlance.barge_in", phase="confirmed")
        session.end("item_a", "cancelled")
        cut = session.expect("conversation.item.truncate")
        self.assertTrue(1000 < cut["audio_end_ms"] < 10000, cut)
        becomes(0)
        _, heard, rest = self.turns()[1]
        self.assertTrue(heard.startswith("Once upon a time"), heard)
        self.assertTrue(rest.endswith("sea."), rest)

    def test_the_button_is_held_by_mouse_and_by_key_and_pressed(self):
        session = self.open()
        talk = "[data-testid=talk]"
        self.tab.mouse("mousePressed", talk)
        self.state_is("listening")
        self.hears(session, 0.5)
        self.tab.mouse("mouseReleased", talk)
        session.expect("input_audio_buffer.commit")
        session.expect("response.create")
        self.state_is("thinking")
        n_bytes = session.n_bytes
        session.answer("item_a", [("Yes.", 0.1)])
        self.state_is("ready")
        self.assertEqual(session.n_bytes, n_bytes)  # what is not for it is not sent

        self.tab.run("document.activeElement.blur()")
        self.tab.key("keyDown", " ", "Space")
        self.state_is("listening")
        self.hears(session, 0.4)
        self.tab.key("keyUp", " ", "Space")
        session.expect("input_audio_buffer.commit")
        session.answer("item_b", [("Yes.", 0.1)])
        self.state_is("ready")

        session.answer("item_s", [("Once upon a time.", 3)], ends=False)
        self.state_is("speaking")
        self.assertEqual(self.text_of(talk), "Stop")
        self.tab.click(talk)  # pressed while an answer sounds, for silence
        session.expect_each("input_audio_buffer.clear", "conversation.item.truncate")
        session.end("item_s", "cancelled")
        self.state_is("ready")
        session.answer("item_t", [("Once upon a time.", 3)], ends=False)
        self.state_is("speaking")
        self.tab.mouse("mousePressed", talk)  # held, to talk into it
        self.state_is("listening")
        session.end("item_t", "cancelled")
        session.expect("conversation.item.truncate")
        self.hears(session, 0.4)
        self.tab.mouse("mouseReleased", talk)
        session.expect("input_audio_buffer.commit")
        session.answer("item_u", [("Yes.", 0.1)])
        self.state_is("ready")

        # Once, to speak; a page that is busy meanwhile does not make it longer.
        began_s = time.time()
        self.tab.mouse("mousePressed", talk, began_s)
        self.tab.run("(() => { const end = performance.now() + 400; while (performance.now() < end); })()")
        self.tab.mouse("mouseReleased", talk, began_s + 0.1)
        self.hears(session, 0.5)
        self.assertEqual(self.tab.run(STATE), "listening")
        self.tab.click(talk)  # again, to send
        session.expect("input_audio_buffer.commit")
        session.answer("item_c", [("Yes.", 0.1)])
        self.state_is("ready")

        # A screen reader, twice at once, however slow the machine is: too little sound for a question.
        button = "document.querySelector('[data-testid=talk]')"
        self.tab.run(f"{button}.focus()")
        between = self.tab.run(f"{button}.click(), window.between = {STATE}, {button}.click(), window.between")
        self.assertEqual(between, "listening")
        session.expect("input_audio_buffer.clear")
        self.assertIn("too short", self.error())

    def test_a_space_that_is_written_is_no_button(self):
        session = self.open()
        self.tab.run("document.querySelector('[data-testid=text-input]').focus()")
        self.tab.press(" ", "Space")
        time.sleep(0.1)
        self.assertEqual((self.tab.run(STATE), session.n_bytes), ("ready", 0))


class Troubled(Scripted):
    def test_a_lost_connection_comes_back(self):
        session = self.open()
        conversation = session.target
        item = self.ask(session, "What is nine plus four?")
        session.answer("item_a", [("Thirteen.", 0.1)])
        self.wait_for_turn("assistant", "Thirteen.")
        self.complaints_expected = "WebSocket|ERR_CONNECTION"
        session.drop()
        self.state_is("connecting")
        self.assertIn("The connection was lost.", self.text_of("[data-testid=status]"))
        session = self.fake.session()
        self.assertEqual(session.target, conversation)
        session.begin(items=[(item["id"], "user", "What is nine plus four?"), ("item_a", "assistant", "Thirteen.")])
        self.state_is("ready")
        self.assertEqual(self.turns(), [("user", "What is nine plus four?", ""), ("assistant", "Thirteen.", "")])
        # A new page of the same tab gets the conversation from the server.
        self.tab.open(self.url)
        session = self.fake.session()
        self.assertEqual(session.target, conversation)
        session.begin(items=[(item["id"], "user", "What is nine plus four?"), ("item_a", "assistant", "Thirteen.")])
        self.wait_for_turn("assistant", "Thirteen.")
        # A server that began anew knows nothing of it, and that is said.
        session.close(1001)
        session = self.fake.session()
        session.begin()
        self.state_is("ready")
        self.assertIn("does not remember", self.text_of("[data-testid=transcript]"))
        # Asleep until somebody comes.
        session.close(1000, "idle")
        self.tab.wait("document.querySelector('[data-testid=status]').textContent.startsWith('Asleep')")
        self.tab.press("Tab", "Tab")
        self.fake.session().begin()
        self.state_is("ready")
        # Another conversation has another name.
        self.tab.click("[data-testid=begin-anew]")
        self.assertNotEqual(self.fake.session().target, conversation)
        self.assertEqual(self.turns(), [])

    def test_a_key_is_asked_for_and_never_sent_by_the_socket(self):
        self.complaints_expected = "401"
        self.fake.refusals["/v1/models"] = (401, "invalid_api_key", "there is no such key")
        self.tab.open(self.url)
        self.tab.wait("document.querySelector('[data-testid=key-dialog]').open")
        self.state_is("error")
        self.fake.refusals.clear()
        self.tab.write("[data-testid=key]", "a-key-0123456789abcdef")
        self.tab.click("[data-testid=key-dialog] button")
        session = self.fake.session()
        session.begin()
        self.state_is("ready")
        self.assertIn(("/v1/realtime/client_secrets", "Bearer a-key-0123456789abcdef"), self.fake.keys)
        self.assertEqual(session.protocols.replace(" ", ""), f"realtime,openai-insecure-api-key.{self.fake.secrets[-1]}")

    def test_what_is_wrong_is_said(self):
        self.complaints_expected = "403|503|404|WebSocket"
        for path, refusal, words, is_final in [
                ("/v1/models", (403, "origin_not_allowed", "pages of other sites may not"), f"--cors-origin {self.url}", True),
                ("/v1/models", (403, "host_not_allowed", "not known under the name"), "not known under the name", True),
                ("/v1/models", (503, "loading", "the models are being loaded"), "loading its models", False),
                ("/v1/realtime", (503, "server_overloaded", "too many sessions"), "too many sessions", False),
                ("/v1/realtime", (404, "not_offered", "this server does not offer that"), "does not offer that", True)]:
            self.fake.refusals = {path: refusal}
            self.tab.open(self.url)
            self.tab.wait(f"document.querySelector('[data-testid=status]').textContent.includes({json.dumps(words)})")
            self.assertEqual(self.tab.run(STATE), "error" if is_final else "connecting", words)
        self.fake.refusals = {}
        self.tab.click("#error-act")
        self.fake.session().begin()
        self.state_is("ready")

    def test_a_microphone_that_cannot_be_had(self):
        for name, words in [("NotAllowedError", "may not use the microphone"), ("NotFoundError", "no microphone"), ("NotReadableError", "another program")]:
            self.tab.before_page(f"navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', '{name}'))")
            session = self.open()
            self.tab.click("[data-testid=hands-free]")
            self.assertIn(words, self.error())
            self.assertEqual(self.tab.run(STATE), "ready")
            self.ask(session, "What then?")  # one can write still

    def test_pages_without_sound_answer_in_words(self):
        url = self.url.replace("127.0.0.1", "parlance.test")
        self.tab.open(url)
        session = self.fake.session()
        self.assertEqual(session.begin()["output_modalities"], ["text"])
        self.assertIn("https", self.error())
        self.state_is("ready")
        self.ask(session, "What is nine plus four?")
        session.text("item_a", ["It is ", "thirteen."])
        self.wait_for_turn("assistant", "It is thirteen.")

    def test_errors_of_the_session_are_shown(self):
        session = self.open()
        session.send("error", error={"type": "invalid_request_error", "code": "invalid_value", "message": "speed must be 0.25 to 1.5", "param": None})
        self.assertIn("speed must be", self.error())
        self.tab.click("#error-close")
        self.tab.wait("document.querySelector('[data-testid=error]').hidden")
        self.ask(session, "What then?")
        session.send("response.created", response={"id": "resp_1", "status": "in_progress", "output": []})
        details = {"type": "failed", "error": {"type": "server_error", "code": "device_lost", "message": "the device is gone"}}
        session.send("response.done", response={"id": "resp_1", "status": "failed", "status_details": details, "output": []})
        self.assertIn("the device is gone", self.error())
        self.state_is("ready")


class Settled(Scripted):
    def choose(self, selector, value):
        self.tab.run(f"""(() => {{ const field = document.querySelector('{selector}'); field.value = '{value}';
            field.dispatchEvent(new Event('change', {{bubbles: true}})); }})()""")

    def test_settings_are_sent_and_kept(self):
        session = self.open()
        self.tab.click("[data-testid=settings-open]")
        self.choose("#speed", "1.25")
        self.assertEqual(session.expect("session.update")["session"]["audio"]["output"]["speed"], 1.25)
        self.choose("#instructions", "Be brief.")
        self.assertEqual(session.expect("session.update")["session"]["instructions"], "Be brief.")
        self.choose("[data-testid=voice]", "mira")
        self.assertEqual(session.expect("session.update")["session"]["audio"]["output"]["voice"], "mira")
        self.choose("[data-testid=theme]", "dark")
        dark = self.tab.run("getComputedStyle(document.body).backgroundColor")
        self.choose("[data-testid=theme]", "light")
        self.assertNotEqual(self.tab.run("getComputedStyle(document.body).backgroundColor"), dark)
        self.choose("[data-testid=theme]", "dark")
        self.choose("#ending", "high")
        self.tab.click("[data-testid=settings-close]")
        self.tab.wait("!document.querySelector('[data-testid=settings]').open")
        session = self.open()
        self.assertEqual(self.settings["instructions"], "Be brief.")
        self.assertEqual((self.settings["audio"]["output"]["voice"], self.settings["audio"]["output"]["speed"]), ("mira", 1.25))
        self.assertEqual(self.tab.run("getComputedStyle(document.body).backgroundColor"), dark)
        self.assertEqual(self.go_hands_free(session)["audio"]["input"]["turn_detection"]["eagerness"], "high")
        # Behind the first sound another voice needs another session of the same conversation.
        item = self.ask(session, "Who are you?")
        session.answer("item_a", [("Mira.", 0.1)])
        self.wait_for_turn("assistant", "Mira.")
        self.choose("[data-testid=voice]", "default")
        again = self.fake.session()
        self.assertEqual(again.target, session.target)
        settings = again.begin(items=[(item["id"], "user", "Who are you?"), ("item_a", "assistant", "Mira.")])
        self.assertEqual(settings["audio"]["output"]["voice"], "default")


class Looks(Scripted):
    """Widths, themes, targets, and what axe finds; with pictures."""

    def fill(self):
        session = self.open()
        self.ask(session, "What is nine plus four?")
        session.answer("item_a", [("Nine plus four is thirteen.", 0.1)])
        session.send("parlance.timing", response_id="resp_item_a", item_id="item_a",
                     ms={"vad-pause": 100, "asr-final": 131, "phrase-emit": 155, "tts-first-audio-chunk": 265, "turn-end": 350, "audio-first-played": 352})
        self.go_hands_free(session)
        session.send("input_audio_buffer.speech_started", audio_start_ms=100, item_id="item_u")
        session.send("parlance.partial", item_id="item_u", text="Tell me a story about the see", stable=0)
        session.send("conversation.item.input_audio_transcription.completed", item_id="item_u", content_index=0, transcript="Tell me a story about the sea.")
        session.answer("item_b", [("Once there was an old sailor who loved the sea. Every morning he walked along the shore.", 2)], ends=False)
        self.tab.wait("document.querySelectorAll('[data-role=assistant]')[1]?.dataset.heard.includes('was')")
        session.send("parlance.barge_in", phase="confirmed")
        session.end("item_b", "cancelled")
        session.send("parlance.partial", item_id="item_v", text="Wait, which", stable=0)
        self.wait_for_turn("user", "")
        self.tab.wait("!!document.querySelector('.cut')")
        return session

    def sizes(self):
        for width, height in ((1280, 800), (390, 844), (320, 568)):
            for theme in ("light", "dark"):
                self.tab.size(width, height)
                self.tab.media(prefers_color_scheme=theme)
                yield width, theme

    def test_every_width_and_theme(self):
        self.fill()
        for width, theme in self.sizes():
            with self.subTest(width=width, theme=theme):
                self.assertLessEqual(self.tab.run("document.documentElement.scrollWidth"), width)
                small = self.tab.run("""[...document.querySelectorAll('button, input, select, textarea, summary')].filter((e) => e.checkVisibility())
                    .map((e) => [e.id || e.textContent, e.getBoundingClientRect()]).filter(([, r]) => r.width < 44 || r.height < 44).map(([id]) => id)""")
                self.assertEqual(small, [])
                self.tab.picture(PICTURES / f"page-{width}-{theme}.png")
        self.tab.size(1280, 800)
        self.tab.click("[data-testid=settings-open]")
        self.tab.picture(PICTURES / "settings-1280-dark.png")

    def test_axe_finds_nothing(self):
        axe = axe_source()
        self.fill()
        self.tab.run(axe + ";0")
        for width, theme in self.sizes():
            where = {320: "settings", 390: "", 1280: "page"}[width]
            if where:
                with self.subTest(width=width, theme=theme, where=where):
                    self.tab.run("document.querySelector('#settings')." + ("showModal()" if where == "settings" else "close()"))
                    found = self.tab.run("axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations.map((v) => [v.id, v.nodes.map((n) => n.html)]))")
                    self.assertEqual(found, [])

    def test_everything_is_reached_by_key(self):
        self.open()
        reached = []
        for _ in range(14):
            self.tab.press("Tab", "Tab")
            reached.append(self.tab.run("document.activeElement.id"))
            self.assertIn(self.tab.run("getComputedStyle(document.activeElement).outlineStyle"), ("solid", "none") if reached[-1] == "" else ("solid",))
        for wanted in ("begin-anew", "settings-open", "conversation", "hands-free", "talk", "text-input", "send"):
            self.assertIn(wanted, reached)


def axe_source():
    """axe-core from npm, at the version of the lock file; installed once into the build folder."""
    if not shutil.which("npm"):
        raise unittest.SkipTest("skipped: there is no npm (Debian: npm) for axe-core")
    place = BUILD / "page_clients"
    place.mkdir(parents=True, exist_ok=True)
    lock, known = (HERE / "package-lock.json").read_text(), place / "installed.json"
    if not known.is_file() or known.read_text() != lock:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, place)
        done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=place, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            raise unittest.SkipTest(f"skipped: npm does not reach its registry: {done.stderr.strip().splitlines()[-1:]}")
        known.write_text(lock)
    return (place / "node_modules/axe-core/axe.min.js").read_text()


if __name__ == "__main__":
    if not browser.find():
        print("skipped: the tests of the web page need Chromium: tools/install-dependencies.sh browser")
        sys.exit(SKIPPED)
    if len(sys.argv) == 1:  # both servers at once, each with a browser: most of the time is spent waiting
        parts = [subprocess.Popen([sys.executable, __file__, *(one.__name__ for one in kind.__subclasses__())]) for kind in (Scripted, Served)]
        sys.exit(max(part.wait() for part in parts))
    try:
        unittest.main(verbosity=2)
    finally:
        if hasattr(chromium, "one"):
            chromium.one.close()
