#include "chat/json_bytes.h"

#include "base/ascii.h"

namespace parlance {

namespace {

bool is_json_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool is_hex_digit(char c) {
  return ascii::is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

}  // namespace

bool JsonBytes::push(char c) {
  switch (state_) {
    case State::first_value:
      if (c == ']') return behind_value(c);
      [[fallthrough]];
    case State::value:
      return is_json_space(c) || begin_value(c);
    case State::first_key:
      if (c == '}') return behind_value(c);
      [[fallthrough]];
    case State::key:
      if (is_json_space(c)) return true;
      if (c != '"') return false;
      is_key_ = true;
      return go(State::text);
    case State::colon:
      if (is_json_space(c)) return true;
      return c == ':' && go(State::value);
    case State::behind:
      return is_json_space(c) || behind_value(c);
    case State::text:
    case State::escape:
    case State::digits16:
      return in_text(c);
    case State::word:
      if (rest_.empty() || c != rest_.front()) return false;
      rest_.remove_prefix(1);
      if (rest_.empty()) end_value();
      return true;
    case State::done:
      return false;
    default:
      return in_number(c);
  }
}

bool JsonBytes::open(char c, State state) {
  if (open_.size() >= kMostDepth) return false;
  open_.push_back(c);
  return go(state);
}

bool JsonBytes::begin_value(char c) {
  switch (c) {
    case '{':
      return open(c, State::first_key);
    case '[':
      return open(c, State::first_value);
    case '"':
      is_key_ = false;
      return go(State::text);
    case 't':
      rest_ = "rue";
      return go(State::word);
    case 'f':
      rest_ = "alse";
      return go(State::word);
    case 'n':
      rest_ = "ull";
      return go(State::word);
    case '-':
      return go(State::sign);
    case '0':
      return go(State::zero);
    default:
      return ascii::is_digit(c) && go(State::whole);
  }
}

bool JsonBytes::in_text(char c) {
  if (state_ == State::digits16) {
    if (!is_hex_digit(c)) return false;
    if (++n_digits_ == 4) state_ = State::text;
    return true;
  }
  if (state_ == State::escape) {
    n_digits_ = 0;
    if (c == 'u') return go(State::digits16);
    return std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos && go(State::text);
  }
  if (static_cast<unsigned char>(c) < ' ') return false;
  if (c == '\\') return go(State::escape);
  if (c != '"') return true;
  if (is_key_) return go(State::colon);
  end_value();
  return true;
}

bool JsonBytes::in_number(char c) {
  const bool is_digit = ascii::is_digit(c), is_e = c == 'e' || c == 'E';
  switch (state_) {
    case State::sign:
      return c == '0' ? go(State::zero) : is_digit && go(State::whole);
    case State::whole:
      if (is_digit) return true;
      [[fallthrough]];
    case State::zero:
      if (c == '.') return go(State::point);
      if (is_e) return go(State::exponent);
      break;
    case State::point:
      return is_digit && go(State::fraction);
    case State::fraction:
      if (is_digit) return true;
      if (is_e) return go(State::exponent);
      break;
    case State::exponent:
      if (c == '+' || c == '-') return go(State::exponent_sign);
      [[fallthrough]];
    case State::exponent_sign:
      return is_digit && go(State::power);
    default:
      if (is_digit) return true;
      break;
  }
  // The number has ended; what stands here belongs to what it is in.
  if (open_.empty()) return false;
  const State before = state_;
  state_ = State::behind;
  if (push(c)) return true;
  return !go(before);
}

bool JsonBytes::behind_value(char c) {
  if (open_.empty()) return false;
  if (c == (open_.back() == '{' ? '}' : ']')) {
    open_.pop_back();
    end_value();
    return true;
  }
  if (c != ',') return false;
  return go(open_.back() == '{' ? State::key : State::value);
}

}  // namespace parlance
