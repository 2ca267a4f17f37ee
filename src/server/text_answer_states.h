// What text_answer.h begins: all answers of one request, from its turn in its conversation to the last word.
// text_answer_turn.cpp is what it waits for, text_answer.cpp how it is made, text_answer_record.cpp what is
// told of it.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/request.h"
#include "server/text_answer.h"

namespace parlance {

using AnswerClock = std::chrono::steady_clock;

inline double seconds_since(AnswerClock::time_point then) {
  return std::chrono::duration<double>(AnswerClock::now() - then).count();
}

// The scheduler's thread says that there is news, the threads that put answers
// into words do the rest, one at a time.
class TextAnswer final : public LiveAnswer, public std::enable_shared_from_this<TextAnswer> {
 public:
  TextAnswer(Site& site, Call& call, TextAnswerTerms terms)
      : site_(site),
        terms_(std::move(terms)),
        reply_(call.reply),
        route_(call.route),
        began_(call.request.began),
        notes_(call.request.notes),
        request_id_(call.request.id),
        key_(call.caller ? call.caller->name : ""),
        source_(reply_->ticket()) {}

  ~TextAnswer() override { leave_conversation(); }

  // Begins when it is its turn in its conversation.
  ApiResult<void> enter();
  void tick() override;
  // The client: what waits is of no use any more.
  void on_left();
  void cut() override {
    was_cut_ = true;
    source_.cancel();
    site_.text->context()->scheduler().wake();
    on_news();
  }

 private:
  ApiResult<void> check_number_of_answers();
  ApiResult<void> begin();
  ApiResult<void> recall();
  ApiResult<void> start();
  // What it waited for is there: the next step, unless nobody wants it any more.
  void go_on(ApiResult<void> (TextAnswer::*step)());
  void on_turn() { go_on(&TextAnswer::begin); }
  void on_key_turn() { go_on(&TextAnswer::recall); }
  void on_restored(int64_t n_read);
  void look_at_wait();
  void look_at_listener();
  void note_progress(int64_t n_more);
  ApiError cut_error() const;
  void leave_conversation();
  ApiError try_later(int status, const char* code, const char* why);
  void on_news();
  void pump();
  void take(ChoiceText& choice, AnswerPiece piece);
  void end(ChoiceText& choice, Result<GenerateResult> result);
  void write_end(ChoiceText& choice);
  ApiResult<void> open_mouth();
  bool speak();
  void finish();
  void fail_with(const ApiError& error);
  const char* stage_of(const GenerateResult& cut) const {
    return has_first_token_ ? "decode" : cut.queue_ms > 0 ? "prefill" : "queue";
  }
  void begin_stream();
  void write(std::string text);
  HttpAnswer head() const;
  Json summary() const;
  void count(const ChoiceText& choice);
  void note() const;
  void log_prompts() const;
  void log_answers() const;

  Site& site_;
  TextAnswerTerms terms_;
  const std::shared_ptr<Reply> reply_;
  const std::string route_;
  const AnswerClock::time_point began_;
  const std::shared_ptr<RequestNotes> notes_;
  const std::string request_id_;
  const std::string key_;  // its name; empty: none
  const CancellationSource source_;
  Conversations::Open conversation_;
  std::shared_ptr<std::function<void()>> on_closed_;  // the conversation
  int slot_ = -1;                                     // as the answer names it
  Conversations::Text prompt_;                        // what is put to the model first
  std::atomic<bool> is_posted_{false}, was_cut_{false};

  std::mutex mutex_;  // of what follows
  std::vector<std::unique_ptr<Request>> requests_;
  std::vector<ChoiceText> choices_;
  std::unique_ptr<SpokenAnswer> spoken_;           // where it is spoken
  size_t n_spoken_ = 0;                            // bytes of the words that it knows
  bool has_started_ = false, is_at_work_ = false;  // in the conversation
  uint64_t turn_ = 0;                              // in the conversation; 0: it has none
  int64_t n_decoded_ = 0;                          // of the first answer
  int64_t n_restored_ = 0;                         // tokens that came from its file
  std::unique_ptr<KeyShares::Lease> lease_;
  bool has_begun_ = false, is_over_ = false, has_deadline_passed_ = false, has_first_token_ = false;
  AnswerClock::time_point last_written_ = AnswerClock::now(), last_token_ = {};
  double ttft_s_ = 0;
};

}  // namespace parlance
