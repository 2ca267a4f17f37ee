#include "cli/eval_set.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "assistant/messages.h"
#include "json/json.h"
#include "json/json_lines.h"

namespace parlance {

namespace {

Result<std::string> text_member(const Json& object, std::string_view key) {
  const auto member = object.member(key);
  const auto text = member ? member->text() : std::nullopt;
  if (text) return *text;
  return fail(ErrorCode::corrupt_file, "\"{}\" must be there and be a text", key);
}

Result<EvalQuestion> parse_question(std::string_view line) {
  PARLANCE_TRY(const Json object, Json::parse(line));
  if (!object.is_object()) return fail(ErrorCode::corrupt_file, "expected an object {{…}}");
  EvalQuestion question;
  PARLANCE_TRY(question.id, text_member(object, "id"));
  PARLANCE_TRY(question.category, text_member(object, "category"));
  const auto messages = object.member("messages");
  if (!messages) return fail(ErrorCode::corrupt_file, "\"messages\" is missing");
  PARLANCE_TRY(question.messages, messages_from(*messages));
  if (question.messages.empty()) return fail(ErrorCode::corrupt_file, "\"messages\" is empty");
  const auto answers = object.member("answers");
  const auto elements = answers ? answers->elements() : std::nullopt;
  if (!elements || elements->empty())
    return fail(ErrorCode::corrupt_file, "\"answers\" must be an array of texts");
  for (const Json& element : *elements) {
    const auto text = element.text();
    if (!text) return fail(ErrorCode::corrupt_file, "\"answers\" must be an array of texts");
    question.answers.push_back(*text);
  }
  return question;
}

// Without case, by the rules of Unicode; text that is no UTF-8 stays as it is.
std::string fold_case(std::string_view text) {
  utf8proc_uint8_t* folded = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_CASEFOLD | UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const utf8proc_ssize_t n = ::utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                            static_cast<utf8proc_ssize_t>(text.size()), &folded, options);
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(folded, std::free);
  return n < 0 ? std::string(text)
               : std::string(reinterpret_cast<const char*>(folded), static_cast<size_t>(n));
}

}  // namespace

Result<std::vector<EvalQuestion>> read_eval_set(const std::filesystem::path& path) {
  return read_json_lines(path, kMostSetBytes, "questions", parse_question);
}

std::string normalise_reply(std::string_view reply) {
  std::string text;
  for (const char c : fold_case(reply)) {
    const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (!is_space) text += c;
    if (is_space && !text.empty() && text.back() != ' ') text += ' ';
  }
  text.erase(text.find_last_not_of(" .!?") + 1);
  return text;
}

bool is_right(const EvalQuestion& question, std::string_view reply) {
  const std::string given = normalise_reply(reply);
  return std::any_of(question.answers.begin(), question.answers.end(),
                     [&](const std::string& answer) { return normalise_reply(answer) == given; });
}

}  // namespace parlance
