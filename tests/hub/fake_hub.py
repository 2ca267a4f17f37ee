"""A hub on this machine: repositories, their lists of files, and a second server that has the files' contents."""
import hashlib
import http.server
import json
import threading
import time
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PAGE = 3  # files of a list that come at once


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def git_sha1(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Answerer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.server.hub.asked.append((self.server.role, self.path, dict(self.headers)))
        try:
            if self.server.role == "hub":
                self.answer_as_hub()
            else:
                self.answer_as_store()
        except (BrokenPipeError, ConnectionResetError):
            pass

    def send(self, status, body=b"", **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in fields:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_refused(self):
        """What was planned for the next requests of this server comes first."""
        planned = self.server.hub.refusals[self.server.role]
        if not planned:
            return False
        status, fields = planned.pop(0)
        self.send(status, b"later", **fields)
        return True

    def answer_as_hub(self):
        hub = self.server.hub
        address = urllib.parse.urlsplit(self.path)
        parts = [urllib.parse.unquote(part) for part in address.path.strip("/").split("/")]
        if self.is_refused():
            return
        if hub.token and self.headers.get("Authorization") != f"Bearer {hub.token}":
            self.send(401, b'{"error":"who?"}', X_Error_Code="RepoNotFound")
            return
        if parts[:2] == ["api", "models"] and len(parts) >= 6:
            repo, what, revision = "/".join(parts[2:4]), parts[4], parts[5]
            files = hub.repos.get(repo)
            if files is None:
                self.send(404, b'{"error":"no"}', X_Error_Code="RepoNotFound")
            elif what == "revision":
                known = revision in ("main", COMMIT)
                body = json.dumps({"sha": COMMIT, "siblings": []}).encode()
                self.send(200 if known else 404, body, X_Error_Code="" if known else "RevisionNotFound")
            else:
                self.send_list(repo, files, address.query)
            return
        repo = "/".join(parts[:2])
        path = "/".join(parts[4:])
        if parts[2:4] != ["resolve", COMMIT] or path not in hub.repos.get(repo, {}):
            self.send(404, b"", X_Error_Code="EntryNotFound")
            return
        store = hub.stores[hub.store_of_hub]
        self.send(302, b"moved", Location=f"{store.address}/{repo}/{urllib.parse.quote(path)}?signed=yes")

    def send_list(self, repo, files, query):
        hub = self.server.hub
        begin = int(urllib.parse.parse_qs(query).get("cursor", ["0"])[0])
        entries = [{"type": "directory", "path": "folder", "oid": "0" * 40, "size": 0}]
        for path, content in sorted(files.items()):
            entry = {"type": "file", "path": path, "size": len(content), "oid": git_sha1(content)}
            if path.endswith((".gguf", ".safetensors")):
                entry["lfs"] = {"oid": hub.sums.get(path, sha256(content)), "size": len(content), "pointerSize": 130}
            entry["size"] = hub.sizes.get(path, len(content))
            entries.append(entry)
        fields = {}
        if begin + PAGE < len(entries):
            # Mirrors pass on the address of the hub itself.
            fields["Link"] = (f'<https://huggingface.co/api/models/{repo}/tree/{COMMIT}?recursive=true&cursor='
                              f'{begin + PAGE}>; rel="next"')
        self.send(200, json.dumps(entries[begin:begin + PAGE]).encode(), **fields)

    def answer_as_store(self):
        hub = self.server.hub
        if self.is_refused():
            return
        parts = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path).strip("/").split("/")
        content = hub.repos.get("/".join(parts[:2]), {}).get("/".join(parts[2:]))
        if content is None:
            self.send(404)
            return
        if hub.spoils:
            content = bytes([content[0] ^ 1]) + content[1:]
        begin, status, fields = 0, 200, {}
        mark = hub.marks.get("/".join(parts[2:]))
        if mark:
            fields["ETag"] = mark
        wanted = self.headers.get("Range")
        if wanted and hub.has_ranges and self.headers.get("If-Range", mark) == mark:
            begin, status = int(wanted.removeprefix("bytes=").removesuffix("-")), 206
            if begin >= len(content):
                self.send(416)
                return
            fields["Content-Range"] = f"bytes {begin}-{len(content) - 1}/{len(content)}"
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        body = content[begin:]
        if not hub.hides_length:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        cut = hub.cuts.pop(0) if hub.cuts else None
        if cut is not None:
            body = body[:cut]
        for at in range(0, len(body), hub.piece):
            self.wfile.write(body[at:at + hub.piece])
            self.wfile.flush()
            if hub.pause:
                time.sleep(hub.pause)
        if cut is not None:
            if hub.silent_s:
                time.sleep(hub.silent_s)
            self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, hub, role):
        super().__init__(("127.0.0.1", 0), Answerer)
        self.hub, self.role = hub, role
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()


class FakeHub:
    def __init__(self):
        self.servers = [Server(self, "hub"), Server(self, "store")]
        self.address = self.servers[0].address
        self.stores = {"other": self.servers[1], "same": None}
        self.store_of_hub = "other"
        self.repos = {}
        self.asked = []  # (role, path, fields)
        self.forget()

    def forget(self):
        """As a hub that works well."""
        self.refusals = {"hub": [], "store": []}  # [(status, fields)]: of the next requests
        self.cuts = []  # of the next contents: how many bytes come
        self.silent_s = 0  # before the connection of a cut one is closed
        self.has_ranges, self.spoils, self.hides_length = True, False, False
        self.piece, self.pause = 1 << 16, 0
        self.token = ""
        self.sums, self.sizes, self.marks = {}, {}, {}  # by path: other than they are
        self.asked.clear()

    def contents_asked(self):
        return [fields.get("Range") for role, _, fields in self.asked if role == "store"]

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()
