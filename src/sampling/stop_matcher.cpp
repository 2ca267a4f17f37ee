#include "sampling/stop_matcher.h"

#include <algorithm>

namespace parlance {

StopMatcher::StopMatcher(const std::vector<std::string>& stop_texts) {
  for (const std::string& text : stop_texts) {
    if (text.empty()) continue;
    Stop stop{text, {0}, 0};
    for (size_t i = 1; i < text.size(); ++i) {
      advance(stop, text[i]);
      stop.border.push_back(stop.n_matched);
    }
    stop.n_matched = 0;
    stops_.push_back(std::move(stop));
  }
}

void StopMatcher::advance(Stop& stop, char c) {
  size_t n = stop.n_matched;
  while (n > 0 && stop.text[n] != c) n = stop.border[n - 1];
  stop.n_matched = stop.text[n] == c ? n + 1 : 0;
}

std::string StopMatcher::push(std::string_view text) {
  if (matched()) return {};
  size_t n_possible = 0;  // bytes at the end that may be the beginning of a stop text
  for (const char c : text) {
    held_.push_back(c);
    n_possible = 0;
    for (size_t i = 0; i < stops_.size(); ++i) {
      advance(stops_[i], c);
      n_possible = std::max(n_possible, stops_[i].n_matched);
      const size_t n_before = matched() ? stops_[static_cast<size_t>(matched_)].text.size() : 0;
      if (stops_[i].n_matched == stops_[i].text.size() && stops_[i].text.size() > n_before) {
        matched_ = static_cast<int>(i);
      }
    }
    if (matched()) {
      std::string before = held_.substr(0, held_.size() - match().size());
      held_.clear();
      return before;
    }
  }
  if (text.empty()) return {};
  std::string safe = held_.substr(0, held_.size() - n_possible);
  held_.erase(0, safe.size());
  return safe;
}

std::string StopMatcher::finish() {
  std::string rest = std::move(held_);
  held_.clear();
  matched_ = -1;
  for (Stop& stop : stops_) stop.n_matched = 0;
  return rest;
}

}  // namespace parlance
