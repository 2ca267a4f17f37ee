#include "jinja/globals.h"

#include <algorithm>

#include "jinja/print.h"
#include "jinja/time_format.h"

namespace parlance::jinja {

namespace {

constexpr int64_t kMaxRange = 100'000;  // of the sandbox that templates are written for

Result<Value> range(Context& context, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("range()", arguments, {"start", "stop", "step"}, 1));
  const bool has_start = bound[1] != nullptr;
  PARLANCE_TRY(const int64_t start, integer_or("range()", has_start ? bound[0] : nullptr, 0));
  PARLANCE_TRY(const int64_t stop, integer_or("range()", has_start ? bound[1] : bound[0], 0));
  PARLANCE_TRY(const int64_t step, integer_or("range()", bound[2], 1));
  if (step == 0) return fail(ErrorCode::invalid_argument, "range() was given the step 0");
  // In unsigned arithmetic, which holds the distance between any two integers.
  const uint64_t distance =
      step > 0 ? (stop > start ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start) : 0)
               : (start > stop ? static_cast<uint64_t>(start) - static_cast<uint64_t>(stop) : 0);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t count = distance / stride + (distance % stride != 0 ? 1 : 0);
  if (count > kMaxRange) {
    return fail(ErrorCode::unsupported, "range() of {} numbers; at most {} are allowed", count, kMaxRange);
  }
  context.budget.spend(count);
  if (!context.budget.has_room(count * sizeof(Value))) return context.budget.error();
  std::vector<Value> items;
  items.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    items.push_back(Value::integer(start + static_cast<int64_t>(i) * step));
  }
  return make_sequence(&context.budget, std::move(items), Sequence::Kind::range);
}

// The entries that dict(...) and namespace(...) are given: of a dict, then by name.
Result<std::vector<Dict::Entry>> entries_of(Context& context, std::string_view function,
                                            const CallArguments& arguments) {
  std::vector<Dict::Entry> entries;
  if (arguments.positional.size() > 1) {
    return fail(ErrorCode::invalid_argument, "{} takes at most 1 positional argument, {} were given",
                function, arguments.positional.size());
  }
  if (!arguments.positional.empty()) {
    const Value& given = arguments.positional[0];
    if (given.is_undefined()) return undefined_error(given);
    if (const Dict* dict = given.dict()) {
      context.budget.spend(dict->entries.size());
      entries = dict->entries;
    } else {
      PARLANCE_TRY(const SequencePtr pairs, elements_of(context.budget, given));
      for (const Value& pair : pairs->items) {
        PARLANCE_TRY(const SequencePtr parts, elements_of(context.budget, pair));
        if (parts->items.size() != 2) return wrong_type(function, "a dict or a list of pairs", given);
        PARLANCE_CHECK(check_hashable(parts->items[0]));
        entries.emplace_back(parts->items[0], parts->items[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) {
    entries.emplace_back(make_text(&context.budget, std::string(name)), value);
  }
  return entries;
}

Result<Value> dict(Context& context, const CallArguments& arguments) {
  PARLANCE_TRY(std::vector<Dict::Entry> entries, entries_of(context, "dict()", arguments));
  return make_dict(&context.budget, std::move(entries));
}

Result<Value> make_namespace(Context& context, const CallArguments& arguments) {
  PARLANCE_TRY(const std::vector<Dict::Entry> entries, entries_of(context, "namespace()", arguments));
  Value made = context.make_namespace();
  for (const auto& [key, value] : entries) {
    // Attributes are reached by name only, so that keys of other types would be lost.
    if (!key.string()) return wrong_type("namespace()", "names as keys", key);
    made.pointee<Namespace>()->attributes.insert_or_assign(*key.string(), value);
  }
  return made;
}

Result<Value> raise_exception(Context& context, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("raise_exception()", arguments, {"message"}, 1));
  PARLANCE_TRY(std::string message, to_str(context.budget, *bound[0]));
  std::replace_if(
      message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return fail(ErrorCode::invalid_argument, "{}", message);
}

Result<Value> strftime_now(Context& context, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("strftime_now()", arguments, {"format"}, 1));
  PARLANCE_TRY(const std::string_view format, string_or("strftime_now()", bound[0], {}));
  context.budget.spend(format.size());
  if (!context.budget.has_room(format.size() * kMaxBytesPerDirective)) return context.budget.error();
  PARLANCE_TRY(std::string text, format_time(format, context.now_unix_s));
  return make_text(&context.budget, std::move(text));
}

constexpr Function kGlobals[] = {
    {"dict", dict},   {"namespace", make_namespace},  {"raise_exception", raise_exception},
    {"range", range}, {"strftime_now", strftime_now},
};

constexpr std::string_view kMissingGlobals[] = {"cycler", "joiner", "lipsum", "self", "super"};

}  // namespace

Result<const Function*> find_global(std::string_view name) {
  for (const Function& function : kGlobals) {
    if (function.name == name) return &function;
  }
  if (std::find(std::begin(kMissingGlobals), std::end(kMissingGlobals), name) != std::end(kMissingGlobals)) {
    return fail(ErrorCode::unsupported, "the global '{}' is not supported", name);
  }
  return nullptr;
}

}  // namespace parlance::jinja
