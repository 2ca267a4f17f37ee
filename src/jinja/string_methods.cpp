// The methods of strings. Those of text that came through `safe` escape the strings they are given and return
// safe text in turn, except where a comment says otherwise.
#include <algorithm>

#include "jinja/access.h"
#include "jinja/methods.h"
#include "jinja/print.h"
#include "jinja/text_format.h"
#include "jinja/text_search.h"
#include "text/letter_case.h"
#include "text/unicode.h"

namespace parlance::jinja {

namespace {

using Bound = const Value*;

Result<Value> text_like(Context& context, const Value& self, std::string text) {
  return make_text(&context.budget, std::move(text), self.is_markup());
}

// An argument that is put into, or compared with, the text: escaped when the text is safe and the argument is
// not.
Result<Value> adapted(Context& context, const Value& self, const Value& argument) {
  if (self.is_markup() && argument.string()) return escape_html(context.budget, argument);
  return argument;
}

Result<Value> adapted_string(Context& context, const Value& self, std::string_view method,
                             const Value& argument) {
  if (!argument.string()) return wrong_type(method, "a string", argument);
  return adapted(context, self, argument);
}

// ---- Case ----

template <std::string (*convert)(std::string_view)>
Result<Value> convert_case(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("a method for upper and lower case", arguments));
  context.budget.spend_on_characters(self.string()->size());
  return text_like(context, self, convert(*self.string()));
}

// ---- Stripping ----

enum class Side { left, right, both };

std::string_view strip_characters(Budget& budget, std::string_view text, std::string_view characters,
                                  Side side) {
  const Charge charge(&budget, characters.size() * sizeof(char32_t));
  std::u32string stripped;
  for (size_t at = 0; at < characters.size();) stripped += next_code_point(characters, at);
  std::sort(stripped.begin(), stripped.end());
  const auto is_stripped = [&](char32_t c) {
    return std::binary_search(stripped.begin(), stripped.end(), c);
  };
  size_t begin = 0, end = text.size();
  if (side != Side::right) {
    for (size_t at = 0; at < text.size(); begin = at) {
      if (!is_stripped(next_code_point(text, at))) break;
    }
  }
  if (side != Side::left) {
    for (size_t at = end; at > begin; end = at) {
      if (!is_stripped(previous_code_point(text, at))) break;
    }
  }
  budget.spend_on_characters(text.size() - (end - begin));
  return text.substr(begin, end - begin);
}

template <Side side>
Result<Value> strip_method(Context& context, const Value& self, const CallArguments& arguments) {
  constexpr std::string_view kName = side == Side::left    ? "lstrip()"
                                     : side == Side::right ? "rstrip()"
                                                           : "strip()";
  PARLANCE_TRY(const auto bound, bind_arguments(kName, arguments, {"chars"}));
  const std::string_view text = *self.string();
  if (bound[0] && !bound[0]->is_none()) {
    PARLANCE_TRY(const Value characters, adapted_string(context, self, kName, *bound[0]));
    return text_like(context, self,
                     std::string(strip_characters(context.budget, text, *characters.string(), side)));
  }
  return text_like(context, self,
                   std::string(side == Side::left    ? strip_left(text)
                               : side == Side::right ? strip_right(text)
                                                     : strip(text)));
}

template <bool is_prefix>
Result<Value> remove_affix(Context& context, const Value& self, const CallArguments& arguments) {
  constexpr std::string_view kName = is_prefix ? "removeprefix()" : "removesuffix()";
  PARLANCE_TRY(const auto bound, bind_arguments(kName, arguments, {"affix"}, 1));
  PARLANCE_TRY(const std::string_view affix, string_or(kName, bound[0], {}));
  std::string_view text = *self.string();
  if (is_prefix && text.starts_with(affix)) text.remove_prefix(affix.size());
  if (!is_prefix && text.ends_with(affix)) text.remove_suffix(affix.size());
  return make_text(&context.budget, std::string(text));  // safe text loses that property here
}

// ---- Splitting and joining ----

class Parts {
 public:
  Parts(Context& context, bool is_markup) : budget_(context.budget), is_markup_(is_markup) {}
  void add(std::string_view part) {
    budget_.spend(1);
    if (!budget_.exhausted()) parts_.push_back(make_text(&budget_, std::string(part), is_markup_));
  }
  size_t size() const { return parts_.size(); }
  bool failed() const { return budget_.exhausted(); }
  Result<Value> finish(bool reversed = false, Sequence::Kind kind = Sequence::Kind::list) {
    if (budget_.exhausted()) return budget_.error();
    if (reversed) std::reverse(parts_.begin(), parts_.end());
    return make_sequence(&budget_, std::move(parts_), kind);
  }

 private:
  Budget& budget_;
  const bool is_markup_;
  std::vector<Value> parts_;
};

// At runs of white space, which are dropped also at both ends.
void split_words(std::string_view text, size_t max_splits, Parts& parts) {
  for (text = strip_left(text); !text.empty() && !parts.failed(); text = strip_left(text)) {
    if (parts.size() == max_splits) return parts.add(text);
    size_t end = 0;
    for (size_t at = 0; at < text.size(); end = at) {
      if (is_space(next_code_point(text, at))) break;
    }
    parts.add(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void split_words_backward(std::string_view text, size_t max_splits, Parts& parts) {
  for (text = strip_right(text); !text.empty() && !parts.failed(); text = strip_right(text)) {
    if (parts.size() == max_splits) return parts.add(text);
    size_t begin = text.size();
    for (size_t at = begin; at > 0; begin = at) {
      if (is_space(previous_code_point(text, at))) break;
    }
    parts.add(text.substr(begin));
    text.remove_suffix(text.size() - begin);
  }
}

template <bool is_backward>
Result<Value> split_method(Context& context, const Value& self, const CallArguments& arguments) {
  constexpr std::string_view kName = is_backward ? "rsplit()" : "split()";
  PARLANCE_TRY(const auto bound, bind_arguments(kName, arguments, {"sep", "maxsplit"}));
  PARLANCE_TRY(const int64_t limit, integer_or(kName, bound[1], -1));
  const size_t max_splits = limit < 0 ? SIZE_MAX : static_cast<size_t>(limit);
  std::string_view text = *self.string();
  Parts parts(context, self.is_markup());
  if (!bound[0] || bound[0]->is_none()) {
    context.budget.spend_on_characters(text.size());
    if (is_backward) {
      split_words_backward(text, max_splits, parts);
    } else {
      split_words(text, max_splits, parts);
    }
    return parts.finish(is_backward);
  }
  PARLANCE_TRY(const std::string_view separator, string_or(kName, bound[0], {}));
  if (separator.empty()) return fail(ErrorCode::invalid_argument, "{} was given an empty separator", kName);
  const Finder finder(context.budget, separator,
                      is_backward ? Finder::Direction::backward : Finder::Direction::forward);
  while (parts.size() < max_splits && !parts.failed()) {
    const size_t found = is_backward ? finder.rfind(text, text.size()) : finder.find(text);
    if (found == std::string_view::npos) break;
    if (is_backward) {
      parts.add(text.substr(found + separator.size()));
      text = text.substr(0, found);
    } else {
      parts.add(text.substr(0, found));
      text.remove_prefix(found + separator.size());
    }
  }
  parts.add(text);
  return parts.finish(is_backward);
}

template <bool is_backward>
Result<Value> partition_method(Context& context, const Value& self, const CallArguments& arguments) {
  constexpr std::string_view kName = is_backward ? "rpartition()" : "partition()";
  PARLANCE_TRY(const auto bound, bind_arguments(kName, arguments, {"sep"}, 1));
  PARLANCE_TRY(const Value adapted_separator, adapted_string(context, self, kName, *bound[0]));
  const std::string_view separator = *adapted_separator.string(), text = *self.string();
  if (separator.empty()) return fail(ErrorCode::invalid_argument, "{} was given an empty separator", kName);
  const Finder finder(context.budget, separator,
                      is_backward ? Finder::Direction::backward : Finder::Direction::forward);
  const size_t found = is_backward ? finder.rfind(text, text.size()) : finder.find(text);
  Parts parts(context, self.is_markup());
  if (found != std::string_view::npos) {
    parts.add(text.substr(0, found));
    parts.add(separator);
    parts.add(text.substr(found + separator.size()));
  } else {
    parts.add(is_backward ? std::string_view() : text);
    parts.add({});
    parts.add(is_backward ? text : std::string_view());
  }
  return parts.finish(false, Sequence::Kind::tuple);
}

Result<Value> split_lines(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("splitlines()", arguments, {"keepends"}));
  const bool keeps_ends = truth_or(bound[0], false);
  context.budget.spend_on_characters(self.string()->size());
  Parts parts(context, self.is_markup());
  const std::string_view text = *self.string();
  for (size_t at = 0; at < text.size() && !parts.failed();) {
    const size_t begin = at;
    const Line line = next_line(text, at);
    parts.add(keeps_ends ? text.substr(begin, at - begin) : line.text);
  }
  return parts.finish();
}

Result<Value> join(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("join()", arguments, {"iterable"}, 1));
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, *bound[0]));
  context.budget.spend(elements->items.size());
  Writer writer(context.budget);
  bool first = true;
  for (const Value& element : elements->items) {
    if (writer.failed()) break;
    if (!first) writer.append(*self.string());
    first = false;
    if (self.is_markup()) {
      PARLANCE_TRY(const Value escaped, escape_html(context.budget, element));
      writer.append(*escaped.string());
    } else if (const std::string* string = element.string()) {
      writer.append(*string);
    } else {
      return wrong_type("join()", "strings", element);
    }
  }
  return writer.finish_text(self.is_markup());
}

// ---- Searching ----

// The part of the text that optional arguments `start` and `end` name, in bytes; empty when start lies behind
// end.
Result<std::optional<std::pair<size_t, size_t>>> searched_part(std::string_view method, std::string_view text,
                                                               Bound start_given, Bound end_given) {
  if (!start_given && !end_given) return std::pair<size_t, size_t>(0, text.size());
  if (start_given && start_given->is_none()) start_given = nullptr;
  if (end_given && end_given->is_none()) end_given = nullptr;
  PARLANCE_TRY(const int64_t start, integer_or(method, start_given, 0));
  PARLANCE_TRY(const int64_t end, integer_or(method, end_given, INT64_MAX));
  const size_t size = count_code_points(text);
  const auto [first, last] = resolve_range(start, end, size);
  if (first > last || start > static_cast<int64_t>(size)) return std::nullopt;
  return std::pair(offset_of_code_point(text, first), offset_of_code_point(text, last));
}

template <bool is_prefix>
Result<Value> has_affix(Context& context, const Value& self, const CallArguments& arguments) {
  constexpr std::string_view kName = is_prefix ? "startswith()" : "endswith()";
  PARLANCE_TRY(const auto bound, bind_arguments(kName, arguments, {"affix", "start", "end"}, 1));
  context.budget.spend_on_bytes(bound[1] ? self.string()->size() : 0);
  PARLANCE_TRY(const auto part, searched_part(kName, *self.string(), bound[1], bound[2]));
  const auto matches = [&](const std::string& affix) {
    if (!part) return false;
    const std::string_view text =
        std::string_view(*self.string()).substr(part->first, part->second - part->first);
    context.budget.spend_on_bytes(affix.size());
    return is_prefix ? text.starts_with(affix) : text.ends_with(affix);
  };
  if (const std::string* affix = bound[0]->string()) return Value::boolean(matches(*affix));
  const Sequence* tuple = bound[0]->sequence();
  if (!tuple || !tuple->is_tuple()) return wrong_type(kName, "a string or a tuple of strings", *bound[0]);
  for (const Value& item : tuple->items) {
    if (!item.string()) return wrong_type(kName, "a string or a tuple of strings", item);
    if (matches(*item.string())) return Value::boolean(true);
  }
  return Value::boolean(false);
}

template <bool is_backward, bool must_exist>
Result<Value> find_text(Context& context, const Value& self, const CallArguments& arguments) {
  constexpr std::string_view kName =
      must_exist ? (is_backward ? "rindex()" : "index()") : (is_backward ? "rfind()" : "find()");
  PARLANCE_TRY(const auto bound, bind_arguments(kName, arguments, {"sub", "start", "end"}, 1));
  PARLANCE_TRY(const std::string_view wanted, string_or(kName, bound[0], {}));
  const std::string_view text = *self.string();
  context.budget.spend_on_bytes(text.size());
  PARLANCE_TRY(const auto part, searched_part(kName, text, bound[1], bound[2]));
  size_t found = std::string_view::npos;
  if (part) {
    const Finder finder(context.budget, wanted,
                        is_backward ? Finder::Direction::backward : Finder::Direction::forward);
    const std::string_view searched = text.substr(part->first, part->second - part->first);
    found = is_backward ? finder.rfind(searched, searched.size()) : finder.find(searched);
    if (found != std::string_view::npos) found += part->first;
  }
  if (found != std::string_view::npos) {
    return Value::integer(static_cast<int64_t>(count_code_points(text.substr(0, found))));
  }
  if (must_exist)
    return fail(ErrorCode::invalid_argument, "{}: the text does not contain what was looked for", kName);
  return Value::integer(-1);
}

Result<Value> count(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("count()", arguments, {"sub", "start", "end"}, 1));
  PARLANCE_TRY(const std::string_view wanted, string_or("count()", bound[0], {}));
  context.budget.spend_on_bytes(self.string()->size());
  PARLANCE_TRY(const auto part, searched_part("count()", *self.string(), bound[1], bound[2]));
  if (!part) return Value::integer(0);
  const std::string_view text =
      std::string_view(*self.string()).substr(part->first, part->second - part->first);
  if (wanted.empty()) return Value::integer(static_cast<int64_t>(count_code_points(text)) + 1);
  const Finder finder(context.budget, wanted);
  int64_t n = 0;
  for (size_t at = 0; (at = finder.find(text, at)) != std::string_view::npos; at += wanted.size()) ++n;
  return Value::integer(n);
}

Result<Value> replace(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("replace()", arguments, {"old", "new", "count"}, 2));
  PARLANCE_TRY(const Value old_text, adapted_string(context, self, "replace()", *bound[0]));
  PARLANCE_TRY(const Value new_text, adapted_string(context, self, "replace()", *bound[1]));
  PARLANCE_TRY(const int64_t limit, integer_or("replace()", bound[2], -1));
  Writer writer(context.budget);
  write_replaced(writer, *self.string(), *old_text.string(), *new_text.string(), limit);
  return writer.finish_text(self.is_markup());
}

// ---- Padding ----

enum class Align { left, right, centre };

template <Align align>
Result<Value> pad(Context& context, const Value& self, const CallArguments& arguments) {
  constexpr std::string_view kName = align == Align::left    ? "ljust()"
                                     : align == Align::right ? "rjust()"
                                                             : "center()";
  PARLANCE_TRY(const auto bound, bind_arguments(kName, arguments, {"width", "fillchar"}, 1));
  PARLANCE_TRY(const int64_t width, integer_or(kName, bound[0], 0));
  PARLANCE_TRY(const std::string_view fill, string_or(kName, bound[1], " "));
  if (count_code_points(fill) != 1) {
    return fail(ErrorCode::invalid_argument, "{} fills with one character, found {}", kName,
                count_code_points(fill));
  }
  const int64_t length = static_cast<int64_t>(count_code_points(*self.string()));
  const size_t missing = width > length ? static_cast<size_t>(width - length) : 0;
  // Where the padding is odd, Python puts the extra character to the left of an odd width.
  const size_t left = align == Align::left    ? 0
                      : align == Align::right ? missing
                                              : missing / 2 + (missing & static_cast<size_t>(width) & 1);
  Writer writer(context.budget);
  if (!context.budget.has_room(missing > SIZE_MAX / 4 ? SIZE_MAX : missing * fill.size())) {
    return context.budget.error();
  }
  for (size_t i = 0; i < left; ++i) writer.append(fill);
  writer.append(*self.string());
  for (size_t i = left; i < missing; ++i) writer.append(fill);
  return writer.finish_text(self.is_markup());
}

Result<Value> zero_fill(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("zfill()", arguments, {"width"}, 1));
  PARLANCE_TRY(const int64_t width, integer_or("zfill()", bound[0], 0));
  const std::string_view text = *self.string();
  const int64_t length = static_cast<int64_t>(count_code_points(text));
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  Writer writer(context.budget);
  writer.append(text.substr(0, sign));
  if (width > length) writer.append(static_cast<size_t>(width - length), '0');
  writer.append(text.substr(sign));
  return writer.finish_text(self.is_markup());
}

// ---- Questions ----

template <bool (*belongs)(char32_t)>
Result<Value> all_characters(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("a method that asks for a kind of characters", arguments));
  const std::string_view text = *self.string();
  context.budget.spend_on_characters(text.size());
  for (size_t at = 0; at < text.size();) {
    if (!belongs(next_code_point(text, at))) return Value::boolean(false);
  }
  return Value::boolean(!text.empty());
}

bool is_letter_or_number(char32_t c) {
  return is_letter(c) || is_number(c);
}

Result<Value> is_ascii(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("isascii()", arguments));
  context.budget.spend_on_bytes(self.string()->size());
  const std::string& text = *self.string();
  return Value::boolean(
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
}

template <bool wants_upper>
Result<Value> is_case(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments(wants_upper ? "isupper()" : "islower()", arguments));
  context.budget.spend_on_characters(self.string()->size());
  return Value::boolean(has_only_case(*self.string(), wants_upper));
}

Result<Value> format(Context& context, const Value& self, const CallArguments& arguments) {
  return format_braces(context.budget, self, arguments);
}

constexpr Method kStringMethods[] = {
    {"capitalize", convert_case<capitalise>},
    {"center", pad<Align::centre>},
    {"count", count},
    {"endswith", has_affix<false>},
    {"find", find_text<false, false>},
    {"format", format},
    {"index", find_text<false, true>},
    {"isalnum", all_characters<is_letter_or_number>},
    {"isalpha", all_characters<is_letter>},
    {"isascii", is_ascii},
    {"isdecimal", all_characters<is_decimal>},
    {"isdigit", all_characters<is_digit>},
    {"islower", is_case<false>},
    {"isspace", all_characters<is_space>},
    {"isupper", is_case<true>},
    {"join", join},
    {"ljust", pad<Align::left>},
    {"lower", convert_case<lower>},
    {"lstrip", strip_method<Side::left>},
    {"partition", partition_method<false>},
    {"removeprefix", remove_affix<true>},
    {"removesuffix", remove_affix<false>},
    {"replace", replace},
    {"rfind", find_text<true, false>},
    {"rindex", find_text<true, true>},
    {"rjust", pad<Align::right>},
    {"rpartition", partition_method<true>},
    {"rsplit", split_method<true>},
    {"rstrip", strip_method<Side::right>},
    {"split", split_method<false>},
    {"splitlines", split_lines},
    {"startswith", has_affix<true>},
    {"strip", strip_method<Side::both>},
    {"swapcase", convert_case<swap_case>},
    {"title", convert_case<title>},
    {"upper", convert_case<upper>},
    {"zfill", zero_fill},
};

}  // namespace

std::span<const Method> string_methods() {
  return kStringMethods;
}

}  // namespace parlance::jinja
