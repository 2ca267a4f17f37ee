#include "models/dflash.h"

#include <algorithm>

namespace parlance {

bool Dflash::reads_before(int64_t layer) const {
  return std::ranges::min(p_.target_layers) < layer;
}

Dflash::Listener::Listener(const Dflash& drafter, const Tensor& features, const KvLayers* kv,
                           const BatchView& view)
    : drafter_(drafter), features_(features), kv_(kv), view_(view) {
  const std::vector<int64_t>& layers = drafter.p_.target_layers;
  last_ = static_cast<size_t>(std::ranges::max_element(layers) - layers.begin());
  for (size_t i = 0; i < layers.size(); ++i) visitors_.push_back({this, i});
  for (size_t i = 0; i < layers.size(); ++i) taps_.push_back({layers[i], visitors_[i]});
}

void Dflash::Listener::remember(Stream& s) const {
  if (kv_) drafter_.remember_features(s, features_, *kv_, view_);
}

void Dflash::Listener::begin(Stream& s, int64_t first_layer) const {
  if (drafter_.p_.target_layers[last_] < first_layer) remember(s);
}

// fc of all streams side by side is the sum of each one's product with its own columns, made as they come by.
void Dflash::Listener::AtLayer::operator()(Stream& s, const Tensor& h) const {
  const Dflash& drafter = listener->drafter_;
  const Tensor part = matmul(s, drafter.w_.fc[index], h);
  const std::vector<int64_t>& layers = drafter.p_.target_layers;
  const bool is_first = layers[index] == std::ranges::min(layers);
  if (is_first) {
    copy(s, listener->features_, part);
  } else {
    add(s, listener->features_, part);
  }
  if (index == listener->last_) listener->remember(s);
}

void Dflash::remember_features(Stream& s, const Tensor& features, const KvLayers& kv,
                               const BatchView& view) const {
  const HyperParameters& hp = p_.layers;
  const int64_t n_tokens = features.ne[1];
  const Tensor x = rms_norm(s, features, w_.hidden_norm, hp.norm_eps);
  const Tensor angles = rope_angles(s, view.pos, w_.rope.inverse, w_.rope.magnitude);
  for (size_t layer = 0; layer < w_.layers.size(); ++layer) {
    const AttentionWeights& w = w_.layers[layer].attention;
    const Frame frame(s);
    const Products kv_of = matmul(s, {&w.k, &w.v}, x);
    const Tensor heads =
        rms_norm(s, kv_of.out[0].reshaped(hp.head_dim_k, hp.n_head_kv * n_tokens), w.k_norm, hp.norm_eps);
    const Tensor k = heads.reshaped(hp.head_dim_k, hp.n_head_kv, n_tokens);
    rope(s, k, angles, RopeStyle::halves);
    kv_write(s, kv.layer(static_cast<int64_t>(layer)), k,
             kv_of.out[1].reshaped(hp.head_dim_v, hp.n_head_kv, n_tokens), view);
  }
}

Tensor Dflash::draft(Stream& s, const Blocks& blocks, const KvLayers& kv) const {
  const HyperParameters& hp = p_.layers;
  const float eps = hp.norm_eps;
  const BatchView seen{.seq = blocks.view.seq, .pos = blocks.seen, .n_kv_bound = blocks.view.n_kv_bound};
  BatchView in_window = seen;
  in_window.first = blocks.first;
  const Tensor h = get_rows(s, w_.token_embd, blocks.token);
  const Tensor angles = rope_angles(s, blocks.view.pos, w_.rope.inverse, w_.rope.magnitude);

  const Tensor x = rms_norm(s, h, w_.layers.front().attn_norm, eps);
  for (size_t layer = 0; layer < w_.layers.size(); ++layer) {
    const DflashLayer& w = w_.layers[layer];
    const KvView& view = kv.layer(static_cast<int64_t>(layer));
    const Frame frame(s);

    const AttentionWeights& a = w.attention;
    const Products qkv = matmul(s, {&a.q, &a.k, &a.v}, x);
    const Tensor q = remember(s, a, hp, RopeStyle::halves, qkv, angles, view, blocks.view);
    const BatchView& visible = p_.is_windowed[layer] ? in_window : seen;
    add_rms_norm(s, h, matmul(s, a.output, attend(s, hp, q, view, visible)), w.ffn_norm, eps, x);
    const bool is_last = layer + 1 == w_.layers.size();
    add_rms_norm(s, h, mlp(s, w.mlp, x), is_last ? w_.output_norm : w_.layers[layer + 1].attn_norm, eps, x);
  }
  return matmul(s, w_.output, get_rows(s, x, blocks.rows));
}

}  // namespace parlance
