// parlance eval tts with several qualities: each text is spoken in all of them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/quality_options.h"
#include "cli/terminal/console.h"
#include "eval/speech_judge.h"
#include "eval/watch.h"
#include "json/json.h"

namespace parlance {

// A quality, a seed where it is not everybody's, and what is other than in that quality, as the options of
// shortcut_group() call it: "standard", "exact@7", "fast:confidence=1:steps=12".
struct SpeechWay {
  std::string name;
  QualityChoice choice;
  std::optional<uint64_t> seed;
};

// "exact,standard,fast": the others are compared with the first. Errors name what is not understood.
Result<std::vector<SpeechWay>> parse_speech_ways(std::string_view list);

struct WaysToCompare {
  std::vector<SpeechWay> ways;
  std::string keep;  // a folder for the speech; empty: none
  bool wants_json = false;
};

// What a line asks for, in a way.
using RequestOfWay = std::function<Result<SpeechRequest>(const SpeechLine& line, const SpeechWay& way)>;

// Prints a table, or adds to `json`.
Result<void> compare_speech_ways(const Console& io, const WaysToCompare& options,
                                 std::span<const SpeechLine> lines, SpeechJudge& judge,
                                 const RequestOfWay& request_of, const EvalWatch& watch, Json& json);

}  // namespace parlance
