#include "assistant/embedding.h"

#include <algorithm>

#include "engine/session.h"
#include "models/pooling.h"

namespace parlance {

namespace {

// A region's context yields a row of one token at a time; where all are wanted, the text has a context of its
// own.
Result<std::unique_ptr<Session>> session_for(const TextRegion& region, int64_t n_tokens, int64_t n_rows) {
  if (n_rows <= region.context()->options().n_outputs) return Session::create(region.context());
  const SessionOptions& shared = region.context()->options();
  if (n_tokens > shared.n_ctx) return Session::create(region.context());  // which says that it is too long
  SessionOptions own = {.n_ctx = n_tokens, .n_batch = std::max<int64_t>(shared.n_batch, n_rows)};
  own.cache = shared.cache;
  own.n_outputs = n_rows;
  return Session::create(region.model(), own);
}

}  // namespace

Result<std::vector<float>> embed_text(const TextRegion& region, std::string_view text,
                                      std::optional<Pooling> wanted, const Work& work) {
  const TextModel& model = region.model();
  const std::vector<Token> tokens = model.tokenizer().encode(text, {.add_special = true});
  const int64_t n_tokens = std::ssize(tokens);
  const int64_t n_rows = n_pooled_rows(wanted.value_or(model.hyper_parameters().pooling), n_tokens);
  PARLANCE_TRY(const auto session, session_for(region, n_tokens, n_rows));
  return session->embed(tokens, wanted, work);
}

}  // namespace parlance
