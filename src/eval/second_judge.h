// A recogniser that has nothing in common with ours, so that both judge speech and neither is judged by
// itself: PocketSphinx as Debian has it (packages pocketsphinx and pocketsphinx-en-us), English only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"

namespace parlance {

inline constexpr const char* kSecondJudge = "pocketsphinx";

bool has_second_judge();

// What it hears in each of these files of a folder, named without their ".wav": 16 kHz, one channel, 16 bits.
// Errors: it fails, or leaves one out; cancelled.
Result<std::vector<std::string>> hear_with_second_judge(const std::filesystem::path& folder,
                                                        const std::vector<std::string>& names,
                                                        const Cancellation& cancellation);

// The text of a line of its answers, "hello there (0001 -12345)".
std::string text_of_answer(std::string_view line);

}  // namespace parlance
