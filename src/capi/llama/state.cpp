// Sequences as bytes. A state is a head of this file's own and a snapshot as the engine writes it, which is
// of use for the same model and cache formats only; a file has the tokens that a program wants beside it.
#include <array>
#include <cstring>
#include <limits>

#include "base/os/file.h"
#include "capi/llama/context.h"
#include "engine/scheduler.h"
#include "engine/sequence_file.h"

namespace parlance::capi {

namespace {

constexpr std::array<char, 4> kStateMagic = {'P', 'L', 'S', 'Q'}, kFileMagic = {'P', 'L', 'S', 'F'};
constexpr uint32_t kStateVersion = 1;

struct StateHead {
  std::array<char, 4> magic = kStateMagic;
  uint32_t version = kStateVersion;
  int32_t first = 0;      // position of the first token
  uint32_t has_text = 0;  // else the sequence is empty, and nothing follows
};
struct FileHead {
  std::array<char, 4> magic = kFileMagic;
  uint32_t version = kStateVersion;
  uint64_t n_tokens = 0;  // which follow, and then a state
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

// What was moved is computed before it is saved.
Result<void> LlamaContext::compute_pending(SequenceText& text) {
  if (text.sequence().n_missing() == 0) return {};
  BatchPart all;
  all.seq = -1;
  for (const auto& [seq, known] : sequences_) {
    if (&known == &text) all.seq = seq;
  }
  return compute({&all, 1}, /*wants_logits=*/true, {});
}

Result<std::vector<std::byte>> LlamaContext::save(llama_seq_id seq) {
  PARLANCE_CHECK(check_sequence(seq));
  const auto known = sequences_.find(seq);
  StateHead head;
  head.has_text = known != sequences_.end();
  head.first = head.has_text ? known->second.first() : 0;
  std::vector<std::byte> bytes;
  add_bytes(bytes, std::span(&std::as_const(head), 1));
  if (!head.has_text) return bytes;
  if (known->second.has_gap())
    return fail(ErrorCode::unsupported,
                "sequence {} has a gap, where tokens were removed; close it with llama_memory_seq_add()",
                seq);
  PARLANCE_CHECK(compute_pending(known->second));
  const Scheduler::Pause pause(context_->scheduler());
  PARLANCE_CHECK(save_sequence(known->second.sequence(), pause.runner(), bytes));
  return bytes;
}

Result<void> LlamaContext::restore(llama_seq_id seq, std::span<const std::byte> bytes) {
  PARLANCE_CHECK(check_sequence(seq));
  PARLANCE_TRY(const StateHead head, take_head<StateHead>(bytes));
  changed();
  if (head.has_text == 0) {
    sequences_.erase(seq);
    return {};
  }
  if (head.first < 0 || head.first > INT32_MAX / 2)
    return fail(ErrorCode::corrupt_file, "the state begins at position {}", head.first);
  PARLANCE_TRY(SequenceText* const text, open(seq));
  Result<void> restored;
  {
    const Scheduler::Pause pause(context_->scheduler());
    restored = restore_sequence(text->sequence(), bytes, "the state");
  }
  if (restored) text->replaced(head.first);
  drop_if_empty(seq);
  return restored;
}

namespace {

// A file's tokens, and the state behind them.
struct StateFile {
  std::vector<llama_token> tokens;
  std::span<const std::byte> state;
};

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

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

size_t llama_state_seq_get_size(llama_context* ctx, llama_seq_id seq_id) {
  return with_llama_context(__func__, ctx, size_t{0}, [&](LlamaContext& context) -> Result<size_t> {
    PARLANCE_TRY(const auto state, context.save(seq_id));
    return state.size();
  });
}

size_t llama_state_seq_get_data(llama_context* ctx, uint8_t* dst, size_t size, llama_seq_id seq_id) {
  return with_llama_context(__func__, ctx, size_t{0}, [&](LlamaContext& context) -> Result<size_t> {
    PARLANCE_TRY(const auto state, context.save(seq_id));
    if (!dst || size < state.size())
      return fail(ErrorCode::invalid_argument, "the state has {} bytes, and dst room for {}", state.size(),
                  dst ? size : 0);
    std::memcpy(dst, state.data(), state.size());
    return state.size();
  });
}

size_t llama_state_seq_set_data(llama_context* ctx, const uint8_t* src, size_t size,
                                llama_seq_id dest_seq_id) {
  return with_llama_context(__func__, ctx, size_t{0}, [&](LlamaContext& context) -> Result<size_t> {
    if (!src) return fail(ErrorCode::invalid_argument, "src is NULL");
    if (size > PTRDIFF_MAX) return fail(ErrorCode::invalid_argument, "src cannot have {} bytes", size);
    PARLANCE_CHECK(context.restore(dest_seq_id, std::as_bytes(std::span(src, size))));
    return size;
  });
}

size_t llama_state_seq_save_file(llama_context* ctx, const char* filepath, llama_seq_id seq_id,
                                 const llama_token* tokens, size_t n_token_count) {
  return with_llama_context(__func__, ctx, size_t{0}, [&](LlamaContext& context) -> Result<size_t> {
    if (!filepath || !*filepath) return fail(ErrorCode::invalid_argument, "filepath is empty");
    if ((!tokens && n_token_count > 0) || n_token_count > INT32_MAX)
      return fail(ErrorCode::invalid_argument, "there are {} tokens at {}", n_token_count,
                  tokens ? "their place" : "NULL");
    PARLANCE_TRY(const auto state, context.save(seq_id));
    FileHead head;
    head.n_tokens = n_token_count;
    std::vector<std::byte> bytes;
    add_bytes(bytes, std::span(&std::as_const(head), 1));
    add_bytes(bytes, std::span(tokens, n_token_count));
    add_bytes(bytes, std::span(state));
    PARLANCE_TRY(AtomicFile file, AtomicFile::create(filepath));
    PARLANCE_CHECK(file.write(bytes));
    PARLANCE_CHECK(file.commit());
    return bytes.size();
  });
}

// Without a place for the tokens, how many there are is all that is told.
size_t llama_state_seq_load_file(llama_context* ctx, const char* filepath, llama_seq_id dest_seq_id,
                                 llama_token* tokens_out, size_t n_token_capacity,
                                 size_t* n_token_count_out) {
  return with_llama_context(__func__, ctx, size_t{0}, [&](LlamaContext& context) -> Result<size_t> {
    if (n_token_count_out) *n_token_count_out = 0;
    if (!filepath || !*filepath) return fail(ErrorCode::invalid_argument, "filepath is empty");
    PARLANCE_TRY(const ReadableFile file, ReadableFile::open(filepath));
    std::vector<std::byte> bytes(file.size());
    PARLANCE_CHECK(file.read(0, bytes));
    PARLANCE_TRY(const StateFile content, read_state_file(bytes));
    const size_t n = content.tokens.size();
    if (tokens_out && n > n_token_capacity)
      return fail(ErrorCode::invalid_argument, "{}: it has {} tokens, and tokens_out room for {}", filepath,
                  n, n_token_capacity);
    if (tokens_out) {
      PARLANCE_CHECK(context.restore(dest_seq_id, content.state));
      std::ranges::copy(content.tokens, tokens_out);
    }
    if (n_token_count_out) *n_token_count_out = n;
    return bytes.size();
  });
}
