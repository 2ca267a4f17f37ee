// A Qwen3 file of a few kilobytes with random weights and a vocabulary of bytes: enough to run every verb.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "gguf/writer.h"
#include "gtest/gtest.h"
#include "tokenizer/byte_alphabet.h"

namespace parlance::test {

inline constexpr int64_t kTinyContext = 512;

inline void write_tiny_model(const std::filesystem::path& path, const std::string& architecture = "qwen3") {
  constexpr int64_t kEmbd = 64, kFf = 96, kHeads = 2, kHeadDim = 32;
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;
  for (int byte = 0; byte < 256; ++byte) {
    tokens.emplace_back(character_of_byte(static_cast<uint8_t>(byte)).view());
    kinds.push_back(1);
  }
  for (const char* special : {"<|im_start|>", "<|im_end|>"}) {
    tokens.emplace_back(special);
    kinds.push_back(3);
  }
  tokens.emplace_back("he");
  kinds.push_back(1);
  const std::vector<std::string> merges = {"h e"};
  const auto n_vocab = static_cast<int64_t>(tokens.size());

  GgufWriter writer;
  writer.set_string("general.architecture", architecture);
  writer.set_string("general.name", "Tiny test model");
  writer.set_u32(architecture + ".block_count", 1);
  writer.set_u32(architecture + ".context_length", kTinyContext);
  writer.set_u32(architecture + ".embedding_length", kEmbd);
  writer.set_u32(architecture + ".feed_forward_length", kFf);
  writer.set_u32(architecture + ".attention.head_count", kHeads);
  writer.set_u32(architecture + ".attention.head_count_kv", 1);
  writer.set_u32(architecture + ".attention.key_length", kHeadDim);
  writer.set_u32(architecture + ".attention.value_length", kHeadDim);
  writer.set_f32(architecture + ".attention.layer_norm_rms_epsilon", 1e-6f);
  writer.set_string("tokenizer.ggml.model", "gpt2");
  writer.set_string("tokenizer.ggml.pre", "qwen2");
  writer.set_strings("tokenizer.ggml.tokens", tokens);
  writer.set_i32s("tokenizer.ggml.token_type", kinds);
  writer.set_strings("tokenizer.ggml.merges", merges);
  writer.set_u32("tokenizer.ggml.eos_token_id", 257);

  struct Declared {
    const char* name;
    std::vector<int64_t> ne;
  };
  const std::vector<Declared> tensors = {{"token_embd.weight", {kEmbd, n_vocab}},
                                         {"blk.0.attn_norm.weight", {kEmbd}},
                                         {"blk.0.attn_q.weight", {kEmbd, kHeads * kHeadDim}},
                                         {"blk.0.attn_k.weight", {kEmbd, kHeadDim}},
                                         {"blk.0.attn_v.weight", {kEmbd, kHeadDim}},
                                         {"blk.0.attn_output.weight", {kHeads * kHeadDim, kEmbd}},
                                         {"blk.0.attn_q_norm.weight", {kHeadDim}},
                                         {"blk.0.attn_k_norm.weight", {kHeadDim}},
                                         {"blk.0.ffn_norm.weight", {kEmbd}},
                                         {"blk.0.ffn_gate.weight", {kEmbd, kFf}},
                                         {"blk.0.ffn_up.weight", {kEmbd, kFf}},
                                         {"blk.0.ffn_down.weight", {kFf, kEmbd}},
                                         {"output_norm.weight", {kEmbd}}};
  for (const Declared& tensor : tensors) writer.add_tensor(tensor.name, DType::f32, tensor.ne);
  ASSERT_TRUE(writer.begin(path));
  std::mt19937 random(7);
  for (const Declared& tensor : tensors) {
    const bool is_norm = tensor.ne.size() == 1;
    std::vector<float> values(static_cast<size_t>(is_norm ? tensor.ne[0] : tensor.ne[0] * tensor.ne[1]));
    for (float& value : values) value = is_norm ? 1.0f : static_cast<float>(random()) * 0x1p-32f - 0.5f;
    ASSERT_TRUE(writer.write_tensor(std::as_bytes(std::span(values))));
  }
  ASSERT_TRUE(writer.finish());
}

}  // namespace parlance::test
