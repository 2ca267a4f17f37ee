// The runs of a batch's tokens that belong to one sequence: a recurrence walks them (see Recurrence). For
// shaders that have the operands `seqs`, `positions`, `froms` and `tos` and push constants with `seq_at`,
// `pos_at`, `from_at`, `to_at` (elements), `n_tokens`, and `n_places`, which is 0 where states do not lag
// behind and the last two operands are not there.

int seq_of(uint token) { return seqs[push.seq_at + token]; }

bool starts_run(uint token) { return token == 0 || seq_of(token - 1) != seq_of(token); }

// Behind the last token of the run that `token` belongs to. A sequence has one run in a batch, so that what
// is not its own lies behind it.
uint end_of_run(uint token) {
  uint inside = token;
  uint outside = push.n_tokens;
  while (outside - inside > 1) {
    const uint middle = (inside + outside) / 2;
    if (seq_of(middle) == seq_of(token)) {
      inside = middle;
    } else {
      outside = middle;
    }
  }
  return outside;
}

// A run and its positions.
struct Way {
  uint first;  // token
  uint seq;
  uint pos, end;
  uint from, to;  // where the state stands, and where it is stored
};

Way way_of(uint first) {
  Way way;
  way.first = first;
  way.seq = uint(seq_of(first));
  way.pos = uint(positions[push.pos_at + first]);
  way.end = way.pos + end_of_run(first) - first;
  way.from = way.pos;
  way.to = way.end;
  if (push.n_places > 0) {
    way.from = uint(froms[push.from_at + first]);
    way.to = uint(tos[push.to_at + first]);
  }
  return way;
}

// Of position p, among the places of all sequences.
uint place_of(Way way, uint p) { return way.seq * push.n_places + p % push.n_places; }
