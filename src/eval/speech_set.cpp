#include "eval/speech_set.h"

#include <algorithm>
#include <optional>

#include "json/json.h"
#include "json/json_lines.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

// A member that is text; empty when it is absent or null.
Result<std::string> text_of_member(const Json& object, std::string_view key, bool is_required = false) {
  const auto member = object.member(key);
  if (const auto text = member ? member->text() : std::nullopt) return *text;
  if ((!member || member->line() == "null") && !is_required) return std::string();
  return fail(ErrorCode::corrupt_file, "\"{}\" must be {}text", key, is_required ? "there and be " : "");
}

Result<fs::path> file_member(const Json& object, std::string_view key, const fs::path& folder) {
  PARLANCE_TRY(const std::string name, text_of_member(object, key));
  return name.empty() ? fs::path() : folder / name;
}

Result<SpeechLine> parse_line(std::string_view text, const fs::path& folder, SpeechSetKind kind) {
  PARLANCE_TRY(const Json object, Json::parse(text));
  SpeechLine line;
  PARLANCE_TRY(line.text, text_of_member(object, "text", /*is_required=*/true));
  PARLANCE_TRY(line.group, text_of_member(object, "group"));
  PARLANCE_TRY(line.audio, file_member(object, "audio", folder));
  PARLANCE_TRY(line.voice, text_of_member(object, "voice"));
  PARLANCE_TRY(line.instruct, text_of_member(object, "instruct"));
  PARLANCE_TRY(line.reference, file_member(object, "ref", folder));
  PARLANCE_TRY(line.reference_text, text_of_member(object, "ref_text"));
  PARLANCE_TRY(line.compare, file_member(object, "compare", folder));
  const auto refuse = [](const char* words) { return fail(ErrorCode::corrupt_file, "{}", words); };
  if (kind == SpeechSetKind::recordings) {
    if (line.audio.empty()) return refuse("\"audio\" must be there and name a file");
    return line;
  }
  if (line.text.empty()) return refuse("\"text\" is what is to be spoken; it must not be empty");
  if (line.reference.empty() != line.reference_text.empty()) {
    return refuse("\"ref\" is a recording and \"ref_text\" the words in it; give both");
  }
  if (!line.voice.empty() && !line.reference.empty()) {
    return refuse("\"voice\" and \"ref\" both say who speaks; leave one out");
  }
  return line;
}

std::vector<SpeechLine> evenly(std::vector<SpeechLine> lines, int64_t limit) {
  const auto n = std::ssize(lines);
  if (limit == 0 || n <= limit) return lines;
  std::vector<SpeechLine> kept;
  for (int64_t i = 0; i < limit; ++i) kept.push_back(std::move(lines[static_cast<size_t>(i * n / limit)]));
  return kept;
}

}  // namespace

Result<std::vector<SpeechLine>> read_speech_set(const fs::path& file_or_folder, SpeechSetKind kind,
                                                int64_t limit) {
  std::error_code error;
  const bool is_folder = fs::is_directory(file_or_folder, error);
  const fs::path path = is_folder ? file_or_folder / "index.jsonl" : file_or_folder;
  const auto parse = [&](std::string_view line) { return parse_line(line, path.parent_path(), kind); };
  const bool has_audio = kind == SpeechSetKind::recordings;
  PARLANCE_TRY(auto lines, read_json_lines(path, kMostSetBytes, has_audio ? "recordings" : "texts", parse));
  return evenly(std::move(lines), limit);
}

}  // namespace parlance
