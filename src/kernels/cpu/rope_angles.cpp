// rope_angles on the CPU: once per step, so in double precision on every instruction set. A position of 10^5
// times a frequency rounded to f32 would be off by 10^-2 of a radian.
#include <cmath>

#include "kernels/cpu/cpu_stream.h"
#include "kernels/cpu/kernels.h"
#include "kernels/cpu/parallel.h"

namespace parlance {

namespace {

// Pairs with a 1 in is_other, which may be absent, turn with other_pos.
void angles_of_token(const RopeAnglesArgs& args, int64_t token, const float* is_other = nullptr,
                     int32_t other_pos = 0) {
  const int64_t n_pairs = args.inverse.ne[0];
  const float* high = args.inverse.as<const float>();
  const float* low = high + n_pairs;
  float* cosines = args.out.as<float>() + token * 2 * n_pairs;
  float* sines = cosines + n_pairs;
  const double pos = args.pos.as<const int32_t>()[token];
  for (int64_t i = 0; i < n_pairs; ++i) {
    const double turned = is_other && is_other[i] != 0 ? static_cast<double>(other_pos) : pos;
    const double angle = turned * (static_cast<double>(high[i]) + static_cast<double>(low[i]));
    cosines[i] = static_cast<float>(std::cos(angle) * args.magnitude);
    sines[i] = static_cast<float>(std::sin(angle) * args.magnitude);
  }
}

template <class OfToken>
void run_tokens(Stream& stream, const RopeAnglesArgs& args, const OfToken& of_token) {
  constexpr int64_t kPairsPerPiece = 128;  // a pair of library calls takes tens of nanoseconds
  parallel_for(pool_of(stream), args.pos.n_elements(),
               div_up(kPairsPerPiece, std::max<int64_t>(args.inverse.ne[0], 1)),
               [&](int64_t first, int64_t last) {
                 for (int64_t token = first; token < last; ++token) of_token(token);
               });
}

void run_rope_angles(Stream& stream, const RopeAnglesArgs& args) {
  run_tokens(stream, args, [&](int64_t token) { angles_of_token(args, token); });
}

void run_sectioned(Stream& stream, const SectionedRopeAnglesArgs& args) {
  const auto* other_pos = args.other_pos.as<const int32_t>();
  const auto* is_other = args.is_other.as<const float>();
  run_tokens(stream, args.plain,
             [&](int64_t token) { angles_of_token(args.plain, token, is_other, other_pos[token]); });
}

}  // namespace

void fill_rope_angles(OpTable& table, Isa) {
  table.rope_angles = {run_rope_angles};
  table.sectioned_rope_angles = {run_sectioned};
}

}  // namespace parlance
