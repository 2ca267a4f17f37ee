#include "cli/talk_view.h"

#include <cmath>

#include "tts/audio/speech_format.h"

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

Json milliseconds(std::optional<double> ms) {
  return ms ? Json(to_tenths(*ms)) : Json();
}

std::vector<double> values_of(const std::vector<TurnReport>& turns, const TurnMetric& metric) {
  std::vector<double> values;
  for (const TurnReport& turn : turns) {
    if (const auto ms = turn.trace.between_ms(metric.from, metric.to)) values.push_back(*ms);
  }
  return values;
}

double seconds_of(const TurnReport& report) {
  return static_cast<double>(report.n_samples) / kSpeechRateHz;
}

Json checkpoints_of(const TurnTrace& trace) {
  Json json = Json::object();
  for (int i = 0; i < kCheckpoints; ++i) {
    const auto checkpoint = static_cast<Checkpoint>(i);
    if (const auto ms = trace.after_speech_ms(checkpoint)) json.add(name_of(checkpoint), to_tenths(*ms));
  }
  return json;
}

Json phrases_of(const TurnTrace& trace) {
  const double zero_ms = trace.at_ms(Checkpoint::speech_end).value_or(0);
  const auto since = [&](std::optional<double> at_ms) {
    return milliseconds(at_ms ? std::optional(*at_ms - zero_ms) : std::nullopt);
  };
  Json list = Json::array();
  for (const PhraseTrace& phrase : trace.phrases) {
    list.push(Json::object({{"text", phrase.text},
                            {"emit", since(phrase.emit_ms)},
                            {"tts_start", since(phrase.tts_start_ms)},
                            {"tts_first_audio", since(phrase.tts_first_audio_ms)},
                            {"tts_end", since(phrase.tts_end_ms)},
                            {"audio_seconds", static_cast<double>(phrase.n_samples) / kSpeechRateHz}}));
  }
  return list;
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
    io_.print("{}\n", to_json(report).line());
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

Json to_json(const TurnReport& report) {
  Json metrics = Json::object();
  for (const TurnMetric& metric : turn_metrics()) {
    if (const auto ms = report.trace.between_ms(metric.from, metric.to))
      metrics.add(metric.name, to_tenths(*ms));
  }
  return Json::object({{"turn", report.number},
                       {"question", report.question},
                       {"answer", report.answer},
                       {"heard", report.heard},
                       {"interrupted", report.is_interrupted},
                       {"drafts", report.n_drafts},
                       {"audio_seconds", seconds_of(report)},
                       {"ms", metrics},
                       {"checkpoints_ms", checkpoints_of(report.trace)},
                       {"phrases", phrases_of(report.trace)}});
}

Json trace_json(const std::vector<TurnReport>& turns) {
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
  return Json::object(
      {{"unit", "milliseconds after the end of speech"}, {"summary", summary}, {"turns", list}});
}

}  // namespace parlance
