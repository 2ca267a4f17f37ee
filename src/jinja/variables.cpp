#include "jinja/variables.h"

#include <nlohmann/json.hpp>

namespace parlance::jinja {

namespace {

// Receives the parser's events and builds values bottom-up, without a document in between.
class ValueBuilder : public nlohmann::json_sax<nlohmann::ordered_json> {
 public:
  explicit ValueBuilder(size_t max_depth) : max_depth_(max_depth) {}

  Value root;
  std::string error;

  bool null() override { return add(Value::none()); }
  bool boolean(bool value) override { return add(Value::boolean(value)); }
  bool number_integer(number_integer_t value) override { return add(Value::integer(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(INT64_MAX))
      return add(Value::integer(static_cast<int64_t>(value)));
    return add_big(std::to_string(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.find_first_of(".eE") == std::string::npos) return add_big(text);
    return add(Value::real(value));
  }
  bool string(string_t& value) override { return add(make_text(nullptr, std::move(value))); }
  bool binary(binary_t&) override { return false; }  // not in JSON

  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool key(string_t& value) override {
    open_.back().keys.push_back(make_text(nullptr, std::move(value)));
    return true;
  }
  bool end_object() override {
    Container object = std::move(open_.back());
    open_.pop_back();
    std::vector<Dict::Entry> entries;
    entries.reserve(object.keys.size());
    for (size_t i = 0; i < object.keys.size(); ++i) {
      entries.emplace_back(std::move(object.keys[i]), std::move(object.values[i]));
    }
    return add(make_dict(nullptr, std::move(entries)));
  }
  bool end_array() override {
    Container array = std::move(open_.back());
    open_.pop_back();
    array.values.shrink_to_fit();
    return add(make_sequence(nullptr, std::move(array.values)));
  }

  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error = fmt::format("byte {}: not valid JSON", position);
    return false;
  }

 private:
  struct Container {
    std::vector<Value> keys;  // of an object
    std::vector<Value> values;
  };

  bool add(Value value) {
    if (open_.empty()) {
      root = std::move(value);
    } else {
      open_.back().values.push_back(std::move(value));
    }
    return true;
  }
  bool add_big(std::string digits) {
    return add(Value(Value::Data(std::make_shared<const BigInteger>(BigInteger{std::move(digits)}))));
  }
  bool open() {
    if (open_.size() >= max_depth_) {
      error = fmt::format("nested deeper than the limit of {}", max_depth_);
      return false;
    }
    open_.emplace_back();
    return true;
  }

  const size_t max_depth_;
  std::vector<Container> open_;
};

}  // namespace

Result<Value> parse_json(std::string_view json, size_t max_depth) {
  ValueBuilder builder(max_depth);
  bool parsed = false;
  try {
    parsed = nlohmann::ordered_json::sax_parse(json.begin(), json.end(), &builder);
  } catch (const std::exception& exception) {
    builder.error = exception.what();
  }
  if (!parsed) return fail(ErrorCode::invalid_argument, "{}", builder.error);
  return std::move(builder.root);
}

}  // namespace parlance::jinja
