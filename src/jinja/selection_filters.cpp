// Filters that apply another filter or a test to every element.
#include "jinja/attribute_path.h"
#include "jinja/filters.h"
#include "jinja/tests.h"

namespace parlance::jinja {

namespace {

// Arguments behind the first `n`, which the selecting filter took for itself.
CallArguments arguments_behind(const CallArguments& arguments, size_t n) {
  CallArguments rest = arguments;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<ptrdiff_t>(n));
  return rest;
}

Result<SequencePtr> elements_if_true(Context& context, const Value& input) {
  return elements_of(context.budget, is_true(input) ? input : Value());
}

Result<Value> map_attribute(Context& context, const Sequence& elements, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'map'", arguments, {"attribute", "default"}, 1));
  PARLANCE_TRY(const AttributePath path, AttributePath::parse(context, bound[0]));
  const Value* fallback = bound[1] && !bound[1]->is_none() ? bound[1] : nullptr;
  std::vector<Value> results;
  for (const Value& element : elements.items) {
    PARLANCE_TRY(Value result, path.get(context, element, fallback));
    results.push_back(std::move(result));
  }
  return make_iterator(&context.budget, std::move(results));
}

Result<Value> map_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const SequencePtr elements, elements_if_true(context, input));
  if (arguments.positional.empty()) return map_attribute(context, *elements, arguments);
  const std::string* name = arguments.positional[0].string();
  if (!name) return wrong_type("filter 'map'", "the name of a filter", arguments.positional[0]);
  const Filter* filter = find_filter(*name);
  if (!filter && !elements->items.empty()) {
    return fail(ErrorCode::unsupported, "the filter '{}' (in 'map') is not known", name->substr(0, 80));
  }
  const CallArguments rest = arguments_behind(arguments, 1);
  std::vector<Value> results;
  for (const Value& element : elements->items) {
    context.budget.spend(1);
    if (context.budget.exhausted()) return context.budget.error();
    PARLANCE_TRY(Value result, filter->call(context, element, rest));
    results.push_back(std::move(result));
  }
  return make_iterator(&context.budget, std::move(results));
}

// Elements for which a test (of one of their attributes) gives `wanted`; without a test, their truth.
template <bool wanted, bool by_attribute>
Result<Value> select_filter(Context& context, const Value& input, const CallArguments& arguments) {
  constexpr std::string_view kName = by_attribute ? (wanted ? "filter 'selectattr'" : "filter 'rejectattr'")
                                                  : (wanted ? "filter 'select'" : "filter 'reject'");
  PARLANCE_TRY(const SequencePtr elements, elements_if_true(context, input));
  const size_t n_own = by_attribute ? 1 : 0;
  if (arguments.positional.size() < n_own) {
    return fail(ErrorCode::invalid_argument, "{} needs the name of an attribute", kName);
  }
  AttributePath path;
  if (by_attribute) {
    PARLANCE_TRY(path, AttributePath::parse(context, &arguments.positional[0]));
  }
  const Test* test = nullptr;
  CallArguments rest;
  if (arguments.positional.size() > n_own) {
    const std::string* name = arguments.positional[n_own].string();
    if (!name) return wrong_type(kName, "the name of a test", arguments.positional[n_own]);
    test = find_test(*name);
    if (!test && !elements->items.empty()) {
      return fail(ErrorCode::unsupported, "the test '{}' (in {}) is not known", name->substr(0, 80), kName);
    }
    rest = arguments_behind(arguments, n_own + 1);
  }
  std::vector<Value> selected;
  for (const Value& element : elements->items) {
    context.budget.spend(1);
    if (context.budget.exhausted()) return context.budget.error();
    PARLANCE_TRY(const Value tested, path.get(context, element));
    bool result = is_true(tested);
    if (test) {
      PARLANCE_TRY(result, test->call(context, tested, rest));
    }
    if (result == wanted) selected.push_back(element);
  }
  return make_iterator(&context.budget, std::move(selected));
}

constexpr Filter kSelectionFilters[] = {
    {"map", map_filter},
    {"reject", select_filter<false, false>},
    {"rejectattr", select_filter<false, true>},
    {"select", select_filter<true, false>},
    {"selectattr", select_filter<true, true>},
};

}  // namespace

std::span<const Filter> selection_filters() {
  return kSelectionFilters;
}

}  // namespace parlance::jinja
