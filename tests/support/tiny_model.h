// A Qwen3 file of a few kilobytes with random weights and a vocabulary of bytes: enough to run every verb.
// The same with more and larger layers where memory is what a test is about.
#pragma once

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "gguf/writer.h"
#include "gtest/gtest.h"
#include "quant/block_format.h"
#include "tokenizer/byte_alphabet.h"

namespace parlance::test {

inline constexpr int64_t kTinyContext = 512;

struct TinyShape {
  std::string architecture = "qwen3";
  int64_t n_embd = 64, n_ff = 96;
  int n_layer = 1;
  uint32_t seed = 7;  // of the weights
  float unlike = 0;   // how much of the weights of another seed is in them, up to 1
  // Where it is given: which token each is followed by, whatever stands before it; n_embd is then no less
  // than the vocabulary.
  std::vector<int32_t> next = {};
  DType matrices = DType::f32;
};

inline constexpr int64_t kTinyVocabulary = 259;  // 257 ends an answer

inline void write_tiny_model(const std::filesystem::path& path, const TinyShape& shape = {}) {
  constexpr int64_t kHeads = 2, kHeadDim = 32;
  const std::string& architecture = shape.architecture;
  const int64_t n_embd = shape.n_embd, n_ff = shape.n_ff;
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
  writer.set_u32(architecture + ".block_count", static_cast<uint32_t>(shape.n_layer));
  writer.set_u32(architecture + ".context_length", kTinyContext);
  writer.set_u32(architecture + ".embedding_length", static_cast<uint32_t>(n_embd));
  writer.set_u32(architecture + ".feed_forward_length", static_cast<uint32_t>(n_ff));
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
    std::string name;
    std::vector<int64_t> ne;
  };
  std::vector<Declared> tensors = {{"token_embd.weight", {n_embd, n_vocab}}};
  if (!shape.next.empty()) tensors.push_back({"output.weight", {n_embd, n_vocab}});
  for (int layer = 0; layer < shape.n_layer; ++layer) {
    for (const Declared& weight : {Declared{"attn_norm", {n_embd}},
                                   {"attn_q", {n_embd, kHeads * kHeadDim}},
                                   {"attn_k", {n_embd, kHeadDim}},
                                   {"attn_v", {n_embd, kHeadDim}},
                                   {"attn_output", {kHeads * kHeadDim, n_embd}},
                                   {"attn_q_norm", {kHeadDim}},
                                   {"attn_k_norm", {kHeadDim}},
                                   {"ffn_norm", {n_embd}},
                                   {"ffn_gate", {n_embd, n_ff}},
                                   {"ffn_up", {n_embd, n_ff}},
                                   {"ffn_down", {n_ff, n_embd}}}) {
      tensors.push_back({"blk." + std::to_string(layer) + "." + weight.name + ".weight", weight.ne});
    }
  }
  tensors.push_back({"output_norm.weight", {n_embd}});
  for (const Declared& tensor : tensors)
    writer.add_tensor(tensor.name, tensor.ne.size() > 1 ? shape.matrices : DType::f32, tensor.ne);
  ASSERT_TRUE(writer.begin(path));
  std::mt19937 random(shape.seed), other(shape.seed + 1);
  const auto value_of = [](std::mt19937& source) { return static_cast<float>(source()) * 0x1p-32f - 0.5f; };
  for (const Declared& tensor : tensors) {
    const bool is_norm = tensor.ne.size() == 1;
    std::vector<float> values(static_cast<size_t>(is_norm ? tensor.ne[0] : tensor.ne[0] * tensor.ne[1]));
    for (float& value : values) {
      value = 1;
      if (is_norm) continue;
      value = value_of(random);
      if (shape.unlike > 0) value += shape.unlike * (value_of(other) - value);
    }
    if (!shape.next.empty() && !is_norm) {
      std::ranges::fill(values, 0.0f);  // layers change nothing
      for (int64_t token = 0; token < n_vocab && !tensor.name.starts_with("blk."); ++token) {
        const int64_t row = tensor.name == "output.weight" ? shape.next[static_cast<size_t>(token)] : token;
        values[static_cast<size_t>(row * n_embd + token)] = 1;
      }
    }
    if (is_norm || shape.matrices == DType::f32) {
      ASSERT_TRUE(writer.write_tensor(std::as_bytes(std::span(values))));
    } else {
      const auto n = static_cast<int64_t>(values.size());
      std::vector<std::byte> bytes(row_bytes(shape.matrices, n));
      block_format(shape.matrices).encode_row(values.data(), bytes.data(), n);
      ASSERT_TRUE(writer.write_tensor(bytes));
    }
  }
  ASSERT_TRUE(writer.finish());
}

}  // namespace parlance::test
