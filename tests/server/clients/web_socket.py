"""A client of WebSockets from Python's standard library alone, written from RFC 6455, for tests.

    socket = WebSocket("127.0.0.1", 8080, "/v1/realtime", protocols=["realtime"])
    socket.send({"type": "response.create"})   # objects as JSON, str as text, bytes as binary
    event = socket.receive(timeout=10)         # dict, str, bytes, or Closed(code, reason)
    socket.close()
"""
import base64
import hashlib
import json
import os
import socket
import struct
import time

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


class Refused(Exception):
    """The server answered the handshake in HTTP."""

    def __init__(self, status, fields, body):
        super().__init__(f"{status}: {body.decode(errors='replace')}")
        self.status, self.fields, self.body = status, fields, body


class Closed:
    """The other side closed: its code (None: it gave none; 1006: the connection was cut) and reason."""

    def __init__(self, code, reason=""):
        self.code, self.reason = code, reason

    def __repr__(self):
        return f"Closed({self.code}, {self.reason!r})"


def frame(opcode, payload=b"", is_final=True):
    """The bytes of a masked frame."""
    head = bytes([(0x80 if is_final else 0) | opcode])
    n = len(payload)
    if n < 126:
        head += bytes([0x80 | n])
    elif n < 65536:
        head += bytes([0x80 | 126]) + struct.pack(">H", n)
    else:
        head += bytes([0x80 | 127]) + struct.pack(">Q", n)
    mask = os.urandom(4)
    pad = mask * (n // 4 + 1)
    masked = (int.from_bytes(payload, "big") ^ int.from_bytes(pad[:n], "big")).to_bytes(n, "big")
    return head + mask + masked


class WebSocket:
    def __init__(self, host, port, path, protocols=(), fields=None, timeout=20):
        self._socket = socket.create_connection((host, port), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._bytes = b""
        self._message, self._kind = b"", None
        self.n_pings = 0
        self.received_at = None  # time.monotonic() when the last message was complete
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", "Upgrade: websocket", "Connection: Upgrade",
                 "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}"]
        if protocols:
            lines.append("Sec-WebSocket-Protocol: " + ", ".join(protocols))
        lines += [f"{name}: {value}" for name, value in (fields or {}).items()]
        self.send_bytes("\r\n".join(lines + ["", ""]).encode())
        while b"\r\n\r\n" not in self._bytes:
            if not self._read(timeout):
                raise ConnectionError("the connection ended within the handshake")
        head, self._bytes = self._bytes.split(b"\r\n\r\n", 1)
        first, *rest = head.decode().split("\r\n")
        self.fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}
        status = int(first.split()[1])
        if status != 101:
            n = int(self.fields.get("content-length", 0))
            while len(self._bytes) < n and self._read(timeout):
                pass
            self._socket.close()
            raise Refused(status, self.fields, self._bytes[:n])
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest())
        assert self.fields["sec-websocket-accept"] == accept.decode(), "the handshake's answer is another's"
        self.protocol = self.fields.get("sec-websocket-protocol")
        assert self.protocol is None or self.protocol in protocols, "a sub-protocol that was not offered"

    def send(self, message):
        if isinstance(message, (bytes, bytearray)):
            return self.send_bytes(frame(BINARY, bytes(message)))
        text = message if isinstance(message, str) else json.dumps(message)
        self.send_bytes(frame(TEXT, text.encode()))

    def send_bytes(self, data):
        """Any bytes, as they are."""
        self._socket.sendall(data)

    def receive(self, timeout=20):
        """The next message: JSON objects as dict, other text as str, binary as bytes; Closed at the end. Pings are
        answered meanwhile. Raises TimeoutError."""
        end = time.monotonic() + timeout
        while True:
            got = self._next_frame(end)
            if got is None:
                return Closed(1006)
            is_final, opcode, payload = got
            if opcode == PING:
                self.n_pings += 1
                self.send_bytes(frame(PONG, payload))
            elif opcode == CLOSE:
                try:
                    self.send_bytes(frame(CLOSE, payload[:2]))
                except OSError:
                    pass
                self._socket.close()
                code = struct.unpack(">H", payload[:2])[0] if payload else None
                return Closed(code, payload[2:].decode())
            elif opcode != PONG:
                if opcode != CONTINUATION:
                    self._message, self._kind = b"", opcode
                self._message += payload
                if is_final:
                    self.received_at = time.monotonic()
                    if self._kind == BINARY:
                        return self._message
                    text = self._message.decode()
                    return json.loads(text) if text.startswith("{") else text

    def close(self, code=1000, reason=""):
        """Closes, and takes what still comes until the other side has."""
        try:
            self.send_bytes(frame(CLOSE, struct.pack(">H", code) + reason.encode()))
            while not isinstance(closed := self.receive(5), Closed):
                pass
            return closed
        finally:
            self._socket.close()

    def cut(self):
        """Leaves without a word."""
        self._socket.close()

    def _read(self, seconds):
        self._socket.settimeout(max(seconds, 0.001))
        data = self._socket.recv(65536)
        self._bytes += data
        return data

    def _take(self, n, end):
        while len(self._bytes) < n:
            try:
                if not self._read(end - time.monotonic()):
                    return None
            except ConnectionError:
                return None
        taken, self._bytes = self._bytes[:n], self._bytes[n:]
        return taken

    def _next_frame(self, end):
        # Peeks, so that a time-out within a frame loses nothing.
        n_head = 2
        while True:
            head = self._peek(n_head, end)
            if head is None:
                return None
            length = head[1] & 0x7F
            needed = 2 + (2 if length == 126 else 8 if length == 127 else 0)
            if len(head) >= needed:
                break
            n_head = needed
        assert not head[1] & 0x80, "servers do not mask"
        n = length if length < 126 else int.from_bytes(head[2:needed], "big")
        if self._peek(needed + n, end) is None:
            return None
        whole = self._take(needed + n, end)
        return bool(head[0] & 0x80), head[0] & 0x0F, whole[needed:]

    def _peek(self, n, end):
        taken = self._take(n, end)
        if taken is None:
            return None
        self._bytes = taken + self._bytes
        return taken
