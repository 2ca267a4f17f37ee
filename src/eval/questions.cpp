#include "eval/questions.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "assistant/messages.h"
#include "json/json.h"
#include "json/json_lines.h"
#include "text/letter_case.h"

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

Result<std::vector<EvalQuestion>> of_categories(std::vector<EvalQuestion> questions,
                                                const std::vector<std::string>& categories) {
  if (categories.empty()) return questions;
  std::vector<std::string> known;
  for (const EvalQuestion& question : questions) known.push_back(question.category);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  for (const std::string& category : categories) {
    if (std::binary_search(known.begin(), known.end(), category)) continue;
    return fail(ErrorCode::invalid_argument, "there is no category '{}'; choose one of {}", category,
                fmt::join(known, ", "));
  }
  std::erase_if(questions, [&](const EvalQuestion& question) {
    return std::find(categories.begin(), categories.end(), question.category) == categories.end();
  });
  return questions;
}

std::vector<EvalQuestion> evenly_spread(std::vector<EvalQuestion> questions, int64_t limit) {
  const auto n = static_cast<int64_t>(questions.size());
  if (limit == 0 || n <= limit) return questions;
  std::vector<EvalQuestion> kept;
  for (int64_t i = 0; i < limit; ++i)
    kept.push_back(std::move(questions[static_cast<size_t>(i * n / limit)]));
  return kept;
}

std::vector<EvalQuestion> first_of_each(const std::vector<EvalQuestion>& questions, int64_t n) {
  std::map<std::string, int64_t> taken;
  std::vector<EvalQuestion> kept;
  for (const EvalQuestion& question : questions) {
    if (taken[question.category]++ < n) kept.push_back(question);
  }
  return kept;
}

}  // namespace parlance
