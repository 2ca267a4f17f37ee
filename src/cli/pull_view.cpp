#include "cli/pull_view.h"

#include <cmath>

#include "cli/terminal/units.h"

namespace parlance {

namespace {

constexpr std::chrono::milliseconds kBetweenLines{100};
constexpr std::chrono::seconds kSpeedSpan{5};

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

double PullView::speed() const {
  if (samples_.size() < 2) return 0;
  const double seconds = std::chrono::duration<double>(samples_.back().at - samples_.front().at).count();
  const uint64_t first = samples_.front().bytes, last = samples_.back().bytes;
  return seconds > 0 && last > first ? static_cast<double>(last - first) / seconds : 0;
}

void PullView::show(const PullProgress& progress, Clock::time_point now) {
  const bool is_new = progress.path != path_;
  path_ = progress.path;
  if (!io_.err_is_terminal) {
    if (!is_new) return;
    const std::string number =
        progress.n_files > 1 ? fmt::format(" ({} of {})", progress.n_done + 1, progress.n_files) : "";
    io_.note(fmt::format("{}{}", printable(progress.path), number));
    return;
  }
  // What was there from the start is no speed.
  if (!samples_.empty() && progress.bytes_done < samples_.back().bytes) samples_.clear();
  samples_.push_back({now, progress.bytes_done});
  while (samples_.size() > 2 && now - samples_[1].at > kSpeedSpan) samples_.pop_front();
  const bool is_last = progress.bytes_total && progress.bytes_done == *progress.bytes_total;
  if (is_shown_ && !is_new && !is_last && now - shown_at_ < kBetweenLines) return;
  shown_at_ = now;
  is_shown_ = true;
  const double done = static_cast<double>(progress.bytes_done), per_second = speed();
  std::string line = printable(progress.path);
  if (progress.bytes_total) {
    const double total = static_cast<double>(*progress.bytes_total);
    line += fmt::format("  {:3.0f} %  {} of {}", total > 0 ? done / total * 100 : 100, format_bytes(done),
                        format_bytes(total));
    if (per_second > 0) {
      line +=
          fmt::format("  {}/s  {} left", format_bytes(per_second), clock_text((total - done) / per_second));
    }
  } else {
    line += fmt::format("  {}", format_bytes(done));
    if (per_second > 0) line += fmt::format("  {}/s", format_bytes(per_second));
  }
  // Of a long name the end goes, not the figures.
  const auto width = static_cast<size_t>(io_.width) - 1;
  const size_t figures = line.size() - printable(progress.path).size();
  if (display_width(line) > width && figures + 8 < width) {
    line = shorten(printable(progress.path), width - figures) + line.substr(line.size() - figures);
  }
  io_.write_progress(shorten(line, width));
}

void PullView::say(const std::string& news) {
  clear();
  io_.note(printable(news));
}

void PullView::clear() {
  if (std::exchange(is_shown_, false)) io_.write_progress("");
}

PullOptions PullView::options() {
  PullOptions options;
  options.on_progress = [this](const PullProgress& progress) { show(progress); };
  options.on_news = [this](const std::string& news) { say(news); };
  options.patience.on_wait = [this](std::chrono::milliseconds wait, const std::string& reason) {
    say(fmt::format("{}; again in {}", reason, format_ms(static_cast<double>(wait.count()))));
  };
  return options;
}

}  // namespace parlance
