// A sequence of an assistant's language model: prompts are put in, answers come out piece by piece. It keeps
// the model for as long as it is open.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "assistant/text_region.h"
#include "base/cancellation.h"
#include "base/result.h"
#include "engine/request.h"
#include "engine/session.h"

namespace parlance {

// Belongs to one thread at a time, but for cancel().
class TextStream {
 public:
  // With `whole`, everything that is computed for it ends with that ticket. Errors: as many are open as the
  // region has sequences.
  static Result<std::unique_ptr<TextStream>> open(std::shared_ptr<const TextRegion> region,
                                                  const Cancellation& whole = {});
  // Cancels what is being computed.
  ~TextStream();

  const TextRegion& region() const { return *region_; }
  const TextModel& model() const { return region_->model(); }
  // For those who compute step by step. Not while an answer is being made.
  Session& session() { return *session_; }

  // Whose ticket is given below is of no account: the stream's own takes its place.

  // Puts a prompt in place of what the stream holds and computes what neither it nor the region knows, so
  // that an answer to it begins at once. An answer that is being made ends. Errors: as of
  // Session::set_prompt().
  struct Prefilled {
    int64_t n_tokens = 0;
    int64_t n_known = 0;  // of these
  };
  Result<Prefilled> prefill(std::span<const Token> prompt, const Work& work = {});

  // Begins an answer to a prompt, prefilled or not; one that is being made ends. With `on_news` it is made by
  // itself, else while next() waits. Errors: as of Request::start().
  Result<void> answer(std::vector<Token> prompt, const GenerateOptions& options,
                      Request::OnNews on_news = {});
  bool is_answering() const { return request_ && !request_->has_ended(); }
  // The next piece of it, waited for, or only if there is one; none when it has ended or there is none.
  std::optional<AnswerPiece> next();
  std::optional<AnswerPiece> poll();
  // What became of the last answer, once it has ended. Errors: there was none, or it has not; as of
  // Request::result().
  Result<GenerateResult> result() const;

  // Ends what is being computed: a prefill with the error cancelled, an answer with what was said until then.
  // From any thread; without effect on what is asked for later.
  void cancel() { source_.cancel(); }

  // What the stream holds, to and from a file (Session::save() and restore(); without `text`, all that is in
  // it). Errors: busy while an answer is being made.
  Result<void> save(const std::filesystem::path& path);
  Result<void> restore(const std::filesystem::path& path, const std::optional<PrefixKey>& text = {});

 private:
  TextStream(std::shared_ptr<const TextRegion> region, std::unique_ptr<Session> session,
             const Cancellation& whole)
      : region_(std::move(region)), session_(std::move(session)), source_(whole) {}
  Result<void> check_idle() const;

  std::shared_ptr<const TextRegion> region_;
  std::unique_ptr<Session> session_;
  const CancellationSource source_;
  std::unique_ptr<Request> request_;
};

}  // namespace parlance
