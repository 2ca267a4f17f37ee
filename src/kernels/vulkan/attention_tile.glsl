// For attention.glsl: the rows of a tile are heads of one or several tokens, as the operation is given them.

layout(set = 0, binding = 10, std430) readonly restrict buffer MainPages { int main_pages[]; };  // [2, n_seq]

uint first_row;  // of the tile, among token * group_size + head of the group

void find_rows() { first_row = gl_WorkGroupID.x * kRows; }

uint token_of(uint row) { return (first_row + row) / group_size; }
uint vector_of(uint row) {
  return token_of(row) * push.n_head + head_kv * group_size + (first_row + row) % group_size;
}
bool exists(uint row) { return first_row + row < push.n_tokens * group_size; }
uint last_token_of_tile() { return token_of(min(kRows, push.n_tokens * group_size - first_row) - 1); }

// Of a sequence that has pages of two kinds (KvView::main_pages), those of one are met, and its keys are counted
// as if there were no others.
const uint kAllPages = 0, kMainPages = 1, kExactPages = 2;

// How many of a sequence's keys lie before a position.
int keys_before(uint seq, int position) {
  if (push.pages_of == kAllPages) return position;
  const int first = main_pages[push.main_pages_at + 2 * seq] * int(push.page_tokens);
  const int last = main_pages[push.main_pages_at + 2 * seq + 1] * int(push.page_tokens);
  const int n_main = min(max(position - first, 0), max(last - first, 0));
  return push.pages_of == kExactPages ? position - n_main : n_main;
}

// The page of a key, among the sequence's.
uint page_of(uint seq, uint key) {
  const uint index = key / push.page_tokens;
  if (push.pages_of == kAllPages) return index;
  const int first = main_pages[push.main_pages_at + 2 * seq], last = main_pages[push.main_pages_at + 2 * seq + 1];
  if (push.pages_of == kMainPages) return index + uint(first);
  return index < uint(first) ? index : index + uint(max(last - first, 0));
}

uint seq_of(uint token) { return uint(seqs[push.seq_at + token]); }

// Of a token: keys before the first that it sees, and before the first that it sees no more.
uint first_of(uint seq, uint token) {
  return push.has_first > 0 ? uint(keys_before(seq, firsts[push.first_at + token])) : 0;
}
int keys_of(uint seq, uint token) { return keys_before(seq, positions[push.pos_at + token] + 1); }

void load_q_tile() {
  const uint row_floats = kKPieces * 16;
  for (uint i = gl_LocalInvocationID.x; i < kRows * row_floats; i += kLanes) {
    const uint row = i / row_floats;
    const uint dimension = i % row_floats;
    float value = 0;
    if (exists(row) && dimension < push.head_dim_k) {
      value = q[push.q_at + vector_of(row) * push.head_dim_k + dimension] *
              push.scale;
    }
    q_tile[i / 4][i % 4] = value;
  }
}
