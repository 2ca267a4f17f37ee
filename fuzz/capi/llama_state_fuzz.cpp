// Any bytes as a sequence's state or as a file of one: refused with one line, or read, in memory in
// proportion to their number; what is read is written again as it was.
#include <algorithm>
#include <cstdint>

#include "allocations.h"
#include "capi/llama/state_bytes.h"

namespace {

using namespace parlance;
using namespace parlance::capi;
using parlance::fuzz::require;

void check_refusal(const Error& error) {
  require(error.message.size() < 1000, "messages are short");
  for (const char c : error.message) require(c >= ' ' && c <= '~', "messages are one line of plain text");
}

bool are_joined(std::span<const std::byte> whole, std::span<const std::byte> head,
                std::span<const std::byte> rest) {
  return whole.size() == head.size() + rest.size() && std::ranges::equal(whole.first(head.size()), head) &&
         std::ranges::equal(whole.subspan(head.size()), rest);
}

void check_state(std::span<const std::byte> bytes) {
  const auto state = read_state(bytes);
  if (!state) return check_refusal(state.error());
  require(state->first >= 0, "positions are not below 0");
  require(are_joined(bytes, state_head(!state->snapshot.empty(), state->first), state->snapshot),
          "a state is its head and its snapshot");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const fuzz::AllocationLimit limit(65536 + 8 * size);
  check_state(bytes);
  const auto file = read_state_file(bytes);
  if (!file) {
    check_refusal(file.error());
    return 0;
  }
  require(are_joined(bytes, state_file_head(file->tokens), file->state), "a file is tokens and a state");
  check_state(file->state);
  return 0;
}
