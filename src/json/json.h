// JSON values, for results that other programs read and for files of conversations and questions. The library
// behind them is included in one source file.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace parlance {

enum class JsonKind : uint8_t { null, boolean, integer, number, text, array, object };

class Json {
 public:
  Json();            // null
  Json(bool value);  // NOLINT: implicit, so that values can be listed
  Json(std::string_view text);
  Json(const char* text) : Json(std::string_view(text)) {}
  Json(const std::string& text) : Json(std::string_view(text)) {}
  Json(double value);  // not a finite number: null
  template <std::integral T>
  Json(T value) : Json(std::is_signed_v<T> ? from_signed(value) : from_unsigned(value)) {}

  static Json object(std::initializer_list<std::pair<std::string_view, Json>> members = {});
  static Json array();
  // Any text is accepted; what is no JSON is an error in words, without a name in front.
  static Result<Json> parse(std::string_view text);
  // The same for requests of other programs, where two readers of one text must not differ: no key may come
  // twice in an object of the first two levels. Errors say the byte.
  static Result<Json> parse_request(std::string_view text);

  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(Json) noexcept;
  ~Json();

  // Members keep the order in which they were set; elements are appended. set() looks whether the key is
  // there already, add() trusts that it is not: for many keys that are known to differ.
  Json& set(std::string_view key, const Json& value);
  Json& add(std::string_view key, const Json& value);
  Json& push(const Json& element);

  // On one line, or indented for people. Bytes that are not UTF-8 come out as U+FFFD.
  std::string line() const;
  std::string pretty() const;

  // What a value holds, if it is of that kind. Members and elements are copies.
  JsonKind kind() const;  // a number without a fraction is an integer, whatever its size
  bool is_object() const;
  bool is_null() const;
  std::optional<bool> truth() const;
  std::optional<Json> member(std::string_view key) const;
  std::optional<std::string> text() const;
  std::optional<double> number() const;
  std::optional<int64_t> integer() const;  // one that fits
  std::optional<std::vector<Json>> elements() const;
  std::optional<std::vector<std::pair<std::string, Json>>> members() const;  // in their order

 private:
  struct Impl;
  static Json from_signed(int64_t value);
  static Json from_unsigned(uint64_t value);
  explicit Json(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace parlance
