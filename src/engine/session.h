// A sequence of a context, to compute with step by step: what a call yields is there when it returns. Answers
// that are written while others are written too are requests (request.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "engine/context.h"
#include "engine/sequence.h"
#include "engine/work.h"

namespace parlance {

// From one thread at a time; several sessions of a context from several threads.
class Task;

class Session {
 public:
  // Alone in a context of its own. Errors: as Context::create().
  static Result<std::unique_ptr<Session>> create(const TextModel& model, const SessionOptions& options);
  // Beside others, whose beginnings of texts it shares. An error when as many are open as the context allows.
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<Context> context);

  // A second session with the same tokens in the same pages, which either copies where it goes on
  // differently.
  Result<std::unique_ptr<Session>> fork() const;

  const TextModel& model() const { return context_->model(); }
  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  Sequence& sequence() const { return *sequence_; }
  int64_t n_ctx() const { return context_->options().n_ctx; }
  const std::vector<Token>& tokens() const { return sequence_->tokens(); }
  size_t kv_bytes_per_token() const { return context_->layout().bytes_per_token(); }
  size_t state_bytes() const { return context_->state_bytes(); }
  // Of their snapshots in host memory, at most.
  size_t snapshot_bytes() const { return Snapshots(state_bytes()).capacity() * state_bytes(); }
  size_t workspace_bytes() const { return context_->workspace_bytes(); }  // on all devices together

  // Forgets the tokens from position n_tokens on. Recurrent layers go back to a snapshot at or before it; the
  // tokens in between are computed again with the next ones.
  void truncate(int64_t n_tokens) { sequence_->truncate(n_tokens); }

  // Puts `prompt` in place of the current tokens and computes what neither they nor the context know. While
  // another session computes the same beginning, it waits for that. Yields the logits of the last token:
  // n_logits values, valid until the next call. Errors: invalid_argument for an empty prompt, a token outside
  // the vocabulary or a prompt beyond the context; out_of_memory; cancelled, timed_out, busy; corrupt_file
  // when logits are not numbers. What was known or appended before stays.
  Result<std::span<const float>> set_prompt(std::span<const Token> prompt, const Work& work = {});

  // The logits that the last set_prompt() or append() has yielded, for whoever answers `prompt` and need not
  // compute its last token again. None where the session does not hold just that prompt, or they were taken.
  std::vector<float> take_logits(std::span<const Token> prompt);

  // Tokens that the last set_prompt() found computed.
  int64_t n_reused() const { return sequence_->n_reused(); }

  // Appends tokens and yields the logits [n_logits, n_outputs] of the last n_outputs of them, which are no
  // more than the context was made for. Where there are rows, tokens are kEmbedded, and the context takes
  // rows.
  Result<std::span<const float>> append(std::span<const Token> tokens, int64_t n_outputs = 1,
                                        const Embeddings& embeddings = {}, const Work& work = {});

  // The same where only the most likely token behind each is asked for, the first of those whose logit is the
  // largest: logits then stay where they were computed.
  Result<std::span<const Token>> append_for_likeliest(std::span<const Token> tokens, int64_t n_outputs,
                                                      const Embeddings& embeddings = {},
                                                      const Work& work = {});

  // Appends tokens, and behind them a draft that is verified in the same steps, or, where these have more
  // rows than are alike (Context::most_alike_rows()), in the next ones: yields what the last of the tokens
  // and each of the draft's is most likely followed by, as if each of the draft's had come alone. Where a
  // step has both, that spares reading the weights once more. The draft is no longer than
  // most_beside_prompt().
  Result<std::span<const Token>> append_with_draft(std::span<const Token> tokens,
                                                   std::span<const Token> draft,
                                                   const Embeddings& embeddings = {}, const Work& work = {});
  int64_t most_beside_prompt() const { return context_->most_beside_prompt(); }

  // What an embedding model makes of a text: n_embd values, the last token's or the mean of all as is wanted,
  // or else as the file says (pooling_type), not normalised.
  Result<std::vector<float>> embed(std::span<const Token> prompt, std::optional<Pooling> wanted = {},
                                   const Work& work = {});

  // Writes the tokens and rows, their keys and values in the bytes of the cache, and recurrent states to a
  // file that appears whole or not at all. An error for a session with noise.
  Result<void> save(const std::filesystem::path& path);
  // Puts what save() wrote in place of the current tokens, as far as `text` begins like it (sequence().key()
  // of who wrote it, where there are sounds); all of it where there is no text. An error says why a file is
  // of no use, and leaves the session as it was.
  Result<void> restore(const std::filesystem::path& path, const std::optional<PrefixKey>& text);

 private:
  Session(std::shared_ptr<Context> context, std::unique_ptr<Sequence> sequence)
      : context_(std::move(context)), sequence_(std::move(sequence)) {}
  Result<std::span<const float>> compute(std::vector<Token> prompt, int64_t n_outputs, bool wants_logits,
                                         const Work& work);
  Result<void> run(Task& task);
  Result<std::span<const Token>> likeliest_behind(int64_t n_before, int64_t n_outputs, int64_t n_beside,
                                                  const Work& work);
  Result<void> check_outputs(int64_t n_tokens, int64_t n_outputs) const;

  std::shared_ptr<Context> context_;
  std::unique_ptr<Sequence> sequence_;
  std::vector<float> outputs_;
  std::vector<Token> likeliest_;
  int64_t n_behind_ = 0;  // tokens that outputs_ are the logits behind; 0: it has none, or others
};

}  // namespace parlance
