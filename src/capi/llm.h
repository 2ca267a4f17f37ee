// Answers of the language model, piece by piece or whole.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "assistant/text_stream.h"
#include "capi/context.h"
#include "capi/llm_config.h"

namespace parlance::capi {

// All calls from any thread; they wait for each other, but for cancel().
class LlmStream {
 public:
  static constexpr HandleKind kKind = HandleKind::llm_stream;

  static Answer<std::shared_ptr<LlmStream>> open(std::shared_ptr<BundleContext> context,
                                                 const LlmConfig& config);

  Answer<void> prefill(std::span<const int32_t> tokens);

  // One step: 0 or 1, as eliza_inference_llm_stream_next().
  struct Places {
    int* tokens;
    size_t capacity;
    size_t* n_tokens;
    char* text;
    size_t text_capacity;
    int* n_drafted;   // or null
    int* n_accepted;  // or null
  };
  Answer<int> next(const Places& out);

  // A whole answer; yields how many tokens it has.
  Answer<int> generate(int max_new_tokens, eliza_llm_token_cb on_token, void* user_data);

  void cancel();

  Answer<void> save(const std::string& path);
  Answer<void> restore(const std::string& path);

 private:
  Answer<void> hold_to(const char* gbnf_grammar);
  Answer<void> begin(int64_t max_tokens);
  std::optional<AnswerPiece> take_piece();
  void tell_verifier(const Verification& verification) const;
  Answer<bool> refill();
  Answer<int> finished();
  bool begins_like_what_is_held(std::span<const int32_t> tokens) const;

  std::shared_ptr<BundleContext> context_;
  std::shared_ptr<TextRegion> region_;
  GenerateOptions options_;
  std::unique_ptr<TextStream> text_;
  std::atomic<bool> is_cancelled_ = false;

  std::mutex mutex_;           // of what follows
  std::vector<Token> prompt_;  // to be answered; empty: nothing was put in
  bool has_begun_ = false, has_ended_ = false;
  AnswerPiece rest_;                    // that the caller had no room for yet
  int n_drafted_ = 0, n_accepted_ = 0;  // of the step that it is from
};

}  // namespace parlance::capi
