// The operations that models are written in. Each allocates its result in the stream's workspace, checks
// shapes (a mismatch is our own mistake: an assertion), and runs the device's kernel for the types at hand.
// Shapes are [fastest, …]; all activations are f32.
#pragma once

#include <initializer_list>
#include <span>

#include "kernels/device.h"

namespace parlance {

// Rows of a matrix by number: token embeddings, or the rows of `table` that are needed further on.
Tensor get_rows(Stream& s, const Tensor& table, const Tensor& rows);  // -> [n, n_rows]

// x / sqrt(mean(x^2) + eps) * weight, for each row of x.
Tensor rms_norm(Stream& s, const Tensor& x, const Tensor& weight, float eps);

// (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias, for each row of x.
struct NormWeights {
  Tensor weight, bias;  // [n]
};
Tensor layer_norm(Stream& s, const Tensor& x, const NormWeights& w, float eps);

// h += y, and the new h normalised into x: what stands between two sub-layers, in one pass.
void add_rms_norm(Stream& s, const Tensor& h, const Tensor& y, const Tensor& weight, float eps,
                  const Tensor& x);

// weight x + bias for every token: [n_in, n_out] times [n_in, n_tokens] -> [n_out, n_tokens].
Tensor matmul(Stream& s, const Linear& w, const Tensor& x);

// Several products of the same x, which a device can prepare (quantise) once.
struct Products {
  std::array<Tensor, MatmulArgs::kMaxOutputs> out;
};
Products matmul(Stream& s, std::initializer_list<const Linear*> weights, const Tensor& x);

// cos and sin of every (position, pair): computed once per step, used by every layer's rope().
Tensor rope_angles(Stream& s, const Tensor& pos, const Tensor& inverse_frequencies, float magnitude);

// The same where tokens have several positions, pos [n_pos, n_tokens], and section [n_rot / 2] says with
// which one a pair turns.
Tensor sectioned_rope_angles(Stream& s, const Tensor& pos, const Tensor& section,
                             const Tensor& inverse_frequencies, float magnitude);

// Rotates pairs of each head of x [head_dim, n_head, n_tokens] in place.
void rope(Stream& s, const Tensor& x, const Tensor& angles, RopeStyle style);

// Stores k and v [head_dim, n_head_kv, n_tokens] at the batch's positions of one layer's cache; in its exact
// pages where it has such.
void kv_write(Stream& s, const KvView& kv, const Tensor& k, const Tensor& v, const BatchView& batch);

// Copies positions from one sequence to another: copies i32 [4, n], see KvCopyArgs. kv_write() and
// norm_rope_write() do so by themselves for a batch that has copies.
void kv_copy(Stream& s, const KvView& kv, const Tensor& copies);

// Encodes whole exact pages of one layer into main pages: moves i32 [2, n], exact page and main page.
void kv_compress(Stream& s, const KvView& kv, const Tensor& moves);

// What attention does to q, k and v before it looks, in one pass: rms_norm of each head of q and k where the
// norms are given, rope of both, kv_write of k and v. q is changed in place; k is used up.
struct HeadNorms {
  Tensor q, k;  // [head_dim_k], or absent
  float eps;
};
void norm_rope_write(Stream& s, const Tensor& q, const Tensor& k, const Tensor& v, const HeadNorms& norms,
                     const Tensor& angles, RopeStyle style, const KvView& kv, const BatchView& batch);

// softmax(scale q k^T) v over the positions that each token sees, its own included (write them first).
// q [head_dim, n_head, n_tokens] -> [head_dim_v * n_head, n_tokens]
Tensor attention(Stream& s, const Tensor& q, const KvView& kv, const BatchView& batch, float scale);

// softmax(scale q k^T) v within segments of the tokens, in both directions and without a cache.
// q [head_dim, n_head, n_tokens], bounds i32 [n_segments + 1] -> [head_dim * n_head, n_tokens]. A bias [n,
// n_tokens] is added to the scores of each token's keys, which it has as many of as the longest segment.
Tensor segment_attention(Stream& s, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bounds,
                         float scale, const Tensor& bias = {});
// The same of heads of q and k that go through rms_norm where norms are given, and through rope: in one pass,
// where the device has one. q and k are used up.
Tensor segment_attention(Stream& s, const Tensor& q, const Tensor& k, const Tensor& v, const HeadNorms& norms,
                         const Tensor& angles, RopeStyle style, const Tensor& bounds, float scale,
                         const Tensor& bias = {});

// weight * x + bias of an image [n_channel, width, height]. Weights are [width * height * n_channel, n_out]
// with the window's x the fastest and channels the slowest, as files have them.
Tensor conv2d(Stream& s, const Linear& w, const Tensor& x, const Conv2dWindow& window);  // -> [n_out, ...]

// The same along x [n_channel, n] alone -> [n_out, out_width]. Several weights are for as many groups of
// channels, whose outputs follow each other.
Tensor conv1d(Stream& s, const Linear& w, const Tensor& x, const Conv2dWindow& window);
Tensor conv1d(Stream& s, std::span<const Linear> groups, const Tensor& x, const Conv2dWindow& window);

// A transposed convolution, see Col2imArgs: x [n_in, n] -> [n_out, n * stride]. Weights are [n_in, n_out * 2
// * stride], where outputs are the fastest.
Tensor conv_transpose1d(Stream& s, const Linear& w, const Tensor& x, int64_t stride);

// Channels [first, first + n) of dst [n_channel, n_places] = src [n, n_places].
void put_channels(Stream& s, const Tensor& dst, int64_t first, const Tensor& src);

// x + sin(alpha x)^2 / (alpha + 1e-9), channel by channel, in place (Ziyin et al., 2020).
Tensor snake(Stream& s, const Tensor& x, const Tensor& alpha);

// x, or exp(x) - 1 where it is below 0, in place.
Tensor elu(Stream& s, const Tensor& x);

// (x - mean) / sqrt(variance + eps) * weight + bias of each channel of x [n_channel, n] over its n values, in
// place.
Tensor channel_norm(Stream& s, const Tensor& x, const NormWeights& w, float eps);

// silu of a causal convolution along the tokens, channel by channel; updates the state. See ShortConvArgs.
Tensor short_conv(Stream& s, const Tensor& x, const Tensor& weight, const Recurrence& memory,
                  const BatchView& batch);  // -> [n_channel, n_tokens]

// What a gated delta net makes of its convolved heads; updates the state. See GatedDeltaNetArgs.
struct DeltaNetGates {
  Tensor alpha, beta;  // [n_value_head, n_tokens]
  Tensor a, dt_bias;   // [n_value_head]
};
Tensor gated_delta_net(Stream& s, const Tensor& qkv, const DeltaNetGates& gates, const Recurrence& memory,
                       const BatchView& batch, float eps);  // -> [head_dim, n_value_head, n_tokens]

// Separates the queries of [2 head_dim, n_head, n_tokens], where each head's gate follows its query.
struct QueryAndGate {
  Tensor q, gate;  // [head_dim, n_head, n_tokens]
};
QueryAndGate split_gate(Stream& s, const Tensor& x);

// x *= sigmoid(gate), element by element.
void sigmoid_gate(Stream& s, const Tensor& x, const Tensor& gate);

// rms_norm(x) * silu(gate), where the weight is that of each row of x.
Tensor gated_rms_norm(Stream& s, const Tensor& x, const Tensor& weight, const Tensor& gate, float eps);

// x (1 + erf(x / sqrt(2))) / 2, element by element, in place.
Tensor gelu(Stream& s, const Tensor& x);

// silu(gate) * up, element by element.
Tensor swiglu(Stream& s, const Tensor& gate, const Tensor& up);

// Rows or whole tensors of the same sizes: dst = src.
void copy(Stream& s, const Tensor& dst, const Tensor& src);

// The index of each row's largest element, the first of equal ones: [n, n_rows] -> i32 [1, n_rows]; -1 for a
// row with one that is no number or infinite. The second yields beside it [2, n_rows] the probability that
// softmax gives it, as the bits of a float.
Tensor argmax(Stream& s, const Tensor& x);
Tensor argmax_with_probability(Stream& s, const Tensor& x);
// The same of the k largest, one behind the other: i32 [2 k, n_rows]. Where there are no more, -1.
Tensor top_k_with_probability(Stream& s, const Tensor& x, int64_t k);

// What sampling mostly needs to know of each row of logits, the k highest: i32 [2 + 2 k, n_rows], see
// TopLogitsArgs; of shorter rows all.
Tensor top_logits(Stream& s, const Tensor& x, int64_t k);

// DrawTokensArgs, written to `tokens`.
void draw_tokens(Stream& s, const Tensor& told, const Tensor& draws, const Tensor& tokens);

// x += y.
void add(Stream& s, const Tensor& x, const Tensor& y);

// The codes of the slots that a step of MaskGIT decides, written to `codes`; see MaskGitStepArgs.
void maskgit_step(Stream& s, const Tensor& logits, const Tensor& codes, const Tensor& move, int32_t mask);

}  // namespace parlance
