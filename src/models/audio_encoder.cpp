#include "models/audio_encoder.h"

#include <cmath>

#include "kernels/conv_places.h"

namespace parlance {

namespace {

constexpr Conv2dWindow kHalving{
    .width = 3, .height = 3, .stride_x = 2, .stride_y = 2, .pad_x = 1, .pad_y = 1};

int64_t halved(int64_t n) {
  return kHalving.out_width(n);
}

}  // namespace

int64_t AudioEncoder::n_tokens(int64_t n_frames) {
  return n_frames > 0 ? halved(halved(halved(n_frames))) : 0;
}

bool AudioEncoder::are_alike(const Stream& s, int64_t n_frames, int64_t n_other_frames) const {
  if (n_frames == n_other_frames) return true;
  if (s.keeps_recordings()) return false;
  int64_t n_bands = hp_.n_mel;
  for (const Linear* conv : {&w_.conv1, &w_.conv2, &w_.conv3}) {
    n_frames = halved(n_frames);
    n_other_frames = halved(n_other_frames);
    n_bands = halved(n_bands);
    if (!conv_places_are_alike(s, conv->weight, n_frames * n_bands, n_other_frames * n_bands)) return false;
  }
  return conv_places_are_alike(s, w_.conv_out.weight, n_frames, n_other_frames);
}

// Images are (n_channel, time, frequency).
Tensor AudioEncoder::embed_chunk(Stream& s, const Tensor& mel, const Tensor& pos) const {
  Tensor x = gelu(s, conv2d(s, w_.conv1, mel, kHalving));
  x = gelu(s, conv2d(s, w_.conv2, x, kHalving));
  x = gelu(s, conv2d(s, w_.conv3, x, kHalving));
  const Conv2dWindow column{
      .width = 1, .height = x.ne[2], .stride_y = x.ne[2]};  // all frequencies of a token
  const Tensor h = conv2d(s, w_.conv_out, x, column).reshaped(hp_.n_embd, x.ne[1]);
  add(s, h, get_rows(s, w_.position, pos));
  return h;
}

Tensor AudioEncoder::attend(Stream& s, const AudioEncoderLayer& w, const Tensor& x,
                            const Tensor& bounds) const {
  const int64_t n_tokens = x.ne[1], head_dim = hp_.head_dim();
  const Products qkv = matmul(s, {&w.q, &w.k, &w.v}, x);
  const auto heads = [&](const Tensor& t) { return t.reshaped(head_dim, hp_.n_head, n_tokens); };
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)));
  const Tensor attn =
      segment_attention(s, heads(qkv.out[0]), heads(qkv.out[1]), heads(qkv.out[2]), bounds, scale);
  return matmul(s, w.out, attn);
}

Tensor AudioEncoder::encode_windows(Stream& s, const Tensor& h, const Tensor& bounds) const {
  for (const AudioEncoderLayer& w : w_.layers) {
    const Frame frame(s);
    add(s, h, attend(s, w, layer_norm(s, h, w.ln1, hp_.norm_eps), bounds));
    const Tensor x = layer_norm(s, h, w.ln2, hp_.norm_eps);
    add(s, h, matmul(s, w.down, gelu(s, matmul(s, w.up, x))));
  }
  const Tensor x = layer_norm(s, h, w_.post_ln, hp_.norm_eps);
  return matmul(s, w_.project2, gelu(s, matmul(s, w_.project1, x)));
}

}  // namespace parlance
