// JSON as Python's json.dumps writes it.
#include <algorithm>
#include <cmath>

#include "jinja/print.h"
#include "jinja/sorting.h"
#include "text/unicode.h"

namespace parlance::jinja {

namespace {

class JsonWriter {
 public:
  JsonWriter(Writer& writer, const JsonStyle& style) : writer_(writer), style_(style) {}

  void write(const Value& value, size_t level) {
    writer_.budget().spend(1);
    if (writer_.failed()) return;
    if (value.is_none()) {
      writer_.append("null");
    } else if (value.is_boolean()) {
      writer_.append(is_true(value) ? "true" : "false");
    } else if (const int64_t* integer = value.integer()) {
      writer_.append(std::to_string(*integer));
    } else if (const double* real = value.real()) {
      write_real(*real);
    } else if (const auto* big = value.pointee<const BigInteger>()) {
      writer_.append(big->digits);
    } else if (const std::string* string = value.string()) {
      write_string(*string);
    } else if (const Sequence* sequence = value.sequence(); sequence && is_array(*sequence)) {
      write_array(*sequence, level);
    } else if (const Dict* dict = value.dict()) {
      write_object(*dict, level);
    } else {
      const std::string why = value.is_undefined() ? "; " + undefined_message(value) : "";
      writer_.fail({ErrorCode::invalid_argument,
                    fmt::format("'{}' has no form in JSON (tojson){}", type_name(value), why)});
    }
  }

 private:
  static bool is_array(const Sequence& sequence) {
    return sequence.kind == Sequence::Kind::list || sequence.is_tuple();
  }

  void write_real(double value) {
    if (std::isnan(value)) {
      writer_.append("NaN");
    } else if (std::isinf(value)) {
      writer_.append(value < 0 ? "-Infinity" : "Infinity");
    } else {
      writer_.append(float_repr(value));
    }
  }

  void write_unit(uint32_t unit) { writer_.append(fmt::format("\\u{:04x}", unit)); }

  void write_string(const std::string& text) {
    writer_.budget().spend_on_characters(text.size());
    writer_.append('"');
    size_t plain = 0;
    for (size_t at = 0; at < text.size() && !writer_.failed();) {
      const size_t begin = at;
      const char32_t c = next_code_point(text, at);
      if (c >= 0x20 && c != U'"' && c != U'\\' && (c < 0x7f || !style_.ascii_only)) continue;
      writer_.append(std::string_view(text).substr(plain, begin - plain));
      plain = at;
      switch (c) {
        case U'"':
          writer_.append("\\\"");
          break;
        case U'\\':
          writer_.append("\\\\");
          break;
        case U'\n':
          writer_.append("\\n");
          break;
        case U'\r':
          writer_.append("\\r");
          break;
        case U'\t':
          writer_.append("\\t");
          break;
        case U'\b':
          writer_.append("\\b");
          break;
        case U'\f':
          writer_.append("\\f");
          break;
        default:
          if (c < 0x10000) {
            write_unit(c);
          } else {
            write_unit(0xd800 + ((c - 0x10000) >> 10));
            write_unit(0xdc00 + ((c - 0x10000) & 0x3ff));
          }
      }
    }
    writer_.append(std::string_view(text).substr(plain));
    writer_.append('"');
  }

  void start_line(size_t level) {
    if (!style_.indent) return;
    writer_.append('\n');
    for (size_t i = 0; i < level && !writer_.failed(); ++i) writer_.append(*style_.indent);
  }

  void write_array(const Sequence& array, size_t level) {
    if (array.items.empty()) return writer_.append("[]");
    writer_.append('[');
    bool first = true;
    for (const Value& item : array.items) {
      if (writer_.failed()) return;
      if (!first) writer_.append(style_.item_separator);
      first = false;
      start_line(level + 1);
      write(item, level + 1);
    }
    start_line(level);
    writer_.append(']');
  }

  void write_object(const Dict& dict, size_t level) {
    if (dict.entries.empty()) return writer_.append("{}");
    std::vector<const Dict::Entry*> entries;
    entries.reserve(dict.entries.size());
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (style_.sort_keys) {
      const auto sorted = merge_sort(std::move(entries), [&](const Dict::Entry* a, const Dict::Entry* b) {
        return is_less(writer_.budget(), a->first, b->first);
      });
      if (!sorted) return writer_.fail(sorted.error());
      entries = *sorted;
    }
    writer_.append('{');
    bool first = true;
    for (const Dict::Entry* entry : entries) {
      if (writer_.failed()) return;
      if (!first) writer_.append(style_.item_separator);
      first = false;
      start_line(level + 1);
      write_key(entry->first);
      writer_.append(style_.key_separator);
      write(entry->second, level + 1);
    }
    start_line(level);
    writer_.append('}');
  }

  // Keys are strings; numbers, booleans and none become the string of their JSON form.
  void write_key(const Value& key) {
    if (const std::string* string = key.string()) return write_string(*string);
    if (!key.is_none() && !key.whole() && !key.real()) {
      writer_.fail({ErrorCode::invalid_argument,
                    fmt::format("a key of type '{}' has no form in JSON (tojson)", type_name(key))});
      return;
    }
    writer_.append('"');
    write(key, 0);
    writer_.append('"');
  }

  Writer& writer_;
  const JsonStyle& style_;
};

}  // namespace

void write_json(Writer& writer, const Value& value, const JsonStyle& style) {
  JsonWriter(writer, style).write(value, 0);
}

}  // namespace parlance::jinja
