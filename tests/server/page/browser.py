"""Chromium without a window, driven over the DevTools protocol through a pair of pipes. Nothing but the standard library."""
import base64
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import tempfile
import time


def find():
    """The browser: what CHROMIUM names, or the first that is installed; None."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """Its tabs share one process, but neither storage nor permissions."""

    def __init__(self, program, *flags):
        self.folder = tempfile.TemporaryDirectory(prefix="parlance-browser-", ignore_cleanup_errors=True)
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        far = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (theirs_in, theirs_out)]
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio",
                 "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
                 "--autoplay-policy=no-user-gesture-required", "--use-fake-device-for-media-stream", "--remote-debugging-pipe",
                 f"--user-data-dir={self.folder.name}", *flags]

        def wire():
            os.dup2(far[0], 3)
            os.dup2(far[1], 4)

        self.process = subprocess.Popen([program, *flags, "about:blank"], preexec_fn=wire, pass_fds=(3, 4), start_new_session=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (theirs_in, theirs_out, *far):
            os.close(fd)
        self.out, self.input = ours_out, ours_in
        self.buffer, self.n_sent, self.tabs, self.answers = b"", 0, {}, {}
        self.version = self.call("Browser.getVersion")["product"]

    def close(self):
        with contextlib.suppress(OSError, RuntimeError):
            self.call("Browser.close")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.out)
        os.close(self.input)
        self.folder.cleanup()

    def post(self, method, params, session=None):
        self.n_sent += 1
        message = {"id": self.n_sent, "method": method, "params": params} | ({"sessionId": session} if session else {})
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.out, data):]
        return self.n_sent

    def read(self, seconds):
        """Takes in what comes within the time, at least one message if there is any."""
        if b"\0" not in self.buffer and select.select([self.input], [], [], seconds)[0]:
            data = os.read(self.input, 1 << 20)
            if not data:
                raise RuntimeError("the browser has ended")
            self.buffer += data
        while b"\0" in self.buffer:
            text, self.buffer = self.buffer.split(b"\0", 1)
            message = json.loads(text)
            if "id" in message:
                self.answers[message["id"]] = message
            elif message.get("sessionId") in self.tabs:
                self.tabs[message["sessionId"]].take(message["method"], message["params"])

    def call(self, method, params=None, session=None, seconds=30):
        number, end = self.post(method, params or {}, session), time.monotonic() + seconds
        while number not in self.answers:
            if time.monotonic() > end:
                raise TimeoutError(f"the browser does not answer {method}")
            self.read(0.2)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def tab(self, width=1280, height=800, allowed=("audioCapture",), origin=None):
        context = self.call("Target.createBrowserContext")["browserContextId"]
        if origin:
            self.call("Browser.grantPermissions", {"permissions": list(allowed), "origin": origin, "browserContextId": context})
        target = self.call("Target.createTarget", {"url": "about:blank", "browserContextId": context})["targetId"]
        session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        return Tab(self, session, context, width, height)


class Tab:
    def __init__(self, browser, session, context, width, height):
        self.browser, self.session, self.context = browser, session, context
        self.complaints, self.requests, self.scripts = [], [], []
        browser.tabs[session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.size(width, height)

    def close(self):
        self.browser.call("Target.disposeBrowserContext", {"browserContextId": self.context})

    def call(self, method, **params):
        return self.browser.call(method, params, self.session)

    def take(self, method, params):
        if method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.complaints.append(" ".join(str(one.get("value", one.get("description"))) for one in params["args"]))
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(f"{params['entry']['text']} {params['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.webSocketCreated":
            self.requests.append(params["url"])

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=width < 600)

    def media(self, **features):
        """media(prefers_color_scheme="dark")"""
        self.call("Emulation.setEmulatedMedia", features=[{"name": name.replace("_", "-"), "value": value} for name, value in features.items()])

    def before_page(self, script):
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script):
        """The value of an expression, awaited if it is a promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", script))
        return answer["result"].get("value")

    def wait(self, script, seconds=10):
        """Until an expression is true: its value."""
        end = time.monotonic() + seconds
        while True:
            with contextlib.suppress(RuntimeError):  # between two pages there is nothing to ask
                if value := self.run(script):
                    return value
            if time.monotonic() > end:
                raise AssertionError(f"not within {seconds} s: {script}\n{self.run('document.body.innerText')}\n{self.complaints}")
            self.browser.read(0.02)

    def key(self, kind, key, code):
        text = {"text": "\r" if key == "Enter" else key} if kind == "keyDown" and (len(key) == 1 or key == "Enter") else {}
        self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode={"Escape": 27, "Tab": 9, "Enter": 13}.get(key, ord(key[0])), **text)

    def press(self, key, code):
        self.key("keyDown", key, code)
        self.key("keyUp", key, code)

    def mouse(self, kind, selector, time_s=None):
        x, y = self.run(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                        " return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1, timestamp=time_s or time.time())

    def click(self, selector):
        """However long it takes, it was a short one."""
        began_s = time.time()
        self.mouse("mousePressed", selector, began_s)
        self.mouse("mouseReleased", selector, began_s + 0.05)

    def write(self, selector, text):
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def picture(self, file):
        pathlib.Path(file).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(file).write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
