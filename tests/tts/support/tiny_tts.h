// Speech models for tests: the tiny language model of random weights with the tiny codec, or with the one of
// real sizes.
#pragma once

#include <filesystem>
#include <memory>

#include "support/fixtures.h"
#include "support/temporary_folder.h"
#include "support/tested_device.h"
#include "tts/synthesizer.h"

namespace parlance::test {

inline std::filesystem::path tts_fixtures() {
  return fixtures_root() / "omnivoice";
}

struct LoadedTts {
  std::unique_ptr<Device> device;
  std::unique_ptr<TtsModel> model;
  std::unique_ptr<Synthesizer> synthesizer;
};

inline LoadedTts load_tts(const std::filesystem::path& codec,
                          const std::filesystem::path& base = tts_fixtures() / "models/lm-tiny-f32.gguf") {
  LoadedTts loaded;
  loaded.device = std::move(*make_tested_device({.n_threads = 2}));
  auto model = TtsModel::load({.base = base, .codec = codec}, *loaded.device,
                              {.pre_tokenizer = TtsPreTokenizer::eliza, .huge_pages = false});
  EXPECT_TRUE(model) << model.error().message;
  if (!model) return loaded;
  loaded.model = *std::move(model);
  loaded.synthesizer = std::make_unique<Synthesizer>(*loaded.model);
  return loaded;
}

inline LoadedTts load_tiny_tts() {
  return load_tts(tts_fixtures() / "models/codec-tiny-f32.gguf");
}

// A bundle with the tiny pair in its folder tts and the sample preset in cache.
inline void make_tiny_bundle(const TemporaryFolder& folder) {
  namespace fs = std::filesystem;
  fs::create_directories(folder / "tts");
  fs::create_directories(folder / "cache");
  fs::create_symlink(tts_fixtures() / "models/lm-tiny-f32.gguf", folder / "tts/base.gguf");
  fs::create_symlink(tts_fixtures() / "models/codec-tiny-f32.gguf", folder / "tts/codec.gguf");
  fs::copy_file(tts_fixtures() / "data/voice-preset-sample.bin", folder / "cache/voice-preset-sample.bin");
}

// What a stream handed out.
struct Streamed {
  std::vector<float> samples;
  std::vector<int64_t> sizes;
  int n_last = 0;  // calls that said they are the last
  Result<SpeechReport> report = SpeechReport();
};

// Up to `n_calls` calls; then the request is ended.
inline Streamed stream_speech(Synthesizer& synthesizer, const SpeechRequest& request,
                              int64_t n_calls = 1 << 20) {
  Streamed streamed;
  streamed.report = synthesizer.stream(request, [&](std::span<const float> samples, bool is_last) {
    EXPECT_EQ(streamed.n_last, 0) << "something came after the last call";
    EXPECT_EQ(samples.empty(), is_last);
    if (is_last) ++streamed.n_last;
    if (is_last) return true;
    streamed.sizes.push_back(std::ssize(samples));
    streamed.samples.insert(streamed.samples.end(), samples.begin(), samples.end());
    return std::ssize(streamed.sizes) < n_calls;
  });
  return streamed;
}

}  // namespace parlance::test
