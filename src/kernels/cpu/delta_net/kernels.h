// What the drivers (heads.cpp for gated_delta_net, channels.cpp for short_conv) ask of an instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/op_table.h"

namespace parlance::delta_net {

inline constexpr int64_t kChunk = 16;           // tokens that are worked on together
inline constexpr int64_t kStrideElements = 16;  // rows of q and k are padded with zeros to a multiple of this

// At most kChunk consecutive tokens of one sequence as one value head sees them, and those of the head's
// values that are worked on: each value has a row of the state to itself, so that threads can share a head.
struct Chunk {
  int64_t n_tokens;
  int64_t head_dim;
  int64_t n_values;
  int64_t stride;      // of rows of q and k
  int64_t v_stride;    // from one token to the next
  int64_t out_stride;  // likewise

  float* k;        // [kChunk][stride], of length 1
  float* q;        // [kChunk][stride], of length 1 / sqrt(head_dim)
  float* decay;    // [n_tokens]: what is left of the state when the token comes, 0 to 1
  float* beta;     // [n_tokens]: how much of the token's value is learned, 0 to 1
  float* kq;       // [n_tokens]: k q
  const float* v;  // [n_tokens][v_stride], the first n_values of each
  float* out;      // [n_tokens][out_stride], likewise
};

// Channels that are worked on together, so that the inputs of a few tokens stay in the first-level cache.
inline constexpr int64_t kChannelBlock = 512;

struct Kernels {
  // out [n] = x of length `length`; the length of x counts as `eps` at least. The rest of the stride is
  // zeroed.
  void (*scale_to_length)(const float* x, float length, float eps, int64_t n, float* out);

  float (*dot)(const float* x, const float* y, int64_t stride);  // x y, rows of q or k

  // Row by row of the state [n_values][head_dim].
  void (*advance_tokens)(const Chunk& chunk, float* state);

  // The same bits from the state as to_columns() has put it, for chunks that follow each other; n_values and
  // head_dim are multiples of kStrideElements.
  void (*advance_columns)(const Chunk& chunk, float* columns);
  void (*to_columns)(const float* rows, int64_t n_values, int64_t head_dim, float* columns);
  void (*from_columns)(const float* columns, int64_t n_values, int64_t head_dim, float* rows);

  // out [n_channels] = silu of the sum of taps[i] [kChannelBlock] * inputs[i] [n_channels] over n_tap of
  // them.
  void (*convolve)(const float* taps, const float* const* inputs, int64_t n_tap, int64_t n_channels,
                   float* out);
};

#if defined(__x86_64__)
extern const Kernels kAvx2;
void advance_tokens_avx2(const Chunk& chunk, float* state);
float dot_avx2(const float* x, const float* y, int64_t stride);
extern const Kernels kAvx512;
#elif defined(__aarch64__)
extern const Kernels kNeon;
#endif

// What gated_delta_net takes in of a token.
struct TokenInputs {
  const float* qkv;
  const float* alpha;  // [n_value_head]
  const float* beta;   // likewise
};
TokenInputs inputs_of(const GatedDeltaNetArgs& args, int64_t token);  // of the batch
TokenInputs kept_inputs(const GatedDeltaNetArgs& args, int64_t seq, int64_t place);

// Keeps what is to be kept of the batch's tokens (see Recurrence): share number `share` of n_shares.
void keep_inputs(const GatedDeltaNetArgs& args, int64_t share, int64_t n_shares);

// gated_delta_net, heads shared by all threads. What a token gives follows from the tokens before it alone,
// not from which of them came together.
void run_heads(Stream& stream, const GatedDeltaNetArgs& args, const Kernels& kernels);
size_t scratch_of_heads(const GatedDeltaNetArgs& args, int n_threads);

// short_conv, channels shared by all threads.
void run_channels(Stream& stream, const ShortConvArgs& args, const Kernels& kernels);
size_t scratch_of_channels(const ShortConvArgs& args, int n_threads);

}  // namespace parlance::delta_net
