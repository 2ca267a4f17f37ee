// The page of the server has what the code's tables say.
#include <sstream>

#include "base/os/file.h"
#include "server/fields.h"
#include "server/router.h"
#include "support/fixtures.h"

namespace parlance {
namespace {

std::string kind_in_words(const Field& field) {
  switch (field.type) {
    case FieldType::any:
      return "";
    case FieldType::boolean:
      return "true, false";
    case FieldType::integer:
      return "whole number";
    case FieldType::number:
      return "number";
    case FieldType::text:
      return "text";
    case FieldType::array:
      return "array";
    case FieldType::object:
      return "object";
    case FieldType::text_or_array:
      return "text or array";
    case FieldType::text_or_object:
      return "text or object";
    case FieldType::base64:
      return "base64";
    case FieldType::file:
      return "file";
    case FieldType::choice:
      break;
  }
  std::string words(field.words);
  for (size_t at = 0; (at = words.find('|', at)) != std::string::npos; at += 2) words.replace(at, 1, ", ");
  return words;
}

std::string range_in_words(const Field& field) {
  if (field.is_up_to_context) return fmt::format("{} to the context", field.lowest);
  if (field.lowest == -kNoLimit) return "";
  if (field.highest == kNoLimit) return fmt::format("{} or more", field.lowest);
  return fmt::format("{}{} to {}", field.is_open ? "above " : "", field.lowest, field.highest);
}

// The rows of one class.
std::string rows(std::span<const Field> fields, FieldClass field_class) {
  std::string text;
  for (const Field& field : fields) {
    if (field.field_class != field_class) continue;
    text += field_class == FieldClass::acted
                ? fmt::format("| `{}` | {} | {} | {} |\n", field.name, kind_in_words(field),
                              range_in_words(field), field.about)
                : fmt::format("| `{}` | {} |\n", field.name, field.about);
  }
  return text;
}

void expect_in_page(const std::string& text) {
  const auto page = read_text_file(test::source_root() / "docs/server.md", size_t{1} << 20);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_NE(page->find(text), std::string::npos) << "docs/server.md lacks:\n" << text;
}

TEST(ServerPage, HasTheFieldsOfEveryRoute) {
  for (const auto fields :
       {chat_fields(), client_secret_fields(), completion_fields(), embedding_fields(), responses_fields(), ollama_chat_fields(),
        ollama_generate_fields(), prewarm_fields(), speech_fields(), transcription_fields()}) {
    expect_in_page(rows(fields, FieldClass::acted));
    expect_in_page(rows(fields, FieldClass::refused));
  }
}

TEST(ServerPage, HasTheRoutes) {
  expect_in_page(routes_text());
}

}  // namespace
}  // namespace parlance
