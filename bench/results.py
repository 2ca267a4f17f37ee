"""Figures of all runs, kept in a file so that a measurement can be continued, and what follows from them."""
import dataclasses
import json
import os
import statistics

BUSY = "decode, core busy"  # a test's name

def _lines(values):
    """A JSON array with an element on each line: short, and readable in a comparison of two versions."""
    return "[" + ",".join("\n  " + json.dumps(value) for value in values) + "]"


class Results:
    """Runs in the order in which they were made: dicts of program, variant, build, model, model_bytes, threads, depth,
    kind ("speed", "loaded" or "memory"), round, seconds, others, is_quiet and the figures of the program."""

    def __init__(self, path, head):
        self.path = path
        self.head = head  # machine and sizes
        self.runs = []

    def load(self, builds, model_bytes):
        """Takes over the runs of an earlier measurement that the same programs made on the same models."""
        with open(self.path, encoding="utf-8") as file:
            stored = json.load(file)
        if any(stored.get(key) != value for key, value in self.head.items()):
            return 0
        self.runs = [run for run in stored["runs"]
                     if run["build"] == builds.get((run["program"], run["variant"]))
                     and run["model_bytes"] == model_bytes.get(run["model"])]
        return len(self.runs)

    def add(self, run):
        self.runs.append(run)

    def save(self, rows=()):
        temporary = self.path + ".part"
        members = {key: json.dumps(value) for key, value in self.head.items()}
        members["rows"] = _lines([dataclasses.asdict(row) for row in rows])
        members["runs"] = _lines(self.runs)
        with open(temporary, "w", encoding="utf-8") as file:
            file.write("{\n" + ",\n".join(f' "{key}": {value}' for key, value in members.items()) + "\n}\n")
        os.replace(temporary, self.path)

    def select(self, **wanted):
        return [run for run in self.runs if all(run[key] == value for key, value in wanted.items())]


@dataclasses.dataclass
class PeerFigure:
    value: float
    variant: str  # the better of "plain" and "flash"
    ratio: float  # Parlance over the peer, the median of rounds
    n_kept: int  # rounds that had the machine to themselves
    share: float | None = None  # of the quiet machine's speed, where a core is busy


@dataclasses.dataclass
class Row:
    """One line of the table."""
    model: str
    threads: int
    depth: int
    test: str  # "prefill", "decode", BUSY, "small batch", "memory"
    ours: float
    peers: dict  # name: PeerFigure
    n_kept: int  # rounds that had the machine to themselves
    n_rounds: int
    bound: float | None = None  # tokens/s that the machine allows at most
    limit: str = ""  # what sets the bound: "memory" or "arithmetic"
    share: float | None = None  # of the bound; of the quiet machine's speed where a core is busy


@dataclasses.dataclass
class Test:
    """How a line follows from the figures of a run."""
    name: str
    kind: str
    figure: object  # of a run: a number, or None where the run has none
    is_better: object = max
    bound: str = ""  # the figures' name that says how near to its bound Parlance came


def tests(batch):
    small = f"prefill_{batch}"

    def small_batch_cost(run):
        """Time of a small batch over the time of one token."""
        return batch * run["decode"] / run[small] if small in run else None

    return [Test("prefill", "speed", lambda run: run.get("prefill"), bound="prefill"),
            Test("decode", "speed", lambda run: run.get("decode"), bound="decode"),
            Test(BUSY, "loaded", lambda run: run.get("decode")),
            Test("small batch", "speed", small_batch_cost, min),
            Test("memory", "memory", lambda run: run["memory_bytes"] / 2**20, min)]


def _by_round(runs, figure):
    return {run["round"]: figure(run) for run in runs if figure(run) is not None}


def _kept(runs):
    """The runs that had the machine to themselves; all, if none had."""
    return [run for run in runs if run["is_quiet"]] or runs


def _peer_figure(ours, runs, test):
    """The better variant of a peer, beside our runs of the same rounds."""
    best = None
    for variant in sorted({run["variant"] for run in runs}):
        own = [run for run in runs if run["variant"] == variant and test.figure(run) is not None]
        theirs = _by_round(_kept(own), test.figure)
        if not theirs:
            continue
        value = statistics.median(theirs.values())
        if best and test.is_better(value, best.value) != value:
            continue
        shared = [ours[i] / theirs[i] for i in ours if i in theirs]
        ratio = statistics.median(shared or [statistics.median(ours.values()) / value])
        best = PeerFigure(value, variant, ratio, sum(run["is_quiet"] for run in own))
    return best


def summarise(results, batch):
    """The table's rows, in the order of the first runs."""
    rows = []
    cases = dict.fromkeys((run["model"], run["threads"], run["depth"]) for run in results.runs)
    for model, threads, depth in sorted(cases, key=lambda case: (_model_order(results, case[0]), -case[1], case[2])):
        for test in tests(batch):
            runs = results.select(model=model, threads=threads, depth=depth, kind=test.kind)
            row = _row_of(runs, test)
            if row:
                row.model, row.threads, row.depth = model, threads, depth
                rows.append(row)
    _compare_with_quiet(rows)
    return rows


def _model_order(results, model):
    return next(i for i, run in enumerate(results.runs) if run["model"] == model)


def _row_of(runs, test):
    all_ours = [run for run in runs if run["program"] == "Parlance" and test.figure(run) is not None]
    if not all_ours:
        return None
    kept = _kept(all_ours)
    ours = _by_round(kept, test.figure)
    row = Row("", 0, 0, test.name, statistics.median(ours.values()), {},
              sum(run["is_quiet"] for run in all_ours), len(all_ours))
    for name in dict.fromkeys(run["program"] for run in runs if run["program"] != "Parlance"):
        peer = _peer_figure(ours, [run for run in runs if run["program"] == name], test)
        if peer:
            row.peers[name] = peer
    if test.bound:
        shares = [run[test.bound + "_share"] for run in kept]
        row.bound = statistics.median(run[test.bound] / run[test.bound + "_share"] for run in kept)
        row.share = statistics.median(shares)
        row.limit = statistics.mode(run[test.bound + "_limit"] for run in kept)
    return row


def _compare_with_quiet(rows):
    """Says of decode beside a busy process what part of the quiet machine's speed is left."""
    quiet_rows = {(row.model, row.threads, row.depth): row for row in rows if row.test == "decode"}
    for row in rows:
        quiet = quiet_rows.get((row.model, row.threads, row.depth))
        if row.test != BUSY or not quiet:
            continue
        row.share = row.ours / quiet.ours
        for name, peer in row.peers.items():
            if name in quiet.peers:
                peer.share = peer.value / quiet.peers[name].value


def peaks_by_threads(results):
    """{threads: {peak: (median, least, most)}} as Parlance measured them before each of its runs."""
    table = {}
    runs = results.select(program="Parlance", kind="speed")
    for threads in sorted({run["threads"] for run in runs}):
        peaks = [run["peaks"] for run in _kept([run for run in runs if run["threads"] == threads])]
        table[threads] = {name: (statistics.median(p[name] for p in peaks), min(p[name] for p in peaks),
                                 max(p[name] for p in peaks)) for name in peaks[0] if all(p.get(name) for p in peaks)}
    return table
