"""A server with the page and a Realtime session that says what a test has it say: for what a real one does seldom, such as
changing its mind about an interruption, and for what it should never do."""
import base64
import hashlib
import http.server
import json
import math
import pathlib
import queue
import socketserver
import struct
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
TYPES = {"/": ("index.html", "text/html"), "/app.js": ("app.js", "text/javascript"), "/audio-worklet.js": ("audio-worklet.js", "text/javascript"),
         "/style.css": ("style.css", "text/css"), "/favicon.svg": ("favicon.svg", "image/svg+xml")}
MODELS = [{"id": f"fake{end}", "parlance": {"kind": kind}} for end, kind in (("", "text"), ("-asr", "asr"), ("-tts", "tts"))]


def tone(seconds, hertz=440, peak=12000):
    """A sine, as raw samples of the session."""
    return b"".join(struct.pack("<h", round(peak * math.sin(2 * math.pi * hertz * i / 24000))) for i in range(round(24000 * seconds)))


class Session:
    """One socket, seen from the server: what the page sent, in order, and the way to answer."""

    def __init__(self, handler):
        self.socket, self.reader = handler.connection, handler.rfile
        self.target, self.protocols = handler.path, handler.headers.get("sec-websocket-protocol", "")
        self.events, self.sound = queue.Queue(), bytearray()
        self.lock = threading.Lock()
        self.n = 0

    @property
    def n_bytes(self):
        return len(self.sound)

    def frame(self, kind, data):
        n = len(data)
        head = bytes([0x80 | kind]) + (bytes([n]) if n < 126 else b"\x7e" + struct.pack(">H", n) if n < 1 << 16 else b"\x7f" + struct.pack(">Q", n))
        with self.lock:
            self.socket.sendall(head + data)

    def send(self, type, **members):
        self.n += 1
        self.frame(1, json.dumps({"type": type, "event_id": f"event_{self.n:024}", **members}).encode())

    def close(self, code=1000, reason=""):
        self.frame(8, struct.pack(">H", code) + reason.encode())

    def drop(self):
        self.socket.shutdown(2)

    def read(self):
        """Until the page leaves: its events to the queue, its sound counted."""
        while head := self.reader.read(2):
            if len(head) < 2:
                return
            kind, n = head[0] & 15, head[1] & 127
            n = struct.unpack(">H", self.reader.read(2))[0] if n == 126 else struct.unpack(">Q", self.reader.read(8))[0] if n == 127 else n
            mask = self.reader.read(4)
            data = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.reader.read(n)))
            if kind == 8:
                return
            if kind != 1:
                continue
            event = json.loads(data)
            if event["type"] == "input_audio_buffer.append":
                self.sound += base64.b64decode(event["audio"], validate=True)
            else:
                self.events.put(event)

    def expect(self, type, seconds=10):
        """The next event of a type; what comes before it is dropped."""
        while True:
            event = self.events.get(timeout=seconds)
            if event["type"] == type:
                return event

    def expect_each(self, *types):
        """An event of each type, in any order."""
        missing = set(types)
        while missing:
            missing.discard(self.events.get(timeout=10)["type"])

    def begin(self, items=()):
        """As every session begins, with items (id, role, text) of a conversation that goes on; the page's settings."""
        self.send("session.created", session={"id": "sess_1", "type": "realtime"})
        self.send("conversation.created", conversation={"id": "conv_1", "object": "realtime.conversation"})
        for item in items:
            self.item(*item)
        settings = self.expect("session.update")["session"]
        self.send("session.updated", session=settings)
        return settings

    def item(self, id, role, text=None, status="completed"):
        kind = "input_text" if role == "user" else "output_audio"
        content = [] if text is None else [{"type": kind, ("text" if role == "user" else "transcript"): text}]
        item = {"id": id, "object": "realtime.item", "type": "message", "status": status, "role": role, "content": content}
        self.send("conversation.item.added", previous_item_id=None, item=item)
        return item

    def answer(self, id, phrases, ends=True):
        """An answer of (words, seconds of sound)."""
        response = {"id": f"resp_{id}", "object": "realtime.response", "status": "in_progress", "output": []}
        self.send("response.created", response=response)
        item = {"id": id, "object": "realtime.item", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
        about = {"response_id": response["id"], "item_id": id, "output_index": 0, "content_index": 0}
        self.send("response.output_item.added", response_id=response["id"], output_index=0, item=item)
        self.send("conversation.item.added", previous_item_id=None, item=item)
        for words, seconds in phrases:
            self.send("response.output_audio_transcript.delta", delta=words, **about)
            self.answer_more(id, seconds)
        if ends:
            self.end(id)

    def answer_more(self, id, seconds):
        """More sound of it."""
        about = {"response_id": f"resp_{id}", "item_id": id, "output_index": 0, "content_index": 0}
        sound = tone(seconds)
        for at in range(0, len(sound), 9600):
            self.send("response.output_audio.delta", delta=base64.b64encode(sound[at:at + 9600]).decode(), **about)

    def text(self, id, pieces):
        """An answer in words alone."""
        response = {"id": f"resp_{id}", "object": "realtime.response", "status": "in_progress", "output": []}
        self.send("response.created", response=response)
        item = {"id": id, "object": "realtime.item", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
        self.send("response.output_item.added", response_id=response["id"], output_index=0, item=item)
        for piece in pieces:
            self.send("response.output_text.delta", delta=piece, response_id=response["id"], item_id=id, output_index=0, content_index=0)
        self.send("response.done", response={"id": response["id"], "status": "completed", "status_details": None, "output": [item]})

    def end(self, id, status="completed"):
        about = {"response_id": f"resp_{id}", "item_id": id, "output_index": 0, "content_index": 0}
        self.send("response.output_audio.done", **about)
        output = [{"id": id, "type": "message", "role": "assistant", "content": []}]
        self.send("response.done", response={"id": f"resp_{id}", "status": status, "status_details": None, "output": output})


class FakeServer:
    """`refusals`: path -> (status, code, message) for as long as it stands there. `sessions`: sockets as they are opened."""

    def __init__(self):
        self.refusals, self.sessions, self.secrets, self.keys = {}, queue.Queue(), [], []
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, type, body, **fields):
                self.send_response(status)
                for name, value in {"content-type": type, "content-length": len(body), "cache-control": "no-cache"}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def json(self, status, value):
                self.answer(status, "application/json", json.dumps(value).encode())

            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length", 0)))
                self.do_GET()

            def do_GET(self):
                path = self.path.split("?")[0]
                fake.keys.append((path, self.headers.get("authorization")))
                if path in fake.refusals:
                    status, code, message = fake.refusals[path]
                    return self.json(status, {"error": {"message": message, "type": "invalid_request_error", "code": code, "param": None}})
                if path in TYPES:
                    file, type = TYPES[path]
                    return self.answer(200, f"{type}; charset=utf-8" if "svg" not in type else type, (ROOT / "webui" / file).read_bytes())
                if path == "/v1/models":
                    return self.json(200, {"object": "list", "data": MODELS})
                if path == "/v1/audio/voices":
                    return self.json(200, {"object": "list", "voices": ["default", "mira"], "data": []})
                if path == "/v1/realtime/client_secrets":
                    fake.secrets.append(f"ek_{len(fake.secrets)}")
                    return self.json(200, {"value": fake.secrets[-1], "expires_at": 0, "session": {}})
                if path == "/v1/realtime" and self.headers.get("upgrade", "").lower() == "websocket":
                    return self.upgrade()
                self.json(426 if path == "/v1/realtime" else 404, {"error": {"message": "no", "code": "none"}})

            def upgrade(self):
                sign = self.headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
                self.send_response(101)
                self.send_header("upgrade", "websocket")
                self.send_header("connection", "Upgrade")
                self.send_header("sec-websocket-accept", base64.b64encode(hashlib.sha1(sign.encode()).digest()).decode())
                self.send_header("sec-websocket-protocol", "realtime")
                self.end_headers()
                session = Session(self)
                fake.sessions.put(session)
                self.close_connection = True
                try:
                    session.read()
                except OSError:
                    pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def session(self, seconds=10):
        return self.sessions.get(timeout=seconds)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
