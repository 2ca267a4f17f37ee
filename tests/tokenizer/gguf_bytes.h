// Small GGUF files in memory, and small vocabularies to put into them.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace parlance::test {

// Metadata of a GGUF file without tensors. Setting a key again replaces its value; erase() removes it.
class GgufBytes {
 public:
  void set_string(std::string_view key, std::string_view value) {
    values_[std::string(key)] = u32(8) + string(value);
  }
  void set_u32(std::string_view key, uint32_t value) { values_[std::string(key)] = u32(4) + u32(value); }
  void set_i32(std::string_view key, int32_t value) {
    values_[std::string(key)] = u32(5) + u32(static_cast<uint32_t>(value));
  }
  void set_bool(std::string_view key, bool value) {
    values_[std::string(key)] = u32(7) + std::string(1, value ? 1 : 0);
  }
  void set_strings(std::string_view key, std::span<const std::string> values) {
    std::string body = array(8, values.size());
    for (const std::string& value : values) body += string(value);
    values_[std::string(key)] = body;
  }
  void set_i32s(std::string_view key, std::span<const int32_t> values) { set_numbers(key, 5, values); }
  void set_f32s(std::string_view key, std::span<const float> values) { set_numbers(key, 6, values); }
  void erase(std::string_view key) { values_.erase(std::string(key)); }

  std::string bytes() const {
    std::string file = "GGUF" + u32(3) + u64(0) + u64(values_.size());
    for (const auto& [key, value] : values_) file += string(key) + value;
    file.resize((file.size() + 31) / 32 * 32);
    return file;
  }

 private:
  static std::string u32(uint32_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }
  static std::string u64(uint64_t value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }
  static std::string string(std::string_view value) { return u64(value.size()) + std::string(value); }
  static std::string array(uint32_t type, size_t n) { return u32(9) + u32(type) + u64(n); }
  template <class T>
  void set_numbers(std::string_view key, uint32_t type, std::span<const T> values) {
    values_[std::string(key)] =
        array(type, values.size()) +
        std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }

  std::map<std::string, std::string> values_;
};

// What a vocabulary file holds, to be changed before it is written.
struct TinyVocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> kinds;
  std::vector<float> scores;        // none for byte-level BPE
  std::vector<std::string> merges;  // byte-level BPE only
  GgufBytes file;

  void add(std::string text, int32_t kind = 1, float score = 0) {
    tokens.push_back(std::move(text));
    kinds.push_back(kind);
    if (!scores.empty()) scores.push_back(score);
  }

  std::string bytes() const {
    GgufBytes whole = file;
    whole.set_strings("tokenizer.ggml.tokens", tokens);
    whole.set_i32s("tokenizer.ggml.token_type", kinds);
    if (!scores.empty()) whole.set_f32s("tokenizer.ggml.scores", scores);
    if (!merges.empty()) whole.set_strings("tokenizer.ggml.merges", merges);
    return whole.bytes();
  }
};

inline std::string utf8_of(uint32_t code_point) {
  if (code_point < 0x80) return {static_cast<char>(code_point)};
  return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};
}

// Token b is byte b, then what a few merges make, then three control tokens and two user-defined ones.
inline TinyVocabulary tiny_bpe(std::string_view pre) {
  TinyVocabulary vocabulary;
  uint32_t substitute = 0x100;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool is_printable =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    vocabulary.add(utf8_of(is_printable ? byte : substitute++));
  }
  for (const char* merge : {"h e", "l l", "he ll", "hell o", "\xC4\xA0 w", "o r", "\xC4\xA0w or", "l d",
                            "\xC4\xA0wor ld", "1 2", "\xC4\xA0 \xC4\xA0", "\xC3\xA3 \xC4\xA3"}) {
    vocabulary.merges.emplace_back(merge);
    std::string made = merge;
    made.erase(made.find(' ', 1), 1);
    vocabulary.add(made);
  }
  for (const char* text : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) vocabulary.add(text, 3);
  for (const char* text : {"<think>", "<think>\n"}) vocabulary.add(text, 4);
  vocabulary.file.set_string("tokenizer.ggml.model", "gpt2");
  if (!pre.empty()) vocabulary.file.set_string("tokenizer.ggml.pre", pre);
  return vocabulary;
}

// <unk>, <s>, </s>, the byte tokens from 3 on, some letters and pieces with scores, a control and a
// user-defined token.
inline TinyVocabulary tiny_sentencepiece() {
  TinyVocabulary vocabulary;
  vocabulary.tokens = {"<unk>", "<s>", "</s>"};
  vocabulary.kinds = {2, 3, 3};
  vocabulary.scores = {0, 0, 0};
  for (int byte = 0; byte < 256; ++byte) {
    const char digits[] = "0123456789ABCDEF";
    vocabulary.add(std::string("<0x") + digits[byte / 16] + digits[byte % 16] + ">", 6);
  }
  const std::string space = "\xE2\x96\x81";
  const std::pair<std::string, float> pieces[] = {
      {space + "h", -1},   {"el", -2},       {"lo", -3}, {space + "hel", -4}, {space + "hello", -5},
      {space + space, -6}, {space, -10},     {"h", -10}, {"e", -10},          {"l", -10},
      {"o", -10},          {"\xC3\xA9", -10}};
  for (const auto& [text, score] : pieces) vocabulary.add(text, 1, score);
  vocabulary.add("<end_of_turn>", 3);
  vocabulary.add("<think>", 4);
  vocabulary.file.set_string("tokenizer.ggml.model", "llama");
  return vocabulary;
}

}  // namespace parlance::test
