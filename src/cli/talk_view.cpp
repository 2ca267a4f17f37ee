#include "cli/talk_view.h"

#include <cmath>

#include "assistant/events.h"

namespace parlance {

namespace {

constexpr std::string_view kPerson = "you       ", kProgram = "parlance  ", kIndent = "          ";

// What the person is told of a state; empty where the answer itself tells it.
std::string_view words_for(TalkState state) {
  switch (state) {
    case TalkState::idle:
      return "listening";
    case TalkState::hearing:
    case TalkState::pausing:
    case TalkState::drafting:
    case TalkState::wordless:
      return "hearing";
    case TalkState::closing:
    case TalkState::answering:
      return "thinking";
    case TalkState::speaking:
      return "speaking";
    case TalkState::doubting:
      return "paused";
  }
  return "";
}

double to_tenths(double ms) {
  return std::round(ms * 10) / 10;
}

std::vector<double> values_of(const std::vector<TurnReport>& turns, const TurnMetric& metric) {
  std::vector<double> values;
  for (const TurnReport& turn : turns) {
    if (const auto ms = turn.trace.between_ms(metric.from, metric.to)) values.push_back(*ms);
  }
  return values;
}

}  // namespace

void TalkView::show_line() {
  if (!is_live() || is_answering_) return;
  const std::string state = fmt::format("{:<10}", words_for(state_));
  line_.show({state + heard_.stable, heard_.provisional});
}

void TalkView::on_state(TalkState state) {
  state_ = state;
  if (state == TalkState::idle) heard_ = {};
  if (state == TalkState::hearing && is_answering_) return;  // the interrupted answer ends first
  show_line();
}

void TalkView::on_hearing(const Hearing& hearing) {
  heard_ = {hearing.text.substr(0, hearing.n_stable), hearing.text.substr(hearing.n_stable)};
  show_line();
}

void TalkView::on_question(std::string_view question) {
  heard_ = {};
  if (wants_json_) return;
  line_.clear();
  io_.print("{}{}\n", io_.styled(Style::dim, kPerson), printable(question));
  if (is_live()) {
    io_.write(io_.styled(Style::dim, kProgram));
    is_answering_ = true;
  }
  io_.flush();
}

void TalkView::on_answer(std::string_view text) {
  if (!is_live()) return;
  io_.write(printable(text));
  io_.flush();
}

void TalkView::on_turn(const TurnReport& report) {
  turns_.push_back(report);
  if (wants_json_) {
    io_.print("{}\n", to_json(report).set("devices", devices_).line());
  } else {
    const std::string end = report.is_interrupted ? " —" : "";
    if (is_live()) {
      io_.print("{}\n", end);
    } else {
      io_.print("{}{}{}\n", kProgram, printable(report.answer), end);
    }
    io_.print("{}{}\n", kIndent, io_.styled(Style::dim, times_of(report)));
  }
  io_.flush();
  is_answering_ = false;
  show_line();
}

void TalkView::finish() {
  line_.clear();
  if (wants_json_ || turns_.size() < 2) return;
  for (const TurnMetric& metric : turn_metrics()) {
    if (metric.to != Checkpoint::audio_first_played) continue;
    const Percentiles p = percentiles_of(values_of(turns_, metric));
    if (p.n == 0) continue;
    io_.print("{}\n",
              io_.styled(Style::dim, fmt::format("{} turns: first audio {:.0f} ms after the end of speech "
                                                 "in the median, {:.0f} ms at the 90th percentile",
                                                 turns_.size(), p.p50, p.p90)));
  }
}

std::string times_of(const TurnReport& report) {
  const TurnTrace& trace = report.trace;
  std::string text;
  const auto add = [&](std::string_view separator, std::string_view what, std::optional<double> ms,
                       std::string_view unit) {
    if (ms) text += fmt::format("{}{} {:.0f} {}", text.empty() ? "" : separator, what, *ms, unit);
  };
  using enum Checkpoint;
  const auto from = trace.at_ms(pause) ? pause : speech_end;
  add(", ", "heard", trace.between_ms(from, asr_final), "ms");
  add(", ", "thought", trace.between_ms(asr_final, phrase_emit), "ms");
  add(", ", "spoke", trace.between_ms(phrase_emit, tts_first_audio), "ms");
  add("; ", "first audio", trace.after_speech_ms(audio_first_played), "ms after you stopped");
  add("; ", "interrupted, silent after", trace.between_ms(barge_in, hushed), "ms");
  return text;
}

Json trace_json(const std::vector<TurnReport>& turns, const Json& devices) {
  Json summary = Json::object();
  for (const TurnMetric& metric : turn_metrics()) {
    const Percentiles p = percentiles_of(values_of(turns, metric));
    if (p.n == 0) continue;
    summary.add(metric.name, Json::object({{"meaning", metric.meaning},
                                           {"turns", p.n},
                                           {"p50", to_tenths(p.p50)},
                                           {"p90", to_tenths(p.p90)},
                                           {"p99", to_tenths(p.p99)}}));
  }
  Json list = Json::array();
  for (const TurnReport& turn : turns) {
    Json json = to_json(turn);
    json.add("zero_ms", to_tenths(turn.trace.at_ms(Checkpoint::speech_end).value_or(0)));
    list.push(json);
  }
  return Json::object({{"unit", "milliseconds after the end of speech"},
                       {"devices", devices},
                       {"summary", summary},
                       {"turns", list}});
}

}  // namespace parlance
