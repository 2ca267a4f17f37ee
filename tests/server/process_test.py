"""The server as a process: what signals do to it, and whom it believes behind a proxy."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(os.environ.get("PARLANCE_BUILD", "build/release"))
OLD, NEW = "old-key-0123456789", "new-key-0123456789"


class Process(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.keys = pathlib.Path(self.folder.name) / "keys"
        self.settings = pathlib.Path(self.folder.name) / "settings"
        self.process = self.log = None

    def tearDown(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.communicate()
        if self.log:
            self.log.close()
        self.folder.cleanup()

    def write_keys(self, *keys):
        self.keys.write_text("".join(f"home{i}:{key}\n" for i, key in enumerate(keys)))
        self.keys.chmod(0o600)

    def start(self, *options, **environment):
        if self.log:
            self.log.close()
        self.log = open(pathlib.Path(self.folder.name) / "log", "w+")
        self.process = subprocess.Popen([BUILD / "bin/parlance", "serve", "--port", "0", "--no-state", *options],
                                        stdout=subprocess.PIPE, stderr=self.log, text=True, env={**os.environ, **environment})
        self.listens = self.process.stdout.readline().strip()
        port = re.search(r":(\d+)$", self.listens)
        self.port = port and int(port[1])

    def ask(self, method="GET", path="/v1/models", body=None, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body and json.dumps(body),
                           {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in fields.items()}})
        answer = connection.getresponse()
        if body and body.get("stream"):
            self.addCleanup(connection.close)
            return answer
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def status_with(self, key):
        return self.ask(authorization=f"Bearer {key}")[0]

    def wait_for_log(self, words):
        for _ in range(200):
            self.log.seek(0)
            if words in self.log.read():
                return
            time.sleep(0.02)
        self.fail(f"the log never says {words}")

    def test_keys_and_names_are_read_again(self):
        self.write_keys(OLD)
        self.settings.write_text("allowed-host = first.example\n")
        self.start("--api-key-file", self.keys, "--config", self.settings)
        self.assertEqual([self.status_with(OLD), self.status_with(NEW)], [200, 401])
        self.write_keys(NEW, "another-key-0123456789")
        self.settings.write_text("allowed-host = second.example\n")
        self.process.send_signal(signal.SIGHUP)
        self.wait_for_log("event=reread result=ok")
        self.assertEqual([self.status_with(OLD), self.status_with(NEW)], [401, 200])
        for name, status in (("first.example", 403), ("second.example", 200)):
            self.assertEqual(self.ask(authorization=f"Bearer {NEW}", host=name)[0], status)
        self.keys.chmod(0o644)
        self.process.send_signal(signal.SIGHUP)
        self.wait_for_log("chmod 600")
        self.assertEqual(self.status_with(NEW), 200)
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(30), 0)

    def test_a_second_signal_cuts(self):
        self.start()
        answer = self.ask("POST", "/v1/chat/completions", {
            "messages": [{"role": "user", "content": "Tell me a story."}], "stream": True, "ignore_eos": True,
            "max_tokens": 4000})
        answer.read(10)
        self.process.send_signal(signal.SIGTERM)
        self.wait_for_log("event=drain")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(5), 3)

    def test_who_started_it_as_a_service_is_told_how_it_is(self):
        folder = pathlib.Path(self.folder.name)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(folder / "notify"))
            manager.settimeout(20)
            self.start("--host", f"unix:{folder}/parlance", NOTIFY_SOCKET=str(folder / "notify"), WATCHDOG_USEC="100000")
            self.assertEqual(self.listens, f"listening on unix:{folder}/parlance")
            self.assertEqual([manager.recv(99) for _ in range(4)], [b"READY=1"] + 3 * [b"WATCHDOG=1"])
            connection = http.client.HTTPConnection("localhost", timeout=30)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(str(folder / "parlance"))
            connection.request("GET", "/live", headers={"host": "localhost"})
            self.assertEqual(connection.getresponse().status, 200)
            connection.close()
            self.process.terminate()
            while (told := manager.recv(99)) == b"WATCHDOG=1":
                pass
            self.assertEqual(told, b"STOPPING=1")
            self.assertEqual(self.process.wait(30), 0)
        self.assertFalse((folder / "parlance").exists())

    def test_a_proxy_is_believed_where_it_is_trusted(self):
        page = "https://app.example"
        for trusted, status in (("127.0.0.1", 200), ("10.0.0.0/8", 403)):
            self.start("--trusted-proxy", trusted, "--allowed-host", "app.example", "--io-threads", "3")
            said = self.ask(origin=page, x_forwarded_for="192.0.2.9", x_forwarded_proto="https",
                            x_forwarded_host="app.example")
            self.assertEqual(said[0], status, said)
            self.wait_for_log("remote=192.0.2.9" if status == 200 else "remote=127.0.0.1")
            self.process.terminate()
            self.assertEqual(self.process.wait(30), 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
