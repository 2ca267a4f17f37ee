// Any bytes as events of the Wyoming protocol: the same events however they are cut, none larger than it may
// be, and what was read is written so that it is read the same.
#include <cstdint>
#include <string_view>
#include <vector>

#include "allocations.h"
#include "wyoming/frames.h"

namespace {

using namespace parlance;

struct Read {
  std::vector<std::string> events;
  bool is_bad = false, has_head = false;
};

Read read_in_steps(std::string_view bytes, size_t step) {
  Read read;
  WyomingReader reader;
  for (size_t at = 0; at < bytes.size() && !read.is_bad; at += step) {
    reader.push(bytes.substr(at, step));
    for (;;) {
      const auto event = reader.next();
      if (!event) {
        fuzz::require(!event.error().message.empty(), "errors have words");
        read.is_bad = true;
        read.has_head = reader.has_head();
        break;
      }
      if (!*event) break;
      fuzz::require((*event)->data.is_object(), "data is an object");
      fuzz::require((*event)->payload.size() <= WyomingReader::kMostPayloadBytes, "payloads have a limit");
      read.events.push_back(wyoming_bytes(**event));
    }
  }
  return read;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Read whole = read_in_steps(bytes, size + 1);
  for (const size_t step : {size_t{1}, size_t{13}}) {
    const Read parts = read_in_steps(bytes, step);
    fuzz::require(parts.events == whole.events, "events do not depend on where they are cut");
    fuzz::require(parts.is_bad == whole.is_bad && parts.has_head == whole.has_head, "neither do errors");
  }
  for (const std::string& event : whole.events) {
    const Read again = read_in_steps(event, event.size());
    fuzz::require(again.events.size() == 1 && again.events.front() == event,
                  "what is written is read the same");
  }
  return 0;
}
