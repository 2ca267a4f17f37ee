"""Runs a program, and says whether it had the machine to itself and how much memory it took.

Speed is a fact about a program only while nothing else runs: where threads wait for each other at barriers, a core that
is lent to another process for a moment costs many times that moment.
"""
import dataclasses
import os
import subprocess
import sys
import tempfile
import threading
import time

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MAX_OTHERS = 0.04  # share of the machine that other processes may take during a run
TICK_SLACK_S = 0.05  # of processor time: what the counters' steps can hide in a short run
MAX_RUN_S = 1200


@dataclasses.dataclass
class Outcome:
    output: str
    error: str  # empty: the program ended well
    others: float  # share of the machine that other processes and other virtual machines took meanwhile
    is_quiet: bool
    peak_memory_bytes: int
    seconds: float


def machine_s():
    """Processor seconds of all processors since start: (busy, busy and idle). Time stolen by the host is busy."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, idle, io_wait, irq, soft_irq, steal = map(int, stat.readline().split()[1:9])
    busy = user + nice + system + irq + soft_irq + steal
    return busy / TICKS_PER_SECOND, (busy + idle + io_wait) / TICKS_PER_SECOND


def process_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND


class BusyLoop:
    """A process that keeps one processor busy for as long as the `with` lasts."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def processor_s(self):
        return process_s(self.process.pid)


def run(command, beside=None):
    """Runs a command to its end. `beside` is a BusyLoop whose processor time is not held against the run."""
    beside_s = beside.processor_s if beside else lambda: 0
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        (busy_before, all_before), beside_before, start = machine_s(), beside_s(), time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        limit = threading.Timer(MAX_RUN_S, process.kill)
        limit.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            raise
        finally:
            limit.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        (busy_after, all_after), beside_after = machine_s(), beside_s()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    own = usage.ru_utime + usage.ru_stime + beside_after - beside_before
    others_s = max(0, busy_after - busy_before - own)
    all_s = max(all_after - all_before, 1 / TICKS_PER_SECOND)
    return Outcome(texts[0], _error_of(command, process.returncode, texts[1]), others_s / all_s,
                   others_s <= MAX_OTHERS * all_s + TICK_SLACK_S, usage.ru_maxrss * 1024,
                   time.monotonic() - start)


def _error_of(command, code, text):
    if code == 0:
        return ""
    if code == -9:
        return f"{command[0]} was stopped after {MAX_RUN_S} s, or for want of memory"
    lines = text.strip().splitlines() or ["no message"]
    return f"{command[0]} ended with code {code}: {lines[-1]}"


def wait_for_quiet(max_s):
    """Returns once the machine is nearly idle for half a second, or after max_s."""
    end = time.monotonic() + max_s
    while time.monotonic() < end:
        busy_before, all_before = machine_s()
        time.sleep(0.5)
        busy, total = machine_s()
        if busy - busy_before <= MAX_OTHERS * (total - all_before):
            return
