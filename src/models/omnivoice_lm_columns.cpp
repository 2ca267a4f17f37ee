// A pass of OmniVoice's language model over some columns, against kept keys and values of the others. The
// layers are those of omnivoice_lm.cpp. Attention is that of caches: as every column sees its row to the end,
// each counts as if it were the last one.
#include "kernels/sum_rows.h"
#include "models/layers/residual.h"
#include "models/omnivoice_lm.h"

namespace parlance {

Tensor OmniVoiceLm::embed_columns(Stream& s, const OmniVoiceColumns& columns) const {
  const int64_t n_text = columns.text ? columns.text.n_elements() : 0, n_audio = columns.audio.ne[0];
  if (n_text == 0) return sum_rows(s, audio_embeddings_, columns.audio);
  const Tensor h = s.workspace().allocate(DType::f32, hp_.text.n_embd, n_text + n_audio);
  const Frame frame(s);
  const Tensor audio = sum_rows(s, audio_embeddings_, columns.audio);
  copy(s, h.rows(0, n_text), get_rows(s, embed_tokens_, columns.text));
  copy(s, h.rows(n_text, n_audio), audio);
  return h;
}

OmniVoiceLm::Turns OmniVoiceLm::turns_of(Stream& s, const OmniVoiceColumns& columns) const {
  Turns turns{.own = rope_angles(s, columns.pos, rope_inverse_, 1), .shared = {}};
  if (columns.shared.columns) turns.shared = rope_angles(s, columns.shared.pos, rope_inverse_, 1);
  return turns;
}

// Keys that are normalised but not turned yet, and values: (head_dim, n_head_kv, n_columns).
void OmniVoiceLm::keep(Stream& s, const Tensor& k, const Tensor& v, const Turns& turns,
                       const OmniVoiceColumns& columns, const KvView& kv) const {
  if (!columns.shared.columns) {
    rope(s, k, turns.own, RopeStyle::halves);
    return kv_write(s, kv, k, v, {.seq = columns.seq, .pos = columns.pos, .n_kv_bound = columns.n_kv_bound});
  }
  const int64_t n_shared = columns.shared.columns.n_elements();
  const auto copies = [&](const Tensor& x) {
    const Tensor rows = get_rows(s, x.reshaped(x.ne[0] * x.ne[1], x.ne[2]), columns.shared.columns);
    return rows.reshaped(x.ne[0], x.ne[1], n_shared);
  };
  const Frame frame(s);
  const Tensor all_k = copies(k), all_v = copies(v);
  rope(s, all_k, turns.shared, RopeStyle::halves);
  kv_write(s, kv, all_k, all_v,
           {.seq = columns.shared.seq, .pos = columns.shared.pos, .n_kv_bound = columns.n_kv_bound});
}

// Products of (n_embd, n_columns) -> (n_head * head_dim, n_columns).
Tensor OmniVoiceLm::attend_kept(Stream& s, const Products& qkv, const OmniVoiceLayer& w, const Turns& turns,
                                const OmniVoiceColumns& columns, const KvView& kv) const {
  const HyperParameters& hp = hp_.text;
  const int64_t n = qkv.out[0].ne[1];
  Tensor q = qkv.out[0].reshaped(hp.head_dim_k, hp.n_head, n);
  const Tensor k = qkv.out[1].reshaped(hp.head_dim_k, hp.n_head_kv, n);
  const Tensor v = qkv.out[2].reshaped(hp.head_dim_v, hp.n_head_kv, n);
  if (columns.shared.columns) {
    q = rms_norm(s, q, w.q_norm, hp.norm_eps);
    rope(s, q, turns.own, RopeStyle::halves);
    keep(s, rms_norm(s, k, w.k_norm, hp.norm_eps), v, turns, columns, kv);
  } else {
    norm_rope_write(s, q, k, v, {.q = w.q_norm, .k = w.k_norm, .eps = hp.norm_eps}, turns.own,
                    RopeStyle::halves, kv,
                    {.seq = columns.seq, .pos = columns.pos, .n_kv_bound = columns.n_kv_bound});
  }
  const BatchView seen{.seq = columns.seen ? columns.seen : columns.seq,
                       .pos = columns.end,
                       .n_kv_bound = columns.n_kv_bound,
                       .least_rows = columns.least_of_row,
                       .most_rows = columns.most_of_row};
  return attention(s, q, kv, seen, hp.attention_scale);
}

// x (n_embd, n_columns), already normalised, and those of them that are asked alone: asked (n_embd, n_asked)
// of x -> (n_embd, n_asked). Keys and values are written for all.
Tensor OmniVoiceLm::attend_asked(Stream& s, const OmniVoiceLayer& w, const Tensor& x, const Tensor& asked,
                                 const Turns& turns, const OmniVoiceColumns& columns,
                                 const KvView& kv) const {
  const HyperParameters& hp = hp_.text;
  const Products both = matmul(s, {&w.k, &w.v}, x);
  const Tensor k =
      rms_norm(s, both.out[0].reshaped(hp.head_dim_k, hp.n_head_kv, x.ne[1]), w.k_norm, hp.norm_eps);
  const Tensor v = both.out[1].reshaped(hp.head_dim_v, hp.n_head_kv, x.ne[1]);
  keep(s, k, v, turns, columns, kv);
  const Tensor q = rms_norm(s, matmul(s, w.q, asked).reshaped(hp.head_dim_k, hp.n_head, asked.ne[1]),
                            w.q_norm, hp.norm_eps);
  rope(s, q, rope_angles(s, columns.asked.pos, rope_inverse_, 1), RopeStyle::halves);
  const BatchView seen{.seq = columns.asked.seq, .pos = columns.asked.end, .n_kv_bound = columns.n_kv_bound};
  return matmul(s, w.o, attention(s, q, kv, seen, hp.attention_scale));
}

std::vector<Tensor> OmniVoiceLm::forward_columns(Stream& s, const OmniVoiceColumns& columns,
                                                 const KvLayers& kv) const {
  const float eps = hp_.text.norm_eps;
  const Tensor h = embed_columns(s, columns);
  const Turns turns = turns_of(s, columns);
  const size_t last = layers_.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    const OmniVoiceLayer& w = layers_[i];
    const Frame frame(s);
    const Products qkv = matmul(s, {&w.q, &w.k, &w.v}, rms_norm(s, h, w.input_norm, eps));
    add(s, h, matmul(s, w.o, attend_kept(s, qkv, w, turns, columns, kv.layer(static_cast<int64_t>(i)))));
    add(s, h, mlp(s, w.mlp, rms_norm(s, h, w.mlp_norm, eps)));
  }
  const OmniVoiceLayer& w = layers_[last];
  const Tensor x = rms_norm(s, h, w.input_norm, eps);
  const Tensor asked = get_rows(s, h, columns.asked.columns);
  add(s, asked,
      attend_asked(s, w, x, get_rows(s, x, columns.asked.columns), turns, columns,
                   kv.layer(static_cast<int64_t>(last))));
  add(s, asked, mlp(s, w.mlp, rms_norm(s, asked, w.mlp_norm, eps)));
  const Tensor normed = rms_norm(s, asked, norm_, eps);
  std::vector<Tensor> logits;
  for (int64_t k = 0; k < hp_.n_codebook; ++k) {
    const Tensor& rows = columns.asked.of_codebook[static_cast<size_t>(k)];
    if (!rows) {
      logits.emplace_back();
      continue;
    }
    const Linear head{.weight = audio_heads_.weight.rows(k * hp_.n_audio_vocab, hp_.n_audio_vocab),
                      .bias = {}};
    logits.push_back(matmul(s, head, get_rows(s, normed, rows)));
  }
  return logits;
}

Tensor OmniVoiceLm::forward_asked(Stream& s, const OmniVoiceColumns& columns, const KvLayers& kv) const {
  const float eps = hp_.text.norm_eps;
  const Tensor h = embed_columns(s, columns);
  const Turns turns = turns_of(s, columns);
  const OmniVoiceLayer& first = layers_.front();
  ResidualStream stream(s, h, first.input_norm, eps, first.mlp.gate.weight.dtype);
  const Tensor seen = attend_through(s, stream, [&](const Products& qkv, size_t i) {
    return attend_kept(s, qkv, layers_[i], turns, columns, kv.layer(static_cast<int64_t>(i)));
  });
  const OmniVoiceLayer& w = layers_.back();
  const Tensor& asked = columns.asked.columns;
  const bool are_few = 2 * asked.n_elements() < h.ne[1];
  ResidualStream rest = are_few ? stream.of_rows(s, asked) : stream;
  rest.add(s, w.o, are_few ? get_rows(s, seen, asked) : seen, w.mlp_norm);
  rest.add_mlp(s, w.mlp, {});
  return matmul(s, audio_heads_, rms_norm(s, are_few ? rest.h() : get_rows(s, h, asked), norm_, eps));
}

}  // namespace parlance
