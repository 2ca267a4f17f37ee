#include <algorithm>
#include <set>

#include "jinja/access.h"
#include "jinja/attribute_path.h"
#include "jinja/filters.h"
#include "jinja/operators.h"
#include "jinja/print.h"
#include "jinja/sorting.h"
#include "text/unicode.h"

namespace parlance::jinja {

namespace {

Result<Value> attr_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'attr'", arguments, {"name"}, 1));
  const auto* name = std::get_if<TextPtr>(&bound[0]->data());
  if (!name) return wrong_type("filter 'attr'", "a string", *bound[0]);
  return get_attribute_only(context, input, *name);
}

Result<Value> default_filter(Context&, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'default'", arguments, {"default_value", "boolean"}));
  const bool replaces = input.is_undefined() || (truth_or(bound[1], false) && !is_true(input));
  if (!replaces) return input;
  return bound[0] ? *bound[0] : make_text(nullptr, "");
}

Result<Value> length_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'length'", arguments));
  size_t length = 0;
  if (const std::string* string = input.string()) {
    context.budget.spend_on_bytes(string->size());
    length = count_code_points(*string);
  } else if (const Sequence* sequence = input.sequence()) {
    length = sequence->items.size();
  } else if (const Dict* dict = input.dict()) {
    length = dict->entries.size();
  } else if (const Loop* loop = input.pointee<Loop>()) {
    if (!loop->is_complete()) {
      return fail(ErrorCode::unsupported,
                  "the length of a loop with a condition is supported as loop.length only");
    }
    length = loop->items().size();
  } else if (!input.is_undefined()) {
    return fail(ErrorCode::invalid_argument, "'{}' has no length", type_name(input));
  }
  return Value::integer(static_cast<int64_t>(length));
}

Result<Value> list_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'list'", arguments));
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  if (elements->kind == Sequence::Kind::list) return Value(Value::Data(elements));
  return make_sequence(&context.budget, elements->items);
}

Result<Value> first_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'first'", arguments));
  if (Iterator* iterator = input.pointee<Iterator>()) {
    if (iterator->position == iterator->source->items.size()) return Value();
    return iterator->source->items[iterator->position++];
  }
  if (input.string()) return get_item(context, input, Value::integer(0));
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  return elements->items.empty() ? Value() : elements->items.front();
}

Result<Value> last_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'last'", arguments));
  if (input.pointee<Iterator>()) {
    return fail(ErrorCode::invalid_argument,
                "filter 'last' needs a list, found a generator; apply 'list' first");
  }
  if (input.string()) return get_item(context, input, Value::integer(-1));
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  return elements->items.empty() ? Value() : elements->items.back();
}

Result<Value> reverse_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'reverse'", arguments));
  if (input.string()) {
    const Value backward = Value::integer(-1);
    return get_slice(context, input, nullptr, nullptr, &backward);
  }
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  context.budget.spend(elements->items.size());
  std::vector<Value> items(elements->items.rbegin(), elements->items.rend());
  if (input.pointee<Iterator>()) return make_sequence(&context.budget, std::move(items));
  return make_iterator(&context.budget, std::move(items));
}

Result<Value> items_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_CHECK(expect_no_arguments("filter 'items'", arguments));
  if (input.is_undefined()) return make_iterator(&context.budget, {});
  if (!input.dict()) return wrong_type("filter 'items'", "a dict", input);
  const Value items = make_items(context.budget, *input.dict(), Sequence::Kind::list);
  return make_iterator(&context.budget, items.sequence()->items);
}

Result<Value> join_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'join'", arguments, {"d", "attribute"}));
  PARLANCE_TRY(const AttributePath path, AttributePath::parse(context, bound[1]));
  std::string separator;
  if (bound[0]) {
    PARLANCE_TRY(separator, to_str(context.budget, *bound[0]));
  }
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  Writer writer(context.budget);
  bool first = true;
  for (const Value& element : elements->items) {
    if (writer.failed()) break;
    if (!first) writer.append(separator);
    first = false;
    PARLANCE_TRY(const Value part, path.get(context, element));
    write_str(writer, part);
  }
  return writer.finish_text();
}

// ---- Sorting ----

struct Keyed {
  Value key, item;
};

Result<Value> sorted_by_key(Context& context, std::vector<Keyed> keyed, bool is_reversed) {
  context.budget.spend(keyed.size());
  PARLANCE_TRY(
      const std::vector<Keyed> sorted, merge_sort(std::move(keyed), [&](const Keyed& a, const Keyed& b) {
        return is_reversed ? is_less(context.budget, b.key, a.key) : is_less(context.budget, a.key, b.key);
      }));
  std::vector<Value> items;
  items.reserve(sorted.size());
  for (const Keyed& entry : sorted) items.push_back(entry.item);
  return make_sequence(&context.budget, std::move(items));
}

Result<Value> sort_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound,
               bind_arguments("filter 'sort'", arguments, {"reverse", "case_sensitive", "attribute"}));
  const bool case_sensitive = truth_or(bound[1], false);
  // Several attributes, with commas between them, make a key of several parts.
  std::vector<AttributePath> paths;
  if (bound[2] && bound[2]->string()) {
    std::string_view rest = *bound[2]->string();
    for (;;) {
      const size_t comma = rest.find(',');
      const Value attribute = make_text(&context.budget, std::string(rest.substr(0, comma)));
      PARLANCE_TRY(AttributePath path, AttributePath::parse(context, &attribute));
      paths.push_back(std::move(path));
      if (comma == std::string_view::npos || context.budget.exhausted()) break;
      rest.remove_prefix(comma + 1);
    }
  } else {
    PARLANCE_TRY(AttributePath path, AttributePath::parse(context, bound[2]));
    paths.push_back(std::move(path));
  }
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  std::vector<Keyed> keyed;
  for (const Value& element : elements->items) {
    std::vector<Value> key;
    for (const AttributePath& path : paths) {
      PARLANCE_TRY(const Value part, path.get(context, element));
      key.push_back(without_case(context, part, case_sensitive));
    }
    if (context.budget.exhausted()) return context.budget.error();
    keyed.push_back({make_sequence(&context.budget, std::move(key)), element});
  }
  return sorted_by_key(context, std::move(keyed), truth_or(bound[0], false));
}

Result<Value> dictsort_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound,
               bind_arguments("filter 'dictsort'", arguments, {"case_sensitive", "by", "reverse"}));
  if (!input.dict()) return wrong_type("filter 'dictsort'", "a dict", input);
  PARLANCE_TRY(const std::string_view by, string_or("filter 'dictsort'", bound[1], "key"));
  if (by != "key" && by != "value") {
    return fail(ErrorCode::invalid_argument, "filter 'dictsort' sorts by 'key' or 'value'");
  }
  const Value items = make_items(context.budget, *input.dict(), Sequence::Kind::list);
  std::vector<Keyed> keyed;
  for (const Value& item : items.sequence()->items) {
    const Value& key = item.sequence()->items[by == "key" ? 0 : 1];
    keyed.push_back({without_case(context, key, truth_or(bound[0], false)), item});
  }
  return sorted_by_key(context, std::move(keyed), truth_or(bound[2], false));
}

template <bool wants_largest>
Result<Value> extreme_filter(Context& context, const Value& input, const CallArguments& arguments) {
  constexpr std::string_view kName = wants_largest ? "filter 'max'" : "filter 'min'";
  PARLANCE_TRY(const auto bound, bind_arguments(kName, arguments, {"case_sensitive", "attribute"}));
  const bool case_sensitive = truth_or(bound[0], false);
  PARLANCE_TRY(const AttributePath path, AttributePath::parse(context, bound[1]));
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  Keyed best;
  bool first = true;
  for (const Value& element : elements->items) {
    PARLANCE_TRY(const Value part, path.get(context, element));
    const Value key = without_case(context, part, case_sensitive);
    bool is_better = first;
    if (!first) {
      PARLANCE_TRY(is_better, wants_largest ? is_less(context.budget, best.key, key)
                                            : is_less(context.budget, key, best.key));
    }
    if (is_better) best = {key, element};
    first = false;
  }
  return best.item;
}

Result<Value> sum_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'sum'", arguments, {"attribute", "start"}));
  PARLANCE_TRY(const AttributePath path, AttributePath::parse(context, bound[0]));
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  Value total = bound[1] ? *bound[1] : Value::integer(0);
  if (total.string()) return wrong_type("filter 'sum'", "a start that is no string", total);
  for (const Value& element : elements->items) {
    PARLANCE_TRY(const Value part, path.get(context, element));
    PARLANCE_TRY(total, apply(context.budget, BinaryOperator::add, total, part));
  }
  return total;
}

// ---- Grouping ----

Result<Value> unique_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound,
               bind_arguments("filter 'unique'", arguments, {"case_sensitive", "attribute"}));
  PARLANCE_TRY(const AttributePath path, AttributePath::parse(context, bound[1]));
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  const auto precedes = [](const Value& a, const Value& b) { return compare_keys(a, b) < 0; };
  std::set<Value, decltype(precedes)> seen(precedes);
  std::vector<Value> items;
  for (const Value& element : elements->items) {
    PARLANCE_TRY(const Value part, path.get(context, element));
    PARLANCE_CHECK(check_hashable(part));
    if (context.budget.exhausted()) return context.budget.error();
    if (const std::string* string = part.string()) context.budget.spend_on_bytes(16 * string->size());
    if (seen.insert(without_case(context, part, truth_or(bound[0], false))).second) items.push_back(element);
  }
  return make_iterator(&context.budget, std::move(items));
}

Result<Value> groupby_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound,
               bind_arguments("filter 'groupby'", arguments, {"attribute", "default", "case_sensitive"}, 1));
  PARLANCE_TRY(const AttributePath path, AttributePath::parse(context, bound[0]));
  const Value* fallback = bound[1] && !bound[1]->is_none() ? bound[1] : nullptr;
  const bool case_sensitive = truth_or(bound[2], false);
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  std::vector<Keyed> keyed;
  for (const Value& element : elements->items) {
    PARLANCE_TRY(const Value part, path.get(context, element, fallback));
    if (context.budget.exhausted()) return context.budget.error();
    keyed.push_back({without_case(context, part, case_sensitive), element});
  }
  PARLANCE_TRY(keyed, merge_sort(std::move(keyed), [&](const Keyed& a, const Keyed& b) {
                 return is_less(context.budget, a.key, b.key);
               }));
  std::vector<Value> groups;
  for (size_t begin = 0; begin < keyed.size();) {
    std::vector<Value> members;
    size_t end = begin;
    while (end < keyed.size() && (end == begin || equal(context.budget, keyed[begin].key, keyed[end].key))) {
      members.push_back(keyed[end++].item);
    }
    // The group is named by the key of its first member as it stands there.
    PARLANCE_TRY(const Value name, path.get(context, members.front(), fallback));
    groups.push_back(make_sequence(
        &context.budget, {name, make_sequence(&context.budget, std::move(members))}, Sequence::Kind::group));
    begin = end;
  }
  return make_sequence(&context.budget, std::move(groups));
}

Result<Value> batch_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'batch'", arguments, {"linecount", "fill_with"}, 1));
  PARLANCE_TRY(const int64_t size, integer_or("filter 'batch'", bound[0], 0));
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  context.budget.spend(elements->items.size());
  std::vector<Value> batches, batch;
  const auto finish_batch = [&] {
    batches.push_back(make_sequence(&context.budget, std::exchange(batch, {})));
  };
  for (const Value& element : elements->items) {
    if (static_cast<int64_t>(batch.size()) == size) finish_batch();
    batch.push_back(element);
  }
  if (!batch.empty()) {
    const bool fills = bound[1] && !bound[1]->is_none() && static_cast<int64_t>(batch.size()) < size;
    if (fills) {
      const size_t wanted = static_cast<size_t>(size);
      if (!context.budget.has_room(std::min(wanted, SIZE_MAX / sizeof(Value)) * sizeof(Value))) {
        return context.budget.error();
      }
      batch.resize(wanted, *bound[1]);
    }
    finish_batch();
  }
  return make_iterator(&context.budget, std::move(batches));
}

Result<Value> slice_filter(Context& context, const Value& input, const CallArguments& arguments) {
  PARLANCE_TRY(const auto bound, bind_arguments("filter 'slice'", arguments, {"slices", "fill_with"}, 1));
  PARLANCE_TRY(const int64_t n_slices, integer_or("filter 'slice'", bound[0], 0));
  if (n_slices == 0) return fail(ErrorCode::invalid_argument, "filter 'slice' cannot make 0 slices");
  PARLANCE_TRY(const SequencePtr elements, elements_of(context.budget, input));
  const int64_t size = static_cast<int64_t>(elements->items.size());
  std::vector<Value> slices;
  auto next = elements->items.begin();
  for (int64_t i = 0; i < n_slices; ++i) {
    context.budget.spend(1);
    if (context.budget.exhausted()) return context.budget.error();
    const bool has_extra = i < size % n_slices;
    const auto end = next + size / n_slices + (has_extra ? 1 : 0);
    std::vector<Value> slice(next, end);
    if (bound[1] && !bound[1]->is_none() && !has_extra) slice.push_back(*bound[1]);
    slices.push_back(make_sequence(&context.budget, std::move(slice)));
    next = end;
  }
  return make_iterator(&context.budget, std::move(slices));
}

constexpr Filter kSequenceFilters[] = {
    {"attr", attr_filter},       {"batch", batch_filter},       {"count", length_filter},
    {"d", default_filter},       {"default", default_filter},   {"dictsort", dictsort_filter},
    {"first", first_filter},     {"groupby", groupby_filter},   {"items", items_filter},
    {"join", join_filter},       {"last", last_filter},         {"length", length_filter},
    {"list", list_filter},       {"max", extreme_filter<true>}, {"min", extreme_filter<false>},
    {"reverse", reverse_filter}, {"slice", slice_filter},       {"sort", sort_filter},
    {"sum", sum_filter},         {"unique", unique_filter},
};

}  // namespace

std::span<const Filter> sequence_filters() {
  return kSequenceFilters;
}

}  // namespace parlance::jinja
