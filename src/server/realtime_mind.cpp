#include "server/realtime_mind.h"

#include "assistant/end_of_turn.h"
#include "server/answer_terms.h"
#include "server/chat_request.h"
#include "server/prewarm.h"

namespace parlance {

namespace {

RealtimeError realtime_error(const ApiError& error) {
  return {.code = error.code,
          .message = error.message,
          .param = error.param,
          .type = error.status >= 500 ? "server_error" : "invalid_request_error"};
}

class ChatAnswer final : public MindAnswer {
 public:
  ChatAnswer(Site& site, const TextAnswerTerms& terms, std::unique_ptr<KeyShares::Lease> lease)
      : site_(site), lease_(std::move(lease)), reader_(terms.reader.value_or(AnswerReaderOptions{})) {
    usage_.n_input = std::ssize(terms.prompts.front());
  }
  ~ChatAnswer() override {
    source_.cancel();
    if (!request_) return;
    request_.reset();
    --site_.n_running;
  }

  Result<void> start(TextAnswerTerms terms, OnNews on_news) {
    GenerateOptions options = terms.generate;
    options.work.cancellation = source_.ticket();
    options.work.deadline.reset();
    options.work.priority = Priority::realtime;
    options.work.sharing.prefix_class = PrefixClass::conversation;
    if (site_.options.logs_content) {
      const Tokenizer& tokenizer = site_.text->model().tokenizer();
      log_content(site_, {}, "prompt", tokenizer.decode(terms.prompts.front(), /*with_special=*/true));
    }
    PARLANCE_TRY(request_, Request::start(site_.text->context(), std::move(terms.prompts.front()), options,
                                          std::move(on_news)));
    ++site_.n_running;
    return {};
  }

  bool has_ended() const override { return request_->has_ended(); }
  std::vector<ReadPiece> take() override {
    std::vector<ReadPiece> pieces;
    const auto add = [&](std::vector<ReadPiece> more) {
      for (ReadPiece& piece : more) pieces.push_back(std::move(piece));
    };
    const bool has_ended = request_->has_ended();  // if so, no piece comes behind those that there are
    while (auto piece = request_->poll()) {
      usage_.n_output += std::ssize(piece->tokens);
      if (site_.options.logs_content) said_ += piece->text;
      add(reader_.push(piece->text));
    }
    if (!has_ended || std::exchange(is_read_, true)) return pieces;
    add(reader_.finish());
    log_content(site_, {}, "answer", said_);
    result_ = request_->result();
    if (*result_) {
      usage_.n_cached = (*result_)->n_prompt_cached;
      usage_.n_output = static_cast<int64_t>(n_generated(**result_));
      site_.metrics.add("prompt_tokens_total", static_cast<double>((*result_)->n_prompt));
      site_.metrics.add("prompt_cached_tokens_total", static_cast<double>((*result_)->n_prompt_cached),
                        {{"tier", "device"}});
      site_.metrics.add("generated_tokens_total", n_generated(**result_));
    }
    return pieces;
  }
  MindUsage usage() const override { return usage_; }
  RealtimeResult<bool> is_complete() const override {
    if (!result_) return reject("internal_error", {}, "the answer has not ended");
    if (!*result_) return tl::unexpected(realtime_error(api_error(result_->error())));
    return (*result_)->finish_reason == FinishReason::stop;
  }

 private:
  Site& site_;
  const std::unique_ptr<KeyShares::Lease> lease_;
  const CancellationSource source_;
  AnswerReader reader_;
  std::unique_ptr<Request> request_;
  MindUsage usage_;
  bool is_read_ = false;
  std::string said_;  // where contents are logged
  std::optional<Result<GenerateResult>> result_;
};

// Nobody waits for it: until it is known, the silence is as long as it may be.
class TurnJudgement final : public EndJudgement {
 public:
  TurnJudgement(CancellationSource source, std::unique_ptr<EndOfTurnRequest> request)
      : source_(std::move(source)), request_(std::move(request)) {}
  ~TurnJudgement() override { source_.cancel(); }

  std::optional<double> probability() override {
    if (!request_->poll()) return std::nullopt;
    const auto probability = request_->probability();
    return probability ? std::optional(*probability) : std::nullopt;
  }

 private:
  const CancellationSource source_;
  const std::unique_ptr<EndOfTurnRequest> request_;
};

class PromptWarming final : public MindWarming {
 public:
  PromptWarming(CancellationSource source, std::unique_ptr<Request> request)
      : source_(std::move(source)), request_(std::move(request)) {}
  ~PromptWarming() override { source_.cancel(); }

  bool has_ended() const override { return request_->has_ended(); }

 private:
  const CancellationSource source_;
  const std::unique_ptr<Request> request_;
};

class SiteParts final : public ModelParts {
 public:
  SiteParts(Site& site, Caller caller, SessionModels models)
      : ModelParts(std::move(models)), site_(site), caller_(caller) {}

  RealtimeResult<std::unique_ptr<MindAnswer>> ask(const Json& chat, OnNews on_news) override {
    Call call;
    call.caller = caller_;
    call.request.began = std::chrono::steady_clock::now();
    auto terms = terms_of(call, chat);
    if (!terms) return tl::unexpected(realtime_error(terms.error()));
    auto lease = site_.key_shares.take(caller_ ? caller_->name : "", 1);
    if (!lease) return reject("key_limit_exceeded", {}, "as many requests of this key run and wait as may");
    auto answer = std::make_unique<ChatAnswer>(site_, *terms, std::move(lease));
    if (const auto started = answer->start(*std::move(terms), std::move(on_news)); !started)
      return tl::unexpected(realtime_error(api_error(started.error())));
    return answer;
  }

  RealtimeResult<int64_t> count(const Json& chat) override {
    const auto checked = check_fields(chat_fields(), chat, {.n_ctx = n_ctx()});
    if (!checked) return tl::unexpected(realtime_error(checked.error()));
    const auto read = read_chat(site_, checked->body);
    if (!read) return tl::unexpected(realtime_error(read.error()));
    const auto text = chat_text(site_, *read);
    if (!text) return tl::unexpected(realtime_error(text.error()));
    return std::ssize(tokens_of_prompt(site_.text->model(), *text));
  }

  // As a request that says nothing, so that what it computes is known to those that follow.
  std::unique_ptr<MindWarming> warm(const Json& chat, WhenWarm when, OnNews on_news) override {
    const auto checked = check_fields(chat_fields(), chat, {.n_ctx = n_ctx()});
    if (!checked) return nullptr;
    const auto read = read_chat(site_, checked->body);
    if (!read) return nullptr;
    auto tokens = beginning_of(site_, *read);
    if (!tokens) return nullptr;
    Call call;
    call.caller = caller_;
    const auto conversation = read_conversation(site_, call, checked->body);
    if (!conversation) return nullptr;
    const CancellationSource source;
    GenerateOptions options;
    options.max_tokens = 0;
    options.work.cancellation = source.ticket();
    options.work.priority = when == WhenWarm::soon ? Priority::realtime : Priority::background;
    options.work.sharing = conversation->sharing;
    options.work.sharing.prefix_class = PrefixClass::conversation;
    auto request = Request::start(site_.text->context(), *std::move(tokens), options, std::move(on_news));
    if (!request) return nullptr;
    return std::make_unique<PromptWarming>(source, *std::move(request));
  }

  int64_t n_ctx() const override { return site_.text->context()->options().n_ctx; }

  std::unique_ptr<EndJudgement> judge_end(const Json& chat, OnNews on_news) override {
    const auto checked = check_fields(chat_fields(), chat, {.n_ctx = n_ctx()});
    if (!checked) return nullptr;
    auto read = read_chat(site_, checked->body);
    if (!read || read->messages.empty()) return nullptr;
    const std::string words = std::move(read->messages.back().content);
    read->messages.pop_back();
    const auto prompt = end_of_turn_prompt(site_.text->model(), std::move(read->messages), words,
                                           read->manner.has_thinking.value_or(false));
    if (!prompt || !*prompt) return nullptr;
    const CancellationSource source;
    Work work;
    work.cancellation = source.ticket();
    work.priority = Priority::realtime;
    auto request = EndOfTurnRequest::start(site_.text->context(), **prompt, work, std::move(on_news));
    if (!request) return nullptr;
    return std::make_unique<TurnJudgement>(source, *std::move(request));
  }

 private:
  ApiResult<TextAnswerTerms> terms_of(const Call& call, const Json& chat) {
    PARLANCE_API_TRY(const CheckedBody checked, check_fields(chat_fields(), chat, {.n_ctx = n_ctx()}));
    return read_chat_terms(site_, call, checked.body);
  }

  Site& site_;
  const Caller caller_;
};

}  // namespace

std::unique_ptr<RealtimeParts> make_realtime_parts(Site& site, Caller caller, SessionModels models) {
  return std::make_unique<SiteParts>(site, caller, std::move(models));
}

}  // namespace parlance
