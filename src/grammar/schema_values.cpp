#include <algorithm>

#include "grammar/json_schema.h"
#include "grammar/regex.h"
#include "grammar/schema_text.h"
#include "json/json.h"

namespace parlance {

namespace {

constexpr std::string_view kAnyNumber = "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?";
constexpr std::string_view kAnyInteger = "0|-?[1-9][0-9]*";

struct KindName {
  std::string_view name;
  unsigned kind;
};

}  // namespace

// What "type" says; without it, the kinds that the other words speak of.
Result<unsigned> SchemaCompiler::kinds_of(const Part& part) const {
  static constexpr KindName kTypes[] = {
      {"null", kNull},       {"boolean", kBoolean}, {"string", kString}, {"number", kNumber | kInteger},
      {"integer", kInteger}, {"array", kArray},     {"object", kObject}};
  static constexpr KindName kWordsOf[] = {{"minLength", kString},
                                          {"maxLength", kString},
                                          {"pattern", kString},
                                          {"format", kString},
                                          {"minimum", kNumber | kInteger},
                                          {"maximum", kNumber | kInteger},
                                          {"exclusiveMinimum", kNumber | kInteger},
                                          {"exclusiveMaximum", kNumber | kInteger},
                                          {"items", kArray},
                                          {"prefixItems", kArray},
                                          {"minItems", kArray},
                                          {"maxItems", kArray},
                                          {"properties", kObject},
                                          {"required", kObject},
                                          {"additionalProperties", kObject}};
  unsigned kinds = 0;
  if (const auto type = tree_.member(part.schema, "type")) {
    std::vector<Id> names = tree_[*type].elements;
    if (tree_[*type].kind == Kind::string) names = {*type};
    for (const Id name : names) {
      const auto found = std::ranges::find(kTypes, tree_[name].text, &KindName::name);
      if (found == std::end(kTypes) || tree_[name].kind != Kind::string) names.clear();
      if (names.empty()) break;
      kinds |= found->kind;
    }
    if (names.empty()) {
      return refuse(ErrorCode::invalid_argument, pointer_to(part.place, "type"),
                    "a type is null, boolean, string, number, integer, array, object, or an array of these");
    }
  } else {
    for (const auto& [word, kind] : kWordsOf) {
      const auto value = tree_.member(part.schema, word);
      if (value && (word != "format" || expression_of_format(tree_[*value].text))) kinds |= kind;
    }
    if (kinds == 0) kinds = kAnyKind;
  }
  if (const auto nullable = tree_.member(part.schema, "nullable"); nullable && tree_[*nullable].truth)
    kinds |= kNull;
  return kinds;
}

Result<void> SchemaCompiler::add_plain(const Part& part, State from, State to) {
  const auto constant = tree_.member(part.schema, "const"), values = tree_.member(part.schema, "enum");
  if (constant) return add_constants(part, {*constant}, from, to);
  if (values) return add_constants(part, tree_[*values].elements, from, to);
  PARLANCE_TRY(const unsigned kinds, kinds_of(part));
  if (kinds == kAnyKind) {
    call_any_value(from, to);
    return {};
  }
  const auto begin = [&] {  // of one kind's texts
    const State state = rules_.add_state();
    rules_.jump(from, state);
    return state;
  };
  if (kinds & kNull) rules_.text(begin(), "null", to);
  if (kinds & kBoolean) {
    rules_.text(begin(), "true", to);
    rules_.text(begin(), "false", to);
  }
  if (kinds & kString) PARLANCE_CHECK(add_string(part, begin(), to));
  if (kinds & (kNumber | kInteger)) PARLANCE_CHECK(add_number(part, !(kinds & kNumber), begin(), to));
  if (kinds & kArray) PARLANCE_CHECK(add_array(part, begin(), to));
  if (kinds & kObject) PARLANCE_CHECK(add_object({part}, begin(), to));
  return {};
}

// ---- Constants ----

Result<void> SchemaCompiler::add_constants(const Part& part, const std::vector<Id>& values, State from,
                                           State to) {
  const std::string place = pointer_to(part.place, "enum");
  if (values.empty()) return refuse(ErrorCode::invalid_argument, place, "expected an array of values");
  if (values.size() > kMostEnumValues) {
    return refuse(ErrorCode::too_complex, place, "{} values are too many, at most {} are taken",
                  values.size(), kMostEnumValues);
  }
  PARLANCE_TRY(unsigned kinds, kinds_of(part));
  if (!tree_.member(part.schema, "type")) kinds = kAnyKind;
  for (const Id value : values) {
    PARLANCE_TRY(const bool is_good, satisfies(value, part, kinds));
    if (is_good) add_constant(value, from, to);
  }
  return {};
}

// Whether a value of "enum" or "const" is also what the other words ask for.
Result<bool> SchemaCompiler::satisfies(Id value, const Part& part, unsigned kinds) {
  const SchemaTree::Value& v = tree_[value];
  switch (v.kind) {
    case Kind::null:
      return (kinds & kNull) != 0;
    case Kind::boolean:
      return (kinds & kBoolean) != 0;
    case Kind::string: {
      if (!(kinds & kString)) return false;
      PARLANCE_TRY(const std::optional<Dfa> texts, string_automaton(part));
      return !texts || accepts_text(*texts, v.text);
    }
    case Kind::number: {
      const auto number = parse_decimal(v.text);
      if (!number || !(kinds & (number->fraction.empty() ? kInteger : kNumber))) return false;
      PARLANCE_TRY(const NumberBounds bounds, bounds_of(part));
      if (bounds.least && (compare(*number, *bounds.least) < 0 ||
                           (bounds.excludes_least && compare(*number, *bounds.least) == 0)))
        return false;
      return !bounds.most || compare(*number, *bounds.most) < 0 ||
             (!bounds.excludes_most && compare(*number, *bounds.most) == 0);
    }
    case Kind::array:
    case Kind::object:
      for (const std::string_view word : {"properties", "required", "additionalProperties", "items",
                                          "prefixItems", "minItems", "maxItems"}) {
        if (tree_.member(part.schema, word)) {
          return refuse(ErrorCode::unsupported, pointer_to(part.place, word),
                        "\"{}\" beside constant arrays or objects is not supported; leave it out", word);
        }
      }
      return (kinds & (v.kind == Kind::array ? kArray : kObject)) != 0;
  }
  return false;
}

// Calls itself as deeply as JSON may be nested, which its reader bounds.
void SchemaCompiler::add_constant(Id value, State from, State to) {
  const SchemaTree::Value& v = tree_[value];
  if (v.kind == Kind::null) return rules_.text(from, "null", to);
  if (v.kind == Kind::boolean) return rules_.text(from, v.truth ? "true" : "false", to);
  if (v.kind == Kind::number) return rules_.text(from, v.text, to);
  if (v.kind == Kind::string) return rules_.text(from, Json(v.text).line(), to);
  const bool is_array = v.kind == Kind::array;
  State at = rules_.add_state();
  rules_.text(from, is_array ? "[" : "{", at);
  const size_t n = is_array ? v.elements.size() : v.members.size();
  for (size_t i = 0; i < n; ++i) {
    State begin = at;
    if (i > 0) {
      begin = rules_.add_state();
      add_mark(',', at, begin);
    }
    if (!is_array) {
      const State behind_key = rules_.add_state();
      add_key(v.members[i].first, begin, behind_key);
      begin = behind_key;
    }
    at = rules_.add_state();
    add_constant(is_array ? v.elements[i] : v.members[i].second, begin, at);
  }
  rules_.text(at, is_array ? "]" : "}", to);
}

// ---- Strings ----

// What "pattern" and "format" let through, and lengths beside them; none when there are neither, or lengths
// alone.
Result<std::optional<Dfa>> SchemaCompiler::string_automaton(const Part& part) {
  std::optional<Dfa> texts;
  const auto narrow = [&](Dfa to, std::string_view word) -> Result<void> {
    texts = texts ? intersection(*texts, to, rules_.budget()) : std::move(to);
    if (texts) texts = minimised(*texts, rules_.budget());
    if (texts) return {};
    return refuse(ErrorCode::too_complex, pointer_to(part.place, word),
                  "together with the other words of the schema it needs too many states");
  };
  if (const auto pattern = tree_.member(part.schema, "pattern")) {
    const std::string place = pointer_to(part.place, "pattern");
    if (tree_[*pattern].kind != Kind::string)
      return refuse(ErrorCode::invalid_argument, place, "expected a regular expression");
    PARLANCE_TRY(Dfa dfa, parse_regex(tree_[*pattern].text, RegexMatch::anywhere,
                                      mark_of(Parameter::json_schema, place), rules_.budget()));
    PARLANCE_CHECK(narrow(std::move(dfa), "pattern"));
  }
  const auto format = tree_.member(part.schema, "format");
  const auto expression = format ? expression_of_format(tree_[*format].text) : std::nullopt;
  if (expression) {
    PARLANCE_TRY(Dfa dfa, parse_regex(*expression, RegexMatch::whole,
                                      mark_of(Parameter::json_schema, pointer_to(part.place, "format")),
                                      rules_.budget()));
    PARLANCE_CHECK(narrow(std::move(dfa), "format"));
  }
  PARLANCE_TRY(const auto least, count_word(part, "minLength"));
  PARLANCE_TRY(const auto most, count_word(part, "maxLength"));
  const bool is_constant = tree_.member(part.schema, "enum") || tree_.member(part.schema, "const");
  if ((least || most) && (texts || is_constant))
    PARLANCE_CHECK(narrow(texts_of_length(least.value_or(0), most.value_or(kNoLimit)),
                          most ? "maxLength" : "minLength"));
  return texts;
}

Result<void> SchemaCompiler::add_string(const Part& part, State from, State to) {
  PARLANCE_TRY(const std::optional<Dfa> texts, string_automaton(part));
  PARLANCE_TRY(const auto least, count_word(part, "minLength"));
  PARLANCE_TRY(const auto most, count_word(part, "maxLength"));
  if (!texts && !least && !most) {
    call_any_string(from, to);
    return {};
  }
  const State begin = rules_.add_state(), end = rules_.add_state();
  rules_.text(from, "\"", begin);
  rules_.text(end, "\"", to);
  if (texts) {
    rules_.texts_of(*texts, begin, Encoding::json_string, end);
  } else if (least.value_or(0) <= most.value_or(kNoLimit)) {
    if (!string_character_) {
      string_character_ = rules_.add_rule();
      const auto [first, last] = rules_.of(*string_character_);
      rules_.code_points(first, CodePointSet::all(), Encoding::json_string, last);
    }
    rules_.call(begin, rules_.add_repeat(*string_character_, least.value_or(0), most.value_or(kNoLimit)),
                end);
  }
  return {};
}

// ---- Numbers ----

Result<std::optional<uint32_t>> SchemaCompiler::count_word(const Part& part, std::string_view word) const {
  const auto value = tree_.member(part.schema, word);
  if (!value) return std::nullopt;
  const std::string place = pointer_to(part.place, word);
  const auto number = tree_[*value].kind == Kind::number ? parse_decimal(tree_[*value].text) : std::nullopt;
  if (!number || number->is_negative || !number->fraction.empty())
    return refuse(ErrorCode::invalid_argument, place, "expected a whole number that is not negative");
  if (number->whole.size() > 9 || std::stoul(number->whole) > kMostRepeats) {
    return refuse(ErrorCode::too_complex, place, "{} is too many, at most {} are counted", number->whole,
                  kMostRepeats);
  }
  return static_cast<uint32_t>(std::stoul(number->whole));
}

Result<std::optional<Decimal>> SchemaCompiler::number_word(const Part& part, std::string_view word) const {
  const auto value = tree_.member(part.schema, word);
  if (!value) return std::nullopt;
  auto number = tree_[*value].kind == Kind::number ? parse_decimal(tree_[*value].text) : std::nullopt;
  if (!number) {
    return refuse(ErrorCode::invalid_argument, pointer_to(part.place, word),
                  "expected a number of a few hundred digits at most");
  }
  return number;
}

// The narrower one of bounds that include and exclude their number.
Result<NumberBounds> SchemaCompiler::bounds_of(const Part& part) const {
  NumberBounds bounds;
  PARLANCE_TRY(bounds.least, number_word(part, "minimum"));
  PARLANCE_TRY(bounds.most, number_word(part, "maximum"));
  PARLANCE_TRY(const auto above, number_word(part, "exclusiveMinimum"));
  PARLANCE_TRY(const auto below, number_word(part, "exclusiveMaximum"));
  if (above && (!bounds.least || compare(*above, *bounds.least) >= 0)) {
    bounds.least = above;
    bounds.excludes_least = true;
  }
  if (below && (!bounds.most || compare(*below, *bounds.most) <= 0)) {
    bounds.most = below;
    bounds.excludes_most = true;
  }
  return bounds;
}

Result<void> SchemaCompiler::add_number(const Part& part, bool integers_only, State from, State to) {
  PARLANCE_TRY(const NumberBounds bounds, bounds_of(part));
  if (bounds.least || bounds.most) {
    if (const auto dfa = minimised(numbers_within(bounds, integers_only), rules_.budget()))
      rules_.texts_of(*dfa, from, Encoding::utf8, to);
  } else {
    add_regex(integers_only ? kAnyInteger : kAnyNumber, from, to);
  }
  return {};
}

void SchemaCompiler::add_regex(std::string_view expression, State from, State to) {
  const auto dfa = parse_regex(expression, RegexMatch::whole, {}, rules_.budget());
  if (dfa) rules_.texts_of(*dfa, from, Encoding::utf8, to);  // else the budget is spent, which is reported
}

// ---- Rules that are the same in every schema ----

void SchemaCompiler::call_once(std::optional<RuleId>& rule, State from, State to,
                               const std::function<void(State start, State end)>& body) {
  if (!rule) {
    rule = rules_.add_rule();
    const auto [start, end] = rules_.of(*rule);
    body(start, end);
  }
  rules_.call(from, *rule, to);
}

void SchemaCompiler::call_any_string(State from, State to) {
  call_once(any_string_, from, to, [&](State start, State end) {
    const State inside = rules_.add_state();
    rules_.text(start, "\"", inside);
    rules_.code_points(inside, CodePointSet::all(), Encoding::json_string, inside);
    rules_.text(inside, "\"", end);
  });
}

void SchemaCompiler::call_any_object(State from, State to) {
  call_once(any_object_, from, to, [&](State start, State end) {
    const State empty = rules_.add_state(), key = rules_.add_state(), behind_key = rules_.add_state();
    const State value = rules_.add_state(), behind = rules_.add_state();
    rules_.text(start, "{", empty);
    rules_.text(empty, "}", end);
    rules_.jump(empty, key);
    call_any_string(key, behind_key);
    add_mark(':', behind_key, value);
    call_any_value(value, behind);
    add_mark(',', behind, key);
    rules_.text(behind, "}", end);
  });
}

void SchemaCompiler::call_any_value(State from, State to) {
  call_once(any_value_, from, to, [&](State start, State end) {
    for (const std::string_view word : {"null", "true", "false"}) rules_.text(start, word, end);
    add_regex(kAnyNumber, start, end);
    call_any_string(start, end);
    call_any_object(start, end);
    const State empty = rules_.add_state(), value = rules_.add_state(), behind = rules_.add_state();
    rules_.text(start, "[", empty);
    rules_.text(empty, "]", end);
    rules_.jump(empty, value);
    call_any_value(value, behind);
    add_mark(',', behind, value);
    rules_.text(behind, "]", end);
  });
}

}  // namespace parlance
