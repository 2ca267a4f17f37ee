#include "engine/embedding_request.h"

#include <utility>

#include "engine/scheduler.h"
#include "engine/task.h"
#include "models/pooling.h"

namespace parlance {

Result<void> check_embeds(const TextModel& model) {
  if (model.hyper_parameters().pooling != Pooling::rank) return {};
  return fail(ErrorCode::unsupported, "{}: the model ranks texts and has no embeddings; use another one",
              model.file().name());
}

class EmbeddingRequest::Embedding final : public Task {
 public:
  Embedding(const std::shared_ptr<Context>& context, std::vector<Token> text, const Work& work, OnEnd on_end)
      : Task(context, work), hp_(context->model().hyper_parameters()), on_end_(std::move(on_end)) {
    prompt_ = std::move(text);
    n_outputs_ = n_pooled_rows(hp_.pooling, std::ssize(prompt_));
    wants_logits_ = false;
  }

  bool has_ended() const { return has_ended_.load(std::memory_order_acquire); }
  Result<std::vector<float>> result() const {
    if (!outcome_) return tl::unexpected(outcome_.error());
    return pooled(hp_.pooling, rows_, hp_.n_embd);
  }

 private:
  void take(std::span<const float> rows, int64_t) override {
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }
  bool computed() override { return false; }
  void begin_again() override { rows_.clear(); }
  void end(Result<void> outcome) override {
    outcome_ = std::move(outcome);
    has_ended_.store(true, std::memory_order_release);
    on_end_();
  }

  const HyperParameters& hp_;
  const OnEnd on_end_;
  std::vector<float> rows_;  // [n_embd, n]: those that it is pooled from
  Result<void> outcome_;
  std::atomic<bool> has_ended_{false};
};

EmbeddingRequest::EmbeddingRequest(std::shared_ptr<Context> context, std::unique_ptr<Embedding> embedding,
                                   CancellationSource end)
    : context_(std::move(context)), end_(std::move(end)), embedding_(std::move(embedding)) {}

Result<std::unique_ptr<EmbeddingRequest>> EmbeddingRequest::start(std::shared_ptr<Context> context,
                                                                  std::vector<Token> text, const Work& work,
                                                                  OnEnd on_end) {
  PARLANCE_CHECK(check_prompt(*context, text));
  PARLANCE_CHECK(check_embeds(context->model()));
  CancellationSource end(work.cancellation);
  Work own = work;
  own.cancellation = end.ticket();
  auto embedding = std::make_unique<Embedding>(context, std::move(text), own, std::move(on_end));
  Scheduler& scheduler = context->scheduler();
  PARLANCE_CHECK(scheduler.post(*embedding));
  scheduler.start();
  return std::unique_ptr<EmbeddingRequest>(
      new EmbeddingRequest(std::move(context), std::move(embedding), std::move(end)));
}

EmbeddingRequest::~EmbeddingRequest() {
  end_.cancel();
  context_->scheduler().wake();
  context_->scheduler().wait([&] { return embedding_->is_done(); });
}

bool EmbeddingRequest::has_ended() const {
  return embedding_->has_ended();
}

Result<std::vector<float>> EmbeddingRequest::result() const {
  return embedding_->result();
}

}  // namespace parlance
