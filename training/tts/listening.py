"""Word error rates beside training: samples are decoded here, hear.py listens in a process of its own."""

import json
from pathlib import Path
import shutil
import subprocess
import sys
import threading

from evaluate import write_samples
from maskgit import Options

LONGEST_S = 240


class Listening:
    def __init__(self, codec, recogniser, device, log):
        self.codec, self.recogniser, self.device, self.log, self.thread = codec, recogniser, device, log, None
        self.rates = None

    def start(self, model, speech, folder, n, name, options=Options(), is_last=False):
        """Writes codes of n texts into the folder; their rates are logged when they are known."""
        if self.thread and self.thread.is_alive() and not is_last:
            return "the last ones are still being heard"
        self.wait()
        shutil.rmtree(folder, ignore_errors=True)
        made = write_samples(model, speech, folder, n, options)
        if not (self.codec and self.recogniser):
            return made
        command = [sys.executable, str(Path(__file__).with_name("hear.py")), "--samples", str(folder), "--codec",
                   self.codec, "--recogniser", self.recogniser, "--device", str(self.device)]

        def listen():
            try:
                done = subprocess.run(command + ["--wav"] * is_last, capture_output=True, text=True,
                                      timeout=LONGEST_S)
                rates = Path(folder) / "wer.json"
                self.rates = json.loads(rates.read_text()) if done.returncode == 0 else done.stderr[-400:]
            except Exception as error:      # a missing score must not end the run
                self.rates = f"{type(error).__name__}: {error}"
            self.log(f"{name}: word error rates in percent {self.rates}")

        self.thread = threading.Thread(target=listen)
        self.thread.start()
        return made

    def wait(self):
        """The rates of the last start()."""
        if self.thread:
            self.thread.join(LONGEST_S + 10)
            self.thread = None
        return self.rates
