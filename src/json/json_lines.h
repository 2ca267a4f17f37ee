// Files with one JSON object a line, such as sets of questions and recordings.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/os/file.h"
#include "base/result.h"

namespace parlance {

inline constexpr size_t kMostSetBytes = size_t{64} << 20;  // of a file of questions or recordings

// What parse(line), a Result, makes of each line of a file; blank lines are skipped. Errors name file and
// line; a file without lines is one, and `of_what` ("questions") says what it should have.
template <class Parse>
auto read_json_lines(const std::filesystem::path& path, size_t limit_bytes, std::string_view of_what,
                     const Parse& parse)
    -> Result<std::vector<typename std::invoke_result_t<Parse, std::string_view>::value_type>> {
  PARLANCE_TRY(const std::string text, read_text_file(path, limit_bytes));
  std::vector<typename std::invoke_result_t<Parse, std::string_view>::value_type> all;
  size_t number = 0;
  for (size_t start = 0; start < text.size();) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = std::string_view(text).substr(start, end - start);
    start = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto parsed = parse(line);
    if (!parsed) {
      return fail(ErrorCode::corrupt_file, "{}:{}: {}; correct the line or take it out", path.string(), number,
                  parsed.error().message);
    }
    all.push_back(*std::move(parsed));
  }
  if (all.empty()) {
    return fail(ErrorCode::corrupt_file, "{}: there are no {} in it; give a file with one JSON object a line",
                path.string(), of_what);
  }
  return all;
}

}  // namespace parlance
