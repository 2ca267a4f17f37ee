// A block drafter's file of a few kilobytes with random weights, in the names of either kind of file.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "gguf/writer.h"

namespace parlance::test {

struct TinyDrafter {
  std::string architecture = "dflash-draft";  // or "dflash"
  int64_t n_embd = 64, n_ff = 32, head_dim = 16;
  int n_head = 2, n_head_kv = 1, n_layer = 2;
  uint32_t n_vocab = 259, block_size = 6, mask_token = 258;
  std::vector<int32_t> target_layers = {0, 2};
  bool is_norm_named_by_place = true;  // post_attention_norm, else ffn_norm
};

inline Result<void> write_tiny_drafter(const std::filesystem::path& path, const TinyDrafter& d) {
  const bool is_draft = d.architecture == "dflash-draft";
  const auto key = [&](const char* name) { return d.architecture + "." + name; };
  GgufWriter writer;
  writer.set_string("general.architecture", d.architecture);
  writer.set_u32(key("block_count"), static_cast<uint32_t>(d.n_layer));
  writer.set_u32(key("context_length"), 512);
  writer.set_u32(key("embedding_length"), static_cast<uint32_t>(d.n_embd));
  writer.set_u32(key("feed_forward_length"), static_cast<uint32_t>(d.n_ff));
  writer.set_u32(key("attention.head_count"), static_cast<uint32_t>(d.n_head));
  writer.set_u32(key("attention.head_count_kv"), static_cast<uint32_t>(d.n_head_kv));
  writer.set_u32(key("attention.key_length"), static_cast<uint32_t>(d.head_dim));
  writer.set_u32(key("attention.value_length"), static_cast<uint32_t>(d.head_dim));
  writer.set_f32(key("attention.layer_norm_rms_epsilon"), 1e-6f);
  writer.set_u32(key("vocab_size"), d.n_vocab);
  writer.set_u32(key(is_draft ? "dflash.block_size" : "block_size"), d.block_size);
  if (is_draft) {
    writer.set_u32(key("dflash.mask_token_id"), d.mask_token);
  } else {
    writer.set_u32("tokenizer.ggml.mask_token_id", d.mask_token);
  }
  writer.set_i32s(key(is_draft ? "dflash.target_layer_ids" : "target_layers"), d.target_layers);

  struct Declared {
    std::string name;
    std::vector<int64_t> ne;
  };
  const int64_t n = d.n_embd, n_q = d.n_head * d.head_dim, n_kv = d.n_head_kv * d.head_dim;
  std::vector<Declared> tensors = {
      {is_draft ? "dflash_fc" : "fc", {n * static_cast<int64_t>(d.target_layers.size()), n}},
      {is_draft ? "dflash_hidden_norm" : "enc.output_norm", {n}},
      {"output_norm", {n}}};
  for (int layer = 0; layer < d.n_layer; ++layer) {
    for (const Declared& weight : {Declared{"attn_norm", {n}},
                                   {"attn_q", {n, n_q}},
                                   {"attn_k", {n, n_kv}},
                                   {"attn_v", {n, n_kv}},
                                   {"attn_output", {n_q, n}},
                                   {"attn_q_norm", {d.head_dim}},
                                   {"attn_k_norm", {d.head_dim}},
                                   {d.is_norm_named_by_place ? "post_attention_norm" : "ffn_norm", {n}},
                                   {"ffn_gate", {n, d.n_ff}},
                                   {"ffn_up", {n, d.n_ff}},
                                   {"ffn_down", {d.n_ff, n}}}) {
      tensors.push_back({"blk." + std::to_string(layer) + "." + weight.name, weight.ne});
    }
  }
  for (const Declared& tensor : tensors) writer.add_tensor(tensor.name + ".weight", DType::f32, tensor.ne);
  PARLANCE_CHECK(writer.begin(path));
  std::mt19937 random(11);
  for (const Declared& tensor : tensors) {
    const bool is_norm = tensor.ne.size() == 1;
    std::vector<float> values(static_cast<size_t>(is_norm ? tensor.ne[0] : tensor.ne[0] * tensor.ne[1]));
    for (float& value : values) value = is_norm ? 1.0f : static_cast<float>(random()) * 0x1p-32f - 0.5f;
    PARLANCE_CHECK(writer.write_tensor(std::as_bytes(std::span(values))));
  }
  return writer.finish();
}

}  // namespace parlance::test
