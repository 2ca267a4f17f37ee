#include "assistant/text_stream.h"

#include <utility>

namespace parlance {

Result<std::unique_ptr<TextStream>> TextStream::open(std::shared_ptr<const TextRegion> region,
                                                     const Cancellation& whole) {
  PARLANCE_TRY(auto session, Session::create(region->context()));
  return std::unique_ptr<TextStream>(new TextStream(std::move(region), std::move(session), whole));
}

TextStream::~TextStream() = default;

Result<TextStream::Prefilled> TextStream::prefill(std::span<const Token> prompt, const Work& work) {
  request_.reset();
  Work own = work;
  own.cancellation = source_.ticket();
  PARLANCE_CHECK(session_->set_prompt(prompt, own));
  return Prefilled{.n_tokens = std::ssize(prompt), .n_known = session_->n_reused()};
}

Result<void> TextStream::answer(std::vector<Token> prompt, const GenerateOptions& options,
                                Request::OnNews on_news) {
  request_.reset();
  GenerateOptions own = options;
  own.work.cancellation = source_.ticket();
  PARLANCE_TRY(request_, Request::start(*session_, std::move(prompt), own, std::move(on_news)));
  return {};
}

std::optional<AnswerPiece> TextStream::next() {
  return request_ ? request_->next() : std::nullopt;
}

std::optional<AnswerPiece> TextStream::poll() {
  return request_ ? request_->poll() : std::nullopt;
}

Result<GenerateResult> TextStream::result() const {
  if (!request_) return fail(ErrorCode::invalid_argument, "there is no answer; ask for one first");
  PARLANCE_CHECK(check_idle());
  return request_->result();
}

Result<void> TextStream::check_idle() const {
  if (!is_answering()) return {};
  return fail(ErrorCode::busy, "an answer is being made; take all of it or cancel it first");
}

Result<void> TextStream::save(const std::filesystem::path& path) {
  PARLANCE_CHECK(check_idle());
  return session_->save(path);
}

Result<void> TextStream::restore(const std::filesystem::path& path, const std::optional<PrefixKey>& text) {
  PARLANCE_CHECK(check_idle());
  return session_->restore(path, text);
}

}  // namespace parlance
