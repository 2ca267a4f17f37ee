// A forced aligner small enough for tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "asr/asr_model.h"
#include "gguf/writer.h"
#include "support/fixtures.h"

namespace parlance::test {

inline constexpr int64_t kAlignerClasses = 60;

// An aligner of the fixtures' tiny recogniser: a token of its vocabulary becomes <timestamp>, and a
// classifier whose weights are `classifier` [n_embd, kAlignerClasses] takes the place of its output.
inline AsrFiles write_aligner(const std::filesystem::path& folder, const std::vector<float>& classifier) {
  const auto source = fixtures_root() / "asr/bundle-tiny/asr";
  AsrFiles files{folder / "tiny-aligner.gguf", folder / "tiny-aligner-mmproj.gguf"};
  std::filesystem::copy_file(source / "eliza-1-asr-mmproj.gguf", files.encoder);
  const auto file = *GgufFile::open(source / "eliza-1-asr.gguf");
  GgufWriter writer;
  for (const auto& [key, value] : file.metadata()) writer.copy(key, value);
  std::vector<std::string> tokens;
  auto known = **file.find_strings("tokenizer.ggml.tokens");
  while (known.size() > 0) tokens.emplace_back(known.next());
  tokens[381] = "<timestamp>";  // <|audio_pad|>, which is not used
  writer.set_strings("tokenizer.ggml.tokens", tokens);
  for (const GgufTensor& tensor : file.tensors()) writer.add_tensor(tensor.name, tensor.dtype, tensor.ne);
  const int64_t n_embd = static_cast<int64_t>(classifier.size()) / kAlignerClasses;
  writer.add_tensor("output.weight", DType::f32, std::vector<int64_t>{n_embd, kAlignerClasses});
  EXPECT_TRUE(writer.begin(files.text));
  for (const GgufTensor& tensor : file.tensors()) EXPECT_TRUE(writer.write_tensor(tensor.bytes));
  EXPECT_TRUE(writer.write_tensor(std::as_bytes(std::span(classifier))));
  EXPECT_TRUE(writer.finish());
  return files;
}

}  // namespace parlance::test
