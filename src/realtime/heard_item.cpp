#include "realtime/heard_item.h"

#include <utility>

#include "text/unicode.h"

namespace parlance {

namespace {

// Words at the end of what is stable that are told later: the next ones sometimes show that they were others.
constexpr size_t kHeldBackWords = 2;

// Where the word behind n words begins; words are runs without white space.
size_t behind_words(std::string_view text, size_t n) {
  size_t at = 0, n_seen = 0;
  bool was_space = true;
  while (at < text.size()) {
    const size_t begin = at;
    const bool is_space = is_white_space(next_code_point(text, at));
    if (was_space && !is_space && n_seen++ == n) return begin;
    was_space = is_space;
  }
  return text.size();
}

size_t count_words(std::string_view text) {
  size_t n = 0;
  while (behind_words(text, n) < text.size()) ++n;
  return n;
}

}  // namespace

void HeardItem::feed(std::span<const float> samples) {
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  if (!is_paused_) listen();
}

// Ears that are not free yet are asked for again with the next sound, or at the next look.
void HeardItem::listen() {
  if (failure_) return;
  if (!ears_) {
    auto ears = parts_.listen(request_, on_news_);
    if (!ears && ears.error().code == ErrorCode::busy) return;
    if (!ears) {
      failure_ = ears.error();
      return;
    }
    ears_ = *std::move(ears);
  }
  if (n_fed_ == samples_.size()) return;
  if (const auto fed = ears_->feed(std::span(samples_).subspan(n_fed_)); !fed) failure_ = fed.error();
  n_fed_ = samples_.size();
}

void HeardItem::pause() {
  is_paused_ = true;
  awaits_text_ = true;
  text_.reset();
  if (samples_.empty()) {
    text_ = "";
    awaits_text_ = false;
    return;
  }
  listen();
  if (ears_ && n_fed_ > 0 && !failure_) ears_->pause();
}

void HeardItem::go_on() {
  is_paused_ = awaits_text_ = false;
  text_.reset();
  listen();
}

bool HeardItem::look() {
  const bool was_known = text_.has_value();
  if (is_paused_ && awaits_text_ && !failure_ && (!ears_ || n_fed_ == 0)) pause();
  if (ears_ && !failure_) {
    auto heard = ears_->hearing();
    if (!heard) {
      failure_ = heard.error();
    } else {
      const bool is_new = heard->revision != hearing_.revision;
      hearing_ = *std::move(heard);
      if (awaits_text_ && hearing_.is_final) {
        awaits_text_ = false;
        text_ = std::string(strip_white_space(hearing_.text));
      }
      if (is_new) return true;
    }
  }
  if (failure_ && !text_) {
    text_ = "";
    awaits_text_ = false;
  }
  return text_.has_value() != was_known;
}

std::string HeardItem::next_stable() {
  const size_t n = std::min(hearing_.n_stable, hearing_.text.size());
  const std::string_view all = std::string_view(hearing_.text).substr(0, n);
  const size_t n_words = count_words(all);
  if (n_words <= kHeldBackWords) return {};
  const std::string_view stable =
      strip_white_space(all.substr(0, behind_words(all, n_words - kHeldBackWords)));
  if (stable.size() <= told_.size() || !stable.starts_with(told_)) return {};
  std::string next(stable.substr(told_.size()));
  told_ = stable;
  return next;
}

HeardItem::Told HeardItem::tell_all() {
  const std::string_view text = text_ ? std::string_view(*text_) : std::string_view();
  std::string rest;
  if (text.starts_with(told_)) {
    rest = text.substr(told_.size());
  } else {
    const std::string_view behind = text.substr(behind_words(text, count_words(told_)));
    if (!behind.empty()) rest = " " + std::string(behind);
  }
  told_ += rest;
  return {.rest = rest, .all = told_};
}

}  // namespace parlance
