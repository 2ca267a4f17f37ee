#include "kernels/ops.h"

#include <algorithm>
#include <cassert>

#include "kernels/conv_places.h"
#include "kernels/submit.h"

namespace parlance {

namespace {

template <class Args>
const Cell<Args>& cell_of(const CellsByDType<Args>& cells, DType dtype) {
  return cells[static_cast<size_t>(dtype)];
}

template <class Args>
const Cell<Args>& cell_of(const Stream& s, const CellsByKvFormats<Args>& cells, const KvView& kv) {
  static constexpr Cell<Args> kNone;
  const bool is_plain = !kv.k.rotated && !kv.v.rotated && !kv.exact;
  if (!is_plain && !s.device().ops().transforms_kv) return kNone;
  return cells[static_cast<size_t>(kv.k.format)][static_cast<size_t>(kv.v.format)];
}

std::string kv_cell_name(std::string_view op, const KvView& kv) {
  const auto side = [](const KvCoding& coding) {
    return fmt::format("{}{}", name_of(coding.format), coding.rotated ? " rotated" : "");
  };
  return fmt::format("{} k={} v={}{}", op, side(kv.k), side(kv.v), kv.exact ? " with exact pages" : "");
}

Tensor like(Stream& s, const Tensor& x) {
  return s.workspace().allocate(x.dtype, x.ne[0], x.ne[1], x.ne[2], x.ne[3]);
}

[[maybe_unused]] bool same_sizes(const Tensor& a, const Tensor& b) {
  return a.ne == b.ne;
}

}  // namespace

Tensor get_rows(Stream& s, const Tensor& table, const Tensor& rows) {
  assert(rows.dtype == DType::i32);
  const Tensor out = s.workspace().allocate(DType::f32, table.ne[0], rows.n_elements());
  submit(s, cell_of(s.device().ops().get_rows, table.dtype), GetRowsArgs{table, rows, out},
         s.plan() ? fmt::format("get_rows {}", name_of(table.dtype)) : "", table.name);
  return out;
}

Tensor rms_norm(Stream& s, const Tensor& x, const Tensor& weight, float eps) {
  assert(x.dtype == DType::f32 && weight.dtype == DType::f32 && weight.n_elements() == x.ne[0]);
  const Tensor out = like(s, x);
  submit(s, s.device().ops().rms_norm, RmsNormArgs{x, weight, out, eps}, "rms_norm", weight.name);
  return out;
}

Tensor layer_norm(Stream& s, const Tensor& x, const NormWeights& w, float eps) {
  assert(w.weight.n_elements() == x.ne[0] && w.bias.n_elements() == x.ne[0]);
  const Tensor out = like(s, x);
  submit(s, s.device().ops().layer_norm, LayerNormArgs{x, w.weight, w.bias, out, eps}, "layer_norm",
         w.weight.name);
  return out;
}

void add_rms_norm(Stream& s, const Tensor& h, const Tensor& y, const Tensor& weight, float eps,
                  const Tensor& x) {
  assert(same_sizes(h, y) && same_sizes(h, x) && weight.n_elements() == h.ne[0]);
  submit(s, s.device().ops().add_rms_norm, AddRmsNormArgs{h, y, weight, x, eps}, "add_rms_norm", weight.name);
}

Tensor matmul(Stream& s, const Linear& w, const Tensor& x) {
  return matmul(s, {&w}, x).out[0];
}

Products matmul(Stream& s, std::initializer_list<const Linear*> weights, const Tensor& x) {
  assert(x.dtype == DType::f32 && weights.size() <= MatmulArgs::kMaxOutputs);
  const int64_t n_tokens = x.n_rows();
  Products products;
  size_t n_outputs = 0;
  for (const Linear* w : weights) {
    if (Plan* plan = s.plan())
      plan->most_alike_rows = std::min(plan->most_alike_rows, s.device().most_alike_rows(w->weight.dtype));
    assert(w->weight.ne[0] == x.ne[0] && (!w->bias || w->bias.n_elements() == w->weight.n_rows()));
    products.out[n_outputs++] = s.workspace().allocate(DType::f32, w->weight.n_rows(), n_tokens);
  }
  // Neighbours whose types share a kernel go to it together.
  const auto* list = weights.begin();
  for (size_t i = 0; i < n_outputs;) {
    const Cell<MatmulArgs>& cell = cell_of(s.device().ops().matmul, list[i]->weight.dtype);
    MatmulArgs args;
    args.x = x;
    const std::string_view tensor = list[i]->weight.name;
    const DType dtype = list[i]->weight.dtype;
    do {
      args.w[args.n_outputs] = *list[i];
      args.out[args.n_outputs++] = products.out[i++];
    } while (i < n_outputs && cell_of(s.device().ops().matmul, list[i]->weight.dtype).run == cell.run);
    submit(s, cell, args, s.plan() ? fmt::format("matmul {}", name_of(dtype)) : "", tensor);
  }
  return products;
}

Tensor rope_angles(Stream& s, const Tensor& pos, const Tensor& inverse_frequencies, float magnitude) {
  assert(pos.dtype == DType::i32 && inverse_frequencies.ne[1] == 2);
  const Tensor out = s.workspace().allocate(DType::f32, inverse_frequencies.ne[0], 2, pos.n_elements());
  submit(s, s.device().ops().rope_angles, RopeAnglesArgs{pos, inverse_frequencies, magnitude, out},
         "rope_angles", "");
  return out;
}

Tensor sectioned_rope_angles(Stream& s, const Tensor& pos, const Tensor& section,
                             const Tensor& inverse_frequencies, float magnitude) {
  assert(pos.dtype == DType::i32 && section.dtype == DType::i32 && inverse_frequencies.ne[1] == 2);
  assert(section.n_elements() == inverse_frequencies.ne[0]);
  const Tensor out = s.workspace().allocate(DType::f32, inverse_frequencies.ne[0], 2, pos.ne[1]);
  submit(s, s.device().ops().sectioned_rope_angles,
         SectionedRopeAnglesArgs{pos, section, inverse_frequencies, magnitude, out}, "sectioned_rope_angles",
         "");
  return out;
}

void rope(Stream& s, const Tensor& x, const Tensor& angles, RopeStyle style) {
  assert(x.ne[2] == angles.ne[2] && 2 * angles.ne[0] <= x.ne[0]);
  submit(s, s.device().ops().rope, RopeArgs{x, angles, style}, "rope", "");
}

void kv_write(Stream& s, const KvView& kv, const Tensor& k, const Tensor& v, const BatchView& batch) {
  assert(k.ne[0] == kv.head_dim_k && v.ne[0] == kv.head_dim_v && k.ne[1] == kv.n_head_kv &&
         v.ne[1] == kv.n_head_kv);
  assert(k.ne[2] == v.ne[2] && k.ne[2] == batch.pos.n_elements() && k.ne[2] == batch.seq.n_elements());
  submit(s, cell_of(s, s.device().ops().kv_write, kv), KvWriteArgs{kv, k, v, batch},
         s.plan() ? kv_cell_name("kv_write", kv) : "", "");
  if (batch.copies) kv_copy(s, kv, batch.copies);
}

void kv_copy(Stream& s, const KvView& kv, const Tensor& copies) {
  assert(copies.dtype == DType::i32 && copies.ne[0] == 4);
  submit(s, s.device().ops().kv_copy, KvCopyArgs{kv, copies}, "kv_copy", "");
}

void kv_compress(Stream& s, const KvView& kv, const Tensor& moves) {
  assert(kv.exact && moves.dtype == DType::i32 && moves.ne[0] == 2);
  submit(s, cell_of(s, s.device().ops().kv_compress, kv), KvCompressArgs{kv, moves},
         s.plan() ? kv_cell_name("kv_compress", kv) : "", "");
}

void norm_rope_write(Stream& s, const Tensor& q, const Tensor& k, const Tensor& v, const HeadNorms& norms,
                     const Tensor& angles, RopeStyle style, const KvView& kv, const BatchView& batch) {
  assert(q.ne[0] == kv.head_dim_k && k.ne[0] == kv.head_dim_k && v.ne[0] == kv.head_dim_v);
  assert(q.ne[2] == k.ne[2] && q.ne[2] == v.ne[2] && q.ne[2] == angles.ne[2] && 2 * angles.ne[0] <= q.ne[0]);
  assert(k.ne[1] == kv.n_head_kv && v.ne[1] == kv.n_head_kv && k.ne[2] == batch.pos.n_elements());
  const NormRopeWriteArgs args{q, norms.q, norms.k, norms.eps, angles, style, {kv, k, v, batch}};
  submit(s, cell_of(s, s.device().ops().norm_rope_write, kv), args,
         s.plan() ? kv_cell_name("norm_rope_write", kv) : "", "");
  if (batch.copies) kv_copy(s, kv, batch.copies);
}

Tensor attention(Stream& s, const Tensor& q, const KvView& kv, const BatchView& batch, float scale) {
  assert(q.ne[0] == kv.head_dim_k && q.ne[1] % kv.n_head_kv == 0 && q.ne[2] == batch.pos.n_elements());
  assert(!batch.first || batch.first.n_elements() == batch.pos.n_elements());
  const Tensor out = s.workspace().allocate(DType::f32, kv.head_dim_v, q.ne[1], q.ne[2]);
  submit(s, cell_of(s, s.device().ops().attention, kv), AttentionArgs{q, kv, batch, scale, out},
         s.plan() ? kv_cell_name("attention", kv) : "", "");
  return out.reshaped(kv.head_dim_v * q.ne[1], q.ne[2]);
}

namespace {

Tensor attend_segments(Stream& s, SegmentAttentionArgs args) {
  const Tensor& q = args.q;
  assert(same_sizes(args.k, args.v) && q.ne[0] == args.k.ne[0] && q.ne[1] % args.k.ne[1] == 0 &&
         q.ne[2] == args.k.ne[2]);
  assert(args.bounds.dtype == DType::i32 && args.bounds.n_elements() >= 2);
  assert(!args.bias || args.bias.ne[1] == q.ne[2]);
  args.out = like(s, q);
  submit(s, s.device().ops().segment_attention, args, "segment_attention", "");
  return args.out.reshaped(q.ne[0] * q.ne[1], q.ne[2]);
}

}  // namespace

Tensor segment_attention(Stream& s, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bounds,
                         float scale, const Tensor& bias) {
  return attend_segments(s, {q, k, v, bounds, bias, scale, {}});
}

Tensor segment_attention(Stream& s, const Tensor& q, const Tensor& k, const Tensor& v, const HeadNorms& norms,
                         const Tensor& angles, RopeStyle style, const Tensor& bounds, float scale,
                         const Tensor& bias) {
  assert(2 * angles.ne[0] <= q.ne[0] && angles.ne[2] == q.ne[2]);
  if (s.device().ops().turns_segment_heads)
    return attend_segments(s, {q, k, v, bounds, bias, scale, {}, norms.q, norms.k, norms.eps, angles, style});
  const auto turned = [&](const Tensor& x, const Tensor& norm) {
    const Tensor normed = norm ? rms_norm(s, x, norm, norms.eps) : x;
    rope(s, normed, angles, style);
    return normed;
  };
  const Tensor turned_q = turned(q, norms.q), turned_k = turned(k, norms.k);
  return segment_attention(s, turned_q, turned_k, v, bounds, scale, bias);
}

namespace {

// Columns are made and multiplied in pieces of so many values, which caches hold, but of some places at
// least, which share the reading of the weights.
constexpr int64_t kColumnValues = 1 << 17;
constexpr int64_t kLeastColumns = 256;
// A GPU takes larger pieces, whose kernels fill it; of the columns no more than all its kernels' grids have
// room for.
constexpr int64_t kColumnValuesOfGpu = 1 << 23;
constexpr int64_t kMostColumns = 1 << 16;

enum class Rows : uint8_t { few, many, both };

// Whether products for so many places have few rows, many, or the last of them few.
Rows rows_of(const Stream& s, const Tensor& weight, int64_t n_places) {
  const int64_t most_few = s.device().most_alike_rows(weight.dtype);
  const int64_t piece = std::min(n_places, conv_places_together(s, weight.ne[0]));
  if (piece <= most_few) return Rows::few;
  const int64_t n_last = n_places % piece;
  return n_last > 0 && n_last <= most_few ? Rows::both : Rows::many;
}

void run_matmul(Stream& s, const Linear& w, const Tensor& x, const Tensor& out) {
  MatmulArgs args;
  args.x = x;
  args.n_outputs = 1;
  args.w[0] = w;
  args.out[0] = out;
  const DType dtype = w.weight.dtype;
  submit(s, cell_of(s.device().ops().matmul, dtype), args,
         s.plan() ? fmt::format("matmul {}", name_of(dtype)) : "", w.weight.name);
}

// Channels [first, first + n) of x convolved, at all places -> [n_out, n_places].
Tensor convolve(Stream& s, const Linear& w, const Tensor& x, int64_t first_channel, int64_t n_channel,
                const Conv2dWindow& window) {
  const int64_t n_in = window.width * window.height * n_channel;
  const int64_t width = window.out_width(x.ne[1]), height = window.out_height(x.ne[2]);
  assert(w.weight.ne[0] == n_in && width > 0 && height > 0);
  const int64_t n_places = width * height;
  const Tensor out = s.workspace().allocate(DType::f32, w.weight.n_rows(), n_places);
  const Frame frame(s);
  const int64_t piece = std::min(n_places, conv_places_together(s, n_in));
  const Tensor columns = s.workspace().allocate(DType::f32, n_in, piece);
  for (int64_t first = 0; first < n_places; first += piece) {
    const int64_t n = std::min(piece, n_places - first);
    submit(s, s.device().ops().im2col,
           Im2colArgs{x, first_channel, n_channel, window, first, columns.rows(0, n)}, "im2col",
           w.weight.name);
    run_matmul(s, w, columns.rows(0, n), out.rows(first, n));
  }
  return out;
}

}  // namespace

int64_t conv_places_together(const Stream& s, int64_t n_in) {
  const int64_t values = s.keeps_recordings() ? kColumnValuesOfGpu : kColumnValues;
  return std::min(kMostColumns, std::max(kLeastColumns, values / n_in));
}

bool conv_places_are_alike(const Stream& s, const Tensor& weight, int64_t n_places, int64_t n_other_places) {
  const Rows rows = rows_of(s, weight, n_places);
  return rows != Rows::both && rows == rows_of(s, weight, n_other_places);
}

Tensor conv2d(Stream& s, const Linear& w, const Tensor& x, const Conv2dWindow& window) {
  return convolve(s, w, x, 0, x.ne[0], window)
      .reshaped(w.weight.n_rows(), window.out_width(x.ne[1]), window.out_height(x.ne[2]));
}

Tensor conv1d(Stream& s, const Linear& w, const Tensor& x, const Conv2dWindow& window) {
  const bool is_plain = window.width == 1 && window.stride_x == 1 && window.pad_x == 0;
  return is_plain ? matmul(s, w, x) : convolve(s, w, x, 0, x.ne[0], window);
}

Tensor conv1d(Stream& s, std::span<const Linear> groups, const Tensor& x, const Conv2dWindow& window) {
  const int64_t n_group = std::ssize(groups), n_channel = x.ne[0] / n_group;
  const int64_t n_out = groups[0].weight.n_rows();
  const Tensor out = s.workspace().allocate(DType::f32, n_group * n_out, window.out_width(x.ne[1]));
  for (int64_t group = 0; group < n_group; ++group) {
    const Frame frame(s);
    put_channels(s, out, group * n_out,
                 convolve(s, groups[static_cast<size_t>(group)], x, group * n_channel, n_channel, window));
  }
  return out;
}

Tensor conv_transpose1d(Stream& s, const Linear& w, const Tensor& x, int64_t stride) {
  const int64_t n_channel = w.weight.n_rows() / (2 * stride);
  assert(w.bias.n_elements() == n_channel && w.weight.ne[0] == x.ne[0]);
  const Tensor out = s.workspace().allocate(DType::f32, n_channel, x.ne[1] * stride);
  const Frame frame(s);
  const Tensor columns = matmul(s, Linear{w.weight, {}}, x);
  submit(s, s.device().ops().col2im, Col2imArgs{columns, w.bias, stride, out}, "col2im", w.weight.name);
  return out;
}

void put_channels(Stream& s, const Tensor& dst, int64_t first, const Tensor& src) {
  assert(first + src.ne[0] <= dst.ne[0] && src.ne[1] == dst.ne[1]);
  submit(s, s.device().ops().put_channels, PutChannelsArgs{src, first, dst}, "put_channels", "");
}

Tensor snake(Stream& s, const Tensor& x, const Tensor& alpha) {
  assert(alpha.n_elements() == x.ne[0]);
  submit(s, s.device().ops().snake, SnakeArgs{x, alpha}, "snake", alpha.name);
  return x;
}

Tensor elu(Stream& s, const Tensor& x) {
  submit(s, s.device().ops().elu, EluArgs{x}, "elu", "");
  return x;
}

Tensor channel_norm(Stream& s, const Tensor& x, const NormWeights& w, float eps) {
  assert(w.weight.n_elements() == x.ne[0] && w.bias.n_elements() == x.ne[0]);
  submit(s, s.device().ops().channel_norm, ChannelNormArgs{x, w.weight, w.bias, eps}, "channel_norm",
         w.weight.name);
  return x;
}

namespace {

// Positions of states come with room for what they may lag behind, and the other way round.
[[maybe_unused]] bool fits(const Recurrence& memory, const BatchView& batch, int64_t n_kept) {
  if (!memory.kept) return !batch.state_from && !batch.state_to;
  const int64_t n_tokens = batch.pos.n_elements();
  return memory.kept.ne[0] == n_kept && batch.state_from.n_elements() == n_tokens &&
         batch.state_to.n_elements() == n_tokens;
}

}  // namespace

Tensor short_conv(Stream& s, const Tensor& x, const Tensor& weight, const Recurrence& memory,
                  const BatchView& batch) {
  assert(weight.ne[1] == x.ne[0] && memory.state.ne[0] == x.ne[0] && memory.state.ne[1] == weight.ne[0] - 1);
  assert(x.ne[1] == batch.pos.n_elements() && fits(memory, batch, x.ne[0]));
  const Tensor out = like(s, x);
  submit(s, s.device().ops().short_conv, ShortConvArgs{x, weight, memory, batch, out}, "short_conv",
         weight.name);
  return out;
}

Tensor gated_delta_net(Stream& s, const Tensor& qkv, const DeltaNetGates& gates, const Recurrence& memory,
                       const BatchView& batch, float eps) {
  const int64_t head_dim = memory.state.ne[0], n_value_head = memory.state.ne[2];
  assert(fits(memory, batch, qkv.ne[0] + 2 * n_value_head));
  assert(memory.state.ne[1] == head_dim && qkv.ne[0] % head_dim == 0 && qkv.ne[1] == batch.pos.n_elements());
  assert(gates.alpha.ne[0] == n_value_head && gates.beta.ne[0] == n_value_head);
  assert(gates.a.n_elements() == n_value_head && gates.dt_bias.n_elements() == n_value_head);
  const Tensor out = s.workspace().allocate(DType::f32, head_dim, n_value_head, qkv.ne[1]);
  submit(s, s.device().ops().gated_delta_net,
         GatedDeltaNetArgs{qkv, gates.alpha, gates.beta, gates.a, gates.dt_bias, memory, batch, eps, out},
         "gated_delta_net", gates.a.name);
  return out;
}

QueryAndGate split_gate(Stream& s, const Tensor& x) {
  assert(x.ne[0] % 2 == 0);
  const auto half = [&] { return s.workspace().allocate(DType::f32, x.ne[0] / 2, x.ne[1], x.ne[2]); };
  const Tensor q = half(), gate = half();
  submit(s, s.device().ops().split_gate, SplitGateArgs{x, q, gate}, "split_gate", "");
  return {q, gate};
}

void sigmoid_gate(Stream& s, const Tensor& x, const Tensor& gate) {
  assert(x.n_elements() == gate.n_elements());
  submit(s, s.device().ops().sigmoid_gate, SigmoidGateArgs{x, gate}, "sigmoid_gate", "");
}

Tensor gated_rms_norm(Stream& s, const Tensor& x, const Tensor& weight, const Tensor& gate, float eps) {
  assert(weight.n_elements() == x.ne[0] && x.n_elements() == gate.n_elements());
  const Tensor out = like(s, x);
  submit(s, s.device().ops().gated_rms_norm, GatedRmsNormArgs{x, weight, gate, out, eps}, "gated_rms_norm",
         weight.name);
  return out;
}

Tensor gelu(Stream& s, const Tensor& x) {
  submit(s, s.device().ops().gelu, GeluArgs{x}, "gelu", "");
  return x;
}

Tensor swiglu(Stream& s, const Tensor& gate, const Tensor& up) {
  assert(same_sizes(gate, up));
  const Tensor out = like(s, gate);
  submit(s, s.device().ops().swiglu, SwigluArgs{gate, up, out}, "swiglu", "");
  return out;
}

void copy(Stream& s, const Tensor& dst, const Tensor& src) {
  assert(dst.n_elements() == src.n_elements());
  if (!s.plan() && !s.cancelled()) s.copy(dst, src);
}

namespace {

Tensor submit_argmax(Stream& s, const Tensor& x, int64_t n_told, int64_t n_ranks = 1) {
  assert(x.dtype == DType::f32 && x.ne[0] > 0);
  const Tensor out = s.workspace().allocate(DType::i32, n_told * n_ranks, x.n_rows());
  for (int64_t rank = 0; rank < n_ranks; ++rank)
    submit(s, s.device().ops().argmax, ArgmaxArgs{x, out, rank}, "argmax", "");
  return out;
}

}  // namespace

Tensor argmax(Stream& s, const Tensor& x) {
  return submit_argmax(s, x, 1);
}

Tensor argmax_with_probability(Stream& s, const Tensor& x) {
  return submit_argmax(s, x, 2);
}

Tensor top_k_with_probability(Stream& s, const Tensor& x, int64_t k) {
  assert(k > 0);
  return submit_argmax(s, x, 2, k);
}

Tensor top_logits(Stream& s, const Tensor& x, int64_t k) {
  assert(x.dtype == DType::f32 && x.ne[0] > 0 && k > 0 && k <= kMostTopLogits);
  const Tensor out = s.workspace().allocate(DType::i32, 2 + 2 * std::min(k, x.ne[0]), x.n_rows());
  submit(s, s.device().ops().top_logits, TopLogitsArgs{x, out}, "top_logits", "");
  return out;
}

void draw_tokens(Stream& s, const Tensor& told, const Tensor& draws, const Tensor& tokens) {
  assert(told.dtype == DType::i32 && told.n_rows() == tokens.n_elements());
  assert(draws.ne[0] >= tokens.n_elements() && draws.ne[1] == kDrawWords);
  submit(s, s.device().ops().draw_tokens, DrawTokensArgs{told, draws, tokens}, "draw_tokens", "");
}

void add(Stream& s, const Tensor& x, const Tensor& y) {
  assert(same_sizes(x, y));
  submit(s, s.device().ops().add, AddArgs{x, y}, "add", "");
}

void maskgit_step(Stream& s, const Tensor& logits, const Tensor& codes, const Tensor& move, int32_t mask) {
  assert(codes.dtype == DType::i32 && logits.dtype == DType::f32 && logits.ne[0] % codes.ne[1] == 0);
  assert(logits.ne[1] <= codes.ne[0] && logits.ne[2] <= 2 && move.size() == sizeof(MaskGitMove));
  submit(s, s.device().ops().maskgit_step, MaskGitStepArgs{logits, codes, move, mask}, "maskgit_step", "");
}

}  // namespace parlance
