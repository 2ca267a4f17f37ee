// What a request in JSON may hold, as tables: parsing, checking and the documentation come from them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "json/json.h"
#include "server/api_error.h"

namespace parlance {

enum class FieldClass : uint8_t {
  acted,    // does something
  ignored,  // is welcome, has no effect, and the answer says so
  neutral,  // only the value that changes nothing
  refused,  // whoever sends it relies on what there is not
};

enum class FieldType : uint8_t {
  any,
  boolean,
  integer,
  number,
  text,
  array,
  object,
  text_or_array,
  text_or_object,
  choice,  // one of the words
  base64,
  file,
};

inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

struct Field {
  std::string_view name;  // "stream_options.include_usage": a member of an object
  FieldClass field_class = FieldClass::acted;
  FieldType type = FieldType::any;
  // Of the number, the characters of a text, the elements of an array. `lowest` itself is out where it is
  // open.
  double lowest = -kNoLimit, highest = kNoLimit;
  bool is_open = false;
  bool is_up_to_context = false;  // the highest is what a context holds
  std::string_view words = {};    // "a|b": of a choice; the only value of a neutral field, in JSON
  std::string_view about = {};    // one line for the documentation; of a refused one, the remedy
};

// The members of an object that are not null.
class Body {
 public:
  Body() = default;
  explicit Body(const Json& object);

  const Json* find(std::string_view name) const&;
  const Json* find(std::string_view name) && = delete;  // it would be gone with the body
  bool has(std::string_view name) const { return find(name) != nullptr; }
  std::optional<std::string> text(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<int64_t> integer(std::string_view name) const;
  bool boolean(std::string_view name, bool otherwise = false) const;
  Body object(std::string_view name) const;

  const std::vector<std::pair<std::string, Json>>& members() const& { return members_; }
  std::vector<std::pair<std::string, Json>> members() && { return std::move(members_); }

  void keep(FunctionRef<bool(std::string_view name)> is_kept) {
    std::erase_if(members_, [&](const auto& member) { return !is_kept(member.first); });
  }

 private:
  std::vector<std::pair<std::string, Json>> members_;
};

struct CheckedBody {
  Body body;
  std::vector<std::string> ignored;  // names, in the order in which they came
};

struct FieldRules {
  bool is_strict = false;  // unknown fields are errors
  int64_t n_ctx = 0;
};

// Whether a body keeps a table; null counts as absent everywhere.
ApiResult<CheckedBody> check_fields(std::span<const Field> fields, const Json& body, const FieldRules& rules);
// The same of one field, under the name that messages give it.
ApiResult<void> check_field_value(const Field& field, std::string_view name, const Json& value,
                                  const FieldRules& rules);

// The JSON of a request, which must be an object.
ApiResult<Json> parse_body(std::string_view text);

// "store,user": the header x-parlance-ignored; at most 512 bytes.
std::string ignored_text(const std::vector<std::string>& names);

// The tables.
std::span<const Field> chat_fields();
std::span<const Field> client_secret_fields();
std::span<const Field> completion_fields();
std::span<const Field> embedding_fields();
std::span<const Field> responses_fields();
std::span<const Field> ollama_chat_fields();
std::span<const Field> ollama_generate_fields();
std::span<const Field> prewarm_fields();
std::span<const Field> speech_fields();
std::span<const Field> transcription_fields();

}  // namespace parlance
