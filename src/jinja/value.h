// The values that a template works with. Everything but a namespace and the state of a loop is immutable and
// shared, as in the sandbox that chat templates are written for, so that copies are cheap and cycles are
// rare; the few things that can form a cycle are owned by the Context of a rendering.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "jinja/budget.h"

namespace parlance::jinja {

namespace ast {
struct MacroDefinition;
struct For;
}  // namespace ast

class Value;
struct Sequence;
struct Dict;
struct Namespace;
struct Iterator;
struct Loop;
struct Macro;
struct BoundMethod;
struct Method;    // a row of a method table, methods.h
struct Function;  // a row of the table of globals, globals.h
class Frame;

// UTF-8, always valid.
struct Text {
  Text(std::string text, bool markup, Budget* budget)
      : bytes(std::move(text)), is_markup(markup), charge(budget, sizeof(Text) + bytes.size()) {}
  const std::string bytes;
  const bool is_markup;  // came through `safe` or `escape`: text added to it is HTML-escaped
  const Charge charge;
};
using TextPtr = std::shared_ptr<const Text>;

struct None {};

// What a missing variable, key or index evaluates to. Prints as nothing, is false, and remembers what was
// missing.
struct Undefined {
  TextPtr name;                 // null: an element that has no name
  const char* owner = nullptr;  // type of the object that lacks it; null: a variable
};

// An integer of the caller's JSON that 64 bits do not hold: it can be passed on and printed.
struct BigInteger {
  std::string digits;
};

class Value {
 public:
  using Data =
      std::variant<Undefined, None, bool, int64_t, double, TextPtr, std::shared_ptr<const BigInteger>,
                   std::shared_ptr<const Sequence>, std::shared_ptr<const Dict>, std::shared_ptr<Namespace>,
                   std::shared_ptr<Iterator>, std::shared_ptr<Loop>, std::shared_ptr<const Macro>,
                   std::shared_ptr<const BoundMethod>, const Function*>;

  Value() = default;  // undefined
  explicit Value(Data data) : data_(std::move(data)) {}
  static Value none() { return Value(Data(None{})); }
  static Value boolean(bool value) { return Value(Data(value)); }
  static Value integer(int64_t value) { return Value(Data(value)); }
  static Value real(double value) { return Value(Data(value)); }
  static Value undefined(TextPtr name, const char* owner = nullptr) {
    return Value(Data(Undefined{std::move(name), owner}));
  }

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_boolean() const { return std::holds_alternative<bool>(data_); }

  // Pointers into the value, null when it is of another type.
  const int64_t* integer() const { return std::get_if<int64_t>(&data_); }
  const double* real() const { return std::get_if<double>(&data_); }
  const std::string* string() const {
    const TextPtr* text = std::get_if<TextPtr>(&data_);
    return text ? &(*text)->bytes : nullptr;
  }
  bool is_markup() const {
    const TextPtr* text = std::get_if<TextPtr>(&data_);
    return text && (*text)->is_markup;
  }
  const Sequence* sequence() const { return pointee<const Sequence>(); }
  const Dict* dict() const { return pointee<const Dict>(); }

  // An integer or a boolean, which is one in arithmetic and as an index.
  std::optional<int64_t> whole() const {
    if (const int64_t* value = integer()) return *value;
    if (const bool* value = std::get_if<bool>(&data_)) return *value ? 1 : 0;
    return std::nullopt;
  }

  template <class T>
  T* pointee() const {
    const auto* pointer = std::get_if<std::shared_ptr<T>>(&data_);
    return pointer ? pointer->get() : nullptr;
  }
  template <class T>
  const std::shared_ptr<T>* shared() const {
    return std::get_if<std::shared_ptr<T>>(&data_);
  }
  const Data& data() const { return data_; }

 private:
  Data data_;
};

// Elements in order. The kinds print, compare and index as their Python namesakes.
struct Sequence {
  enum class Kind : uint8_t { list, tuple, group, range, keys, values, items };
  Sequence(std::vector<Value> elements, Kind sequence_kind, uint32_t nesting, Budget* budget);
  const std::vector<Value> items;
  const Kind kind;
  const uint32_t depth;  // 1 + the deepest element
  const Charge charge;

  bool is_tuple() const { return kind == Kind::tuple || kind == Kind::group; }
  bool is_view() const { return kind == Kind::keys || kind == Kind::values || kind == Kind::items; }
};
using SequencePtr = std::shared_ptr<const Sequence>;

// Entries in order of insertion, found by binary search over their sorted keys.
struct Dict {
  using Entry = std::pair<Value, Value>;
  Dict(std::vector<Entry> unique_entries, std::vector<uint32_t> key_order, uint32_t nesting, Budget* budget);
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;

  const std::vector<Entry> entries;
  const std::vector<uint32_t> order;  // indices of entries, by compare_keys
  const uint32_t depth;
  const Charge charge;
};

struct Namespace {
  std::map<std::string, Value, std::less<>> attributes;
};

// What filters such as `select` return: it can be walked once.
struct Iterator {
  SequencePtr source;
  size_t position = 0;
};

struct Loop {
  // The elements reached so far: all of them, unless the loop has a condition, which is asked when an element
  // is.
  const std::vector<Value>& items() const { return node_with_condition ? selected : source->items; }
  bool is_complete() const { return !node_with_condition || n_asked == source->items.size(); }

  SequencePtr source;
  size_t index0 = 0;
  size_t depth0 = 0;
  std::vector<Value> last_changed;  // arguments of the last changed()
  bool has_changed = false;
  const ast::For* recursive = nullptr;  // the loop, if it is marked `recursive` and can be called
  const ast::For* node_with_condition = nullptr;
  std::vector<Value> selected;   // by the condition
  size_t n_asked = 0;            // elements of the source that the condition was asked about
  std::shared_ptr<Frame> frame;  // around a loop that is recursive or has a condition
};

struct Macro {
  const ast::MacroDefinition* definition;
  std::shared_ptr<Frame> frame;  // where it was defined
};

struct BoundMethod {
  Value self;
  const Method* method;
};

// ---- Making values. A null budget charges nobody (constants, variables of the caller). ----

Value make_text(Budget* budget, std::string bytes, bool markup = false);
Value make_sequence(Budget* budget, std::vector<Value> items, Sequence::Kind kind = Sequence::Kind::list);
// A later entry of an equal key replaces the value of the earlier. Keys must be hashable.
Value make_dict(Budget* budget, std::vector<Dict::Entry> entries);
// The entries of a dict as tuples of key and value.
Value make_items(Budget& budget, const Dict& dict, Sequence::Kind kind);
Value make_iterator(Budget* budget, std::vector<Value> items);

// ---- Python's rules ----

const char* type_name(const Value& value);
bool is_true(const Value& value);
// Whether it can be the key of a dict. Tuples can when their elements are scalars: comparing nested ones that
// share their parts takes time exponential in their depth.
Result<void> check_hashable(const Value& value);
bool equal(Budget& budget, const Value& a, const Value& b);
// By numbers, code points, or the first elements that differ; an error naming `operation` for types without
// an order.
Result<std::partial_ordering> order(Budget& budget, const Value& a, const Value& b,
                                    std::string_view operation);
// A total order over hashable values in which equal keys, and only they, compare as 0.
int compare_keys(const Value& a, const Value& b);
// Nesting of a value: 0 for a scalar.
uint32_t depth_of(const Value& value);
// Why this undefined value cannot be used.
std::string undefined_message(const Value& value);
tl::unexpected<Error> undefined_error(const Value& value);
// What is wrong with an operation on these operands: one is undefined, too large an integer, or of a type
// that the operation is not defined for.
tl::unexpected<Error> operand_error(std::string_view operation, const Value& a, const Value& b);

// The elements that a loop over the value sees: of a sequence, the keys of a dict, the characters of a
// string, nothing for undefined. Walks an iterator to its end. An error for other types.
Result<SequencePtr> elements_of(Budget& budget, const Value& value);

}  // namespace parlance::jinja
