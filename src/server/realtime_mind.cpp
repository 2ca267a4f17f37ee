#include "server/realtime_mind.h"

#include <atomic>

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
  // `conversation` is null where it has no name.
  ChatAnswer(Site& site, TextAnswerTerms terms, std::unique_ptr<KeyShares::Lease> lease,
             Conversations::Open conversation, OnNews on_news)
      : site_(site),
        lease_(std::move(lease)),
        conversation_(std::move(conversation)),
        on_news_(std::move(on_news)),
        reader_(terms.reader.value_or(AnswerReaderOptions{})),
        options_(terms.generate),
        prompt_(std::make_shared<ConversationText>(
            ConversationText{std::move(terms.prompts.front()), terms.generate.work.sharing})) {
    usage_.n_input = std::ssize(prompt_->tokens);
    options_.work.cancellation = source_.ticket();
    options_.work.deadline.reset();
    options_.work.priority = Priority::realtime;
    options_.work.sharing.prefix_class = PrefixClass::conversation;
  }
  ~ChatAnswer() override {
    source_.cancel();
    if (!request_) return;
    leave_conversation();
    request_.reset();
    --site_.n_running;
  }

  Result<void> start() {
    const bool waits =
        conversation_ && site_.conversations->restore(
                             conversation_, prompt_, site_.options.conversations.longest_voice_restore,
                             [is_restored = is_restored_, on_news = on_news_](int64_t) {
                               *is_restored = true;
                               on_news();
                             });
    return waits ? Result<void>() : compute();
  }

  bool has_ended() const override { return request_ ? request_->has_ended() : failure_.has_value(); }
  std::vector<ReadPiece> take() override {
    std::vector<ReadPiece> pieces;
    if (!request_ && !failure_ && *is_restored_) {
      if (auto started = compute(); !started) {
        failure_ = std::move(started).error();
        on_news_();  // it has ended
      }
    }
    if (!request_) return pieces;
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
    leave_conversation();
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
    if (failure_) return tl::unexpected(realtime_error(api_error(*failure_)));
    if (!result_) return reject("internal_error", {}, "the answer has not ended");
    if (!*result_) return tl::unexpected(realtime_error(api_error(result_->error())));
    return (*result_)->finish_reason == FinishReason::stop;
  }

 private:
  Result<void> compute() {
    if (site_.options.logs_content) {
      const Tokenizer& tokenizer = site_.text->model().tokenizer();
      log_content(site_, {}, "prompt", tokenizer.decode(prompt_->tokens, /*with_special=*/true));
    }
    PARLANCE_TRY(request_, Request::start(site_.text->context(), prompt_->tokens, options_, on_news_));
    ++site_.n_running;
    if (conversation_) conversation_->begin(prompt_);
    is_at_work_ = conversation_ != nullptr;
    return {};
  }

  // What was computed is remembered as the conversation's text.
  void leave_conversation() {
    if (!std::exchange(is_at_work_, false)) return;
    auto text = std::make_shared<ConversationText>(*prompt_);
    if (result_ && *result_)
      text->tokens.insert(text->tokens.end(), (*result_)->tokens.begin(), (*result_)->tokens.end());
    conversation_->end(std::move(text));
  }

  Site& site_;
  const std::unique_ptr<KeyShares::Lease> lease_;
  const Conversations::Open conversation_;
  const OnNews on_news_;
  const CancellationSource source_;
  AnswerReader reader_;
  GenerateOptions options_;
  const Conversations::Text prompt_;
  const std::shared_ptr<std::atomic<bool>> is_restored_ = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<Request> request_;
  MindUsage usage_;
  bool is_read_ = false, is_at_work_ = false;
  std::string said_;  // where contents are logged
  std::optional<Result<GenerateResult>> result_;
  std::optional<Error> failure_;  // it could not begin
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
    Conversations::Open conversation;
    if (!terms->conversation.id.empty())
      conversation = site_.conversations->open(terms->conversation, -1, Lifetime::lasting);
    auto answer = std::make_unique<ChatAnswer>(site_, *std::move(terms), std::move(lease),
                                               std::move(conversation), std::move(on_news));
    if (const auto started = answer->start(); !started)
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
