// JSON byte by byte: whether the next one can belong to a value, and where that ends.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace parlance {

class JsonBytes {
 public:
  static constexpr size_t kMostDepth = 64;

  // Takes a byte of a value, or says that it is none of it; then nothing has changed.
  bool push(char c);
  // An object, array, string or word has ended. A number ends only with what comes behind it.
  bool is_done() const { return state_ == State::done; }

 private:
  enum class State : uint8_t {
    value,        // white space or the first byte of one
    first_value,  // the same, or the end of the array
    first_key,    // or the end of the object
    key,
    colon,
    behind,  // a value inside of something
    text,
    escape,
    digits16,
    word,
    sign,
    zero,
    whole,
    point,
    fraction,
    exponent,
    exponent_sign,
    power,
    done,
  };

  bool begin_value(char c);
  bool in_text(char c);
  bool in_number(char c);
  bool behind_value(char c);
  bool open(char c, State state);
  bool go(State state) {
    state_ = state;
    return true;
  }
  void end_value() { state_ = open_.empty() ? State::done : State::behind; }

  State state_ = State::value;
  std::vector<char> open_;  // '{' and '['
  bool is_key_ = false;     // the string that is open
  int n_digits_ = 0;
  std::string_view rest_;  // of a word
};

}  // namespace parlance
