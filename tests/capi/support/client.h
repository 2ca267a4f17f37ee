// What tests of the C library share: its functions as a caller has them, on the demo models.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "elizainference.h"
#include "gtest/gtest.h"
#include "support/fixtures.h"

namespace parlance::test {

// The place for an error, which frees what was put there.
class ErrorText {
 public:
  ErrorText() = default;
  ~ErrorText() { eliza_inference_free_string(text_); }
  ErrorText(const ErrorText&) = delete;
  ErrorText& operator=(const ErrorText&) = delete;

  // For one call after the other.
  operator char**() {  // NOLINT: stands for the argument
    eliza_inference_free_string(text_);
    text_ = nullptr;
    return &text_;
  }
  std::string text() const { return text_ ? text_ : ""; }
  bool is_null() const { return text_ == nullptr; }

 private:
  char* text_ = nullptr;
};

// Whether the process's size says what the library holds: sanitizers keep what was freed, and emulators of
// other processors what they have translated.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool kMemoryTells = true;
#else
constexpr bool kMemoryTells = false;
#endif

inline std::string demo_bundle() {
  return (source_root() / "models/demo").string();
}

struct DestroyContext {
  void operator()(EliInferenceContext* ctx) const { eliza_inference_destroy(ctx); }
};
using OwnedContext = std::unique_ptr<EliInferenceContext, DestroyContext>;

inline OwnedContext demo_context(std::initializer_list<const char*> regions = {}) {
  ErrorText error;
  OwnedContext ctx(eliza_inference_create(demo_bundle().c_str(), error));
  EXPECT_TRUE(ctx) << error.text();
  for (const char* region : regions) {
    EXPECT_EQ(eliza_inference_mmap_acquire(ctx.get(), region, error), ELIZA_OK) << error.text();
  }
  return ctx;
}

constexpr const char* kQuestion = "What is the capital of France?";

inline std::vector<float> spoken(EliInferenceContext* ctx, const std::string& text = kQuestion,
                                 const char* voice = "default") {
  std::vector<float> samples(24000 * 30);
  ErrorText error;
  const int n = eliza_inference_tts_synthesize(ctx, text.data(), text.size(), voice, samples.data(),
                                               samples.size(), error);
  EXPECT_GT(n, 0) << error.text();
  samples.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return samples;
}

inline std::vector<int> tokens_of(EliInferenceContext* ctx, const std::string& text) {
  ErrorText error;
  int* tokens = nullptr;
  size_t n = 0;
  EXPECT_EQ(eliza_inference_tokenize(ctx, text.data(), text.size(), 1, 1, &tokens, &n, error), ELIZA_OK)
      << error.text();
  std::vector<int> copy(tokens, tokens + n);
  eliza_inference_free_tokens(tokens);
  return copy;
}

inline std::string prompt_of(const std::string& question) {
  return "<|im_start|>user\n" + question + "<|im_end|>\n<|im_start|>assistant\n";
}

}  // namespace parlance::test
