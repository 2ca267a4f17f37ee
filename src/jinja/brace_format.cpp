#include <algorithm>

#include "jinja/print.h"
#include "jinja/text_format.h"

namespace parlance::jinja {

namespace {

struct Field {
  std::string_view name;
  char conversion = 's';
};

// `field` is what stands between braces.
Result<Field> parse_field(std::string_view field) {
  Field result;
  const size_t end = std::min(field.find_first_of("!:"), field.size());
  result.name = field.substr(0, end);
  if (result.name.find_first_of(".[") != std::string_view::npos) {
    return fail(ErrorCode::unsupported, "attributes and items in a field of format() are not supported");
  }
  std::string_view rest = field.substr(end);
  if (rest.starts_with('!')) {
    if (rest.size() < 2 || (rest[1] != 's' && rest[1] != 'r') || (rest.size() > 2 && rest[2] != ':')) {
      return fail(ErrorCode::unsupported, "format() supports the conversions !s and !r");
    }
    result.conversion = rest[1];
    rest.remove_prefix(2);
  }
  if (rest.size() > 1)
    return fail(ErrorCode::unsupported, "format specifications in format() are not supported");
  return result;
}

class BraceFormatter {
 public:
  BraceFormatter(Budget& budget, const Value& format, const CallArguments& arguments)
      : writer_(budget), format_(*format.string()), is_markup_(format.is_markup()), arguments_(arguments) {}

  Result<Value> run() {
    for (size_t at = 0; at < format_.size() && !writer_.failed();) {
      writer_.budget().spend(1);
      const size_t brace = std::min(format_.find_first_of("{}", at), format_.size());
      writer_.append(format_.substr(at, brace - at));
      at = brace + 1;
      if (brace >= format_.size()) break;
      const char c = format_[brace];
      if (at < format_.size() && format_[at] == c) {  // doubled: the brace itself
        writer_.append(c);
        ++at;
        continue;
      }
      const size_t end = format_.find('}', at);
      if (c == '}' || end == std::string_view::npos) {
        return fail(ErrorCode::invalid_argument,
                    "a single '{}' in the text of format(); double it to print it", c);
      }
      PARLANCE_TRY(const Field field, parse_field(format_.substr(at, end - at)));
      PARLANCE_CHECK(write_field(field));
      at = end + 1;
    }
    return writer_.finish_text(is_markup_);
  }

 private:
  Result<void> write_field(const Field& field) {
    PARLANCE_TRY(const Value value, find(field.name));
    Writer text(writer_.budget());
    if (field.conversion == 'r') {
      write_repr(text, value);
    } else {
      write_str(text, value);
    }
    PARLANCE_TRY(const std::string string, text.finish());
    if (is_markup_ && !(field.conversion == 's' && value.is_markup())) {
      write_escaped(writer_, string);
    } else {
      writer_.append(string);
    }
    return {};
  }

  Result<Value> find(std::string_view name) {
    const bool is_number =
        !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!name.empty() && !is_number) {
      const auto& named = arguments_.named;
      const auto found =
          std::find_if(named.begin(), named.end(), [&](const auto& entry) { return entry.first == name; });
      if (found != named.end()) return found->second;
      return fail(ErrorCode::invalid_argument, "format() was given no argument '{}'", name.substr(0, 80));
    }
    if (is_number ? next_ > 0 : is_numbered_) {
      return fail(ErrorCode::invalid_argument, "format() mixes numbered fields with empty ones");
    }
    size_t index = next_;
    if (is_number) {
      is_numbered_ = true;
      index = name.size() > 6 ? SIZE_MAX : std::stoul(std::string(name));
    } else {
      ++next_;
    }
    if (index < arguments_.positional.size()) return arguments_.positional[index];
    return fail(ErrorCode::invalid_argument,
                "format() was given {} positional argument(s), the text uses more",
                arguments_.positional.size());
  }

  Writer writer_;
  const std::string_view format_;
  const bool is_markup_;
  const CallArguments& arguments_;
  size_t next_ = 0;           // of the fields without a number
  bool is_numbered_ = false;  // a field with a number was seen
};

}  // namespace

Result<Value> format_braces(Budget& budget, const Value& format, const CallArguments& arguments) {
  return BraceFormatter(budget, format, arguments).run();
}

}  // namespace parlance::jinja
