#include <algorithm>

#include "jinja/filters.h"
#include "jinja/methods.h"
#include "jinja/print.h"
#include "jinja/text_format.h"
#include "jinja/text_search.h"
#include "text/letter_case.h"
#include "text/unicode.h"

namespace parlance::jinja {

namespace {

// The value as text, which it may be already.
Result<Value> as_text(Context& context, const Value& value) {
  if (value.string()) return value;
  PARLANCE_TRY(std::string text, to_str(context.budget, value));
  return make_text(&context.budget, std::move(text));
}

Result<Value> call_string_method(Context& context, const Value& input, std::string_view name,
                                 const CallArguments& arguments) {
  PARLANCE_TRY(const Value text, as_text(context, input));
  const auto methods = string_methods();
  const auto method =
      std::find_if(methods.begin(), methods.end(), [&](const Method& m) { return m.name == name; });
  return method->call(context, text, arguments);
}

Result<Value> capitalize_filter(Context& context, const Value& input, const CallArguments& arguments) {
  return call_string_method(context, input, "capitalize", arguments);
}

Result<Value> lower_filter(Context& context, const Value& input, const CallArguments& arguments) {
  return call_string_method(context, input, "lower", arguments);
}

Result<Value> upper_filter(Context& context, const Value& input, const CallArguments& arguments) {
  return call_string_method(context, input, "upper", arguments);
}

Result<Value> trim_filter(Context& context, const Value& input, const CallArguments& arguments) {
  return call_string_method(context, input, "strip", arguments);
}

Result<Value> center_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'center'", arguments, {"width"}));
  CallArguments width;
  width.positional.push_back(bound[0] ? *bound[0] : Value::integer(80));
  return call_string_method(context, input, "center", width);
}

// Words begin behind white space, a hyphen or an opening bracket; unlike the method title(), not behind an
// apostrophe.
Result<Value> title_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'title'", arguments));
  PARLANCE_TRY(const Value value, as_text(context, input));
  const std::string_view text = *value.string();
  context.budget.spend_on_characters(2 * text.size());
  const auto separates = [](char32_t c) {
    return is_space(c) || c == U'-' || c == U'(' || c == U'{' || c == U'[' || c == U'<';
  };
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    const bool is_separator = separates(next_code_point(text, at));
    const size_t second = at;
    while (at < text.size()) {
      size_t behind = at;
      if (separates(next_code_point(text, behind)) != is_separator) break;
      at = behind;
    }
    result += upper(text.substr(begin, second - begin));
    result += lower(text.substr(second, at - second));
  }
  return make_text(&context.budget, std::move(result));
}

Result<Value> string_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'string'", arguments));
  return as_text(context, input);
}

Result<Value> safe_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'safe'", arguments));
  PARLANCE_TRY(std::string text, to_str(context.budget, input));
  return make_text(&context.budget, std::move(text), /*markup=*/true);
}

Result<Value> escape_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'escape'", arguments));
  return escape_html(context.budget, input);
}

Result<Value> forceescape_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'forceescape'", arguments));
  PARLANCE_TRY(std::string text, to_str(context.budget, input));
  return escape_html(context.budget, make_text(&context.budget, std::move(text)));
}

Result<Value> format_filter(Context& context, const Value& input, const CallArguments& arguments) {
  if (!arguments.positional.empty() && !arguments.named.empty()) {
    return fail(ErrorCode::invalid_argument, "filter 'format' takes values by position or by name, not both");
  }
  PARLANCE_TRY(const Value format, as_text(context, input));
  if (arguments.named.empty()) {
    return format_percent(context.budget, format,
                          make_sequence(&context.budget, arguments.positional, Sequence::Kind::tuple));
  }
  std::vector<Dict::Entry> entries;
  for (const auto& [name, value] : arguments.named) {
    entries.emplace_back(make_text(&context.budget, std::string(name)), value);
  }
  return format_percent(context.budget, format, make_dict(&context.budget, std::move(entries)));
}

Result<Value> replace_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'replace'", arguments, {"old", "new", "count"}, 2));
  PARLANCE_TRY(const Value text, as_text(context, input));
  PARLANCE_TRY(const Value old_text, as_text(context, *bound[0]));
  PARLANCE_TRY(const Value new_text, as_text(context, *bound[1]));
  const bool has_limit = bound[2] && !bound[2]->is_none();
  PARLANCE_TRY(const int64_t limit, integer_or("filter 'replace'", has_limit ? bound[2] : nullptr, -1));
  Writer writer(context.budget);
  write_replaced(writer, *text.string(), *old_text.string(), *new_text.string(), limit);
  return writer.finish_text();
}

Result<Value> indent_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'indent'", arguments, {"width", "first", "blank"}));
  if (!input.string()) return wrong_type("filter 'indent'", "a string", input);
  std::string indentation(4, ' ');
  if (bound[0] && bound[0]->string()) {
    indentation = *bound[0]->string();
  } else if (bound[0]) {
    PARLANCE_TRY(const int64_t width, integer_or("filter 'indent'", bound[0], 4));
    const size_t n_spaces = width > 0 ? static_cast<size_t>(width) : 0;
    if (!context.budget.has_room(n_spaces)) return context.budget.error();
    indentation.assign(n_spaces, ' ');
  }
  const bool indents_first = truth_or(bound[1], false), indents_blank = truth_or(bound[2], false);
  // The text is split as if one more newline ended it, so that a newline at its end stays.
  const std::string text = *input.string() + "\n";
  context.budget.spend_on_characters(text.size());
  Writer writer(context.budget);
  for (size_t at = 0; at < text.size() && !writer.failed();) {
    context.budget.spend(1);
    const bool is_first = at == 0;
    const std::string_view line = next_line(text, at).text;
    if (!is_first) writer.append('\n');
    if (is_first ? indents_first : indents_blank || !line.empty()) writer.append(indentation);
    writer.append(line);
  }
  return writer.finish_text(input.is_markup());
}

Result<Value> truncate_filter(Context& context, const Value& input, const CallArguments& arguments) {
  constexpr std::string_view kName = "filter 'truncate'";
  PARLANCE_TRY(const auto bound, bind_arguments(kName, arguments, {"length", "killwords", "end", "leeway"}));
  if (!input.string() && !input.is_undefined()) return wrong_type(kName, "a string", input);
  PARLANCE_TRY(const int64_t length, integer_or(kName, bound[0], 255));
  PARLANCE_TRY(const std::string_view end, string_or(kName, bound[2], "..."));
  const bool has_leeway = bound[3] && !bound[3]->is_none();
  PARLANCE_TRY(const int64_t leeway, integer_or(kName, has_leeway ? bound[3] : nullptr, 5));
  const int64_t end_length = static_cast<int64_t>(count_code_points(end));
  if (length < end_length || leeway < 0) {
    return fail(ErrorCode::invalid_argument,
                "{}: length {} is below that of the ending, or leeway {} is negative", kName, length, leeway);
  }
  if (input.is_undefined()) return input;
  const std::string_view text = *input.string();
  const int64_t size = static_cast<int64_t>(count_code_points(text));
  if (size <= leeway || size - leeway <= length) return input;
  std::string_view kept =
      text.substr(0, offset_of_code_point(text, static_cast<size_t>(length - end_length)));
  if (!truth_or(bound[1], false)) kept = kept.substr(0, std::min(kept.rfind(' '), kept.size()));
  return make_text(&context.budget, std::string(kept) + std::string(end), input.is_markup());
}

Result<Value> wordcount_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'wordcount'", arguments));
  PARLANCE_TRY(const Value text, as_text(context, input));
  context.budget.spend_on_characters(text.string()->size());
  int64_t n_words = 0;
  bool inside_word = false;
  for (size_t at = 0; at < text.string()->size();) {
    const char32_t c = next_code_point(*text.string(), at);
    const bool belongs = c == U'_' || is_letter(c) || is_number(c);
    if (belongs && !inside_word) ++n_words;
    inside_word = belongs;
  }
  return Value::integer(n_words);
}

// In a query string the slash is quoted too and a space becomes a plus.
Result<void> write_url_quoted(Writer& writer, const Value& value, bool in_query) {
  PARLANCE_TRY(const std::string text, to_str(writer.budget(), value));
  for (const char c : text) {
    writer.budget().spend(1);
    if (writer.failed()) break;
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !in_query);
    if (is_plain) {
      writer.append(c);
    } else if (c == ' ' && in_query) {
      writer.append('+');
    } else {
      writer.append(fmt::format("%{:02X}", static_cast<unsigned char>(c)));
    }
  }
  return {};
}

Result<Value> urlencode_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'urlencode'", arguments));
  Writer writer(context.budget);
  if (!input.dict() && !input.sequence()) {
    PARLANCE_CHECK(write_url_quoted(writer, input, /*in_query=*/false));
    return writer.finish_text();
  }
  const Value pairs = input.dict() ? make_items(context.budget, *input.dict(), Sequence::Kind::items) : input;
  bool first = true;
  for (const Value& pair : pairs.sequence()->items) {
    if (writer.failed()) break;
    if (!pair.sequence() || pair.sequence()->items.size() != 2) {
      return wrong_type("filter 'urlencode'", "a list of pairs", pair);
    }
    if (!first) writer.append('&');
    first = false;
    PARLANCE_CHECK(write_url_quoted(writer, pair.sequence()->items[0], /*in_query=*/true));
    writer.append('=');
    PARLANCE_CHECK(write_url_quoted(writer, pair.sequence()->items[1], /*in_query=*/true));
  }
  return writer.finish_text();
}

// With the parameters of json.dumps that chat templates are given.
Result<Value> tojson_filter(Context& context, const Value& input, const CallArguments& arguments) {
  constexpr std::string_view kName = "filter 'tojson'";
  PARLANCE_TRY(const auto bound,
               bind_arguments(kName, arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  JsonStyle style;
  style.ascii_only = truth_or(bound[0], false);
  if (bound[1] && bound[1]->string()) {
    style.indent = *bound[1]->string();
  } else if (bound[1] && !bound[1]->is_none()) {
    PARLANCE_TRY(const int64_t width, integer_or(kName, bound[1], 0));
    const size_t n_spaces = width > 0 ? static_cast<size_t>(width) : 0;
    if (!context.budget.has_room(n_spaces)) return context.budget.error();
    style.indent = std::string(n_spaces, ' ');
  }
  if (style.indent) style.item_separator.assign(1, ',');
  if (bound[2] && !bound[2]->is_none()) {
    const Sequence* pair = bound[2]->sequence();
    if (!pair || pair->items.size() != 2 || !pair->items[0].string() || !pair->items[1].string()) {
      return wrong_type(kName, "two strings as separators", *bound[2]);
    }
    style.item_separator = *pair->items[0].string();
    style.key_separator = *pair->items[1].string();
  }
  style.sort_keys = truth_or(bound[3], false);
  Writer writer(context.budget);
  write_json(writer, input, style);
  return writer.finish_text();
}

constexpr Filter kTextFilters[] = {
    {"capitalize", capitalize_filter},
    {"center", center_filter},
    {"e", escape_filter},
    {"escape", escape_filter},
    {"forceescape", forceescape_filter},
    {"format", format_filter},
    {"indent", indent_filter},
    {"lower", lower_filter},
    {"replace", replace_filter},
    {"safe", safe_filter},
    {"string", string_filter},
    {"title", title_filter},
    {"tojson", tojson_filter},
    {"trim", trim_filter},
    {"truncate", truncate_filter},
    {"upper", upper_filter},
    {"urlencode", urlencode_filter},
    {"wordcount", wordcount_filter},
};

}  // namespace

std::span<const Filter> text_filters() {
  return kTextFilters;
}

}  // namespace parlance::jinja
