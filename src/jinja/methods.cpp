#include "jinja/methods.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "jinja/access.h"

namespace parlance::jinja {

namespace {

Result<Value> dict_get(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("get()", arguments, {"key", "default"}, 1));
  PARLANCE_CHECK(check_hashable(*bound[0]));
  if (const std::string* key = bound[0]->string()) context.budget.spend_on_bytes(key->size());
  if (const Value* value = self.dict()->find(*bound[0])) return *value;
  return bound[1] ? *bound[1] : Value::none();
}

Result<Value> dict_keys(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("keys()", arguments));
  context.budget.spend(self.dict()->entries.size());
  std::vector<Value> keys;
  for (const auto& [key, value] : self.dict()->entries) keys.push_back(key);
  return make_sequence(&context.budget, std::move(keys), Sequence::Kind::keys);
}

Result<Value> dict_values(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("values()", arguments));
  context.budget.spend(self.dict()->entries.size());
  std::vector<Value> values;
  for (const auto& [key, value] : self.dict()->entries) values.push_back(value);
  return make_sequence(&context.budget, std::move(values), Sequence::Kind::values);
}

Result<Value> dict_items(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("items()", arguments));
  return make_items(context.budget, *self.dict(), Sequence::Kind::items);
}

Result<Value> copy_of(Context&, const Value& self, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("copy()", arguments));
  return self;  // nothing can change either of them
}

Result<Value> sequence_count(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("count()", arguments, {"value"}, 1));
  const auto& items = self.sequence()->items;
  return Value::integer(std::count_if(
      items.begin(), items.end(), [&](const Value& item) { return equal(context.budget, item, *bound[0]); }));
}

Result<Value> sequence_index(Context& context, const Value& self, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("index()", arguments, {"value", "start", "stop"}, 1));
  PARLANCE_TRY(const int64_t start, integer_or("index()", bound[1], 0));
  PARLANCE_TRY(const int64_t stop, integer_or("index()", bound[2], INT64_MAX));
  const auto& items = self.sequence()->items;
  const auto [begin, end] = resolve_range(start, stop, items.size());
  for (size_t i = begin; i < end; ++i) {
    if (equal(context.budget, items[i], *bound[0])) return Value::integer(static_cast<int64_t>(i));
  }
  return fail(ErrorCode::invalid_argument, "index(): the value is not in the list");
}

Result<Value> loop_cycle(Context&, const Value& self, const CallArguments& arguments) {
  if (arguments.positional.empty() || !arguments.named.empty()) {
    return fail(ErrorCode::invalid_argument, "loop.cycle() needs values, by position");
  }
  return arguments.positional[self.pointee<Loop>()->index0 % arguments.positional.size()];
}

Result<Value> loop_changed(Context& context, const Value& self, const CallArguments& arguments) {
  if (!arguments.named.empty())
    return fail(ErrorCode::invalid_argument, "loop.changed() takes values by position");
  Loop& loop = *self.pointee<Loop>();
  const bool is_same =
      loop.has_changed &&
      std::equal(arguments.positional.begin(), arguments.positional.end(), loop.last_changed.begin(),
                 loop.last_changed.end(),
                 [&](const Value& a, const Value& b) { return equal(context.budget, a, b); });
  if (is_same) return Value::boolean(false);
  if (!std::exchange(loop.has_changed, true)) context.keep(*self.shared<Loop>());
  loop.last_changed = arguments.positional;
  return Value::boolean(true);
}

constexpr Method kDictMethods[] = {
    {"get", dict_get}, {"keys", dict_keys}, {"values", dict_values}, {"items", dict_items}, {"copy", copy_of},
};
constexpr Method kListMethods[] = {{"count", sequence_count}, {"index", sequence_index}, {"copy", copy_of}};
constexpr Method kTupleMethods[] = {{"count", sequence_count}, {"index", sequence_index}};

constexpr Method kLoopMethods[] = {{"changed", loop_changed}, {"cycle", loop_cycle}};

constexpr std::string_view kDictMutators[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kListMutators[] = {"append", "extend", "insert", "remove", "reverse", "sort"};

// What Python has and this interpreter has not.
constexpr std::string_view kMissingFromString[] = {"casefold",     "encode",     "expandtabs", "format_map",
                                                   "isidentifier", "isnumeric",  "istitle",    "maketrans",
                                                   "translate",    "isprintable"};
constexpr std::string_view kMissingFromDict[] = {"fromkeys"};
constexpr std::string_view kMissingFromList[] = {"clear", "pop"};
constexpr std::string_view kMissingFromRange[] = {"count", "index", "start", "step", "stop"};
constexpr std::string_view kMissingFromView[] = {"isdisjoint", "mapping"};
constexpr std::string_view kMissingFromNumber[] = {
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator",
    "from_bytes",       "fromhex",   "hex",        "imag",      "is_integer",
    "numerator",        "real",      "to_bytes"};

struct MethodsOfType {
  std::span<const Method> present;
  std::span<const std::string_view> missing;
};

MethodsOfType methods_of(const Value& self) {
  if (self.string()) return {string_methods(), kMissingFromString};
  if (self.dict()) return {kDictMethods, kMissingFromDict};
  if (self.pointee<Loop>()) return {kLoopMethods, {}};
  if (self.whole() || self.real()) return {{}, kMissingFromNumber};
  if (const Sequence* sequence = self.sequence()) {
    switch (sequence->kind) {
      case Sequence::Kind::list:
        return {kListMethods, kMissingFromList};
      case Sequence::Kind::tuple:
      case Sequence::Kind::group:
        return {kTupleMethods, {}};
      case Sequence::Kind::range:
        return {{}, kMissingFromRange};
      default:
        return {{}, kMissingFromView};
    }
  }
  return {};
}

bool is_in(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<const Method*> find_method(const Value& self, std::string_view name) {
  const MethodsOfType methods = methods_of(self);
  for (const Method& method : methods.present) {
    if (method.name == name) return &method;
  }
  if (is_in(methods.missing, name)) {
    return fail(ErrorCode::unsupported, "'{}' of '{}' is not supported", name, type_name(self));
  }
  return nullptr;
}

bool is_mutating_method(const Value& self, std::string_view name) {
  if (self.dict()) return is_in(kDictMutators, name);
  const Sequence* sequence = self.sequence();
  return sequence && sequence->kind == Sequence::Kind::list && is_in(kListMutators, name);
}

}  // namespace parlance::jinja
