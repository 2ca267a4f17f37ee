// Questions with known answers, one JSON object a line:
// {"id": "…", "category": "…", "messages": [{"role": "…", "content": "…"}, …], "answers": ["…", …]}
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "chat/prompt.h"

namespace parlance {

struct EvalQuestion {
  std::string id;
  std::string category;
  std::vector<Message> messages;
  std::vector<std::string> answers;  // any of them is right; never empty
};

// Errors name file and line.
Result<std::vector<EvalQuestion>> read_eval_set(const std::filesystem::path& path);

// A reply as it is compared: letters without case, white space collapsed, no full stop, exclamation or
// question mark at the end.
std::string normalise_reply(std::string_view reply);

bool is_right(const EvalQuestion& question, std::string_view reply);

// Those of these categories; all where none are named. An error names the categories that there are.
Result<std::vector<EvalQuestion>> of_categories(std::vector<EvalQuestion> questions,
                                                const std::vector<std::string>& categories);

// So many of them at even distances; all for 0, and when there are no more.
std::vector<EvalQuestion> evenly_spread(std::vector<EvalQuestion> questions, int64_t limit);

// The first n of each category, so that no category is left out.
std::vector<EvalQuestion> first_of_each(const std::vector<EvalQuestion>& questions, int64_t n);

}  // namespace parlance
