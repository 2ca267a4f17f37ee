#include "models/omnivoice_codec.h"

#include <algorithm>
#include <cmath>

#include "base/checked.h"

namespace parlance {

namespace {

constexpr int64_t kDilations[3] = {1, 3, 9};

Conv2dWindow same_length(int64_t width, int64_t dilation = 1) {
  return {.width = width, .height = 1, .pad_x = dilation * (width / 2), .dilation_x = dilation};
}

Conv2dWindow strided(int64_t width, int64_t stride, int64_t pad) {
  return {.width = width, .height = 1, .stride_x = stride, .pad_x = pad};
}

Tensor duplicate(Stream& s, const Tensor& x) {
  const Tensor twin = s.workspace().allocate(DType::f32, x.ne[0], x.ne[1]);
  copy(s, twin, x);
  return twin;
}

// x += conv(snake(conv(snake(x))))
void residual_unit(Stream& s, const CodecResidualUnit& w, const Tensor& x, int64_t dilation) {
  const Frame frame(s);
  const Tensor y = conv1d(s, w.conv1, snake(s, duplicate(s, x), w.snake1), same_length(7, dilation));
  add(s, x, conv1d(s, w.conv2, snake(s, y, w.snake2), same_length(1)));
}

}  // namespace

// Frames to either side that a block's input can change the sound of a frame in: through the blocks from it
// on, of which a transposed convolution reaches a place and the units 3 (1 + 3 + 9), and through the windows
// of 7 around them.
int64_t OmniVoiceCodec::margin_before(size_t block) const {
  constexpr double kReachOfSeven = 3, kReachOfUnits = 3 * (1 + 3 + 9);
  double frames = block == 0 ? kReachOfSeven : 0, rate = 1;  // places of a frame
  for (size_t i = 0; i < hp_.upsampling.size(); ++i) {
    if (i >= block) frames += 1 / rate;
    rate *= static_cast<double>(hp_.upsampling[i]);
    if (i >= block) frames += kReachOfUnits / rate;
  }
  return static_cast<int64_t>(std::ceil(frames + kReachOfSeven / rate));
}

Tensor OmniVoiceCodec::decode(Stream& s, const Tensor& codes, int64_t first, int64_t last) const {
  Tensor z;
  for (size_t level = 0; level < quantisers_.size(); ++level) {
    const CodecQuantiser& w = quantisers_[level];
    const Tensor part =
        matmul(s, w.project_out, get_rows(s, w.codebook, codes.rows(static_cast<int64_t>(level), 1)));
    if (level > 0) add(s, z, part);
    if (level == 0) z = part;
  }
  Tensor x = conv1d(s, decoder_.conv1, matmul(s, fc2_, z), same_length(7));
  int64_t from = 0, to = codes.ne[0], rate = 1;  // frames that x holds, and places of each
  for (size_t i = 0; i < decoder_.blocks.size(); ++i) {
    const CodecBlock& block = decoder_.blocks[i];
    const int64_t margin = margin_before(i);
    const int64_t new_from = std::max(from, first - margin), new_to = std::min(to, last + margin);
    x = x.rows((new_from - from) * rate, (new_to - new_from) * rate);
    from = new_from;
    to = new_to;
    rate *= block.stride;
    x = conv_transpose1d(s, block.resample, snake(s, x, block.snake), block.stride);
    for (size_t unit = 0; unit < block.units.size(); ++unit)
      residual_unit(s, block.units[unit], x, kDilations[unit]);
  }
  const Tensor sound = conv1d(s, decoder_.conv2, snake(s, x, decoder_.snake), same_length(7));
  return sound.rows((first - from) * rate, (last - first) * rate);
}

Tensor OmniVoiceCodec::encode_acoustic(Stream& s, const Tensor& sound) const {
  Tensor x = conv1d(s, encoder_.conv1, sound, same_length(7));
  for (const CodecBlock& block : encoder_.blocks) {
    for (size_t i = 0; i < block.units.size(); ++i) residual_unit(s, block.units[i], x, kDilations[i]);
    x = conv1d(s, block.resample, snake(s, x, block.snake),
               strided(2 * block.stride, block.stride, div_up<int64_t>(block.stride, 2)));
  }
  return conv1d(s, encoder_.conv2, snake(s, x, encoder_.snake), same_length(3));
}

int64_t OmniVoiceCodec::acoustic_frames(int64_t n_samples) const {
  int64_t n = n_samples;
  for (const int64_t stride : hp_.downsampling) {
    if (n <= 0) return 0;
    n = n + 2 * div_up<int64_t>(stride, 2) < 2 * stride
            ? 0
            : strided(2 * stride, stride, div_up<int64_t>(stride, 2)).out_width(n);
  }
  return n;
}

int64_t OmniVoiceCodec::semantic_places(int64_t n_samples) const {
  int64_t n = n_samples;
  for (size_t i = 0; i < hp_.conv_kernel.size(); ++i) {
    if (n < hp_.conv_kernel[i]) return 0;
    n = strided(hp_.conv_kernel[i], hp_.conv_stride[i], 0).out_width(n);
  }
  return n;
}

Tensor OmniVoiceCodec::hubert(Stream& s, const Tensor& sound, const Tensor& bounds) const {
  const float eps = hp_.norm_eps;
  Tensor x = sound;
  for (size_t i = 0; i < hubert_.convs.size(); ++i) {
    x = conv1d(s, hubert_.convs[i], x, strided(hp_.conv_kernel[i], hp_.conv_stride[i], 0));
    if (i == 0) channel_norm(s, x, hubert_.conv_norm, eps);
    gelu(s, x);
  }
  Tensor h = matmul(s, hubert_.projection, layer_norm(s, x, hubert_.projection_norm, eps));
  const int64_t n = h.ne[1], head_dim = hp_.n_embd / hp_.n_head;
  const Tensor pos =
      conv1d(s, hubert_.pos_conv, h, strided(hp_.pos_kernel, 1, hp_.pos_kernel / 2)).rows(0, n);
  add(s, h, gelu(s, pos));
  h = layer_norm(s, h, hubert_.norm, eps);

  const Tensor sum = duplicate(s, h);
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)));
  for (const HubertLayer& w : hubert_.layers) {
    const Frame frame(s);
    const auto heads = [&](const Tensor& t) { return t.reshaped(head_dim, hp_.n_head, n); };
    const Products qkv = matmul(s, {&w.q, &w.k, &w.v}, h);
    const Tensor attn =
        segment_attention(s, heads(qkv.out[0]), heads(qkv.out[1]), heads(qkv.out[2]), bounds, scale);
    add(s, h, matmul(s, w.out, attn));
    copy(s, h, layer_norm(s, h, w.norm, eps));
    add(s, h, matmul(s, w.down, gelu(s, matmul(s, w.up, h))));
    copy(s, h, layer_norm(s, h, w.final_norm, eps));
    add(s, sum, h);
  }
  return sum;
}

Tensor OmniVoiceCodec::join(Stream& s, const Tensor& acoustic, const Tensor& features) const {
  Tensor x = conv1d(s, semantic_.conv, features, same_length(3));
  for (const SemanticEncoderWeights::Block& block : semantic_.blocks) {
    for (const SemanticEncoderWeights::Unit& unit : block.units) {
      const Tensor y = conv1d(s, unit.conv1, elu(s, duplicate(s, x)), same_length(3));
      add(s, x, conv1d(s, unit.conv2, elu(s, y), same_length(1)));
    }
    x = conv1d(s, block.conv, x, same_length(3));
  }
  const Tensor both = s.workspace().allocate(DType::f32, acoustic.ne[0] + x.ne[0], x.ne[1]);
  put_channels(s, both, 0, acoustic);
  put_channels(s, both, acoustic.ne[0], x);
  return matmul(s, fc_, both);
}

// Each level codes what the levels before it left over.
std::vector<int32_t> OmniVoiceCodec::quantise(std::span<const float> latent) const {
  const auto n_latent = static_cast<size_t>(hp_.n_latent), dim = static_cast<size_t>(hp_.codebook_dim);
  const size_t n_frames = latent.size() / n_latent;
  std::vector<int32_t> codes(quantisers_.size() * n_frames);
  std::vector<double> rest(n_latent), h(dim);
  for (size_t t = 0; t < n_frames; ++t) {
    rest.assign(latent.begin() + static_cast<std::ptrdiff_t>(t * n_latent),
                latent.begin() + static_cast<std::ptrdiff_t>((t + 1) * n_latent));
    for (size_t level = 0; level < quantisers_.size(); ++level) {
      const CodecQuantiser& w = quantisers_[level];
      for (size_t i = 0; i < dim; ++i) {
        h[i] = static_cast<double>(w.host_in_bias[i]);
        for (size_t j = 0; j < n_latent; ++j)
          h[i] += static_cast<double>(w.host_in[i * n_latent + j]) * rest[j];
      }
      size_t best = 0;
      double best_score = -INFINITY;
      for (size_t code = 0; code < static_cast<size_t>(hp_.n_codes); ++code) {
        const float* e = w.host_codebook.data() + code * dim;
        double score = 0;
        for (size_t i = 0; i < dim; ++i)
          score += static_cast<double>(e[i]) * (2 * h[i] - static_cast<double>(e[i]));
        if (score > best_score) {
          best_score = score;
          best = code;
        }
      }
      codes[level * n_frames + t] = static_cast<int32_t>(best);
      const float* e = w.host_codebook.data() + best * dim;
      for (size_t j = 0; j < n_latent; ++j) {
        double out = static_cast<double>(w.host_out_bias[j]);
        for (size_t i = 0; i < dim; ++i)
          out += static_cast<double>(w.host_out[j * dim + i]) * static_cast<double>(e[i]);
        rest[j] -= out;
      }
    }
  }
  return codes;
}

}  // namespace parlance
