// Any bytes as a form: its parts lie in it, one behind the other.
#include <cstdint>
#include <string_view>

#include "allocations.h"
#include "server/multipart.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace parlance;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const size_t line = bytes.find('\n');
  const std::string_view type =
      line == std::string_view::npos ? "multipart/form-data; boundary=x" : bytes.substr(0, line);
  const std::string_view body = line == std::string_view::npos ? bytes : bytes.substr(line + 1);
  const auto parts = parse_multipart(type, body);
  if (!parts) return 0;
  const char* last = body.data();
  for (const FormPart& part : *parts) {
    const char* end = part.content.data() + part.content.size();
    fuzz::require(part.content.data() >= last && end <= body.data() + body.size(), "parts lie in the body");
    last = end;
  }
  return 0;
}
