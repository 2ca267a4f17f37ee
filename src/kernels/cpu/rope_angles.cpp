// rope_angles on the CPU: once per step, so in double precision on every instruction set. A position of 10^5
// times a frequency rounded to f32 would be off by 10^-2 of a radian.
#include <cmath>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace parlance {

namespace {

// The cos and sin of a token's pairs, [n_pairs, 2]; pos_of(pair) is what the pair turns with.
template <class PosOf>
void angles_of_token(const Tensor& inverse, float magnitude, float* out, const PosOf& pos_of) {
  const int64_t n_pairs = inverse.ne[0];
  const float* high = inverse.as<const float>();
  const float* low = high + n_pairs;
  for (int64_t i = 0; i < n_pairs; ++i) {
    const double angle =
        static_cast<double>(pos_of(i)) * (static_cast<double>(high[i]) + static_cast<double>(low[i]));
    out[i] = static_cast<float>(std::cos(angle) * magnitude);
    out[n_pairs + i] = static_cast<float>(std::sin(angle) * magnitude);
  }
}

template <class OfToken>
void run_tokens(Stream& stream, int64_t n_tokens, int64_t n_pairs, const OfToken& of_token) {
  constexpr int64_t kPairsPerPiece = 128;  // a pair of library calls takes tens of nanoseconds
  parallel_for(pool_of(stream), n_tokens, div_up(kPairsPerPiece, std::max<int64_t>(n_pairs, 1)),
               [&](int64_t first, int64_t last) {
                 for (int64_t token = first; token < last; ++token) of_token(token);
               });
}

void run_rope_angles(Stream& stream, const RopeAnglesArgs& args) {
  const int64_t n_pairs = args.inverse.ne[0];
  const auto* pos = args.pos.as<const int32_t>();
  auto* out = args.out.as<float>();
  run_tokens(stream, args.pos.n_elements(), n_pairs, [&](int64_t token) {
    angles_of_token(args.inverse, args.magnitude, out + token * 2 * n_pairs,
                    [&](int64_t) { return pos[token]; });
  });
}

void run_sectioned(Stream& stream, const SectionedRopeAnglesArgs& args) {
  const int64_t n_pairs = args.inverse.ne[0], n_pos = args.pos.ne[0];
  const auto* pos = args.pos.as<const int32_t>();
  const auto* section = args.section.as<const int32_t>();
  auto* out = args.out.as<float>();
  run_tokens(stream, args.pos.ne[1], n_pairs, [&](int64_t token) {
    angles_of_token(args.inverse, args.magnitude, out + token * 2 * n_pairs,
                    [&](int64_t pair) { return pos[token * n_pos + section[pair]]; });
  });
}

}  // namespace

void fill_rope_angles(OpTable& table, Isa) {
  table.rope_angles = {run_rope_angles};
  table.sectioned_rope_angles = {run_sectioned};
}

}  // namespace parlance
