#include "jinja/print.h"

#include <charconv>
#include <cmath>
#include <cstdlib>

#include "jinja/ast.h"
#include "text/unicode.h"

namespace parlance::jinja {

namespace {

void write_hex(Writer& writer, char prefix, int digits, char32_t c) {
  writer.append(fmt::format("\\{}{:0{}x}", prefix, static_cast<uint32_t>(c), digits));
}

void write_string_repr(Writer& writer, const std::string& text) {
  writer.budget().spend_on_characters(text.size());
  const bool has_single = text.find('\'') != std::string::npos;
  const char quote = has_single && text.find('"') == std::string::npos ? '"' : '\'';
  writer.append(quote);
  size_t plain = 0;  // start of what is written as it is
  for (size_t at = 0; at < text.size() && !writer.failed();) {
    const size_t begin = at;
    const char32_t c = next_code_point(text, at);
    const bool needs_backslash = c == static_cast<char32_t>(quote) || c == U'\\';
    if (!needs_backslash && is_printable(c)) continue;
    writer.append(std::string_view(text).substr(plain, begin - plain));
    plain = at;
    if (needs_backslash) {
      writer.append('\\');
      writer.append(static_cast<char>(c));
    } else if (c == U'\n') {
      writer.append("\\n");
    } else if (c == U'\r') {
      writer.append("\\r");
    } else if (c == U'\t') {
      writer.append("\\t");
    } else if (c < 0x100) {
      write_hex(writer, 'x', 2, c);
    } else if (c < 0x10000) {
      write_hex(writer, 'u', 4, c);
    } else {
      write_hex(writer, 'U', 8, c);
    }
  }
  writer.append(std::string_view(text).substr(plain));
  writer.append(quote);
}

void write_elements(Writer& writer, const std::vector<Value>& items) {
  bool first = true;
  for (const Value& item : items) {
    if (writer.failed()) return;
    if (!first) writer.append(", ");
    first = false;
    write_repr(writer, item);
  }
}

void write_sequence(Writer& writer, const Sequence& sequence) {
  switch (sequence.kind) {
    case Sequence::Kind::list:
      writer.append('[');
      break;
    case Sequence::Kind::tuple:
    case Sequence::Kind::group:
      writer.append('(');
      break;
    case Sequence::Kind::keys:
      writer.append("dict_keys([");
      break;
    case Sequence::Kind::values:
      writer.append("dict_values([");
      break;
    case Sequence::Kind::items:
      writer.append("dict_items([");
      break;
    case Sequence::Kind::range:
      writer.fail({ErrorCode::unsupported, "printing a range is not supported; turn it into a list first"});
      return;
  }
  write_elements(writer, sequence.items);
  if (sequence.kind == Sequence::Kind::list) {
    writer.append(']');
  } else if (sequence.is_tuple()) {
    writer.append(sequence.items.size() == 1 ? ",)" : ")");
  } else {
    writer.append("])");
  }
}

void write_dict(Writer& writer, const Dict& dict) {
  writer.append('{');
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (writer.failed()) return;
    if (!first) writer.append(", ");
    first = false;
    write_repr(writer, key);
    writer.append(": ");
    write_repr(writer, value);
  }
  writer.append('}');
}

}  // namespace

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[32];
  char* const end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  const std::string_view scientific(buffer, static_cast<size_t>(end - buffer));
  const size_t e = scientific.find('e');
  *end = '\0';
  const int exponent = std::atoi(buffer + e + 1);
  if (exponent < -4 || exponent >= 16) return std::string(scientific);  // the notations agree
  std::string result;
  std::string digits;
  for (char c : scientific.substr(0, e)) {
    if (c == '-') {
      result += c;
    } else if (c != '.') {
      digits += c;
    }
  }
  if (exponent < 0) return result + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const size_t n_whole = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= n_whole) return result + digits + std::string(n_whole - digits.size(), '0') + ".0";
  return result + digits.substr(0, n_whole) + "." + digits.substr(n_whole);
}

void write_repr(Writer& writer, const Value& value) {
  writer.budget().spend(1);
  if (writer.failed()) return;
  if (value.is_undefined()) {
    writer.append("Undefined");
  } else if (value.is_none()) {
    writer.append("None");
  } else if (value.is_boolean()) {
    writer.append(is_true(value) ? "True" : "False");
  } else if (const int64_t* integer = value.integer()) {
    writer.append(std::to_string(*integer));
  } else if (const double* real = value.real()) {
    writer.append(float_repr(*real));
  } else if (const auto* big = value.pointee<const BigInteger>()) {
    writer.append(big->digits);
  } else if (const std::string* string = value.string()) {
    if (value.is_markup()) writer.append("Markup(");
    write_string_repr(writer, *string);
    if (value.is_markup()) writer.append(')');
  } else if (const Sequence* sequence = value.sequence()) {
    write_sequence(writer, *sequence);
  } else if (const Dict* dict = value.dict()) {
    write_dict(writer, *dict);
  } else if (const auto* loop = value.pointee<Loop>()) {
    if (!loop->is_complete()) {
      writer.fail({ErrorCode::unsupported, "printing the state of a loop with a condition is not supported"});
    }
    writer.append(fmt::format("<LoopContext {}/{}>", loop->index0 + 1, loop->items().size()));
  } else if (const auto* macro = value.pointee<const Macro>()) {
    writer.append("<Macro ");
    if (macro->definition->name) {
      write_string_repr(writer, macro->definition->name->bytes);
    } else {
      writer.append("anonymous");
    }
    writer.append('>');
  } else {
    writer.fail({ErrorCode::unsupported, fmt::format("printing a {} is not supported", type_name(value))});
  }
}

void write_str(Writer& writer, const Value& value) {
  if (const std::string* string = value.string()) {
    writer.append(*string);
  } else if (!value.is_undefined()) {
    write_repr(writer, value);
  }
}

Result<std::string> to_str(Budget& budget, const Value& value) {
  Writer writer(budget);
  write_str(writer, value);
  return writer.finish();
}

void write_escaped(Writer& writer, std::string_view text) {
  writer.budget().spend_on_characters(text.size());
  size_t plain = 0;
  for (size_t i = 0; i < text.size() && !writer.failed(); ++i) {
    const char* entity = nullptr;
    switch (text[i]) {
      case '&':
        entity = "&amp;";
        break;
      case '<':
        entity = "&lt;";
        break;
      case '>':
        entity = "&gt;";
        break;
      case '\'':
        entity = "&#39;";
        break;
      case '"':
        entity = "&#34;";
        break;
      default:
        continue;
    }
    writer.append(text.substr(plain, i - plain));
    writer.append(entity);
    plain = i + 1;
  }
  writer.append(text.substr(plain));
}

Result<Value> escape_html(Budget& budget, const Value& value) {
  if (value.is_markup()) return value;
  Writer writer(budget);
  if (const std::string* string = value.string()) {
    write_escaped(writer, *string);
  } else {
    PARLANCE_TRY(const std::string text, to_str(budget, value));
    write_escaped(writer, text);
  }
  return writer.finish_text(/*markup=*/true);
}

}  // namespace parlance::jinja
