// A model file taken apart into what its makers would have published: the converter's way back.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "gtest/gtest.h"
#include "quant/block_format.h"

namespace parlance::test {

using nlohmann::ordered_json;

inline std::vector<float> floats_of(const GgufTensor& tensor) {
  const int64_t n = tensor.ne[0] * tensor.ne[1] * tensor.ne[2] * tensor.ne[3];
  std::vector<float> values(static_cast<size_t>(n));
  block_format(tensor.dtype).decode_row(tensor.bytes.data(), values.data(), n);
  return values;
}

struct PublishedTensor {
  std::string name;
  std::string dtype;           // "F32", "F16", "BF16"
  std::vector<int64_t> shape;  // slowest first
  std::string bytes;
};

// Under another name; quantised weights as f32. Dimensions of 1 at the front are kept as the file has them.
inline PublishedTensor published(const GgufTensor& tensor, std::string name) {
  PublishedTensor out{.name = std::move(name), .dtype = "F32", .shape = {}, .bytes = {}};
  for (uint32_t d = tensor.n_dims; d-- > 0;) out.shape.push_back(tensor.ne[d]);
  if (tensor.dtype == DType::f16 || tensor.dtype == DType::bf16) {
    out.dtype = tensor.dtype == DType::f16 ? "F16" : "BF16";
    out.bytes.assign(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  } else {
    const std::vector<float> values = floats_of(tensor);
    out.bytes.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  return out;
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out << text;
  ASSERT_TRUE(out.good()) << path;
}

inline std::string safetensors(const std::vector<PublishedTensor>& tensors) {
  ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const PublishedTensor& tensor : tensors) {
    header[tensor.name] = {{"dtype", tensor.dtype},
                           {"shape", tensor.shape},
                           {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  const std::string text = header.dump();
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data;
}

// In as many files as asked for, with the index that goes with them.
inline void write_weights(const std::filesystem::path& folder, const std::vector<PublishedTensor>& tensors,
                          size_t n_files) {
  if (n_files == 1) return write_text(folder / "model.safetensors", safetensors(tensors));
  ordered_json map = ordered_json::object();
  for (size_t file = 0; file < n_files; ++file) {
    std::vector<PublishedTensor> part;
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", file + 1, n_files);
    for (size_t i = file; i < tensors.size(); i += n_files) {
      part.push_back(tensors[i]);
      map[tensors[i].name] = name;
    }
    write_text(folder / name, safetensors(part));
  }
  write_text(folder / "model.safetensors.index.json", ordered_json{{"weight_map", map}}.dump());
}

inline int64_t int_at(const GgufFile& file, const std::string& key) {
  return file.get_int(key, 0, int64_t{1} << 40).value();
}
inline double float_at(const GgufFile& file, const std::string& key) {
  return file.get_float(key).value();
}
inline std::vector<std::string> strings_at(const GgufFile& file, const std::string& key) {
  std::vector<std::string> all;
  auto found = file.find_strings(key).value();
  while (found && found->size() > 0) all.emplace_back(found->next());
  return all;
}

// tokenizer.json and tokenizer_config.json of a byte-level vocabulary.
inline void write_vocabulary(const std::filesystem::path& folder, const GgufFile& file,
                             const std::string& regex) {
  const auto tokens = strings_at(file, "tokenizer.ggml.tokens");
  const auto types = file.find_ints("tokenizer.ggml.token_type", 0, 10).value();
  ordered_json vocab = ordered_json::object(), added = ordered_json::array(), merges = ordered_json::array();
  for (size_t i = 0; i < tokens.size(); ++i) {
    const int64_t type = types ? (*types)[i] : 1;
    if (type == 5) continue;
    if (type == 1) {
      vocab[tokens[i]] = i;
    } else {
      added.push_back({{"id", i}, {"content", tokens[i]}, {"special", type == 3}});
    }
  }
  for (const std::string& merge : strings_at(file, "tokenizer.ggml.merges")) {
    const size_t space = merge.find(' ', 1);
    merges.push_back(ordered_json::array({merge.substr(0, space), merge.substr(space + 1)}));
  }
  const ordered_json split = {{"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", "Isolated"}};
  const ordered_json bytes = {{"type", "ByteLevel"}, {"use_regex", false}};
  const ordered_json tokenizer = {
      {"added_tokens", added},
      {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}}},
      {"model", {{"type", "BPE"}, {"byte_fallback", false}, {"vocab", vocab}, {"merges", merges}}}};
  write_text(folder / "tokenizer.json", tokenizer.dump());
  ordered_json about = ordered_json::object();
  const auto name_special = [&](const char* key, const char* field) {
    const auto id = file.find_int(key, 0, static_cast<int64_t>(tokens.size()) - 1).value();
    if (id) about[field] = {{"content", tokens[static_cast<size_t>(*id)]}};
  };
  name_special("tokenizer.ggml.bos_token_id", "bos_token");
  name_special("tokenizer.ggml.eos_token_id", "eos_token");
  name_special("tokenizer.ggml.padding_token_id", "pad_token");
  if (const auto adds = file.find_bool("tokenizer.ggml.add_bos_token").value())
    about["add_bos_token"] = *adds;
  if (const auto text = file.find_string("tokenizer.chat_template").value()) about["chat_template"] = *text;
  write_text(folder / "tokenizer_config.json", about.dump());
}

inline std::string replaced(std::string text, const std::vector<std::pair<std::string, std::string>>& pairs) {
  for (const auto& [from, to] : pairs) {
    if (const size_t at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
  }
  return text;
}

// As transformers calls the tensors of a language model.
inline std::string published_name(const std::string& name) {
  if (!name.starts_with("blk.")) {
    return replaced(
        name, {{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output.", "lm_head."}});
  }
  return replaced(name, {{"blk.", "model.layers."},
                         {"attn_q_norm", "self_attn.q_norm"},
                         {"attn_k_norm", "self_attn.k_norm"},
                         {"attn_norm", "input_layernorm"},
                         {"ffn_norm", "post_attention_layernorm"},
                         {"attn_q.", "self_attn.q_proj."},
                         {"attn_k.", "self_attn.k_proj."},
                         {"attn_v.", "self_attn.v_proj."},
                         {"attn_output.", "self_attn.o_proj."},
                         {"ffn_gate", "mlp.gate_proj"},
                         {"ffn_up", "mlp.up_proj"},
                         {"ffn_down", "mlp.down_proj"}});
}

// config.json of a language model.
inline ordered_json language_config(const GgufFile& file, const std::string& architecture, bool is_tied) {
  const std::string a = std::string(file.get_string("general.architecture").value()) + ".";
  ordered_json config = {{"architectures", {architecture}},
                         {"num_hidden_layers", int_at(file, a + "block_count")},
                         {"max_position_embeddings", int_at(file, a + "context_length")},
                         {"hidden_size", int_at(file, a + "embedding_length")},
                         {"intermediate_size", int_at(file, a + "feed_forward_length")},
                         {"num_attention_heads", int_at(file, a + "attention.head_count")},
                         {"num_key_value_heads", int_at(file, a + "attention.head_count_kv")},
                         {"rms_norm_eps", float_at(file, a + "attention.layer_norm_rms_epsilon")},
                         {"rope_theta", float_at(file, a + "rope.freq_base")},
                         {"vocab_size", strings_at(file, "tokenizer.ggml.tokens").size()},
                         {"tie_word_embeddings", is_tied}};
  if (const auto length = file.find_int(a + "attention.key_length", 1, 4096).value())
    config["head_dim"] = *length;
  return config;
}

}  // namespace parlance::test
