"""How well probabilities of speech fit labels; the same measures as src/vad/detection_scores.cpp."""

import numpy as np

WINDOW, RATE = 512, 16000
SHORTEST_GAP = RATE // 3        # between turns


def roc_auc(probabilities, is_speech):
    """How often a window of speech has a higher probability than one without, ties counting half; None without both."""
    p, y = np.asarray(probabilities, np.float64), np.asarray(is_speech, bool)
    if y.all() or not y.any():
        return None
    _, inverse, counts = np.unique(p, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    n_speech, n_silent = int(y.sum()), int((~y).sum())
    return round(float((ranks[y].sum() - n_speech * (n_speech + 1) / 2) / (n_speech * n_silent)), 5)


def spans_of(labels, step):
    """[first, end) in samples of the runs of a boolean array with one entry every `step` samples."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(labels, np.int8), [0]])))
    return [(int(a) * step, int(b) * step) for a, b in edges.reshape(-1, 2)]


def turns_of(spans):
    turns = []
    for first, end in spans:
        if turns and first - turns[-1][1] < SHORTEST_GAP:
            turns[-1] = (turns[-1][0], end)
        else:
            turns.append((first, end))
    return turns


def delays(probabilities, spans, threshold):
    """(onset delays in ms, offset delays in ms, missed turns) of one recording."""
    above = np.asarray(probabilities) >= threshold
    turns, onsets, offsets, missed = turns_of(spans), [], [], 0
    for i, (first, end) in enumerate(turns):
        w = first // WINDOW
        while w < len(above) and w * WINDOW < end and not above[w]:
            w += 1
        if w == len(above) or w * WINDOW >= end:
            missed += 1
            continue
        onsets.append(((w + 1) * WINDOW - first) * 1000 / RATE)
        limit = turns[i + 1][0] // WINDOW if i + 1 < len(turns) else len(above)
        w = -(-end // WINDOW)
        while w < limit and above[w]:
            w += 1
        if w < limit:
            offsets.append(((w + 1) * WINDOW - end) * 1000 / RATE)
    return onsets, offsets, missed


def summary(recordings, threshold=0.5):
    """recordings: (probabilities, share of each window that is speech, spans) each. A dict of all measures."""
    p = np.concatenate([r[0] for r in recordings])
    y = np.concatenate([r[1] for r in recordings]) >= 0.5
    onsets, offsets, missed, n_turns, alarms, minutes = [], [], 0, 0, 0, 0.0
    for probabilities, _, spans in recordings:
        a, b, m = delays(probabilities, spans, threshold)
        onsets, offsets, missed = onsets + a, offsets + b, missed + m
        n_turns += len(turns_of(spans))
        if not spans:
            above = np.asarray(probabilities) >= threshold
            alarms += int(above[0]) + int((above[1:] & ~above[:-1]).sum())
            minutes += len(above) * WINDOW / RATE / 60
    part = lambda values, q: round(float(np.quantile(values, q)), 1) if values else None
    share = lambda mask: round(float((p[mask] >= threshold).mean()), 5) if mask.any() else None
    return {"recordings": len(recordings), "minutes": round(len(p) * WINDOW / RATE / 60, 2), "auc": roc_auc(p, y),
            "speech_found": share(y), "silence_taken_for_speech": share(~y), "turns": n_turns, "missed_turns": missed,
            "onset_ms_p50": part(onsets, 0.5), "onset_ms_p90": part(onsets, 0.9),
            "offset_ms_p50": part(offsets, 0.5), "offset_ms_p90": part(offsets, 0.9),
            "minutes_without_speech": round(minutes, 2), "false_alarms": alarms,
            "false_alarms_per_minute": round(alarms / minutes, 3) if minutes else None}
