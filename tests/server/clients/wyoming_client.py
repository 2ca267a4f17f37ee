"""A client of the Wyoming protocol from Python's standard library alone, written from the protocol's description: each event is a
line of JSON, then `data_length` bytes of JSON, then `payload_length` bytes of sound."""
import json
import socket


class Wyoming:
    def __init__(self, host, port, timeout=30):
        self._socket = socket.create_connection((host, port), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, kind, data=None, payload=b""):
        body = json.dumps(data, ensure_ascii=False).encode() if data else b""
        head = {"type": kind, "version": "1.7.2"}
        if body:
            head["data_length"] = len(body)
        if payload:
            head["payload_length"] = len(payload)
        self.send_bytes(json.dumps(head).encode() + b"\n" + body + payload)

    def send_bytes(self, data):
        self._socket.sendall(data)

    def end_input(self):
        """Nothing more is sent; what was asked for still comes."""
        self._socket.shutdown(socket.SHUT_WR)

    def receive(self):
        """(type, data, payload) of the next event; None: the connection has ended."""
        line = self._stream.readline()
        if not line:
            return None
        head = json.loads(line)
        data = dict(head.get("data") or {})
        if head.get("data_length"):
            data.update(json.loads(self._stream.read(head["data_length"])))
        payload = self._stream.read(head["payload_length"]) if head.get("payload_length") else b""
        return head["type"], data, payload

    def until(self, *kinds):
        """Events up to the first of one of these kinds, or the end."""
        events = []
        while (event := self.receive()) is not None:
            events.append(event)
            if event[0] in kinds:
                break
        return events

    def close(self):
        self._stream.close()
        self._socket.close()
