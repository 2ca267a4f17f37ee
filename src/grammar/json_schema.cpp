#include "grammar/json_schema.h"

#include <algorithm>

namespace parlance {

namespace {

// Of alternatives beside other words, and of references that are joined with others, each use is written out.
constexpr size_t kMostExpansions = 2'000;

// Words that say what a schema is for, and nothing of values.
constexpr std::string_view kRemarks[] = {"title",    "description", "default",  "examples",
                                         "$schema",  "$id",         "$comment", "deprecated",
                                         "readOnly", "writeOnly",   "$defs",    "definitions"};
constexpr std::string_view kWords[] = {
    "type",    "enum",        "const",    "properties", "required",         "additionalProperties",
    "items",   "prefixItems", "minItems", "maxItems",   "minLength",        "maxLength",
    "pattern", "format",      "minimum",  "maximum",    "exclusiveMinimum", "exclusiveMaximum",
    "anyOf",   "oneOf",       "allOf",    "$ref",       "nullable"};

bool is_in(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

Result<void> SchemaCompiler::check_words(Id schema, const std::string& place) const {
  if (tree_[schema].kind == Kind::boolean) return {};
  if (tree_[schema].kind != Kind::object)
    return refuse(ErrorCode::invalid_argument, place, "a schema is an object, true or false");
  for (const auto& [word, value] : tree_[schema].members) {
    if (is_in(word, kWords) || is_in(word, kRemarks)) continue;
    return refuse(ErrorCode::unsupported, pointer_to(place, word),
                  "\"{}\" is not supported; leave it out, or say the same with others", word);
  }
  return {};
}

// Whether a part has words of its own that values must satisfy.
bool SchemaCompiler::says_something(const Part& part) const {
  if (part.is_ref || tree_[part.schema].kind == Kind::boolean) return true;
  return std::ranges::any_of(tree_[part.schema].members, [&](const auto& member) {
    const std::string& word = member.first;
    if (word == "$ref" || word == "allOf" || is_in(word, kRemarks)) return false;
    return !(part.has_chosen && (word == "anyOf" || word == "oneOf"));
  });
}

Result<void> SchemaCompiler::collect(Id schema, const std::string& place, const std::string& origin,
                                     Parts& parts) {
  PARLANCE_CHECK(check_words(schema, place));
  const Part own{.schema = schema, .place = place, .origin = origin};
  if (says_something(own)) parts.push_back(own);
  if (tree_[schema].kind != Kind::object) return {};
  if (tree_.member(schema, "$ref")) {
    Part ref = own;
    ref.is_ref = true;
    if (ref.origin.empty()) ref.origin = pointer_to(place, "$ref");
    parts.push_back(std::move(ref));
  }
  const auto all_of = tree_.member(schema, "allOf");
  if (!all_of) return {};
  const std::string all_place = pointer_to(place, "allOf");
  const std::vector<Id>& branches = tree_[*all_of].elements;
  if (branches.empty()) return refuse(ErrorCode::invalid_argument, all_place, "expected an array of schemas");
  if (branches.size() > kMostBranches) {
    return refuse(ErrorCode::too_complex, all_place, "{} schemas are too many, at most {} are taken",
                  branches.size(), kMostBranches);
  }
  for (size_t i = 0; i < branches.size(); ++i) {
    PARLANCE_CHECK(collect(branches[i], pointer_to(all_place, std::to_string(i)),
                           origin.empty() ? all_place : origin, parts));
  }
  return {};
}

Result<std::pair<SchemaCompiler::Id, std::string>> SchemaCompiler::target_of(const Part& part) const {
  const std::string place = pointer_to(part.place, "$ref");
  const SchemaTree::Value& value = tree_[*tree_.member(part.schema, "$ref")];
  if (value.kind != Kind::string ||
      (!value.text.empty() && value.text != "#" && !value.text.starts_with("#/"))) {
    return refuse(ErrorCode::unsupported, place,
                  "only references inside the schema are followed: #, #/$defs/…, #/definitions/…");
  }
  const auto target = tree_.find(value.text.empty() ? "#" : value.text);
  if (!target) return refuse(ErrorCode::invalid_argument, place, "there is nothing at {}", value.text);
  return std::pair(*target, value.text.substr(std::min<size_t>(1, value.text.size())));
}

Result<RuleId> SchemaCompiler::rule_of_ref(const Part& part) {
  PARLANCE_TRY(const auto target, target_of(part));
  const auto [found, is_new] = ref_rules_.try_emplace(target.second, 0);
  if (is_new) {
    found->second = rules_.add_rule("the schema at #" + target.second);
    pending_.push_back({found->second, target.first, target.second});
  }
  return found->second;
}

// Puts the schemas that references name in their place.
Result<void> SchemaCompiler::resolve_refs(Parts& parts) {
  for (size_t i = 0, n_resolved = 0; i < parts.size();) {
    if (!parts[i].is_ref) {
      ++i;
      continue;
    }
    const Part ref = parts[i];
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(i));
    PARLANCE_TRY(const auto target, target_of(ref));
    if (++n_resolved > kMostBranches) {
      return refuse(ErrorCode::invalid_argument, pointer_to(ref.place, "$ref"),
                    "the reference leads to itself, or through too many others");
    }
    if (++n_expanded_ > kMostExpansions)
      return refuse(ErrorCode::too_complex, ref.origin, "there are too many references in allOf");
    Parts found;
    PARLANCE_CHECK(collect(target.first, target.second, ref.origin, found));
    parts.insert(parts.begin() + static_cast<ptrdiff_t>(i), found.begin(), found.end());
  }
  return {};
}

// A text for one of the branches of anyOf or oneOf, and for all other parts.
Result<void> SchemaCompiler::add_choice(const Parts& parts, size_t chosen, State from, State to) {
  const Part& part = parts[chosen];
  const auto any_of = tree_.member(part.schema, "anyOf"), one_of = tree_.member(part.schema, "oneOf");
  const std::string place = pointer_to(part.place, any_of ? "anyOf" : "oneOf");
  if (any_of && one_of)
    return refuse(ErrorCode::unsupported, pointer_to(part.place, "oneOf"),
                  "\"oneOf\" beside \"anyOf\" is not supported");
  const std::vector<Id>& branches = tree_[any_of ? *any_of : *one_of].elements;
  if (branches.empty()) return refuse(ErrorCode::invalid_argument, place, "expected an array of schemas");
  if (branches.size() > kMostBranches) {
    return refuse(ErrorCode::too_complex, place, "{} alternatives are too many, at most {} are taken",
                  branches.size(), kMostBranches);
  }
  Parts others = parts;
  others[chosen].has_chosen = true;
  std::erase_if(others, [&](const Part& other) { return !says_something(other); });
  for (size_t i = 0; i < branches.size() && !rules_.is_too_large(); ++i) {
    const std::string branch_place = pointer_to(place, std::to_string(i));
    const State begin = rules_.add_state();
    rules_.jump(from, begin);
    if (others.empty()) {
      PARLANCE_CHECK(add_schema(branches[i], branch_place, begin, to));
      continue;
    }
    if (++n_expanded_ > kMostExpansions)
      return refuse(ErrorCode::too_complex, place, "there are too many alternatives beside other words");
    Parts together = others;
    PARLANCE_CHECK(collect(branches[i], branch_place, place, together));
    PARLANCE_CHECK(add_parts(std::move(together), begin, to));
  }
  return {};
}

// Texts that satisfy all parts.
Result<void> SchemaCompiler::add_parts(Parts parts, State from, State to) {
  if (parts.size() == 1 && parts[0].is_ref) {
    PARLANCE_TRY(const RuleId rule, rule_of_ref(parts[0]));
    rules_.call(from, rule, to);
    return {};
  }
  PARLANCE_CHECK(resolve_refs(parts));
  const auto is_boolean = [&](const Part& part) { return tree_[part.schema].kind == Kind::boolean; };
  const bool is_never = std::ranges::any_of(
      parts, [&](const Part& part) { return is_boolean(part) && !tree_[part.schema].truth; });
  if (is_never) return {};
  std::erase_if(parts, is_boolean);
  if (parts.empty()) {
    call_any_value(from, to);
    return {};
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool has_choice = tree_.member(parts[i].schema, "anyOf") || tree_.member(parts[i].schema, "oneOf");
    if (has_choice && !parts[i].has_chosen) return add_choice(parts, i, from, to);
  }
  if (parts.size() == 1) return add_plain(parts[0], from, to);
  for (const Part& part : parts) {
    PARLANCE_TRY(const unsigned kinds, kinds_of(part));
    const bool has_values = tree_.member(part.schema, "enum") || tree_.member(part.schema, "const");
    if (kinds == kObject && !has_values) continue;
    const std::string& origin = part.origin.empty() ? parts.back().origin : part.origin;
    return refuse(ErrorCode::unsupported, origin,
                  "only schemas of objects are joined with others; write what holds for both in one schema");
  }
  return add_object(parts, from, to);
}

Result<void> SchemaCompiler::add_schema(Id schema, const std::string& place, State from, State to) {
  Parts parts;
  PARLANCE_CHECK(collect(schema, place, {}, parts));
  return add_parts(std::move(parts), from, to);
}

Result<RuleId> SchemaCompiler::add() {
  const RuleId root = rules_.add_rule("the schema");
  ref_rules_.emplace("", root);
  pending_.push_back({root, tree_.root(), ""});
  for (size_t i = 0; i < pending_.size() && !rules_.is_too_large(); ++i) {
    const Pending next = pending_[i];
    const auto [start, end] = rules_.of(next.rule);
    PARLANCE_CHECK(add_schema(next.schema, next.place, start, end));
  }
  return root;
}

Result<RuleId> add_json_schema(std::string_view text, Rules& rules) {
  if (text.size() > kMostGrammarBytes) {
    return fail(ErrorCode::too_complex, "{}: {} bytes are too many, at most {} are taken",
                Parameter::json_schema, text.size(), kMostGrammarBytes);
  }
  auto tree = SchemaTree::parse(text);
  if (!tree) return fail(tree.error().code, "{}: {}", Parameter::json_schema, tree.error().message);
  return SchemaCompiler(*std::move(tree), rules).add();
}

Result<std::shared_ptr<const Grammar>> Grammar::from_json_schema(std::string_view text) {
  Rules rules;
  PARLANCE_TRY(const RuleId root, add_json_schema(text, rules));
  return rules.compile(root, Parameter::json_schema);
}

}  // namespace parlance
