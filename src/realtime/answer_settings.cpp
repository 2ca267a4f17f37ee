// Settings of what is answered: what the model is told, its tools and limits, and how answers sound.
#include <algorithm>
#include <set>

#include "base/ascii.h"
#include "realtime/setting_values.h"

namespace parlance {

namespace {

constexpr size_t kMostInstructionBytes = size_t{64} << 10;
constexpr size_t kMostRealtimeToolBytes = size_t{256} << 10;  // of all together
constexpr size_t kMostRealtimeTools = 128;
constexpr int64_t kMostAnswerTokens = 4096;

bool is_tool_word(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return ascii::is_letter(c) || ascii::is_digit(c) || c == '_' || c == '-';
  });
}

}  // namespace

RealtimeResult<void> read_instructions(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.instructions, read_string(r, value, kMostInstructionBytes));
  return {};
}

RealtimeResult<void> read_modalities(Reading& r, const Json& value) {
  const auto elements = value.elements();
  bool has_text = false, has_audio = false, has_other = false;
  if (elements) {
    for (const Json& one : *elements) {
      has_text = has_text || one.text() == "text";
      has_audio = has_audio || one.text() == "audio";
      has_other = has_other || (one.text() != "text" && one.text() != "audio");
    }
  }
  if (has_other || (!has_text && !has_audio))
    return r.refuse("must be [\"audio\"] or [\"text\"], got {}", value.line().substr(0, 80));
  r.settings.speaks = has_audio;
  return {};
}

RealtimeResult<void> read_output_form(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.output, read_form(r, value));
  return {};
}

RealtimeResult<void> read_voice(Reading& r, const Json& value) {
  const auto id = value.member("id");
  const auto name = id ? id->text() : value.text();
  if (!name) return r.refuse("must be a name, got {}", value.line().substr(0, 80));
  std::string voice = *name;
  if (r.offer.find_voice) {
    auto found = r.offer.find_voice(*name);
    if (!found) {
      found.error().param = r.where;
      return tl::unexpected(std::move(found).error());
    }
    voice = *std::move(found);
  }
  if (r.locks.has_spoken && voice != r.now.voice)
    return r.refuse("cannot change any more: the session has been heard; open another one");
  r.settings.voice = std::move(voice);
  return {};
}

RealtimeResult<void> read_speed(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.speed, read_number(r, value, 0.25, 1.5));
  return {};
}

RealtimeResult<void> read_session_tools(Reading& r, const Json& value) {
  const auto elements = value.elements();
  if (!elements) return r.refuse("must be an array, got {}", value.line().substr(0, 80));
  if (elements->size() > kMostRealtimeTools) return r.refuse("may have {} elements", kMostRealtimeTools);
  if (value.line().size() > kMostRealtimeToolBytes)
    return r.refuse("may have {} bytes", kMostRealtimeToolBytes);
  std::set<std::string> names;
  for (size_t i = 0; i < elements->size(); ++i) {
    const Json& tool = (*elements)[i];
    const Reading at{r.settings, r.now, r.offer, r.locks, fmt::format("{}[{}]", r.where, i)};
    const auto type = tool.member("type"), name = tool.member("name"), parameters = tool.member("parameters");
    if (!type || type->text() != "function") return inside(at, "type").refuse("can only be \"function\"");
    const std::string word = name ? name->text().value_or("") : std::string();
    if (!is_tool_word(word))
      return inside(at, "name")
          .refuse("must have 1 to 64 letters, digits, _ or -, got {}", Json(word).line());
    if (!names.insert(word).second) return inside(at, "name").refuse("is given to two tools; rename one");
    if (parameters && !parameters->is_null() && !parameters->is_object())
      return inside(at, "parameters").refuse("must be a schema");
  }
  r.settings.tools = value;
  return {};
}

RealtimeResult<void> read_session_choice(Reading& r, const Json& value) {
  if (value.is_object()) {
    const auto type = value.member("type"), name = value.member("name");
    if (!type || type->text() != "function" || !name || !name->text())
      return r.refuse("must be auto, none, required, or a function with its name");
  } else {
    PARLANCE_EVENT_CHECK(read_word(r, value, "auto|none|required"));
  }
  r.settings.tool_choice = value;
  return {};
}

RealtimeResult<void> read_parallel(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.has_parallel_calls, read_truth(r, value));
  return {};
}

RealtimeResult<void> read_most_tokens(Reading& r, const Json& value) {
  r.settings.n_most_tokens.reset();
  if (value.text() == "inf") return {};
  const auto n = value.integer();
  if (!n || *n < 1 || *n > kMostAnswerTokens)
    return r.refuse("must be a whole number from 1 to {}, or \"inf\"; got {}", kMostAnswerTokens,
                    value.line().substr(0, 80));
  r.settings.n_most_tokens = *n;
  return {};
}

RealtimeResult<void> read_truncation(Reading& r, const Json& value) {
  TruncationSettings read;
  read.shown = value;
  if (const auto word = value.text()) {
    PARLANCE_EVENT_CHECK(read_word(r, value, "auto|disabled"));
    if (*word == "disabled") read.rule = TruncationSettings::Rule::disabled;
  } else {
    const auto type = value.member("type");
    if (!type || type->text() != "retention_ratio")
      return r.refuse("must be auto, disabled, or of type retention_ratio");
    read.rule = TruncationSettings::Rule::ratio;
    if (const auto ratio = value.member("retention_ratio"); ratio && !ratio->is_null()) {
      PARLANCE_EVENT_TRY(read.ratio, read_number(inside(r, "retention_ratio"), *ratio, 0, 1));
    }
    const auto limit = member_at(value, "token_limits.post_instructions");
    if (limit && !limit->is_null()) {
      PARLANCE_EVENT_TRY(read.n_most_tokens,
                         read_integer(inside(r, "token_limits.post_instructions"), *limit, 1, 1 << 30));
    }
  }
  r.settings.truncation = std::move(read);
  return {};
}

RealtimeResult<void> read_reasoning(Reading& r, const Json& value) {
  const auto effort = value.member("effort");
  if (!value.is_object()) return r.refuse("must be an object, got {}", value.line().substr(0, 80));
  r.settings.effort.clear();
  if (!effort || effort->is_null()) return {};
  PARLANCE_EVENT_TRY(r.settings.effort,
                     read_word(inside(r, "effort"), *effort, "none|minimal|low|medium|high|xhigh|max"));
  return {};
}

RealtimeResult<void> read_temperature(Reading& r, const Json& value) {
  PARLANCE_EVENT_TRY(r.settings.temperature, read_number(r, value, 0, 2));
  return {};
}

Json show_modalities(const SessionSettings& s, Dialect dialect) {
  if (!s.speaks) return Json::array().push("text");
  if (dialect == Dialect::ga) return Json::array().push("audio");
  return Json::array().push("text").push("audio");
}

}  // namespace parlance
