// The embedding of a text, computed by the scheduler beside other work. Who computes step by step calls
// Session::embed().
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/cancellation.h"
#include "base/result.h"
#include "engine/context.h"
#include "engine/work.h"

namespace parlance {

// Error: unsupported, the model ranks texts and has no embeddings.
Result<void> check_embeds(const TextModel& model);

class EmbeddingRequest {
 public:
  // Called on the thread that computes when it has ended. Must not wait for anything.
  using OnEnd = std::function<void()>;

  // Pooled as the model's file says, in a sequence of its own, as soon as the context has room for one more.
  // Errors: as of Session::set_prompt(); unsupported, the model ranks texts; busy.
  static Result<std::unique_ptr<EmbeddingRequest>> start(std::shared_ptr<Context> context,
                                                         std::vector<Token> text, const Work& work,
                                                         OnEnd on_end);
  // Cancels what is still being computed.
  ~EmbeddingRequest();

  bool has_ended() const;
  // Once it has ended: n_embd values, not normalised. Errors: of the computation; cancelled, timed_out.
  Result<std::vector<float>> result() const;

 private:
  class Embedding;
  EmbeddingRequest(std::shared_ptr<Context> context, std::unique_ptr<Embedding> embedding,
                   CancellationSource end);

  std::shared_ptr<Context> context_;
  CancellationSource end_;
  std::unique_ptr<Embedding> embedding_;
};

}  // namespace parlance
