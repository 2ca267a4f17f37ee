#include <algorithm>
#include <charconv>
#include <cmath>

#include "jinja/print.h"
#include "jinja/text_format.h"
#include "text/letter_case.h"
#include "text/unicode.h"

namespace parlance::jinja {

namespace {

// A number would be padded to this many characters at most; the field of a chat template is a few wide.
constexpr int64_t kMaxNumberField = 4096;

struct Placeholder {
  bool left_aligned = false, plus = false, space = false, zeros = false, alternate = false;
  size_t width = 0;
  std::optional<size_t> precision;
  char conversion = 0;
};

class PercentFormatter {
 public:
  PercentFormatter(Budget& budget, const Value& format, const Value& arguments)
      : writer_(budget), format_(*format.string()), is_markup_(format.is_markup()), arguments_(arguments) {
    const Sequence* sequence = arguments.sequence();
    if (sequence && sequence->is_tuple()) {
      positional_ = sequence->items;
    } else {
      positional_ = {arguments};
      may_leave_arguments_ = arguments.dict() || sequence;
    }
  }

  Result<Value> run() {
    while (at_ < format_.size() && !writer_.failed()) {
      const size_t percent = std::min(format_.find('%', at_), format_.size());
      writer_.append(std::string_view(format_).substr(at_, percent - at_));
      at_ = percent + 1;
      if (percent < format_.size()) PARLANCE_CHECK(write_placeholder());
    }
    if (next_ < positional_.size() && !may_leave_arguments_) {
      return fail(ErrorCode::invalid_argument, "'%' was given {} value(s), the format uses {}",
                  positional_.size(), next_);
    }
    return writer_.finish_text(is_markup_);
  }

 private:
  bool at_end() const { return at_ >= format_.size(); }

  Result<Value> next_argument() {
    if (next_ >= positional_.size()) {
      return fail(ErrorCode::invalid_argument, "'%' was given {} value(s), the format uses more",
                  positional_.size());
    }
    return positional_[next_++];
  }

  // The value of `%(name)s`, which is not taken from the positional ones.
  Result<Value> named_argument() {
    const size_t end = format_.find(')', at_);
    if (end == std::string::npos) return fail(ErrorCode::invalid_argument, "'%(' without ')' in a format");
    const std::string_view name = std::string_view(format_).substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    const Dict* dict = arguments_.dict();
    if (!dict)
      return fail(ErrorCode::invalid_argument, "'%(name)' in a format needs a dict on the right of '%'");
    const Value* value = dict->find(name);
    if (!value) {
      return fail(ErrorCode::invalid_argument, "the dict of '%' has no key '{}'", name.substr(0, 80));
    }
    may_leave_arguments_ = true;
    return *value;
  }

  Result<size_t> read_number() {
    if (!at_end() && format_[at_] == '*') {
      ++at_;
      PARLANCE_TRY(const Value value, next_argument());
      PARLANCE_TRY(const int64_t number, integer_or("'*' in a format", &value, 0));
      if (number < 0) return fail(ErrorCode::unsupported, "a negative '*' in a format is not supported");
      return static_cast<size_t>(number);
    }
    size_t number = 0;
    for (; !at_end() && format_[at_] >= '0' && format_[at_] <= '9'; ++at_) {
      if (number > SIZE_MAX / 100)
        return fail(ErrorCode::invalid_argument, "a width in a format is too large");
      number = number * 10 + static_cast<size_t>(format_[at_] - '0');
    }
    return number;
  }

  Result<void> write_placeholder() {
    writer_.budget().spend(1);
    Placeholder placeholder;
    std::optional<Value> named;
    if (!at_end() && format_[at_] == '(') {
      PARLANCE_TRY(named, named_argument());
    }
    for (; !at_end(); ++at_) {
      const char c = format_[at_];
      if (c == '-')
        placeholder.left_aligned = true;
      else if (c == '+')
        placeholder.plus = true;
      else if (c == ' ')
        placeholder.space = true;
      else if (c == '0')
        placeholder.zeros = true;
      else if (c == '#')
        placeholder.alternate = true;
      else
        break;
    }
    PARLANCE_TRY(placeholder.width, read_number());
    if (!at_end() && format_[at_] == '.') {
      ++at_;
      PARLANCE_TRY(placeholder.precision, read_number());
    }
    while (!at_end() && (format_[at_] == 'h' || format_[at_] == 'l' || format_[at_] == 'L')) ++at_;
    if (at_end()) return fail(ErrorCode::invalid_argument, "a format ends inside a placeholder");
    placeholder.conversion = format_[at_++];
    if (placeholder.conversion == '%') {
      writer_.append('%');
      return {};
    }
    if (!named) {
      PARLANCE_TRY(named, next_argument());
    }
    return write_value(placeholder, *named);
  }

  Result<void> write_value(const Placeholder& placeholder, const Value& value) {
    switch (placeholder.conversion) {
      case 's':
      case 'r':
        return write_string(placeholder, value);
      case 'c':
        return write_character(placeholder, value);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        return write_integer(placeholder, value);
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        return write_real(placeholder, value);
      default:
        break;
    }
    return fail(ErrorCode::unsupported, "'%{}' in a format is not supported",
                printable(placeholder.conversion));
  }

  static std::string printable(char c) {
    return c >= 0x20 && c < 0x7f ? std::string(1, c)
                                 : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }

  void write_padded(const Placeholder& placeholder, std::string_view text) {
    const size_t length = count_code_points(text);
    const size_t padding = placeholder.width > length ? placeholder.width - length : 0;
    if (!placeholder.left_aligned) writer_.append(padding, ' ');
    writer_.append(text);
    if (placeholder.left_aligned) writer_.append(padding, ' ');
  }

  Result<void> write_string(const Placeholder& placeholder, const Value& value) {
    Writer text(writer_.budget());
    if (placeholder.conversion == 'r') {
      write_repr(text, value);
    } else {
      write_str(text, value);
    }
    PARLANCE_TRY(std::string string, text.finish());
    if (is_markup_ && !(placeholder.conversion == 's' && value.is_markup())) {
      Writer escaped(writer_.budget());
      write_escaped(escaped, string);
      PARLANCE_TRY(string, escaped.finish());
    }
    if (placeholder.precision) string.resize(offset_of_code_point(string, *placeholder.precision));
    write_padded(placeholder, string);
    return {};
  }

  Result<void> write_character(const Placeholder& placeholder, const Value& value) {
    std::string text;
    if (const auto whole = value.whole()) {
      if (*whole < 0 || *whole > 0x10ffff || (*whole >= 0xd800 && *whole < 0xe000)) {
        return fail(ErrorCode::invalid_argument, "'%c' needs the number of a character, found {}", *whole);
      }
      append_utf8(text, static_cast<char32_t>(*whole));
    } else if (const std::string* string = value.string(); string && count_code_points(*string) == 1) {
      text = *string;
    } else {
      return wrong_type("'%c'", "a number or one character", value);
    }
    write_padded(placeholder, text);
    return {};
  }

  // A number of the parts sign, prefix (0x) and digits, padded with spaces in front of it, or zeros inside.
  Result<void> write_number(const Placeholder& placeholder, bool is_negative, std::string_view prefix,
                            std::string_view digits, bool may_have_zeros) {
    std::string head = is_negative ? "-" : placeholder.plus ? "+" : placeholder.space ? " " : "";
    head += prefix;
    std::string body(digits);
    if (placeholder.zeros && !placeholder.left_aligned && may_have_zeros &&
        head.size() + body.size() < placeholder.width) {
      if (placeholder.width > kMaxNumberField) return too_wide();
      body.insert(0, placeholder.width - head.size() - body.size(), '0');
    }
    write_padded(placeholder, head + body);
    return {};
  }

  static tl::unexpected<Error> too_wide() {
    return fail(ErrorCode::unsupported, "numbers of more than {} characters are not supported in a format",
                kMaxNumberField);
  }

  Result<void> write_integer(const Placeholder& placeholder, const Value& value) {
    const char conversion = placeholder.conversion;
    const bool is_decimal = conversion == 'd' || conversion == 'i' || conversion == 'u';
    int64_t number = 0;
    if (const auto whole = value.whole()) {
      number = *whole;
    } else if (const double* real = value.real(); real && is_decimal) {
      if (!(*real > -0x1p63 && *real < 0x1p63)) {
        return fail(ErrorCode::unsupported, "'%{}' of a float beyond 64 bits is not supported", conversion);
      }
      number = static_cast<int64_t>(*real);
    } else {
      return wrong_type(fmt::format("'%{}'", conversion), "a number", value);
    }
    const uint64_t magnitude = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    std::string digits = is_decimal          ? fmt::format("{}", magnitude)
                         : conversion == 'x' ? fmt::format("{:x}", magnitude)
                         : conversion == 'X' ? fmt::format("{:X}", magnitude)
                                             : fmt::format("{:o}", magnitude);
    if (placeholder.precision && *placeholder.precision > digits.size()) {
      if (*placeholder.precision > kMaxNumberField) return too_wide();
      digits.insert(0, *placeholder.precision - digits.size(), '0');
    }
    const char* prefix = "";
    if (placeholder.alternate && !is_decimal)
      prefix = conversion == 'x' ? "0x" : conversion == 'X' ? "0X" : "0o";
    return write_number(placeholder, number < 0, prefix, digits, true);
  }

  Result<void> write_real(const Placeholder& placeholder, const Value& value) {
    double number = 0;
    if (const auto whole = value.whole()) {
      number = static_cast<double>(*whole);
    } else if (const double* real = value.real()) {
      number = *real;
    } else {
      return wrong_type(fmt::format("'%{}'", placeholder.conversion), "a number", value);
    }
    const char conversion = placeholder.conversion;
    if (!std::isfinite(number)) {
      const bool is_capital = conversion == 'F' || conversion == 'E' || conversion == 'G';
      const char* name = std::isnan(number) ? (is_capital ? "NAN" : "nan") : (is_capital ? "INF" : "inf");
      return write_number(placeholder, number < 0, "", name, false);
    }
    const size_t precision = placeholder.precision.value_or(6);
    if (precision > kMaxNumberField) return too_wide();
    if (placeholder.alternate)
      return fail(ErrorCode::unsupported, "'#' for a float in a format is not supported");
    const char kind = static_cast<char>(conversion | 0x20);
    const auto style = kind == 'e'   ? std::chars_format::scientific
                       : kind == 'f' ? std::chars_format::fixed
                                     : std::chars_format::general;
    std::string digits(512 + precision, '\0');
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), std::fabs(number), style,
                                   static_cast<int>(precision));
    digits.resize(static_cast<size_t>(end.ptr - digits.data()));
    if (conversion != kind) digits = upper(digits);
    return write_number(placeholder, std::signbit(number), "", digits, true);
  }

  Writer writer_;
  const std::string& format_;
  const bool is_markup_;
  const Value& arguments_;
  std::vector<Value> positional_;
  bool may_leave_arguments_ = false;
  size_t at_ = 0;
  size_t next_ = 0;
};

}  // namespace

Result<Value> format_percent(Budget& budget, const Value& format, const Value& arguments) {
  return PercentFormatter(budget, format, arguments).run();
}

}  // namespace parlance::jinja
