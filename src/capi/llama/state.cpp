// Sequences as bytes: a head and a snapshot as the engine writes it, which is of use for the same model and
// cache formats only.
#include <cstring>

#include "base/os/file.h"
#include "capi/llama/context.h"
#include "capi/llama/state_bytes.h"
#include "engine/scheduler.h"
#include "engine/sequence_file.h"

namespace parlance::capi {

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
  if (known == sequences_.end()) return state_head(/*has_text=*/false, 0);
  if (known->second.has_gap())
    return fail(ErrorCode::unsupported,
                "sequence {} has a gap, where tokens were removed; close it with llama_memory_seq_add()",
                seq);
  PARLANCE_CHECK(compute_pending(known->second));
  std::vector<std::byte> bytes = state_head(/*has_text=*/true, known->second.first());
  const Scheduler::Pause pause(context_->scheduler());
  PARLANCE_CHECK(save_sequence(known->second.sequence(), pause.runner(), bytes));
  return bytes;
}

Result<void> LlamaContext::restore(llama_seq_id seq, std::span<const std::byte> bytes) {
  PARLANCE_CHECK(check_sequence(seq));
  PARLANCE_TRY(const StateBytes state, read_state(bytes));
  changed();
  if (state.snapshot.empty()) {
    sequences_.erase(seq);
    return {};
  }
  PARLANCE_TRY(SequenceText* const text, open(seq));
  Result<void> restored;
  {
    const Scheduler::Pause pause(context_->scheduler());
    restored = restore_sequence(text->sequence(), state.snapshot, "the state");
  }
  if (restored) text->replaced(state.first);
  drop_if_empty(seq);
  return restored;
}

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
    std::vector<std::byte> bytes = state_file_head(std::span(tokens, n_token_count));
    bytes.insert(bytes.end(), state.begin(), state.end());
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
