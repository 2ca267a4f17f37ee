// One conversation on a model: its tokens, their keys and values, and the step that extends them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/context.h"
#include "engine/snapshots.h"
#include "kv/sequence_pages.h"

namespace parlance {

// Rows [n_embd] in place of the embeddings of consecutive tokens, such as an audio encoder yields.
struct Embeddings {
  std::span<const float> rows = {};
  int64_t first = 0;  // the first of these tokens, among those that are appended
};

// Stands in the place of a token that has a row instead of an embedding. No prompt has it, so nothing behind
// it is shared with another sequence.
inline constexpr Token kEmbedded = -2;

class Session {
 public:
  // Alone in a context of its own. Errors: as Context::create().
  static Result<std::unique_ptr<Session>> create(const TextModel& model, const SessionOptions& options);
  // Beside others, whose beginnings of texts it shares. An error when as many are open as the context allows.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<Context> context);
  // What it has computed is remembered by the context.
  ~Session();

  // A second session with the same tokens in the same pages, which either copies where it goes on
  // differently.
  Result<std::unique_ptr<Session>> fork() const;

  const TextModel& model() const { return context_->model(); }
  const Context& context() const { return *context_; }
  int64_t n_ctx() const { return options_.n_ctx; }
  const std::vector<Token>& tokens() const { return tokens_; }
  size_t kv_bytes_per_token() const { return context_->layout().bytes_per_token(); }
  size_t state_bytes() const { return context_->state_bytes(); }
  // Of their snapshots in host memory, at most.
  size_t snapshot_bytes() const { return snapshots_.capacity() * state_bytes(); }
  size_t workspace_bytes() const { return context_->workspace_bytes(); }  // on all devices together

  // Forgets the tokens from position n_tokens on. Recurrent layers go back to a snapshot at or before it; the
  // tokens in between are computed again with the next ones.
  void truncate(int64_t n_tokens);

  // Puts `prompt` in place of the current tokens and computes what neither they nor the context know. While
  // another session computes the same beginning, it waits for that. Yields the logits of the last token:
  // n_vocab values, valid until the next call. Errors: invalid_argument for an empty prompt, a token outside
  // the vocabulary or a prompt beyond the context; cancelled.
  Result<std::span<const float>> set_prompt(std::span<const Token> prompt);

  // Tokens that the last set_prompt() found computed.
  int64_t n_reused() const { return n_reused_; }

  // Appends tokens and yields the logits [n_logits, n_outputs] of the last n_outputs of them, which are no
  // more than the context was made for. Where there are rows, tokens are kEmbedded. Rows need a context that
  // takes them and keeps no exact pages, and a model without recurrent layers, since they are not there to be
  // computed again.
  Result<std::span<const float>> append(std::span<const Token> tokens, int64_t n_outputs = 1,
                                        const Embeddings& embeddings = {});

  // Writes the tokens and their keys and values, in the bytes of the cache, to a file that appears whole or
  // not at all. Not for models with recurrent layers.
  Result<void> save(const std::filesystem::path& path);
  // Puts what save() wrote in place of the current tokens; `tokens` is what it must hold. An error says why a
  // file is of no use, and leaves the session as it was.
  Result<void> restore(const std::filesystem::path& path, std::span<const Token> tokens);

  // Fills the memory up to position n_tokens with noise, so that a depth can be timed without computing it.
  Result<void> fill_with_noise(int64_t n_tokens);

  // A request is what cancel() stops: its running step ends between two kernels and reports `cancelled`, its
  // tokens are forgotten, and so does every later step of the request. begin_request() starts the next one.
  void begin_request() { request_ = requests_.ticket(); }
  void cancel() { requests_.cancel(); }  // from any thread or signal handler
  bool cancelled() const { return request_.cancelled(); }

 private:
  static constexpr int64_t kNoEmbedded = std::numeric_limits<int64_t>::max();

  Session(std::shared_ptr<Context> context, int seq);
  Result<void> take_prefix(std::span<const Token> prompt, int64_t n_own, const PrefixTree::Claim& claim);
  Result<std::span<const float>> extend(std::span<const Token> tokens, int64_t snapshot_at);
  Result<void> check(std::span<const Token> tokens, int64_t n_outputs, const Embeddings& embeddings) const;
  Result<void> compute(int64_t snapshot_at);
  HostBatch next_batch(int64_t n_tokens) const;
  int64_t first_output() const { return std::ssize(tokens_) - n_outputs_; }  // position
  Result<void> step(int64_t n_tokens);
  Result<void> make_room(int64_t n_tokens);
  Result<void> compress_left_behind();
  int32_t main_end() const;
  PageKind stored_kind(size_t page) const;
  void remember(int64_t n_tokens);
  void cut_pages(int64_t n_tokens);
  Result<void> save_snapshot();
  void go_back(int64_t n_tokens);

  std::shared_ptr<Context> context_;
  const SessionOptions& options_;
  const int seq_;
  SequencePages pages_;  // of the computed tokens
  std::vector<Token> tokens_;
  int64_t n_computed_ = 0;    // of the tokens: what the parts' memory has taken in
  int64_t n_remembered_ = 0;  // of these: what the prefix tree has been given, in whole pages
  int64_t n_reused_ = 0;
  int64_t first_embedded_ = kNoEmbedded;  // position of the first row that stands in place of an embedding
  Embeddings embeddings_;                 // what extend() is given; `first` is a position
  int64_t n_outputs_ = 1;                 // that extend() is to yield
  Snapshots snapshots_{0};
  std::vector<float> h_;  // the residual stream on its way from one part to the next
  std::vector<float> logits_;
  CancellationSource requests_;
  Cancellation request_ = requests_.ticket();
};

}  // namespace parlance
