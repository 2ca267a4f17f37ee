// Random schemas and random documents: the grammar lets through exactly what a plain validator does.
#include <rapidcheck.h>

#include <cmath>
#include <random>
#include <string>

#include "base/parameter.h"
#include "grammar/following.h"
#include "grammar/grammar.h"
#include "grammar/regex.h"
#include "grammar/schema_text.h"
#include "gtest/gtest.h"
#include "support/json_file.h"
#include "text/unicode.h"

namespace parlance {
namespace {

using Value = nlohmann::ordered_json;

// Whether a document satisfies a schema of those that RandomSchema makes, in the form that answers have:
// properties in the schema's order, those that it does not name behind them and only if it says so.
class Validator {
 public:
  explicit Validator(const Value& root) : root_(root) {}

  bool satisfies(const Value& value, const Value& schema) const {
    if (schema.is_boolean()) return schema.get<bool>();
    if (schema.contains("$ref"))
      return satisfies(
          value, root_.at(nlohmann::ordered_json::json_pointer(schema["$ref"].get<std::string>().substr(1))));
    if (schema.contains("const")) return value == schema["const"];
    if (schema.contains("enum")) return std::ranges::find(schema["enum"], value) != schema["enum"].end();
    if (schema.contains("anyOf"))
      return std::ranges::any_of(schema["anyOf"], [&](const Value& s) { return satisfies(value, s); });
    if (schema.contains("allOf")) return satisfies(value, joined(schema["allOf"]));
    if (!schema.contains("type")) return true;
    const std::string type = schema["type"];
    if (type == "null") return value.is_null();
    if (type == "boolean") return value.is_boolean();
    if (type == "integer") return value.is_number_integer() && is_within(value, schema);
    if (type == "number") return value.is_number() && is_within(value, schema);
    if (type == "string") return value.is_string() && is_text(value, schema);
    return type == "array" ? is_array(value, schema) : is_object(value, schema);
  }

 private:
  static bool is_within(const Value& value, const Value& schema) {
    const double v = value;
    return (!schema.contains("minimum") || v >= schema["minimum"].get<double>()) &&
           (!schema.contains("maximum") || v <= schema["maximum"].get<double>()) &&
           (!schema.contains("exclusiveMinimum") || v > schema["exclusiveMinimum"].get<double>()) &&
           (!schema.contains("exclusiveMaximum") || v < schema["exclusiveMaximum"].get<double>());
  }
  static bool is_text(const Value& value, const Value& schema) {
    const std::string text = value;
    const size_t n = count_code_points(text);
    if (schema.contains("pattern")) {
      CompileBudget budget;
      const auto pattern =
          parse_regex(schema["pattern"].get<std::string>(), RegexMatch::anywhere, "", budget);
      if (!accepts_text(*pattern, text)) return false;
    }
    return n >= schema.value("minLength", size_t{0}) && n <= schema.value("maxLength", n);
  }
  bool is_array(const Value& value, const Value& schema) const {
    if (!value.is_array()) return false;
    if (value.size() < schema.value("minItems", size_t{0}) ||
        value.size() > schema.value("maxItems", value.size()))
      return false;
    const size_t n_prefix = schema.contains("prefixItems") ? schema["prefixItems"].size() : 0;
    for (size_t i = 0; i < value.size(); ++i) {
      if (i < n_prefix ? !satisfies(value[i], schema["prefixItems"][i])
                       : schema.contains("items") && !satisfies(value[i], schema["items"]))
        return false;
    }
    return true;
  }
  bool is_object(const Value& value, const Value& schema) const {
    if (!value.is_object()) return false;
    const Value others = schema.value("additionalProperties", Value(!schema.contains("properties")));
    const Value properties = schema.value("properties", Value::object());
    for (const std::string name : schema.value("required", Value::array())) {
      if (!value.contains(name)) return false;
    }
    int64_t last = -1;
    for (const auto& [name, member] : value.items()) {
      const auto found = properties.find(name);
      int64_t place = 0;
      for (auto p = properties.begin(); p != found; ++p) ++place;
      if (place < last || !satisfies(member, found == properties.end() ? others : *found)) return false;
      last = place;
    }
    return true;
  }
  // Of objects whose properties differ.
  static Value joined(const Value& schemas) {
    Value all = {{"type", "object"}, {"properties", Value::object()}, {"required", Value::array()}};
    for (const Value& schema : schemas) {
      all["properties"].update(schema["properties"]);
      for (const Value& name : schema.value("required", Value::array())) all["required"].push_back(name);
    }
    return all;
  }

  const Value& root_;
};

class RandomSchema {
 public:
  explicit RandomSchema(uint64_t seed) : random_(seed) {}

  // With recursion through #/$defs/node, which may end anywhere.
  Value make() {
    Value schema = any(3);
    schema["$defs"]["node"] = {
        {"type", "object"},
        {"properties", {{"v", {{"type", "integer"}}}, {"next", {{"$ref", "#/$defs/node"}}}}},
        {"required", {"v"}}};
    return schema;
  }

  // A document that satisfies the schema more often than not.
  Value document(const Value& root, const Value& schema, int depth = 4) {
    if (chance(12)) return anything(2);
    if (schema.is_boolean()) return anything(1);
    if (schema.contains("$ref")) return document(root, root["$defs"]["node"], depth - 1);
    if (schema.contains("const")) return schema["const"];
    if (schema.contains("enum")) return schema["enum"][below(schema["enum"].size())];
    if (schema.contains("anyOf"))
      return document(root, schema["anyOf"][below(schema["anyOf"].size())], depth);
    if (schema.contains("allOf")) {
      Value value = Value::object();
      for (const Value& s : schema["allOf"]) {
        const Value part = document(root, s, depth);
        if (part.is_object()) value.update(part);
      }
      return value;
    }
    if (!schema.contains("type")) return anything(2);
    const std::string type = schema["type"];
    if (type == "null") return nullptr;
    if (type == "boolean") return chance(2);
    if (type == "integer") return number() / 100;
    if (type == "number")
      return chance(2) ? Value(number() / 100) : Value(static_cast<double>(number()) / 100);
    if (type == "string") return text();
    if (type == "array") {
      Value value = Value::array();
      const Value prefix = schema.value("prefixItems", Value::array());
      for (size_t i = 0, n = below(5); i < n; ++i)
        value.push_back(
            document(root, i < prefix.size() ? prefix[i] : schema.value("items", Value(true)), depth - 1));
      return value;
    }
    Value value = Value::object();
    const Value properties = schema.value("properties", Value::object());
    for (const auto& [name, s] : properties.items()) {
      const bool is_ref = s.is_object() && s.contains("$ref");
      if (chance(is_ref && depth <= 0 ? 1 : 4)) continue;
      value[name] = document(root, s, depth - 1);
    }
    if (chance(4)) value[std::string(1, "abcxyz"[below(6)])] = anything(1);
    return value;
  }

  // As answers may write it: a blank or none behind commas and colons, any escape.
  std::string written(const Value& value) {
    if (value.is_string()) return quoted(value);
    if (!value.is_structured()) return value.dump();
    std::string text = value.is_array() ? "[" : "{";
    bool is_first = true;
    for (const auto& [name, member] : value.items()) {
      if (!std::exchange(is_first, false)) text += chance(2) ? "," : ", ";
      if (value.is_object()) text += Value(name).dump() + (chance(2) ? ":" : ": ");
      text += written(member);
    }
    return text + (value.is_array() ? "]" : "}");
  }

  bool chance(size_t n) { return below(n) == 0; }
  size_t below(size_t n) { return random_() % n; }

 private:
  Value any(int depth) {
    switch (below(depth > 0 ? 14 : 8)) {
      case 0:
        return {{"type", chance(2) ? "null" : "boolean"}};
      case 1:
      case 2:
        return bounded("integer");
      case 3:
        return bounded("number");
      case 4:
      case 5:
        return string_schema();
      case 6:
        return {{"enum", Value::array({anything(1), anything(1), text()})}};
      case 7:
        return chance(2) ? Value{{"const", anything(1)}} : Value::object();
      case 8:
      case 9:
        return array(depth);
      case 10:
      case 11:
        return object(depth, chance(4) ? "abcdefghijklmn" : "abc");
      case 12:
        return chance(2)
                   ? Value{{"$ref", "#/$defs/node"}}
                   : Value{{"allOf", Value::array({object(depth, "ab", true), object(depth, "xy", true)})}};
      default:
        return {{"anyOf", Value::array({any(depth - 1), any(depth - 1), any(depth - 1)})}};
    }
  }
  Value bounded(const char* type) {
    Value schema = {{"type", type}};
    const auto bound = [&](const char* word) {
      if (chance(2))
        schema[word] = chance(3) ? Value(static_cast<double>(number()) / 100) : Value(number() / 100);
    };
    bound(chance(3) ? "exclusiveMinimum" : "minimum");
    bound(chance(3) ? "exclusiveMaximum" : "maximum");
    return schema;
  }
  Value string_schema() {
    static constexpr const char* kPatterns[] = {"a",        "^a",     "b$",  "^[ab]*$",
                                                "^(a|é)+$", "^.{2}$", "\\d", "^\"?$"};
    Value schema = {{"type", "string"}};
    if (chance(3)) schema["pattern"] = kPatterns[below(std::size(kPatterns))];
    if (chance(3)) schema["minLength"] = below(3);
    if (chance(3)) schema["maxLength"] = 1 + below(4);
    return schema;
  }
  Value array(int depth) {
    Value schema = {{"type", "array"}};
    if (!chance(4)) schema["items"] = chance(6) ? Value(false) : any(depth - 1);
    if (chance(3)) schema["prefixItems"] = Value::array({any(depth - 1), any(depth - 1)});
    if (chance(3)) schema["minItems"] = below(3);
    if (chance(3)) schema["maxItems"] = below(4);
    return schema;
  }
  Value object(int depth, const std::string& names, bool is_part = false) {
    Value schema = {{"type", "object"}};
    if (is_part || !chance(6)) {
      schema["properties"] = Value::object();
      for (const char name : names) {
        if (chance(4)) continue;
        schema["properties"][std::string(1, name)] = any(depth - 1);
        if (chance(2)) schema["required"].push_back(std::string(1, name));
      }
    }
    if (!is_part && chance(3)) schema["additionalProperties"] = chance(2) ? Value(chance(2)) : any(depth - 1);
    return schema;
  }
  Value anything(int depth) {
    switch (below(depth > 0 ? 8 : 5)) {
      case 0:
        return nullptr;
      case 1:
        return chance(2);
      case 2:
        return number() / 100;
      case 3:
        return static_cast<double>(number()) / 100;
      case 4:
      case 5:
        return text();
      case 6:
        return Value::array({anything(depth - 1), anything(depth - 1)});
      default:
        return {{std::string(1, "abxyz"[below(5)]), anything(depth - 1)}, {"v", anything(depth - 1)}};
    }
  }
  int64_t number() {
    static constexpr int64_t kRanges[] = {3, 1000, 30000, 12345678};
    const int64_t range = kRanges[below(4)];
    return static_cast<int64_t>(below(static_cast<size_t>(2 * range + 1))) - range;
  }
  std::string text() {
    static constexpr const char* kPieces[] = {"a",  "b",  "é", "日", "😀",    "\"",
                                              "\\", "\n", "/", "1",  "\x7f", "\x01"};
    std::string text;
    for (size_t n = below(6); n > 0; --n) text += kPieces[below(chance(2) ? 2 : std::size(kPieces))];
    return text;
  }
  std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (size_t at = 0; at < text.size();) {
      const size_t begin = at;
      const char32_t c = next_code_point(text, at);
      const std::string raw = text.substr(begin, at - begin);
      if (!chance(4)) {
        const std::string dumped = Value(raw).dump();
        out += dumped.substr(1, dumped.size() - 2);
      } else if (c < 0x10000) {
        out += fmt::format(fmt::runtime(chance(2) ? "\\u{:04x}" : "\\u{:04X}"), static_cast<uint32_t>(c));
      } else {
        out += fmt::format("\\u{:04x}\\u{:04X}", 0xD800 + ((c - 0x10000) >> 10),
                           0xDC00 + ((c - 0x10000) & 0x3FF));
      }
    }
    return out + '"';
  }

  std::mt19937_64 random_;
};

// A number that is integral may be written 1.0, which is no integer's form; documents have it as 1 or as 1.5.
void make_integral(Value& value) {
  if (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>())
    value = static_cast<int64_t>(value.get<double>());
  if (!value.is_structured()) return;
  for (Value& member : value) make_integral(member);
}

bool has_constant_string_escape(const Value& schema) {
  if (schema.is_object() && (schema.contains("enum") || schema.contains("const"))) return true;
  return schema.is_structured() && std::ranges::any_of(schema, has_constant_string_escape);
}

TEST(JsonSchema, GrammarsLetThroughWhatAPlainValidatorDoes) {
  int n_valid = 0, n_invalid = 0, n_empty = 0;
  EXPECT_TRUE(rc::check("random schemas and documents", [&](uint64_t seed) {
    RandomSchema random(seed);
    Value schema = random.make();
    make_integral(schema);
    const auto grammar = Grammar::from_json_schema(schema.dump());
    RC_LOG() << schema.dump() << "\n";
    if (!grammar) {  // nothing satisfies it: then the validator agrees on every document
      RC_LOG() << grammar.error().message << "\n";
      RC_ASSERT(grammar.error().code == ErrorCode::invalid_argument);
      ++n_empty;
    }
    for (int i = 0; i < 20; ++i) {
      Value document = random.document(schema, schema);
      make_integral(document);
      const bool expected = Validator(schema).satisfies(document, schema);
      // Constants are written in one way.
      const std::string text =
          has_constant_string_escape(schema) ? document.dump() : random.written(document);
      RC_LOG() << text << "\n";
      RC_ASSERT(!expected || grammar.has_value());
      if (grammar) RC_ASSERT(test::follows(*grammar, text) == expected);
      ++(expected ? n_valid : n_invalid);
    }
  }));
  EXPECT_GT(n_valid, 200);
  EXPECT_GT(n_invalid, 200);
  EXPECT_LT(n_empty, 50);
}

struct Case {
  const char* schema;
  std::vector<const char*> accepted, stopped;
};

TEST(JsonSchema, WordsMeanWhatTheyShould) {
  const Case kCases[] = {
      {R"({"type":"string","format":"date"})",
       {R"("2024-02-29")", R"("2000-02-29")"},
       {R"("2023-02-29")", R"("1900-02-29")", R"("2023-04-31")"}},
      {R"({"type":"string","format":"time"})",
       {R"("23:59:59Z")", R"("00:00:00.25+05:30")"},
       {R"("24:00:00Z")", R"("12:00:00")"}},
      {R"({"type":"string","format":"date-time"})",
       {R"("2024-02-29T10:00:00Z")"},
       {R"("2024-02-29 10:00:00Z")"}},
      {R"({"type":"string","format":"uuid"})",
       {R"("123e4567-e89b-12d3-a456-426614174000")"},
       {R"("123e4567e89b12d3a456426614174000")"}},
      {R"({"type":"string","format":"email"})",
       {R"("a.b+c@x-y.example.org")"},
       {R"("a@b")", R"("a..b@c.de")", R"("@c.de")"}},
      {R"({"type":"string","format":"ipv4"})",
       {R"("192.168.0.255")"},
       {R"("256.1.1.1")", R"("1.1.1")", R"("01.1.1.1")"}},
      {R"({"type":"string","format":"ipv6"})",
       {R"("::")", R"("::1")", R"("fe80::1:2")", R"("1:2:3:4:5:6:7:8")", R"("1::")"},
       {R"("1:2:3:4:5:6:7")", R"("1::2::3")", R"(":1")", R"("1:2:3:4:5:6:7:8:9")"}},
      {R"({"type":"string","format":"uri"})",
       {R"("https://a.b/c?d=%20#e")", R"("mailto:x@y.z")"},
       {R"("a b:c")", R"("//x")", R"("http://%zz")"}},
      {R"({"type":"string","format":"unheard-of"})", {R"("anything")"}, {"1"}},
      {R"({"type":"string","pattern":"^[a-z]+$","maxLength":3})",
       {R"("abc")"},
       {R"("abcd")", R"("")", R"("A")"}},
      {R"({"type":"string","pattern":"^\"$"})", {R"("\"")", R"("\u0022")"}, {R"(""")", R"("x")"}},
      {R"({"type":["string","null"],"enum":["a",null,3]})", {R"("a")", "null"}, {"3"}},
      {R"({"enum":["abc","b",5,50],"maxLength":2,"maximum":9})", {R"("b")", "5"}, {R"("abc")", "50"}},
      {R"({"type":"integer","nullable":true})", {"7", "null"}, {"true"}},
      {R"({"minimum":3})", {"3", "4.5"}, {"2", R"("x")"}},
      {R"({"type":"number"})",
       {"0", "-0", "1e9", "-1.5E-3", "12345678901234567890"},
       {"01", "1.", ".5", "+1"}},
      {R"({"type":"integer"})", {"0", "-12345678901234567890"}, {"-0", "1.0", "1e3"}},
      {R"({"type":"number","minimum":-1.25,"exclusiveMaximum":0})",
       {"-1.25", "-0.5", "-1", "-1.250"},
       {"-1.26", "0", "-0", "-0.0"}},
      {R"({"type":"number","minimum":0.1,"maximum":1e2})",
       {"0.1", "0.10", "99.99", "100", "100.0"},
       {"0.09", "100.1", "1e1", "0.12345678901234567"}},
      {R"({"type":"integer","minimum":9007199254740993})",
       {"9007199254740993", "99999999999999999999"},
       {"9007199254740992"}},
      {R"({"type":"integer","minimum":2.5,"maximum":3.5})", {"3"}, {"2", "4", "3.0"}},
      {R"({"type":"object","required":["b"],"properties":{"a":{}}})",
       {R"({"b":1})", R"({"a":[],"b":{}})"},
       {"{}", R"({"b":1,"a":2})", R"({"b":1,"c":2})"}},
      {R"({"type":"object","properties":{"a":false,"b":true}})", {"{}", R"({"b":1})"}, {R"({"a":1})"}},
      {R"({"type":"object","additionalProperties":{"type":"integer"}})",
       {"{}", R"({"x":1, "":2})"},
       {R"({"x":"y"})"}},
      {R"({"type":"object","properties":{"ab":{"type":"integer"}},"additionalProperties":{"type":"null"}})",
       {R"({"a":null,"abc":null})"},
       {R"({"ab":null})", R"({"\u0061b":null})", R"({"a\u0062":null})"}},
      {R"({"allOf":[{"$ref":"#/$defs/p"}],"title":"x","$defs":{"p":{"type":"string"}}})", {R"("s")"}, {"1"}},
      {R"({"type":"object","properties":{"k":{"type":"string"},"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]})",
       {R"({"a":1})", R"({"k":"x","b":1})", R"({"a":1,"b":2})"},
       {"{}", R"({"k":"x"})"}},
      {R"({"allOf":[{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false},{"type":"object","properties":{"b":{}}}]})",
       {"{}", R"({"a":1})"},
       {R"({"b":1})"}},
      {R"({"$ref":"#/definitions/a~1b%20c","definitions":{"a/b c":{"const":"x"}}})", {R"("x")"}, {R"("y")"}},
      {R"({"type":"array","items":{"$ref":"#"}})", {"[]", "[[],[[]]]"}, {"[1]"}},
      {R"({"type":"array","minItems":2,"maxItems":300,"items":{"type":"boolean"}})",
       {"[true,false]"},
       {"[true]", "[]"}},
      {"true", {"1", R"({"a":[null]})"}, {"", "[1 ]"}},
      {R"({"const":"é\n\"/"})", {R"("é\n\"/")"}, {R"("é")"}},
  };
  for (const Case& one : kCases) {
    const auto grammar = Grammar::from_json_schema(one.schema);
    ASSERT_TRUE(grammar) << one.schema << without_marks(grammar.error().message);
    for (const char* const text : one.accepted)
      EXPECT_TRUE(test::follows(*grammar, text)) << one.schema << text;
    for (const char* const text : one.stopped)
      EXPECT_FALSE(test::follows(*grammar, text)) << one.schema << text;
  }
}

TEST(JsonSchema, ErrorsNameTheirPlace) {
  const std::pair<const char*, const char*> kCases[] = {
      {R"({"properties":{"a/b":{"type":"text"}}})", "/properties/a~1b/type"},
      {R"({"anyOf":[{},{"allOf":[{"type":"string"},{"minLength":1}]}]})", "/anyOf/1/allOf"},
      {R"({"$defs":{"x":{"pattern":"("}},"$ref":"#/$defs/x"})", "/$defs/x/pattern"},
      {R"({"items":[{}]})", "/items"},
      {R"({"minLength":-1})", "/minLength"},
      {R"({"maximum":"9"})", "/maximum"},
      {R"({"enum":[]})", "/enum"},
      {R"({"$ref":"#/$defs/x"})", "/$ref"},
      {R"({"type":"object","properties":{"a":{"x-order":1}}})", "/properties/a/x-order"},
      {R"({"required":"a"})", "/required"},
      {R"({"const":{},"properties":{}})", "/properties"},
  };
  for (const auto& [schema, place] : kCases) {
    const auto grammar = Grammar::from_json_schema(schema);
    ASSERT_FALSE(grammar) << schema;
    const std::string expected = "json_schema=" + std::string(place) + ":";
    EXPECT_TRUE(without_marks(grammar.error().message).starts_with(expected)) << grammar.error().message;
  }
  for (const char* const schema : {"{", "[]", "3", "false", R"({"type":"integer","minimum":2,"maximum":1})",
                                   R"({"allOf":[{"$ref":"#"}]})", R"({"anyOf":[{"$ref":"#"}]})",
                                   R"({"type":"object","properties":{"a":false},"required":["a"]})"}) {
    const auto grammar = Grammar::from_json_schema(schema);
    ASSERT_FALSE(grammar) << schema;
    EXPECT_EQ(grammar.error().code, ErrorCode::invalid_argument) << grammar.error().message;
  }
}

TEST(JsonSchema, BoundsHoldJustInsideAndJustOutside) {
  const auto repeated = [](const std::string& piece, size_t n) {
    std::string text;
    for (size_t i = 0; i < n; ++i) text += (i > 0 ? "," : "") + fmt::format(fmt::runtime(piece), i);
    return text;
  };
  const auto properties = [&](size_t n) {
    return R"({"type":"object","properties":{)" + repeated(R"("p{}":{{"type":"string"}})", n) + "}}";
  };
  const auto values = [&](size_t n) { return R"({"enum":[)" + repeated("\"y{}\"", n) + "]}"; };
  const auto branches = [&](size_t n) { return R"({"anyOf":[)" + repeated(R"({{"const":{}}})", n) + "]}"; };
  const auto nested = [&](size_t n) {
    std::string text;
    for (size_t i = 1; i < n; ++i) text += R"({"type":"array","items":)";
    return text + "{}" + std::string(n - 1, '}');
  };
  const auto lengths = [](size_t n) {
    return fmt::format(R"({{"type":"string","minLength":1,"maxLength":{}}})", n);
  };
  const auto remark = [](size_t n) { return R"({"title":")" + std::string(n - 12, 'x') + R"("})"; };
  const std::pair<std::string, std::string> kPairs[] = {
      {properties(kMostProperties), properties(kMostProperties + 1)},
      {values(kMostEnumValues), values(kMostEnumValues + 1)},
      {branches(kMostBranches), branches(kMostBranches + 1)},
      {nested(kMostNesting), nested(kMostNesting + 1)},
      {lengths(kMostRepeats), lengths(kMostRepeats + 1)},
      {remark(kMostGrammarBytes), remark(kMostGrammarBytes + 1)},
  };
  for (const auto& [inside, outside] : kPairs) {
    const auto good = Grammar::from_json_schema(inside), bad = Grammar::from_json_schema(outside);
    EXPECT_TRUE(good) << inside.substr(0, 60) << good.error().message;
    ASSERT_FALSE(bad) << outside.substr(0, 60);
    EXPECT_EQ(bad.error().code, ErrorCode::too_complex) << bad.error().message;
  }
}

// 2^40 objects if each use of a definition were written out.
TEST(JsonSchema, DefinitionsThatJoinEachOtherAgainAndAgainAreRefused) {
  std::string text = R"({"$ref":"#/$defs/d0","$defs":{)";
  for (int i = 0; i < 40; ++i) {
    text += fmt::format(R"("d{}":{{"allOf":[{{"$ref":"#/$defs/d{}"}},{{"$ref":"#/$defs/d{}"}}]}},)", i, i + 1,
                        i + 1);
  }
  const auto grammar = Grammar::from_json_schema(text + R"("d40":{"type":"object"}}})");
  ASSERT_FALSE(grammar);
}

}  // namespace
}  // namespace parlance
