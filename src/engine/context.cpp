#include "engine/context.h"

#define XXH_INLINE_ALL  // nothing is linked
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/parameter.h"

namespace parlance {

namespace {

// Copies of recurrent states that the prefix tree may keep in host memory.
constexpr size_t kMostStateBytes = size_t{1} << 30;

// What follows a quotation is less and less likely to be quoted too.
constexpr int64_t kMostLookedUp = 15;

int n_branch_rows(const SessionOptions& options) {
  return options.n_tree > 0 ? static_cast<int>(kMostBranchesAtOnce) : 0;
}

}  // namespace

KvLayout kv_layout(const HyperParameters& hp, const SessionOptions& options) {
  return {.n_layer = hp.n_layers_of(LayerKind::attention),
          .n_head_kv = hp.n_head_kv,
          .head_dim_k = hp.head_dim_k,
          .head_dim_v = hp.head_dim_v,
          .policy = options.cache};
}

KvLayout kv_layout(const HyperParameters& hp, const SessionOptions& options, int64_t first, int64_t end) {
  KvLayout layout = kv_layout(hp, options);
  const int64_t n_all = layout.n_layer, n_before = hp.n_layers_of(LayerKind::attention, 0, first);
  layout.n_layer = hp.n_layers_of(LayerKind::attention, first, end);
  std::vector<KvPolicy::Override> own;
  for (KvPolicy::Override o : options.cache.layers) {
    o.layer += (o.layer < 0 ? n_all : 0) - n_before;
    if (o.layer >= 0 && o.layer < layout.n_layer) own.push_back(o);
  }
  layout.policy.layers = std::move(own);
  if (const KvEqualiser* const all = options.cache.equaliser.get()) {
    KvEqualiser of_part;
    of_part.layers.assign(all->layers.begin() + n_before, all->layers.begin() + n_before + layout.n_layer);
    layout.policy.equaliser = std::make_shared<const KvEqualiser>(std::move(of_part));
  }
  return layout;
}

bool can_equalise(const Placement& placement) {
  return std::ranges::all_of(placement.parts(),
                             [](const ModelPart& part) { return part.device->ops().equalises_kv; });
}

RecurrentLayout recurrent_layout(const HyperParameters& hp, int64_t n_layer, int64_t n_draft) {
  return {.n_layer = n_layer,
          .n_channel = hp.delta_net.n_channel(),
          .n_kept = hp.delta_net.n_tap - 1,
          .head_dim = hp.delta_net.head_dim,
          .n_value_head = hp.delta_net.n_value_head,
          .n_draft = n_draft};
}

int64_t most_drafted(const SessionOptions& options) {
  const bool has_drafter =
      options.drafter || options.looks_up || options.draft_model || options.replaces_drafter;
  if (!has_drafter && !options.writes_drafts) return 0;
  const int64_t wanted = options.n_draft == 0 ? kMostDrafted : options.n_draft;
  if (!options.drafter || options.draft_model) return wanted;
  return std::min(
      wanted, std::max(options.drafter->parameters().block_size - 1, options.looks_up ? kMostLookedUp : 1));
}

Error or_draft_nothing(Error error) {
  if (error.code == ErrorCode::out_of_memory)
    error.message += fmt::format("; or draft nothing: {}", set_to(Parameter::draft, "none"));
  return error;
}

int n_table_rows(const SessionOptions& options) {
  return options.n_seq + 1 + n_branch_rows(options) + (options.drafts_beside_prompts ? options.n_seq : 0);
}

Result<std::shared_ptr<Context>> Context::create(const TextModel& model, const SessionOptions& options) {
  std::shared_ptr<Context> context(new Context(model, options));
  if (Result<void> allocated = context->allocate(); !allocated) {
    const bool has_drafter = options.drafter || options.draft_model;
    return tl::unexpected(has_drafter ? or_draft_nothing(std::move(allocated).error())
                                      : std::move(allocated).error());
  }
  return context;
}

// How many tokens are drafted at most.
Result<void> Context::settle_drafting() {
  if (options_.n_draft < 0 || options_.n_draft > kMostDrafted) {
    return fail(ErrorCode::invalid_argument, "{} must lie in [0, {}], got {}", Parameter::draft_max,
                kMostDrafted, options_.n_draft);
  }
  options_.n_draft = most_drafted(options_);
  if (options_.n_tree < -1 || options_.n_tree > kMostTreeNodes) {
    return fail(ErrorCode::invalid_argument, "{} must lie in [0, {}], got {}", Parameter::draft_tree,
                kMostTreeNodes, options_.n_tree);
  }
  // States of recurrent layers go one way only.
  const bool has_states = model_.hyper_parameters().n_layers_of(LayerKind::delta_net) > 0;
  if (!options_.drafter || has_states) options_.n_tree = 0;
  if (options_.n_tree < 0) options_.n_tree = kMostTreeNodes;
  return {};
}

// Floats gain nothing by it.
void Context::settle_equaliser() {
  if (!options_.cache.equalises || !options_.cache.compresses() || !can_equalise(model_.model().placement()))
    options_.cache.equaliser.reset();
}

// Of a draft model: for as many texts of the same length.
Result<void> Context::open_draft_context() {
  if (!options_.draft_model) return {};
  SessionOptions own{.n_ctx = options_.n_ctx, .n_batch = options_.n_batch};
  own.n_seq = options_.n_seq;
  own.n_cache = options_.n_cache;
  own.n_draft = options_.n_draft;
  own.writes_drafts = true;
  PARLANCE_TRY(draft_context_, create(*options_.draft_model, own).map_error([&](Error error) {
    error.message = fmt::format("the draft model {}: {}", options_.draft_model->file().name(), error.message);
    return error;
  }));
  return {};
}

Result<void> Context::allocate() {
  const HyperParameters& hp = model_.hyper_parameters();
  if (options_.n_ctx == 0) options_.n_ctx = hp.n_ctx_train;
  if (options_.n_ctx < 1) {
    return fail(ErrorCode::invalid_argument, "{} must be at least 1, got {}", Parameter::ctx_size,
                options_.n_ctx);
  }
  options_.n_batch = std::clamp<int64_t>(options_.n_batch, 1, options_.n_ctx);
  PARLANCE_CHECK(settle_drafting());
  const int64_t n_verified = options_.writes_drafts ? 0 : options_.n_draft;
  options_.n_outputs = std::max<int64_t>(options_.n_outputs, options_.n_seq * (1 + n_verified));
  options_.n_outputs += std::max<int64_t>(0, options_.n_tree - n_verified);  // one tree beside chains
  options_.n_outputs = std::min(options_.n_outputs, options_.n_batch);
  settle_equaliser();
  layout_ = kv_layout(hp, options_);
  PARLANCE_CHECK(validate(layout_));
  n_pages_ = layout_.n_pages(options_.n_ctx, options_.n_seq, options_.n_batch);
  if (options_.n_cache > 0) {
    const int64_t wanted = div_up<int64_t>(options_.n_cache, layout_.page_tokens) + options_.n_seq;
    n_pages_.main = static_cast<int32_t>(std::min<int64_t>(wanted, n_pages_.main));
  }
  const int64_t n_recurrent = hp.n_layers_of(LayerKind::delta_net);
  if (n_recurrent > 0) n_kept_inputs_ = recurrent_layout(hp, n_recurrent, options_.n_draft).n_places();
  // One for the rows that fill up recorded steps.
  n_pages_.main += 1;
  if (options_.cache.has_exact_pages()) n_pages_.exact += 1;
  for (size_t part = 0; part < model_.model().placement().parts().size(); ++part) {
    PARLANCE_TRY(auto runner, PartRunner::create(model_, part, options_, n_pages_));
    parts_.push_back(std::move(runner));
  }
  pools_ = std::make_unique<PagePools>(n_pages_);
  tree_ = std::make_unique<PrefixTree>(
      *pools_, layout_.page_tokens,
      PrefixTreeOptions{.rules = layout_.page_rules(), .needs_states = state_bytes() > 0});
  tree_->set_state_budget(kMostStateBytes);
  const PageKind written = layout_.page_rules().written;
  PageRef filler;
  filler[written] = *(*pools_)[written].take();
  const auto n_sink = static_cast<int32_t>(layout_.n_sink_pages());
  for (const auto& part : parts_) {
    for (KvCache* const cache : part->caches())
      cache->set_pages(options_.n_seq, {&filler, 1}, n_sink, n_sink);
  }
  PARLANCE_CHECK(open_draft_context());
  goes_ahead_ = parts_.size() == 1 && recurrent_bytes() == 0 && most_drafted(options_) == 0 &&
                options_.goes_ahead.value_or(parts_.front()->stream().keeps_recordings());
  scheduler_ = std::make_unique<Scheduler>(*this);
  for (int seq = options_.n_seq - 1; seq >= 0; --seq) free_sequences_.push_back(seq);
  for (int i = n_branch_rows(options_); i > 0; --i) free_branches_.push_back(options_.n_seq + i);
  return {};
}

size_t Context::state_bytes() const {
  size_t bytes = 0;
  for (const auto& part : parts_) bytes += part->state_bytes();
  return bytes;
}

size_t Context::recurrent_bytes() const {
  size_t bytes = 0;
  for (const auto& part : parts_) bytes += part->recurrent_bytes();
  return bytes;
}

size_t Context::page_bytes(PageKind kind) const {
  size_t bytes = 0;
  for (const auto& part : parts_) {
    for (const KvCache* const cache : part->caches()) bytes += cache->layout().page_bytes(kind);
  }
  return bytes;
}

size_t Context::draft_bytes() const {
  const size_t block = options_.drafter ? draft_layout(*options_.drafter, options_).bytes(n_pages_) : 0;
  if (!draft_context_) return block;
  return block + draft_context_->kv_bytes() + draft_context_->recurrent_bytes() +
         draft_context_->workspace_bytes();
}

size_t Context::workspace_bytes() const {
  size_t bytes = 0;
  for (const auto& part : parts_) bytes += part->workspace_bytes();
  return bytes;
}

Result<int> Context::open_sequence() {
  const std::lock_guard lock(sequences_mutex_);
  if (free_sequences_.empty()) {
    return fail(ErrorCode::out_of_memory, "all {} sequences of the context are open; end one, or raise n_seq",
                options_.n_seq);
  }
  const int seq = free_sequences_.back();
  free_sequences_.pop_back();
  return seq;
}

void Context::close_sequence(int seq) {
  const std::lock_guard lock(sequences_mutex_);
  free_sequences_.push_back(seq);
}

int Context::open_branch() {
  const std::lock_guard lock(sequences_mutex_);
  if (free_branches_.empty()) return -1;
  const int seq = free_branches_.back();
  free_branches_.pop_back();
  return seq;
}

void Context::close_branch(int seq) {
  const std::lock_guard lock(sequences_mutex_);
  free_branches_.push_back(seq);
}

int64_t Context::most_alike_rows() const {
  int64_t most = INT64_MAX;
  for (const auto& part : parts_) most = std::min(most, part->most_alike_rows());
  return most;
}

int64_t Context::most_beside_prompt() const {
  const bool is_exact = state_bytes() == 0 && !options_.cache.has_exact_pages();
  return options_.drafts_beside_prompts && is_exact
             ? std::min(Scheduler::kMostAnswerTokens, options_.n_outputs - 1)
             : 0;
}

int Context::row_beside(int seq) const {
  return options_.drafts_beside_prompts ? options_.n_seq + 1 + n_branch_rows(options_) + seq : -1;
}

// Of the file's size, all that stands before its tensors, and the first kilobyte of each of these: a
// fine-tuned model differs there, and a large file need not be read.
ModelHash hash_of(const GgufFile& file) {
  constexpr size_t kSample = 1024;
  const auto hash = [](std::span<const std::byte> bytes, uint64_t seed) {
    return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
  };
  const auto head = static_cast<size_t>(file.data().data() - file.bytes().data());
  uint64_t words[2] = {hash(file.bytes().first(head), file.n_bytes()), 0};
  for (const GgufTensor& tensor : file.tensors()) {
    words[1] = hash(tensor.bytes.first(std::min(tensor.bytes.size(), kSample)), words[1]);
  }
  ModelHash model;
  std::memcpy(model.data(), words, sizeof words);
  return model;
}

SnapshotIdentity Context::snapshot_identity() const {
  SnapshotIdentity identity;
  identity.model = hash_of(model_.file());
  identity.layout = layout_.description();
  if (options_.drafter)
    identity.layout += "; drafts: " + draft_layout(*options_.drafter, options_).description();
  identity.page_tokens = layout_.page_tokens;
  return identity;
}

}  // namespace parlance
