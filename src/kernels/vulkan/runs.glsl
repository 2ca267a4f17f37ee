// The runs of a batch's tokens that belong to one sequence: a recurrence walks them. For shaders that have
// the operands `seqs` and `positions` and push constants with `seq_at`, `pos_at` (elements) and `n_tokens`.

int seq_of(uint token) { return seqs[push.seq_at + token]; }

bool starts_run(uint token) { return token == 0 || seq_of(token - 1) != seq_of(token); }

// Whether the run that begins with token `first` begins a sequence: whatever state is kept counts as zero.
bool starts_sequence(uint first) { return positions[push.pos_at + first] == 0; }

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
