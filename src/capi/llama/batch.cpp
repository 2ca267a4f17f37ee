#include "capi/llama/batch.h"

#include <algorithm>
#include <cstdlib>

#include "capi/llama/report.h"
#include "engine/sequence.h"

namespace parlance::capi {

namespace {

constexpr int32_t kMostBatchTokens = 1 << 24;  // that room is made for

std::span<const llama_seq_id> sequences_of(const llama_batch& batch, int32_t i) {
  static constexpr llama_seq_id kFirst = 0;
  if (!batch.seq_id) return {&kFirst, 1};
  const int32_t n = batch.n_seq_id ? batch.n_seq_id[i] : 1;
  return batch.seq_id[i] && n > 0 ? std::span(batch.seq_id[i], static_cast<size_t>(n))
                                  : std::span<llama_seq_id>();
}

bool is_wanted(const llama_batch& batch, const BatchRules& rules, int32_t i) {
  return batch.logits ? batch.logits[i] != 0 : rules.wants_all || i == batch.n_tokens - 1;
}

Result<void> check_head(const llama_batch& batch, const BatchRules& rules) {
  if (batch.n_tokens <= 0)
    return fail(ErrorCode::invalid_argument, "the batch has {} tokens; give it one at least", batch.n_tokens);
  if (batch.n_tokens > rules.n_batch) {
    return fail(ErrorCode::invalid_argument,
                "the batch has {} tokens and n_batch is {}; decode it in pieces, or raise n_batch",
                batch.n_tokens, rules.n_batch);
  }
  if ((batch.token == nullptr) == (batch.embd == nullptr))
    return fail(ErrorCode::invalid_argument,
                "a batch has either tokens or rows of embd; one of them is NULL");
  return {};
}

}  // namespace

int64_t BatchPart::n_outputs() const {
  const auto first_wanted = std::ranges::find(rows, true, &Row::is_wanted);
  return rows.end() - first_wanted;
}

Result<std::vector<BatchPart>> read_batch(const llama_batch& batch, const BatchRules& rules,
                                          const std::vector<llama_pos>& next) {
  PARLANCE_CHECK(check_head(batch, rules));
  std::vector<BatchPart> parts;
  for (int32_t i = 0; i < batch.n_tokens; ++i) {
    const llama_token token = batch.token ? batch.token[i] : kEmbedded;
    if (batch.token && (token < 0 || token >= rules.n_vocab))
      return fail(ErrorCode::invalid_argument, "token {} of the batch is {}, outside the vocabulary of {}", i,
                  token, rules.n_vocab);
    const auto sequences = sequences_of(batch, i);
    if (sequences.empty())
      return fail(ErrorCode::invalid_argument, "token {} of the batch belongs to no sequence", i);
    for (const llama_seq_id seq : sequences) {
      if (seq < 0 || seq >= rules.n_seq)
        return fail(ErrorCode::invalid_argument, "token {} of the batch is of sequence {}; n_seq_max is {}",
                    i, seq, rules.n_seq);
      auto part = std::ranges::find(parts, seq, &BatchPart::seq);
      const bool is_first = part == parts.end();
      const llama_pos held = next[static_cast<size_t>(seq)];
      if (is_first) {
        parts.emplace_back().seq = seq;
        part = parts.end() - 1;
      } else if (part->rows.back().index == i) {
        continue;  // named twice
      }
      const auto n_before = static_cast<llama_pos>(part->rows.size());
      const llama_pos expected = is_first ? std::max(held, 0) : part->first + n_before;
      const llama_pos pos = batch.pos ? batch.pos[i] : expected;
      const bool may_begin_anywhere = is_first && held < 0 && pos >= 0 && pos <= INT32_MAX / 2;
      if (pos != expected && !may_begin_anywhere) {
        return fail(ErrorCode::invalid_argument,
                    "token {} of the batch stands at position {} of sequence {}, which goes on at {}", i, pos,
                    seq, expected);
      }
      if (is_first) part->first = pos;
      part->rows.push_back({i, seq == sequences.front() && is_wanted(batch, rules, i)});
      part->tokens.push_back(token);
      if (batch.embd) {
        const float* row = batch.embd + i * rules.n_embd;
        part->embeddings.insert(part->embeddings.end(), row, row + rules.n_embd);
      }
    }
  }
  return parts;
}

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

llama_batch llama_batch_get_one(llama_token* tokens, int32_t n_tokens) {
  llama_batch batch = {};
  batch.n_tokens = n_tokens;
  batch.token = tokens;
  return batch;
}

// Lists of sequences end with a null, by which llama_batch_free() knows how many there are. Where memory is
// short, or a number below 0, nothing is allocated.
llama_batch llama_batch_init(int32_t n_tokens, int32_t embd, int32_t n_seq_max) {
  llama_batch batch = {};
  if (n_tokens < 0 || n_tokens > kMostBatchTokens || embd < 0 || n_seq_max < 0) {
    llama_log_error(
        __func__, {ErrorCode::invalid_argument,
                   fmt::format("{} tokens, rows of {} and {} sequences: none is below 0, and of tokens there "
                               "are up to {}",
                               n_tokens, embd, n_seq_max, kMostBatchTokens)});
    return batch;
  }
  const auto n = static_cast<size_t>(n_tokens);
  const auto room_for = [](size_t count, size_t size) {
    return std::calloc(std::max<size_t>(count, 1), size);
  };
  if (embd > 0) {
    batch.embd = static_cast<float*>(room_for(n * static_cast<size_t>(embd), sizeof(float)));
  } else {
    batch.token = static_cast<llama_token*>(room_for(n, sizeof(llama_token)));
  }
  batch.pos = static_cast<llama_pos*>(room_for(n, sizeof(llama_pos)));
  batch.n_seq_id = static_cast<int32_t*>(room_for(n, sizeof(int32_t)));
  batch.seq_id = static_cast<llama_seq_id**>(room_for(n + 1, sizeof(llama_seq_id*)));
  batch.logits = static_cast<int8_t*>(room_for(n, sizeof(int8_t)));
  bool has_all = (batch.embd || batch.token) && batch.pos && batch.n_seq_id && batch.seq_id && batch.logits;
  for (size_t i = 0; has_all && i < n; ++i) {
    batch.seq_id[i] =
        static_cast<llama_seq_id*>(room_for(static_cast<size_t>(n_seq_max), sizeof(llama_seq_id)));
    has_all = batch.seq_id[i] != nullptr;
  }
  if (has_all) return batch;
  llama_batch_free(batch);
  llama_log_error(__func__,
                  {ErrorCode::out_of_memory, fmt::format("there is no memory for {} tokens", n_tokens)});
  return {};
}

void llama_batch_free(llama_batch batch) {
  std::free(batch.token);
  std::free(batch.embd);
  std::free(batch.pos);
  std::free(batch.n_seq_id);
  for (llama_seq_id** list = batch.seq_id; list && *list; ++list) std::free(*list);
  std::free(batch.seq_id);
  std::free(batch.logits);
}
