// What the two passes of top_logits share.

const uint kTopGroups = 16u;  // of a part; as many in top_logits.cpp
// Words of a part in scratch memory.
const uint kPartHighest = 0u, kPartSum = 1u, kPartIsBad = 2u, kPartGroups = 3u, kPartWords = kPartGroups + kTopGroups;
const uint kAtOnce = 8u;  // elements that are loaded before the first is looked at, which hides the latency of memory
const float kMostFinite = 3.402823466e38;

// Unsigned numbers in the order of floats, both zeros being equal; 0 is none of them.
uint rank(uint bits) {
  if (bits == 0x80000000u) bits = 0u;
  return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}
float value_of_rank(uint of) { return uintBitsToFloat((of & 0x80000000u) != 0u ? of & 0x7fffffffu : ~of); }

bool is_no_finite(uint bits) { return (bits & 0x7f800000u) == 0x7f800000u; }

// Elements [first, end) of a row.
struct PartRange {
  uint first, end;
};
PartRange range_of_part(uint n, uint part, uint n_parts) {
  const uint each = n / n_parts, more = n % n_parts;  // the first `more` parts have one more
  const uint first = part * each + min(part, more);
  return PartRange(first, first + each + (part < more ? 1u : 0u));
}
