#include <algorithm>

#include "grammar/json_schema.h"
#include "grammar/schema_text.h"
#include "json/json.h"

namespace parlance {

namespace {

// An object with more optional properties than these has a rule for each.
constexpr int64_t kFewOptional = 8;

}  // namespace

void SchemaCompiler::add_mark(char mark, State from, State to) {
  const State behind = rules_.add_state();
  rules_.byte_range(from, static_cast<uint8_t>(mark), static_cast<uint8_t>(mark), behind);
  rules_.byte_range(behind, ' ', ' ', to);
  rules_.jump(behind, to);
}

void SchemaCompiler::add_key(const std::string& name, State from, State to) {
  const State behind = rules_.add_state();
  rules_.text(from, Json(name).line(), behind);
  add_mark(':', behind, to);
}

// ---- Arrays ----

Result<void> SchemaCompiler::add_array(const Part& part, State from, State to) {
  PARLANCE_TRY(const auto min_items, count_word(part, "minItems"));
  PARLANCE_TRY(const auto max_items, count_word(part, "maxItems"));
  const uint32_t least = min_items.value_or(0), most = max_items.value_or(kNoLimit);
  const auto prefix = tree_.member(part.schema, "prefixItems"), items = tree_.member(part.schema, "items");
  const std::string items_place = pointer_to(part.place, "items");
  if (items && tree_[*items].kind == Kind::array) {
    return refuse(ErrorCode::unsupported, items_place, "an array of schemas is written as \"prefixItems\"");
  }
  const std::vector<Id> first = prefix ? tree_[*prefix].elements : std::vector<Id>();
  if (first.size() > kMostProperties) {
    return refuse(ErrorCode::too_complex, pointer_to(part.place, "prefixItems"),
                  "{} items are too many, at most {} are taken", first.size(), kMostProperties);
  }
  // Behind n items, each with the comma in front of it.
  State at = rules_.add_state();
  rules_.text(from, "[", at);
  uint32_t n = 0;
  const auto end_here = [&] {
    if (n >= least && n <= most) rules_.text(at, "]", to);
  };
  const auto add_comma = [&](State behind) {
    if (n > 0) return add_mark(',', at, behind);
    rules_.jump(at, behind);
  };
  for (; n < first.size() && n < most; ++n) {
    end_here();
    const State begin = rules_.add_state(), behind = rules_.add_state();
    add_comma(begin);
    PARLANCE_CHECK(add_schema(first[n], pointer_to(pointer_to(part.place, "prefixItems"), std::to_string(n)),
                              begin, behind));
    at = behind;
  }
  end_here();
  if (n >= most) return {};
  const auto add_item = [&](State begin, State behind) -> Result<void> {
    if (items) return add_schema(*items, items_place, begin, behind);
    call_any_value(begin, behind);
    return {};
  };
  const State item = rules_.add_state(), behind = rules_.add_state();
  add_comma(item);
  if (most == kNoLimit && least <= n + 1) {  // a loop
    PARLANCE_CHECK(add_item(item, behind));
    add_mark(',', behind, item);
    rules_.text(behind, "]", to);
    return {};
  }
  // One item, and more of them with commas, which are counted.
  const RuleId one = rules_.add_rule(), another = rules_.add_rule();
  const auto [one_start, one_end] = rules_.of(one);
  PARLANCE_CHECK(add_item(one_start, one_end));
  const auto [another_start, another_end] = rules_.of(another);
  const State behind_comma = rules_.add_state();
  add_mark(',', another_start, behind_comma);
  rules_.call(behind_comma, one, another_end);
  rules_.call(item, one, behind);
  const uint32_t n_before = n + 1;
  const State end = rules_.add_state();
  const uint32_t more_least = least > n_before ? least - n_before : 0;
  const uint32_t more_most = most == kNoLimit ? kNoLimit : most - n_before;
  if (more_least <= more_most) {
    rules_.call(behind, rules_.add_repeat(another, more_least, more_most), end);
    rules_.text(end, "]", to);
  }
  return {};
}

// ---- Objects ----

// The members of an object that satisfies all parts. A name that a part does not have is for that part one of
// its other members.
Result<SchemaCompiler::Members> SchemaCompiler::members_of(const Parts& parts) const {
  Members members;
  std::map<std::string, size_t> places;  // of properties
  const auto property = [&](const std::string& name) -> Property& {
    const auto [found, is_new] = places.try_emplace(name, members.properties.size());
    if (is_new) members.properties.push_back({.name = name});
    return members.properties[found->second];
  };
  bool has_names = false;
  for (const Part& part : parts) {
    const auto properties = tree_.member(part.schema, "properties");
    if (!properties) continue;
    has_names = true;
    const std::string place = pointer_to(part.place, "properties");
    if (tree_[*properties].kind != Kind::object)
      return refuse(ErrorCode::invalid_argument, place, "expected an object of schemas");
    if (tree_[*properties].members.size() + members.properties.size() > kMostProperties) {
      return refuse(ErrorCode::too_complex, place, "there are too many properties, at most {} are taken",
                    kMostProperties);
    }
    for (const auto& [name, schema] : tree_[*properties].members)
      property(name).parts.push_back(
          {.schema = schema, .place = pointer_to(place, name), .origin = part.origin});
  }
  for (const Part& part : parts) {
    const auto required = tree_.member(part.schema, "required");
    if (!required) continue;
    has_names = true;
    const std::string place = pointer_to(part.place, "required");
    if (tree_[*required].kind != Kind::array || tree_[*required].elements.size() > kMostProperties)
      return refuse(ErrorCode::invalid_argument, place, "expected an array of at most {} names",
                    kMostProperties);
    for (const Id name : tree_[*required].elements) {
      if (tree_[name].kind != Kind::string)
        return refuse(ErrorCode::invalid_argument, place, "expected an array of names");
      property(tree_[name].text).is_required = true;
    }
  }
  if (members.properties.size() > kMostProperties) {
    return refuse(ErrorCode::too_complex, parts[0].place,
                  "there are too many properties, at most {} are taken", kMostProperties);
  }
  bool says_others = false;
  members.others.emplace();
  for (const Part& part : parts) {
    const auto others = tree_.member(part.schema, "additionalProperties");
    if (!others) continue;
    says_others = true;
    const Part other{
        .schema = *others, .place = pointer_to(part.place, "additionalProperties"), .origin = part.origin};
    members.others->push_back(other);
    const auto own = tree_.member(part.schema, "properties");
    for (Property& p : members.properties) {
      if (!own || !tree_.member(*own, p.name)) p.parts.push_back(other);
    }
  }
  if (!says_others && has_names) members.others.reset();
  return members;
}

// None where there are no others.
Result<std::optional<RuleId>> SchemaCompiler::rule_of_other_member(const Members& members) {
  if (!members.others) return std::nullopt;
  const RuleId rule = rules_.add_rule();
  const auto [from, to] = rules_.of(rule);
  const State value = rules_.add_state(), behind_key = rules_.add_state();
  if (members.properties.empty()) {
    call_any_string(from, behind_key);
  } else {
    std::vector<std::string> names;
    for (const Property& property : members.properties) names.push_back(property.name);
    const State begin = rules_.add_state(), end = rules_.add_state();
    rules_.text(from, "\"", begin);
    rules_.texts_of(texts_other_than(names), begin, Encoding::json_string, end);
    rules_.text(end, "\"", behind_key);
  }
  add_mark(':', behind_key, value);
  Parts parts;
  for (const Part& other : *members.others)
    PARLANCE_CHECK(collect(other.schema, other.place, other.origin, parts));
  PARLANCE_CHECK(add_parts(std::move(parts), value, to));
  return rule;
}

Result<void> SchemaCompiler::add_object(const Parts& parts, State from, State to) {
  PARLANCE_TRY(const Members members, members_of(parts));
  if (members.properties.empty() && members.others && members.others->empty()) {
    call_any_object(from, to);
    return {};
  }
  const State begin = rules_.add_state();
  rules_.text(from, "{", begin);
  const auto n_optional = std::ranges::count(members.properties, false, &Property::is_required);
  return n_optional > kFewOptional ? add_many_members(members, begin, to)
                                   : add_few_members(members, begin, to);
}

// A property's name and value.
Result<void> SchemaCompiler::add_member(const Property& property, State from, State to) {
  const State value = rules_.add_state();
  add_key(property.name, from, value);
  Parts parts;
  for (const Part& part : property.parts)
    PARLANCE_CHECK(collect(part.schema, part.place, property.parts.size() > 1 ? part.origin : "", parts));
  return add_parts(std::move(parts), value, to);
}

// What is behind the opening brace. Before each property nothing has been said yet, or something has, so that
// a comma comes first.
Result<void> SchemaCompiler::add_few_members(const Members& members, State from, State to) {
  State nothing = from, something = rules_.add_state();
  for (const Property& property : members.properties) {
    const State member = rules_.add_state(), still_nothing = rules_.add_state(), behind = rules_.add_state();
    rules_.jump(nothing, member);
    add_mark(',', something, member);
    PARLANCE_CHECK(add_member(property, member, behind));
    if (!property.is_required) {
      rules_.jump(nothing, still_nothing);
      rules_.jump(something, behind);
    }
    nothing = still_nothing;
    something = behind;
  }
  PARLANCE_TRY(const std::optional<RuleId> other, rule_of_other_member(members));
  add_end_of_members(other, false, nothing, to);
  add_end_of_members(other, true, something, to);
  return {};
}

// The same with a rule for what may follow each property. In one automaton, every state would have the names
// of all optional properties that are left.
Result<void> SchemaCompiler::add_many_members(const Members& members, State from, State to) {
  RuleId nothing = rules_.add_rule(), something = rules_.add_rule();
  rules_.call(from, nothing, to);
  for (const Property& property : members.properties) {
    if (rules_.n_rules() > kMostRules || rules_.is_too_large()) return {};  // which is refused afterwards
    const RuleId member = rules_.add_rule();
    PARLANCE_CHECK(add_member(property, rules_.of(member).start, rules_.of(member).end));
    const auto [nothing_start, nothing_end] = rules_.of(nothing);
    const auto [something_start, something_end] = rules_.of(something);
    nothing = rules_.add_rule();
    something = rules_.add_rule();
    const State name = rules_.add_state(), behind = rules_.add_state(), other_behind = rules_.add_state();
    rules_.call(nothing_start, member, behind);
    rules_.call(behind, something, nothing_end);
    add_mark(',', something_start, name);
    rules_.call(name, member, other_behind);
    rules_.call(other_behind, something, something_end);
    if (property.is_required) continue;
    rules_.call(nothing_start, nothing, nothing_end);
    rules_.call(something_start, something, something_end);
  }
  PARLANCE_TRY(const std::optional<RuleId> other, rule_of_other_member(members));
  add_end_of_members(other, false, rules_.of(nothing).start, rules_.of(nothing).end);
  add_end_of_members(other, true, rules_.of(something).start, rules_.of(something).end);
  return {};
}

// Members that are no properties, and the closing brace. The first of them has a comma in front of it where
// something has been said.
void SchemaCompiler::add_end_of_members(std::optional<RuleId> other, bool has_said, State from, State to) {
  rules_.text(from, "}", to);
  if (!other) return;
  const State begin = rules_.add_state(), behind = rules_.add_state();
  if (has_said) {
    add_mark(',', from, begin);
  } else {
    rules_.jump(from, begin);
  }
  rules_.call(begin, *other, behind);
  add_mark(',', behind, begin);
  rules_.text(behind, "}", to);
}

}  // namespace parlance
