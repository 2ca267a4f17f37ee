// Questions with known answers, one JSON object a line:
// {"id": "…", "category": "…", "messages": [{"role": "…", "content": "…"}, …], "answers": ["…", …]}
#pragma once

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

}  // namespace parlance
