// From a JSON schema to rules: for every schema what a text looks like that satisfies it. Properties come in
// the schema's order; white space is one blank, behind colons and commas, or none.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parameter.h"
#include "base/result.h"
#include "grammar/number_range.h"
#include "grammar/rules.h"
#include "grammar/schema_tree.h"

namespace parlance {

class SchemaCompiler {
 public:
  // Adds to rules, which may have others already.
  SchemaCompiler(SchemaTree tree, Rules& rules) : tree_(std::move(tree)), rules_(rules) {}

  // The rule of the schema. Once.
  Result<RuleId> add();

 private:
  using Id = SchemaTree::Id;
  using Kind = SchemaTree::Kind;
  using State = AutomatonState;

  // One of the schemas that a value has to satisfy all of. Its $ref and allOf are parts of their own.
  struct Part {
    Id schema = 0;
    std::string place;        // JSON pointer
    std::string origin;       // of the word that brought it in; empty for the schema itself
    bool is_ref = false;      // what is meant is the schema that its $ref names
    bool has_chosen = false;  // its anyOf or oneOf is settled
  };
  using Parts = std::vector<Part>;

  // Kinds of values, as bits.
  enum : unsigned {
    kNull = 1,
    kBoolean = 2,
    kString = 4,
    kNumber = 8,
    kInteger = 16,
    kArray = 32,
    kObject = 64,
    kAnyKind = 127,
  };

  template <class... Args>
  static tl::unexpected<Error> refuse(ErrorCode code, const std::string& place,
                                      fmt::format_string<Args...> format, Args&&... args) {
    return fail(code, "{}: {}", mark_of(Parameter::json_schema, place),
                fmt::format(format, std::forward<Args>(args)...));
  }

  // json_schema.cpp: which schemas a value has to satisfy.
  Result<void> add_schema(Id schema, const std::string& place, State from, State to);
  Result<void> add_parts(Parts parts, State from, State to);
  Result<void> add_choice(const Parts& parts, size_t chosen, State from, State to);
  Result<void> collect(Id schema, const std::string& place, const std::string& origin, Parts& parts);
  Result<void> resolve_refs(Parts& parts);
  Result<void> check_words(Id schema, const std::string& place) const;
  bool says_something(const Part& part) const;
  Result<RuleId> rule_of_ref(const Part& part);
  Result<std::pair<Id, std::string>> target_of(const Part& part) const;

  // schema_values.cpp: one schema, by the kinds of values that it allows.
  Result<void> add_plain(const Part& part, State from, State to);
  Result<unsigned> kinds_of(const Part& part) const;
  Result<void> add_constants(const Part& part, const std::vector<Id>& values, State from, State to);
  Result<bool> satisfies(Id value, const Part& part, unsigned kinds);
  void add_constant(Id value, State from, State to);
  Result<void> add_string(const Part& part, State from, State to);
  Result<std::optional<Dfa>> string_automaton(const Part& part);
  Result<void> add_number(const Part& part, bool integers_only, State from, State to);
  Result<NumberBounds> bounds_of(const Part& part) const;
  Result<std::optional<Decimal>> number_word(const Part& part, std::string_view word) const;
  Result<std::optional<uint32_t>> count_word(const Part& part, std::string_view word) const;

  // schema_containers.cpp: arrays and objects.
  Result<void> add_array(const Part& part, State from, State to);
  struct Property {
    std::string name;
    Parts parts = {};
    bool is_required = false;
  };
  struct Members {
    std::vector<Property> properties;
    std::optional<Parts> others;  // what other members have to be; none: there are none
  };
  Result<Members> members_of(const Parts& parts) const;
  Result<void> add_object(const Parts& parts, State from, State to);
  Result<void> add_member(const Property& property, State from, State to);
  Result<void> add_few_members(const Members& members, State from, State to);
  Result<void> add_many_members(const Members& members, State from, State to);
  void add_end_of_members(std::optional<RuleId> other, bool has_said, State from, State to);
  Result<std::optional<RuleId>> rule_of_other_member(const Members& members);
  void add_key(const std::string& name, State from, State to);
  void add_mark(char mark, State from, State to);  // and perhaps a blank

  // Rules that are the same in every schema.
  void call_any_value(State from, State to);
  void call_any_object(State from, State to);
  void call_any_string(State from, State to);
  void call_once(std::optional<RuleId>& rule, State from, State to,
                 const std::function<void(State start, State end)>& body);
  void add_regex(std::string_view expression, State from, State to);

  SchemaTree tree_;
  Rules& rules_;
  struct Pending {
    RuleId rule;
    Id schema;
    std::string place;
  };
  std::map<std::string, RuleId> ref_rules_;  // by pointer
  std::vector<Pending> pending_;             // of these, whose bodies are to be made
  std::optional<RuleId> any_value_, any_object_, any_string_, string_character_;
  size_t n_expanded_ = 0;  // alternatives and references that were put in place
};

// The rule of a schema as it is written.
Result<RuleId> add_json_schema(std::string_view text, Rules& rules);

}  // namespace parlance
