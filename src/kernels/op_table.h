// The one table in which a kernel is found: by operation, by element type or KV format, one table per device.
// A device fills the cells that it has; an empty cell that a model needs is an error when the model is
// loaded.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/dtype.h"
#include "kernels/kv_view.h"
#include "kernels/packed_args.h"
#include "quant/kv_format.h"
#include "tensor/tensor.h"

namespace parlance {

class Stream;

// Argument blocks. All tensors are checked by the callers in ops.cpp; kernels do not fail.
// Activations are f32; token ids, positions and row numbers are i32.

struct GetRowsArgs {
  Tensor table;  // [n, n_rows], any weight type or f32
  Tensor rows;   // i32 [n_out]
  Tensor out;    // f32 [n, n_out]
};

struct RmsNormArgs {
  Tensor x;       // f32 [n, ...]: every row is normalised on its own
  Tensor weight;  // f32 [n]
  Tensor out;     // f32, sizes of x; may be x itself
  float eps;
};

struct LayerNormArgs {
  Tensor x;       // f32 [n, ...]: every row is normalised on its own
  Tensor weight;  // f32 [n]
  Tensor bias;    // f32 [n]
  Tensor out;     // f32, sizes of x; may be x itself
  float eps;
};

struct AddRmsNormArgs {
  Tensor h;       // f32 [n, ...]; h += y
  Tensor y;       // f32, sizes of h
  Tensor weight;  // f32 [n]
  Tensor out;     // f32, sizes of h: the new h as rms_norm() makes it; another memory than h and y
  float eps;
};

struct Linear {
  Tensor weight;  // [n_in, n_out]
  Tensor bias;    // f32 [n_out] or absent
};

struct MatmulArgs {
  static constexpr int kMaxOutputs = 4;
  Tensor x;  // f32 [n_in, n_tokens]
  int n_outputs = 0;
  std::array<Linear, kMaxOutputs> w;    // all with the same n_in
  std::array<Tensor, kMaxOutputs> out;  // f32 [n_out, n_tokens]; out = weight x + bias
};

struct RopeAnglesArgs {
  Tensor pos;       // i32 [n_tokens]
  Tensor inverse;   // f32 [n_rot / 2, 2]: inverse frequencies as high part, low part
  float magnitude;  // multiplies cos and sin (YaRN)
  Tensor out;       // f32 [n_rot / 2, 2, n_tokens]: cos, then sin
};

// Several positions for each token, of which every pair takes one (M-RoPE; Qwen2-VL, Wang et al., 2024).
struct SectionedRopeAnglesArgs {
  Tensor pos;       // i32 [n_pos, n_tokens]
  Tensor section;   // i32 [n_rot / 2]: which of a token's positions the pair turns with
  Tensor inverse;   // as in RopeAnglesArgs
  float magnitude;  // multiplies cos and sin (YaRN)
  Tensor out;       // f32 [n_rot / 2, 2, n_tokens]: cos, then sin
};

// Which elements of a head form a rotated pair: neighbours (2i, 2i + 1), or halves (i, i + n_rot / 2).
enum class RopeStyle : uint8_t { neighbours, halves };

struct RopeArgs {
  Tensor x;       // f32 [head_dim, n_head, n_tokens], rotated in place; dimensions past n_rot stay
  Tensor angles;  // f32 [n_rot / 2, 2, n_tokens]
  RopeStyle style;
};

// Which sequence and position each token of the batch belongs to.
struct BatchView {
  Tensor seq;          // i32 [n_tokens]: row of the page table
  Tensor pos;          // i32 [n_tokens]
  int64_t n_kv_bound;  // no position in the batch is this large or larger
  Tensor first = {};   // i32 [n_tokens]: the first position that attention sees, at most pos; absent: 0
  Tensor state_from = {}, state_to = {};  // i32 [n_tokens], see Recurrence; or absent
  // i32 [4, n], see KvCopyArgs: what is copied when the batch's keys and values have been written, since
  // sequences in it go on from what others write; or absent.
  Tensor copies = {};
  // Bounds on the rows that a sequence has in the batch, so that kernels for others need not be started; they
  // hold for all sequences whose results are read.
  int64_t least_rows = 1, most_rows = INT64_MAX;
};

struct KvWriteArgs {
  KvView kv;
  Tensor k;  // f32 [head_dim_k, n_head_kv, n_tokens]
  Tensor v;  // f32 [head_dim_v, n_head_kv, n_tokens]
  BatchView batch;
};

// Positions of one sequence for another: the bytes of all heads, in the pages that new positions are written
// to. What one copy writes no other reads.
struct KvCopyArgs {
  KvView kv;
  Tensor copies;  // i32 [4, n]: rows of the page table, from and to; first position, number of positions
};

// Brings the positions of exact pages into main pages of the same layer.
struct KvCompressArgs {
  KvView kv;     // with exact pages
  Tensor moves;  // i32 [2, n_moves]: number of the exact page, number of the main page
};

// rms_norm of each head of q and k (where there are weights), rope of both, kv_write of k and v.
struct NormRopeWriteArgs {
  Tensor q;       // f32 [head_dim_k, n_head, n_tokens], in place
  Tensor q_norm;  // f32 [head_dim_k], or absent
  Tensor k_norm;  // f32 [head_dim_k], or absent
  float eps;
  Tensor angles;  // f32 [n_rot / 2, 2, n_tokens]
  RopeStyle style;
  KvWriteArgs write;  // what k holds afterwards is not said
};

struct AttentionArgs {
  Tensor q;  // f32 [head_dim_k, n_head, n_tokens]; n_head is a multiple of n_head_kv
  KvView kv;
  BatchView batch;  // token t sees positions first[t]..pos[t] of sequence seq[t]
  float scale;
  Tensor out;  // f32 [head_dim_v, n_head, n_tokens]
};

// Attention without a cache, in both directions: each token sees all tokens of its segment and no others.
struct SegmentAttentionArgs {
  Tensor q;       // f32 [head_dim, n_head, n_tokens]; n_head is a multiple of n_head_kv
  Tensor k, v;    // f32 [head_dim, n_head_kv, n_tokens]
  Tensor bounds;  // i32 [n_segments + 1]: where segments begin, ascending from 0; the last is n_tokens
  Tensor bias;    // f32 [n, n_tokens]: added to a token's score of key i of its segment, or absent
  float scale;
  Tensor out;  // f32 [head_dim, n_head, n_tokens]
  // Where OpTable::turns_segment_heads: rms_norm of each head of q and k first, then rope of both. What they
  // hold afterwards is not said.
  Tensor q_norm = {}, k_norm = {};  // f32 [head_dim], or absent
  float eps = 0;
  Tensor angles = {};  // f32 [head_dim / 2, 2, n_tokens], or absent
  RopeStyle style = RopeStyle::halves;
};

// What a recurrence keeps of each sequence. The tokens of a sequence lie next to each other in the batch, in
// order of position: a run.
//
// So that the last tokens can be taken back, the state may lag behind: it has seen the tokens before position
// batch.state_from, and the inputs of the tokens since then lie in `kept`, position p at place p % n_kept. A
// run first takes these in again, which gives the bits that they gave before, then its own tokens; on its way
// the state of position batch.state_to is stored, and the inputs of its own tokens from there on are kept.
// Both positions are the same for all tokens of a run; state_from is at most its first position, state_to
// lies in [state_from, the run's end]. Where it lies before that end, there are places for all positions from
// state_from on, or from state_to on if nothing is taken in again. At state_from 0 the state counts as zero,
// whatever it holds.
//
// Where nothing is taken back, kept, state_from and state_to are absent: the state is the one before a run
// and becomes the one behind it.
struct Recurrence {
  Tensor state;      // f32, n_seq last
  Tensor kept = {};  // f32 [n, n_kept, n_seq], or absent
};

// A causal convolution along the tokens of each sequence, channel by channel, then silu.
struct ShortConvArgs {
  Tensor x;       // f32 [n_channel, n_tokens]
  Tensor weight;  // f32 [n_tap, n_channel], the newest token's tap last
  // State f32 [n_channel, n_tap - 1, n_seq]: the last inputs of each sequence, oldest first. What is kept of
  // a token is x.
  Recurrence memory;
  BatchView batch;
  Tensor out;  // f32 [n_channel, n_tokens]
};

// The recurrence of a gated delta net (Yang et al., 2024), one state per sequence and value head. With q and
// k of length 1 and value head h on key head h % n_key_head, for each token in order of position:
//   S *= exp(a * softplus(alpha + dt_bias))
//   S += k (sigmoid(beta) (v - k^T S))^T
//   out = q^T S / sqrt(head_dim)
struct GatedDeltaNetArgs {
  Tensor qkv;      // f32 [(2 n_key_head + n_value_head) head_dim, n_tokens]: heads of q, of k, of v
  Tensor alpha;    // f32 [n_value_head, n_tokens]
  Tensor beta;     // f32 [n_value_head, n_tokens]
  Tensor a;        // f32 [n_value_head], negative
  Tensor dt_bias;  // f32 [n_value_head]
  // State f32 [head_dim (key), head_dim (value), n_value_head, n_seq]. What is kept of a token is qkv, then
  // alpha, then beta.
  Recurrence memory;
  BatchView batch;
  float eps;   // lengths of q and k count as no less
  Tensor out;  // f32 [head_dim, n_value_head, n_tokens]
};

// Rows that hold one head after the other, the query of each followed by its gate, as two tensors.
struct SplitGateArgs {
  Tensor x;        // f32 [2 head_dim, n_head, n_tokens]
  Tensor q, gate;  // f32 [head_dim, n_head, n_tokens]
};

struct SigmoidGateArgs {
  Tensor x, gate;  // f32, as many elements; x *= sigmoid(gate)
};

struct GatedRmsNormArgs {
  Tensor x;       // f32 [n, ...]: every row is normalised on its own
  Tensor weight;  // f32 [n]
  Tensor gate;    // f32, as many elements as x
  Tensor out;     // f32, sizes of x: rms_norm(x) * silu(gate); may be x itself
  float eps;
};

// A window of an image, moved over it; positions outside of the image count as zero.
struct Conv2dWindow {
  int64_t width, height;
  int64_t stride_x = 1, stride_y = 1;
  int64_t pad_x = 0, pad_y = 0;  // on either side
  int64_t dilation_x = 1;        // from one column of the window to the next

  int64_t out_width(int64_t n) const { return (n + 2 * pad_x - dilation_x * (width - 1) - 1) / stride_x + 1; }
  int64_t out_height(int64_t n) const { return (n + 2 * pad_y - height) / stride_y + 1; }
};

// What a convolution multiplies its weights [width, height, n_channel, n_out] with, at consecutive places of
// the window, counted along x first.
struct Im2colArgs {
  Tensor x;  // f32 [n_all, width, height]: channels, of which n_channel from first_channel on are taken
  int64_t first_channel, n_channel;
  Conv2dWindow window;
  int64_t first_place;
  Tensor out;  // f32 [window.width * window.height * n_channel, n_places]
};

// The sums that a transposed convolution with a window of twice its stride makes of its products, cropped to
// n * stride places: ceil(stride / 2) are left out in front. With an odd stride the last place is the bias
// alone, as the programs have it that OmniVoice's codec was made for.
struct Col2imArgs {
  Tensor columns;  // f32 [n_channel * 2 * stride, n]: channels are the fastest
  Tensor bias;     // f32 [n_channel]
  int64_t stride;
  Tensor out;  // f32 [n_channel, n * stride]
};

struct PutChannelsArgs {
  Tensor src;  // f32 [n, n_places]
  int64_t first;
  Tensor dst;  // f32 [n_channel, n_places]: channels [first, first + n) become src
};

struct SnakeArgs {
  Tensor x;      // f32 [n_channel, n], in place: x + sin(alpha x)^2 / (alpha + 1e-9)
  Tensor alpha;  // f32 [n_channel]
};

struct EluArgs {
  Tensor x;  // f32, in place: exp(x) - 1 for what is below 0
};

struct ChannelNormArgs {
  Tensor x;             // f32 [n_channel, n], in place: each channel is normalised over its n values
  Tensor weight, bias;  // f32 [n_channel]
  float eps;
};

struct GeluArgs {
  Tensor x;  // f32, in place: x (1 + erf(x / sqrt(2))) / 2
};

struct SwigluArgs {
  Tensor gate, up;  // f32, same sizes
  Tensor out;       // silu(gate) * up; may be gate itself
};

struct AddArgs {
  Tensor x, y;  // f32, same sizes; x += y
};

// Of each row the index of its largest element, the first of equal ones, or -1 where one is no number or
// infinite; and the share that e to its power has of all elements' (softmax), as the bits of a float, if
// there is room for it. Of another rank the one that comes next behind that of the rank before, which `out`
// has already; -1 where there is none.
struct ArgmaxArgs {
  Tensor x;          // f32 [n, n_rows]
  Tensor out;        // i32 [1, n_rows], or [2 n_ranks, n_rows]
  int64_t rank = 0;  // among those that are told
};

// Of each row of logits the k highest, the highest first and the lowest index of equals first, and what all
// of them add up to. A row of `out` is: how many are told, which is k, or -1 where a logit is no number or
// infinite (what follows then means nothing); the sum of e^(logit - highest) over the row, within 1e-4 of it,
// as the bits of a float; k indices; their k logits, as bits.
struct TopLogitsArgs {
  Tensor x;    // f32 [n, n_rows]
  Tensor out;  // i32 [2 + 2 k, n_rows]; k is at most kMostTopLogits, and n

  int64_t k() const { return out.ne[0] / 2 - 1; }
};
inline constexpr int64_t kMostTopLogits = 128;

// The tokens that a sampler will choose by what is told of rows of logits, and will find to be others about
// once in a hundred thousand, since weights are floats here: for whoever does not wait for it. Of a row: the
// first that is told at temperature 0, else of the top_k first (0: of all that are told) those of at least
// min_p times the highest one's probability and up to where top_p is reached, by the temperature, in their
// order the one that a random number below 1 stands for. 0 of a row that is told to be no numbers.
struct DrawTokensArgs {
  Tensor told;  // as in ArgmaxArgs i32 [1, n_rows], or as in TopLogitsArgs [2 + 2 k, n_rows]
  // i32 [n_rows or more, kDrawWords]: temperature, top_p, min_p and random as bits of floats, top_k.
  Tensor draws;
  Tensor tokens;  // i32 [n_rows]
};
inline constexpr int64_t kDrawWords = 5;

// What a step of MaskGIT decoding is told beside the logits, in device memory, so that one recorded step
// serves all of a text. Noise calls are numbered as tts/maskgit.h has it.
struct MaskGitMove {
  int32_t n_chosen;  // slots that are decided
  // INT32_MAX; becomes the smallest frame * n_codebook + codebook of the slots whose logits are no finite
  // numbers.
  int32_t fault;
  uint64_t seed;
  uint64_t class_calls;    // the first of as many noise calls as there are slots
  uint64_t position_call;  // the noise call of the choice among slots
  float guidance;          // 0 where there is no unconditional row
  float layer_penalty;
  float position_temperature, class_temperature;  // 0: none
};

// A step of MaskGIT decoding (tts/maskgit.h): of the slots that are masked, those that the logits are surest
// of get their codes. Where a device has no cell for it, the host decides.
struct MaskGitStepArgs {
  // f32 [n_codebook * n_vocab, n_frames, 1], or 2 with guidance: of the conditional row, then of the
  // unconditional one.
  Tensor logits;
  Tensor codes;  // i32 [n_columns, n_codebook]: k * n_vocab + code of codebook k; the last n_frames columns
                 // are slots
  Tensor move;   // i8 [sizeof(MaskGitMove)]
  int32_t mask;  // the code of a slot that is not decided
};

// One kernel. `scratch` (null: none) gives the bytes of temporary memory that run() finds in
// Stream::scratch(); it does not fall when the batch or the bound on positions grows, since a dry run asks it
// for the largest only.
template <class Args>
struct Cell {
  void (*run)(Stream& stream, const Args& args) = nullptr;
  size_t (*scratch)(const Args& args, int n_threads) = nullptr;
};

template <class Args>
using CellsByDType = std::array<Cell<Args>, kDTypeCount>;
template <class Args>
using CellsByKvFormats = std::array<std::array<Cell<Args>, kKvFormatCount>, kKvFormatCount>;  // [k][v]

// A cell for every pair of the formats that all devices have.
template <class Args>
void fill_plain_formats(CellsByKvFormats<Args>& cells, const std::type_identity_t<Cell<Args>>& cell) {
  for (size_t k = 0; k < kPlainKvFormats; ++k) std::fill_n(cells[k].begin(), kPlainKvFormats, cell);
}

struct OpTable {
  bool transforms_kv = false;  // whether the kernels below know KvCoding::transform() and exact pages
  bool equalises_kv = false;   // whether norm_rope_write does what KvView::k_shift, k_scale and q_scale say
  bool turns_segment_heads = false;  // whether segment_attention knows norms and angles
  CellsByDType<GetRowsArgs> get_rows;
  Cell<RmsNormArgs> rms_norm;
  Cell<LayerNormArgs> layer_norm;
  Cell<AddRmsNormArgs> add_rms_norm;
  CellsByDType<MatmulArgs> matmul;
  Cell<RopeAnglesArgs> rope_angles;
  Cell<SectionedRopeAnglesArgs> sectioned_rope_angles;
  Cell<RopeArgs> rope;
  CellsByKvFormats<KvWriteArgs> kv_write;
  Cell<KvCopyArgs> kv_copy;
  CellsByKvFormats<KvCompressArgs> kv_compress;
  CellsByKvFormats<NormRopeWriteArgs> norm_rope_write;
  CellsByKvFormats<AttentionArgs> attention;
  Cell<SegmentAttentionArgs> segment_attention;
  Cell<ShortConvArgs> short_conv;
  Cell<GatedDeltaNetArgs> gated_delta_net;
  Cell<SplitGateArgs> split_gate;
  Cell<SigmoidGateArgs> sigmoid_gate;
  Cell<GatedRmsNormArgs> gated_rms_norm;
  Cell<Im2colArgs> im2col;
  Cell<Col2imArgs> col2im;
  Cell<PutChannelsArgs> put_channels;
  Cell<SnakeArgs> snake;
  Cell<EluArgs> elu;
  Cell<ChannelNormArgs> channel_norm;
  Cell<GeluArgs> gelu;
  Cell<SwigluArgs> swiglu;
  Cell<AddArgs> add;
  Cell<ArgmaxArgs> argmax;
  Cell<TopLogitsArgs> top_logits;
  Cell<DrawTokensArgs> draw_tokens;
  Cell<MaskGitStepArgs> maskgit_step;
  Cell<PackedGetRowsArgs> packed_get_rows;  // those of the CPU are in verify/packed_rows.h
  Cell<PackedScoresArgs> packed_scores;
  Cell<PackedAttentionArgs> packed_attention;
};

}  // namespace parlance
