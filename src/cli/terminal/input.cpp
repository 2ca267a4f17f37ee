#include "cli/terminal/input.h"

#include <algorithm>
#include <array>
#include <istream>

#include "base/os/file.h"
#include "tokenizer/tokenizer.h"

namespace parlance {

namespace {

Result<std::string> read_standard_input(std::istream& in) {
  std::string text;
  std::array<char, 65536> chunk;
  while (in.read(chunk.data(), chunk.size()) || in.gcount() > 0) {
    text.append(chunk.data(), static_cast<size_t>(in.gcount()));
    if (text.size() > kInputLimitBytes) {
      return fail(ErrorCode::invalid_argument, "standard input holds more than {} MiB; give a shorter prompt",
                  kInputLimitBytes >> 20);
    }
  }
  if (in.bad())
    return fail(ErrorCode::io, "standard input cannot be read; give the prompt with --prompt or --file");
  return text;
}

}  // namespace

Result<void> check_input(const std::optional<std::string>& text, const std::string& file) {
  if (!text || file.empty()) return {};
  return fail(ErrorCode::invalid_argument, "--prompt and --file both give the text; leave one out");
}

Result<std::optional<std::string>> read_input(const Console& io, const std::optional<std::string>& text,
                                              const std::string& file) {
  const bool is_named_input = (text && *text == "-") || file == "-";
  if (text && !is_named_input) return text;
  if (!file.empty() && !is_named_input) return read_text_file(file, kInputLimitBytes);
  if (is_named_input || !io.in_is_terminal) return read_standard_input(io.in);
  return std::nullopt;
}

std::string as_utf8(const Console& io, std::string_view what, std::string text) {
  StreamingDecoder decoder;
  std::string valid = decoder.push(text);
  valid += decoder.finish();
  if (valid == text) return text;
  const auto first =
      std::mismatch(valid.begin(), valid.end(), text.begin(), text.end()).second - text.begin();
  io.warn(fmt::format("{} is not valid UTF-8 from byte {} on; such bytes are read as U+FFFD", what, first));
  return valid;
}

}  // namespace parlance
