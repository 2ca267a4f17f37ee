// A recording whose voice is to be spoken with, made fit for that: not too short, not longer than it pays,
// and with its words.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assistant/remark.h"
#include "base/cancellation.h"
#include "base/result.h"

namespace parlance {

// What is said in samples at kSpeechRateHz.
using HearReference =
    std::function<Result<std::string>(std::span<const float> samples, const Cancellation& cancellation)>;

inline constexpr double kLeastReferenceSeconds = 1;  // below, voices come out as a buzz
inline constexpr double kGoodReferenceSeconds[2] = {3, 10};

struct ReferenceRecording {
  std::vector<float> samples;
  std::string text;
  bool is_heard = false;  // the text is what was understood, nobody has given it
};

struct ReferenceWish {
  std::string_view name;    // of the recording, for messages
  std::string_view text;    // what is said in it; empty: nobody says
  double most_seconds = 0;  // longer ones are cut behind a word, and so is their text; 0: they are not
};

// Without `hear` a recording that has a text is not cut, and one without a text stays so. Errors: less than
// kLeastReferenceSeconds; those of `hear`.
Result<ReferenceRecording> prepare_recording(std::span<const float> samples, const ReferenceWish& wish,
                                             const HearReference& hear, const OnRemark& on_remark,
                                             const Cancellation& cancellation = {});

// The middle of the quietest 60 ms between two samples: where a word ends, if one does.
int64_t quietest_place(std::span<const float> samples, int64_t first, int64_t last);

// The beginning of `text` up to the word with which what was heard of a recording's beginning ends; nothing
// when what was heard is not that text.
std::optional<std::string> beginning_heard(std::string_view text, std::string_view heard);

}  // namespace parlance
