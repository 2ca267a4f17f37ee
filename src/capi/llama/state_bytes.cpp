#include "capi/llama/state_bytes.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace parlance::capi {

namespace {

constexpr std::array<char, 4> kStateMagic = {'P', 'L', 'S', 'Q'}, kFileMagic = {'P', 'L', 'S', 'F'};
constexpr uint32_t kStateVersion = 1;

struct StateHead {
  std::array<char, 4> magic = kStateMagic;
  uint32_t version = kStateVersion;
  int32_t first = 0;
  uint32_t has_text = 0;
};
struct FileHead {
  std::array<char, 4> magic = kFileMagic;
  uint32_t version = kStateVersion;
  uint64_t n_tokens = 0;  // which follow
};

template <class T>
void add_bytes(std::vector<std::byte>& bytes, std::span<const T> values) {
  const auto more = std::as_bytes(values);
  bytes.insert(bytes.end(), more.begin(), more.end());
}

// Takes a head off the front.
template <class Head>
Result<Head> take_head(std::span<const std::byte>& bytes) {
  Head head;
  if (bytes.size() < sizeof head)
    return fail(ErrorCode::corrupt_file, "the state has {} bytes, which is too few", bytes.size());
  const Head expected = {};
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != expected.magic || head.version != expected.version)
    return fail(ErrorCode::unsupported, "the state is none of this library, or of another version of it");
  bytes = bytes.subspan(sizeof head);
  return head;
}

}  // namespace

std::vector<std::byte> state_head(bool has_text, llama_pos first) {
  StateHead head;
  head.first = first;
  head.has_text = has_text;
  std::vector<std::byte> bytes;
  add_bytes(bytes, std::span(&std::as_const(head), 1));
  return bytes;
}

Result<StateBytes> read_state(std::span<const std::byte> bytes) {
  PARLANCE_TRY(const StateHead head, take_head<StateHead>(bytes));
  if (head.has_text > 1 || (head.has_text == 0) != bytes.empty())
    return fail(ErrorCode::corrupt_file, "the state says {} about its text, and {} bytes follow",
                head.has_text, bytes.size());
  if (head.first < 0 || head.first > INT32_MAX / 2)
    return fail(ErrorCode::corrupt_file, "the state begins at position {}", head.first);
  return StateBytes{.first = head.first, .snapshot = bytes};
}

std::vector<std::byte> state_file_head(std::span<const llama_token> tokens) {
  FileHead head;
  head.n_tokens = tokens.size();
  std::vector<std::byte> bytes;
  add_bytes(bytes, std::span(&std::as_const(head), 1));
  add_bytes(bytes, tokens);
  return bytes;
}

Result<StateFile> read_state_file(std::span<const std::byte> bytes) {
  PARLANCE_TRY(const FileHead head, take_head<FileHead>(bytes));
  if (head.n_tokens > bytes.size() / sizeof(llama_token))
    return fail(ErrorCode::corrupt_file, "the state's file should have {} tokens, and ends before",
                head.n_tokens);
  StateFile file;
  file.tokens.resize(head.n_tokens);
  const size_t n_bytes = head.n_tokens * sizeof(llama_token);
  if (n_bytes > 0) std::memcpy(file.tokens.data(), bytes.data(), n_bytes);
  file.state = bytes.subspan(n_bytes);
  return file;
}

}  // namespace parlance::capi
