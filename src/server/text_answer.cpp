#include "server/text_answer.h"

#include <algorithm>
#include <cmath>

#include "server/text_answer_states.h"
#include "text/unicode.h"

namespace parlance {

ApiResult<void> TextAnswer::start() {
  const auto self = shared_from_this();
  has_started_ = true;
  PARLANCE_API_CHECK(open_mouth());
  if (site_.options.logs_content) log_prompts();
  const size_t n_all = terms_.prompts.size() * static_cast<size_t>(terms_.n);
  choices_.resize(n_all);
  for (size_t i = 0; i < n_all; ++i) {
    choices_[i].index = static_cast<int>(i);
    GenerateOptions options = terms_.generate;
    options.sampling.seed += i;
    options.work.cancellation = source_.ticket();
    const size_t prompt = i / static_cast<size_t>(terms_.n);
    choices_[i].result.n_prompt = std::ssize(terms_.prompts[prompt]);
    choices_[i].is_first_of_prompt = i % static_cast<size_t>(terms_.n) == 0;
    if (terms_.reader) choices_[i].reader.emplace(*terms_.reader);
    if (terms_.is_one_call) choices_[i].n_most_calls = 1;
    if (!terms_.echoes.empty()) {
      choices_[i].add({.text = terms_.echoes[prompt], .tokens = {}});
      choices_[i].n_echo = count_code_points(terms_.echoes[prompt]);
    }
    auto request =
        Request::start(site_.text->context(), terms_.prompts[prompt], options, [self] { self->on_news(); });
    if (!request) {
      is_over_ = true;
      source_.cancel();
      requests_.clear();
      spoken_.reset();
      if (request.error().code != ErrorCode::busy) return tl::unexpected(api_error(request.error()));
      return tl::unexpected(
          try_later(503, "server_overloaded", "as many requests wait as may; try again later"));
    }
    requests_.push_back(*std::move(request));
  }
  site_.n_running += static_cast<int64_t>(n_all);
  is_at_work_ = true;
  conversation_->begin(prompt_->sharing.is_off ? nullptr : prompt_);
  return {};
}

ApiResult<void> TextAnswer::open_mouth() {
  if (!terms_.spoken) return {};
  is_over_ = true;  // unless there is a mouth
  PARLANCE_API_TRY(auto region, site_.regions.tts.acquire());
  // As long as it is spoken the answer stays, also when all is written.
  PARLANCE_API_TRY(spoken_, SpokenAnswer::open(std::move(region), *terms_.spoken,
                                               [self = shared_from_this()] { self->on_news(); }));
  is_over_ = false;
  return {};
}

// What was written goes to the mouth, and what it has said to the client; whether it has said all of it.
bool TextAnswer::speak() {
  if (!spoken_) return true;
  ChoiceText& choice = choices_.front();
  spoken_->add(std::string_view(choice.words).substr(n_spoken_));
  n_spoken_ = choice.words.size();
  if (choice.has_finished()) spoken_->finish();
  if (terms_.is_streamed && reply_->n_unsent() > Reply::kMuchUnsent && !reply_->ticket().cancelled()) {
    reply_->when_taken([self = shared_from_this()] { self->on_news(); });
    return false;
  }
  const auto sound = spoken_->take();
  if (!sound) {
    fail_with(api_error(sound.error()));
    return false;
  }
  choice.n_sound_frames = spoken_->n_frames();
  if (!sound->empty() && terms_.is_streamed) {
    begin_stream();
    write(terms_.writer->next_sound(choice, *sound));
  } else {
    choice.sound += *sound;
  }
  if (!spoken_->has_ended()) return false;
  if (terms_.spoken->format == SoundFormat::wav) tell_wav_length(choice.sound, kSpeechRateHz);
  if (terms_.is_streamed) write_end(choice);
  return true;
}

void TextAnswer::on_news() {
  if (is_posted_.exchange(true)) return;
  site_.answers.post([self = shared_from_this()] { self->pump(); });
}

void TextAnswer::pump() {
  is_posted_ = false;
  std::vector<std::unique_ptr<Request>> ended;  // go when the lock is free
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  if (!has_started_) return look_at_wait();
  for (size_t i = 0; i < requests_.size() && !is_over_; ++i) {
    Request* const request = requests_[i].get();
    if (!request) continue;
    const bool has_ended = request->has_ended();
    bool is_stuck = false;
    for (;;) {
      is_stuck =
          terms_.is_streamed && reply_->n_unsent() > Reply::kMuchUnsent && !reply_->ticket().cancelled();
      if (is_stuck) break;
      auto piece = request->poll();
      if (!piece) break;
      take(choices_[i], *std::move(piece));
    }
    if (is_stuck) {
      reply_->when_taken([self = shared_from_this()] { self->on_news(); });
    } else if (has_ended) {
      end(choices_[i], request->result());
      ended.push_back(std::move(requests_[i]));
      --site_.n_running;
    }
  }
  const bool is_written =
      std::all_of(requests_.begin(), requests_.end(), [](const auto& one) { return !one; });
  if (is_written && !is_over_ && spoken_) look_at_listener();
  if (!is_over_ && speak() && is_written) finish();
  if (!is_over_) return;
  spoken_.reset();
  leave_conversation();
  lease_.reset();
  source_.cancel();  // what is left where one of several has failed
  for (auto& request : requests_) {
    if (!request) continue;
    ended.push_back(std::move(request));
    --site_.n_running;
  }
}

void TextAnswer::take(ChoiceText& choice, AnswerPiece piece) {
  const auto now = AnswerClock::now();
  if (!piece.tokens.empty()) {
    if (!has_first_token_) {
      has_first_token_ = true;
      ttft_s_ = seconds_since(began_);
      site_.metrics.observe("time_to_first_token_seconds", ttft_s_, {{"class", terms_.class_name}});
    } else {
      site_.metrics.observe("inter_token_seconds", std::chrono::duration<double>(now - last_token_).count(),
                            {{"class", terms_.class_name}});
    }
    last_token_ = now;
    if (choice.index == 0) note_progress(std::ssize(piece.tokens));
  }
  if (piece.verification) {
    site_.metrics.observe("draft_accepted_length", static_cast<double>(piece.verification->accepted.size()));
  }
  choice.add(std::move(piece));
  if (!terms_.is_streamed || !choice.has_unsent()) return;
  begin_stream();
  while (choice.has_unsent()) write(terms_.writer->next(choice));
}

void TextAnswer::end(ChoiceText& choice, Result<GenerateResult> result) {
  if (!result && result.error().code == ErrorCode::timed_out && has_first_token_) {
    has_deadline_passed_ = true;
    choice.finish("length");
  } else if (!result) {
    return fail_with(api_error(result.error()));
  } else if (result->finish_reason == FinishReason::cancelled && !was_cut_) {  // the client has left
    is_over_ = true;
    site_.metrics.add("requests_finished_total", 1, {{"kind", "text"}, {"reason", "cancelled"}});
    note_cancelled(site_, *reply_, stage_of(*result));
    return reply_->break_off();
  } else if (result->finish_reason == FinishReason::cancelled) {
    return fail_with(cut_error());
  } else {
    choice.finish(result->finish_reason == FinishReason::stop ? "stop" : "length");
  }
  if (result) {
    choice.result = *std::move(result);
    count(choice);
    if (choice.index == 0) note_progress(0);
  }
  if (!terms_.is_streamed) return;
  begin_stream();
  while (choice.has_unsent()) write(terms_.writer->next(choice));
  if (!spoken_) write_end(choice);
}

void TextAnswer::write_end(ChoiceText& choice) {
  write(terms_.writer->end(choice, choices_, summary()));
}

void TextAnswer::finish() {
  is_over_ = true;
  lease_.reset();  // before the client knows, who may ask again at once
  note();
  if (site_.options.logs_content) log_answers();
  leave_conversation();  // likewise
  const double service_s = seconds_since(began_);
  site_.mean_service_s =
      site_.mean_service_s == 0 ? service_s : site_.mean_service_s * 63 / 64 + service_s / 64;
  if (!terms_.is_streamed) {
    HttpAnswer answer = head();
    answer.fields.push_back({"content-type", "application/json; charset=utf-8"});
    answer.body = terms_.writer->whole(choices_, summary()).line();
    reply_->send(std::move(answer));
    return;
  }
  write(terms_.writer->finish(choices_, summary()));
  reply_->end();
}

// Before the head: an answer of its own; behind it a part of the stream.
void TextAnswer::fail_with(const ApiError& error) {
  is_over_ = true;
  lease_.reset();
  site_.metrics.add("requests_finished_total", 1, {{"kind", "text"}, {"reason", error.code}});
  if (!has_begun_) return reply_->send(answer_of(error));
  write(terms_.writer->failure(error));
  reply_->end();
}

HttpAnswer TextAnswer::head() const {
  HttpAnswer answer;
  if (const std::string ignored = ignored_text(terms_.ignored); !ignored.empty()) {
    answer.fields.push_back({"x-parlance-ignored", ignored});
  }
  if (site_.options.takes_any_model) answer.fields.push_back({"x-parlance-model", terms_.model});
  if (!terms_.note.empty()) answer.fields.push_back({"x-parlance-note", terms_.note});
  return answer;
}

void TextAnswer::begin_stream() {
  if (has_begun_) return;
  has_begun_ = true;
  HttpAnswer answer = head();
  answer.fields.push_back({"content-type", std::string(terms_.writer->stream_type())});
  answer.fields.push_back({"x-accel-buffering", "no"});
  reply_->begin(std::move(answer));
  write(terms_.writer->begin(choices_));
}

void TextAnswer::write(std::string text) {
  last_written_ = AnswerClock::now();
  if (!text.empty()) reply_->write(std::move(text));
}

void TextAnswer::on_left() {
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  if (!has_started_) return look_at_wait();
  for (const auto& request : requests_) {
    if (request) request->withdraw();
  }
  if (spoken_) on_news();
}

void TextAnswer::tick() {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  if (!has_started_ && !is_over_) return look_at_wait();
  if (!terms_.is_streamed || is_over_ || requests_.empty()) return;
  if (AnswerClock::now() - last_written_ < site_.options.ping_time) return;
  begin_stream();
  write(terms_.writer->keep_alive());
}

ApiResult<void> start_text_answer(Site& site, Call& call, TextAnswerTerms terms) {
  const auto answer = std::make_shared<TextAnswer>(site, call, std::move(terms));
  site.enter(answer);
  PARLANCE_API_CHECK(answer->enter());
  call.reply->when_left([&site, weak = std::weak_ptr(answer)] {
    site.answers.post([weak] {
      if (const auto self = weak.lock()) self->on_left();
    });
  });
  return {};
}

}  // namespace parlance
