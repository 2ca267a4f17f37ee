#include "jinja/value.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "text/unicode.h"

namespace parlance::jinja {

namespace {

constexpr size_t kPerObject = 64;  // control block, vector headers

// Exact also where the integer has more bits than a double's mantissa.
std::partial_ordering compare(int64_t a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= 0x1p63) return std::partial_ordering::less;
  if (b < -0x1p63) return std::partial_ordering::greater;
  const double whole = std::trunc(b);
  if (const auto order = a <=> static_cast<int64_t>(whole); order != 0) return order;
  return 0.0 <=> b - whole;
}

bool is_number(const Value& value) {
  return value.whole() || value.real();
}

std::partial_ordering compare_numbers(const Value& a, const Value& b) {
  const auto whole_a = a.whole(), whole_b = b.whole();
  if (whole_a && whole_b) return *whole_a <=> *whole_b;
  if (whole_a) return compare(*whole_a, *b.real());
  if (whole_b) return 0 <=> compare(*whole_b, *a.real());
  return *a.real() <=> *b.real();
}

uint32_t depth_above(const std::vector<Value>& items) {
  uint32_t depth = 0;
  for (const Value& item : items) depth = std::max(depth, depth_of(item));
  return depth + 1;
}

void check_depth(Budget* budget, uint32_t depth) {
  if (budget && depth > budget->max_depth()) budget->exhaust_depth();
}

// Classes of keys: values of different classes are never equal.
int key_class(const Value& value) {
  if (value.is_none()) return 0;
  if (is_number(value)) return 1;
  if (value.string()) return 2;
  if (value.sequence()) return 3;
  if (value.is_undefined()) return 4;
  if (value.pointee<const BigInteger>()) return 5;
  return 6;
}

const void* address_of(const Value& value) {
  return std::visit(
      [](const auto& data) -> const void* {
        if constexpr (requires { data.get(); }) {
          return data.get();
        } else if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(data)>>) {
          return data;
        } else {
          return nullptr;
        }
      },
      value.data());
}

bool contains_all(Budget& budget, const Sequence& a, const Sequence& b) {
  return std::all_of(a.items.begin(), a.items.end(), [&](const Value& item) {
    return std::any_of(b.items.begin(), b.items.end(),
                       [&](const Value& other) { return equal(budget, item, other); });
  });
}

}  // namespace

Sequence::Sequence(std::vector<Value> elements, Kind sequence_kind, uint32_t nesting, Budget* budget)
    : items(std::move(elements)),
      kind(sequence_kind),
      depth(nesting),
      charge(budget, kPerObject + items.capacity() * sizeof(Value)) {}

Dict::Dict(std::vector<Entry> unique_entries, std::vector<uint32_t> key_order, uint32_t nesting,
           Budget* budget)
    : entries(std::move(unique_entries)),
      order(std::move(key_order)),
      depth(nesting),
      charge(budget, kPerObject + entries.capacity() * (sizeof(Entry) + sizeof(uint32_t))) {}

const Value* Dict::find(const Value& key) const {
  const auto at = std::lower_bound(
      order.begin(), order.end(), key,
      [this](uint32_t index, const Value& wanted) { return compare_keys(entries[index].first, wanted) < 0; });
  if (at == order.end() || compare_keys(entries[*at].first, key) != 0) return nullptr;
  return &entries[*at].second;
}

const Value* Dict::find(std::string_view key) const {
  const auto at =
      std::lower_bound(order.begin(), order.end(), key, [this](uint32_t index, std::string_view wanted) {
        const Value& candidate = entries[index].first;
        const std::string* text = candidate.string();
        return text ? *text < wanted : key_class(candidate) < 2;
      });
  if (at == order.end()) return nullptr;
  const std::string* found = entries[*at].first.string();
  return found && *found == key ? &entries[*at].second : nullptr;
}

Value make_text(Budget* budget, std::string bytes, bool markup) {
  return Value(Value::Data(std::make_shared<const Text>(std::move(bytes), markup, budget)));
}

Value make_sequence(Budget* budget, std::vector<Value> items, Sequence::Kind kind) {
  const uint32_t depth = depth_above(items);
  check_depth(budget, depth);
  return Value(Value::Data(std::make_shared<const Sequence>(std::move(items), kind, depth, budget)));
}

Value make_dict(Budget* budget, std::vector<Dict::Entry> entries) {
  std::vector<uint32_t> order(entries.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    const auto compared = compare_keys(entries[a].first, entries[b].first);
    return compared != 0 ? compared < 0 : a < b;
  });
  // Of equal keys the first keeps its place and the last gives the value.
  std::vector<bool> dropped(entries.size(), false);
  bool has_duplicates = false;
  for (size_t i = 0; i < order.size();) {
    size_t end = i + 1;
    while (end < order.size() && compare_keys(entries[order[i]].first, entries[order[end]].first) == 0) ++end;
    if (end > i + 1) {
      has_duplicates = true;
      entries[order[i]].second = entries[order[end - 1]].second;
      for (size_t j = i + 1; j < end; ++j) dropped[order[j]] = true;
    }
    i = end;
  }
  if (has_duplicates) {
    std::vector<Dict::Entry> unique;
    std::vector<uint32_t> new_index(entries.size());
    for (size_t i = 0; i < entries.size(); ++i) {
      if (dropped[i]) continue;
      new_index[i] = static_cast<uint32_t>(unique.size());
      unique.push_back(std::move(entries[i]));
    }
    std::erase_if(order, [&](uint32_t index) { return dropped[index]; });
    for (uint32_t& index : order) index = new_index[index];
    entries = std::move(unique);
  }
  uint32_t depth = 0;
  for (const auto& [key, value] : entries) depth = std::max({depth, depth_of(key), depth_of(value)});
  check_depth(budget, depth + 1);
  return Value(
      Value::Data(std::make_shared<const Dict>(std::move(entries), std::move(order), depth + 1, budget)));
}

Value make_items(Budget& budget, const Dict& dict, Sequence::Kind kind) {
  budget.spend(dict.entries.size());
  std::vector<Value> items;
  for (const auto& [key, value] : dict.entries) {
    if (budget.exhausted()) break;
    items.push_back(make_sequence(&budget, {key, value}, Sequence::Kind::tuple));
  }
  return make_sequence(&budget, std::move(items), kind);
}

Value make_iterator(Budget* budget, std::vector<Value> items) {
  const uint32_t depth = depth_above(items);
  check_depth(budget, depth + 1);
  auto source = std::make_shared<const Sequence>(std::move(items), Sequence::Kind::list, depth, budget);
  return Value(Value::Data(std::make_shared<Iterator>(Iterator{std::move(source), 0})));
}

const char* type_name(const Value& value) {
  struct Names {
    const char* operator()(const Undefined&) const { return "Undefined"; }
    const char* operator()(const None&) const { return "None"; }
    const char* operator()(bool) const { return "bool"; }
    const char* operator()(int64_t) const { return "int"; }
    const char* operator()(double) const { return "float"; }
    const char* operator()(const TextPtr& text) const { return text->is_markup ? "Markup" : "str"; }
    const char* operator()(const std::shared_ptr<const BigInteger>&) const {
      return "int of more than 64 bits";
    }
    const char* operator()(const SequencePtr& sequence) const {
      switch (sequence->kind) {
        case Sequence::Kind::list:
          return "list";
        case Sequence::Kind::tuple:
        case Sequence::Kind::group:
          return "tuple";
        case Sequence::Kind::range:
          return "range";
        case Sequence::Kind::keys:
          return "dict_keys";
        case Sequence::Kind::values:
          return "dict_values";
        case Sequence::Kind::items:
          return "dict_items";
      }
      return "sequence";
    }
    const char* operator()(const std::shared_ptr<const Dict>&) const { return "dict"; }
    const char* operator()(const std::shared_ptr<Namespace>&) const { return "namespace"; }
    const char* operator()(const std::shared_ptr<Iterator>&) const { return "generator"; }
    const char* operator()(const std::shared_ptr<Loop>&) const { return "loop"; }
    const char* operator()(const std::shared_ptr<const Macro>&) const { return "macro"; }
    const char* operator()(const std::shared_ptr<const BoundMethod>&) const { return "method"; }
    const char* operator()(const Function*) const { return "function"; }
  };
  return std::visit(Names{}, value.data());
}

bool is_true(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (const auto whole = value.whole()) return *whole != 0;
  if (const double* real = value.real()) return *real != 0.0;
  if (const std::string* string = value.string()) return !string->empty();
  if (const Sequence* sequence = value.sequence()) return !sequence->items.empty();
  if (const Dict* dict = value.dict()) return !dict->entries.empty();
  return true;
}

Result<void> check_hashable(const Value& value) {
  const Sequence* sequence = value.sequence();
  if (value.dict() || (sequence && !sequence->is_tuple())) {
    return fail(ErrorCode::invalid_argument, "'{}' cannot be the key of a dict", type_name(value));
  }
  if (sequence && sequence->depth > 1) {
    return fail(ErrorCode::unsupported,
                "a tuple that holds lists, dicts or tuples cannot be the key of a dict");
  }
  return {};
}

bool equal(Budget& budget, const Value& a, const Value& b) {
  budget.spend(1);
  if (budget.exhausted()) return false;
  if (is_number(a) && is_number(b)) return compare_numbers(a, b) == 0;
  if (const std::string* left = a.string(), *right = b.string(); left && right) {
    if (left->size() != right->size()) return false;
    budget.spend_on_bytes(left->size());
    return *left == *right;
  }
  if (const Sequence* left = a.sequence(), *right = b.sequence(); left && right) {
    if (left == right) return true;
    const bool same_kind = left->kind == right->kind || (left->is_tuple() && right->is_tuple());
    if (!same_kind || left->items.size() != right->items.size()) return false;
    if (left->kind == Sequence::Kind::values) return false;
    if (left->is_view()) return contains_all(budget, *left, *right);
    return std::equal(left->items.begin(), left->items.end(), right->items.begin(),
                      [&](const Value& x, const Value& y) { return equal(budget, x, y); });
  }
  if (const Dict* left = a.dict(), *right = b.dict(); left && right) {
    if (left == right) return true;
    if (left->entries.size() != right->entries.size()) return false;
    return std::all_of(left->entries.begin(), left->entries.end(), [&](const Dict::Entry& entry) {
      const Value* other = right->find(entry.first);
      return other && equal(budget, entry.second, *other);
    });
  }
  if (const auto* big = a.pointee<const BigInteger>(); big && b.real()) {
    return fmt::format("{:.0f}", *b.real()) == big->digits;
  }
  if (a.real() && b.pointee<const BigInteger>()) return equal(budget, b, a);
  if (a.data().index() != b.data().index()) return false;
  if (a.is_undefined() || a.is_none()) return true;
  if (const auto* left = a.pointee<const BigInteger>(), *right = b.pointee<const BigInteger>();
      left && right) {
    return left->digits == right->digits;
  }
  return address_of(a) == address_of(b);
}

Result<std::partial_ordering> order(Budget& budget, const Value& a, const Value& b,
                                    std::string_view operation) {
  budget.spend(1);
  if (budget.exhausted()) return budget.error();
  if (is_number(a) && is_number(b)) return compare_numbers(a, b);
  if (const std::string* left = a.string(), *right = b.string(); left && right) {
    budget.spend_on_bytes(std::min(left->size(), right->size()));
    return *left <=> *right;
  }
  const Sequence *left = a.sequence(), *right = b.sequence();
  if (left && right &&
      ((left->kind == Sequence::Kind::list && right->kind == Sequence::Kind::list) ||
       (left->is_tuple() && right->is_tuple()))) {
    for (size_t i = 0; i < std::min(left->items.size(), right->items.size()); ++i) {
      if (!equal(budget, left->items[i], right->items[i])) {
        return order(budget, left->items[i], right->items[i], operation);
      }
    }
    return left->items.size() <=> right->items.size();
  }
  return operand_error(operation, a, b);
}

int compare_keys(const Value& a, const Value& b) {
  const int class_a = key_class(a), class_b = key_class(b);
  if (class_a != class_b) return class_a < class_b ? -1 : 1;
  switch (class_a) {
    case 1: {
      const auto order = compare_numbers(a, b);
      if (order == std::partial_ordering::unordered) {  // NaN: before all numbers, equal to itself
        const bool nan_a = a.real() && std::isnan(*a.real()), nan_b = b.real() && std::isnan(*b.real());
        return nan_a == nan_b ? 0 : nan_a ? -1 : 1;
      }
      return order < 0 ? -1 : order > 0;
    }
    case 2:
      return a.string()->compare(*b.string());
    case 3: {
      const auto &left = a.sequence()->items, &right = b.sequence()->items;
      for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
        if (const int order = compare_keys(left[i], right[i])) return order;
      }
      return left.size() < right.size() ? -1 : left.size() > right.size();
    }
    case 5:
      return a.pointee<const BigInteger>()->digits.compare(b.pointee<const BigInteger>()->digits);
    case 6: {
      const auto left = std::less<const void*>{}(address_of(a), address_of(b));
      const auto right = std::less<const void*>{}(address_of(b), address_of(a));
      return left ? -1 : right;
    }
    default:
      return 0;  // none, undefined
  }
}

uint32_t depth_of(const Value& value) {
  if (const Sequence* sequence = value.sequence()) return sequence->depth;
  if (const Dict* dict = value.dict()) return dict->depth;
  if (const Iterator* iterator = value.pointee<Iterator>()) return iterator->source->depth + 1;
  if (const Loop* loop = value.pointee<Loop>()) return loop->source->depth + 1;
  if (const BoundMethod* method = value.pointee<const BoundMethod>()) return depth_of(method->self) + 1;
  return 0;
}

std::string undefined_message(const Value& value) {
  const Undefined* undefined = std::get_if<Undefined>(&value.data());
  // Names come from the template or from data; a long one is cut, at a character.
  std::string name = undefined->name ? undefined->name->bytes : std::string();
  if (name.size() > 80) name = name.substr(0, start_of_code_point(name, 77)) + "...";
  if (!undefined->owner)
    return name.empty() ? "the value is undefined" : fmt::format("'{}' is undefined", name);
  if (!undefined->name) return fmt::format("'{}' has no such element", undefined->owner);
  return fmt::format("'{}' has no attribute '{}'", undefined->owner, name);
}

tl::unexpected<Error> undefined_error(const Value& value) {
  return fail(ErrorCode::invalid_argument, "{}", undefined_message(value));
}

tl::unexpected<Error> operand_error(std::string_view operation, const Value& a, const Value& b) {
  if (a.is_undefined()) return undefined_error(a);
  if (b.is_undefined()) return undefined_error(b);
  const bool is_too_large = a.pointee<const BigInteger>() || b.pointee<const BigInteger>();
  return fail(is_too_large ? ErrorCode::unsupported : ErrorCode::invalid_argument,
              "'{}' is not supported between '{}' and '{}'", operation, type_name(a), type_name(b));
}

Result<SequencePtr> elements_of(Budget& budget, const Value& value) {
  if (const auto* sequence = value.shared<const Sequence>()) return *sequence;
  std::vector<Value> items;
  if (const Dict* dict = value.dict()) {
    items.reserve(dict->entries.size());
    for (const auto& [key, unused] : dict->entries) items.push_back(key);
  } else if (const std::string* string = value.string()) {
    const size_t n = count_code_points(*string);
    budget.spend(n);
    if (!budget.has_room(n * (sizeof(Value) + sizeof(Text)))) return budget.error();
    items.reserve(n);
    for (size_t at = 0; at < string->size();) {
      const size_t begin = at;
      next_code_point(*string, at);
      items.push_back(make_text(&budget, string->substr(begin, at - begin)));
    }
  } else if (Iterator* iterator = value.pointee<Iterator>()) {
    if (iterator->position == 0) {
      iterator->position = iterator->source->items.size();
      return iterator->source;
    }
    items.assign(iterator->source->items.begin() + static_cast<ptrdiff_t>(iterator->position),
                 iterator->source->items.end());
    iterator->position = iterator->source->items.size();
  } else if (!value.is_undefined()) {
    return fail(ErrorCode::invalid_argument, "'{}' object is not iterable", type_name(value));
  }
  const Value made = make_sequence(&budget, std::move(items));
  if (budget.exhausted()) return budget.error();
  return *made.shared<const Sequence>();
}

}  // namespace parlance::jinja
