// POST /v1/embeddings.
#include <algorithm>
#include <bit>
#include <cmath>
#include <mutex>

#include "engine/embedding_request.h"
#include "server/answer_terms.h"
#include "server/prompts.h"
#include "server/site.h"
#include "text/base64.h"

namespace parlance {

namespace {

constexpr size_t kMostTexts = 2048;
constexpr size_t kAtOnce = 16;             // of one request with the scheduler: enough for full steps
constexpr size_t kInteractiveTokens = 64;  // of a single text: somebody searches; what has more is stored

struct EmbeddingTerms {
  std::string model;
  std::vector<std::string> ignored;
  std::vector<std::vector<Token>> texts;
  bool is_base64 = false;
  size_t n_dimensions = 0;  // values of each that are wanted
  Work work;

  size_t n_tokens() const {
    size_t n = 0;
    for (const auto& text : texts) n += text.size();
    return n;
  }
};

std::string numbers_text(std::span<const float> values) {
  std::string text = "[";
  for (const float value : values) fmt::format_to(std::back_inserter(text), "{},", value);
  text.back() = ']';
  return text;
}

std::string bytes_text(std::span<const float> values) {
  static_assert(std::endian::native == std::endian::little);
  return '"' + to_base64({reinterpret_cast<const char*>(values.data()), values.size_bytes()}) + '"';
}

void scale_to_one(std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  if (sum <= 0) return;
  for (float& value : values) value = static_cast<float>(value / std::sqrt(sum));
}

// All texts of one request. The scheduler's thread says that some are done, the threads that put answers into
// words take them and post more.
class EmbeddingAnswer final : public LiveAnswer, public std::enable_shared_from_this<EmbeddingAnswer> {
 public:
  EmbeddingAnswer(Site& site, std::shared_ptr<Reply> reply, std::shared_ptr<TextRegion> region,
                  EmbeddingTerms terms)
      : site_(site),
        reply_(std::move(reply)),
        region_(std::move(region)),
        terms_(std::move(terms)),
        source_(reply_->ticket()),
        texts_(terms_.texts.size()) {
    ++site_.n_embedding;
  }
  ~EmbeddingAnswer() override { --site_.n_embedding; }

  void pump();
  void tick() override {}
  void cut() override {
    source_.cancel();
    region_->context()->scheduler().wake();
  }

 private:
  struct Pending {
    size_t index;
    std::unique_ptr<EmbeddingRequest> request;
  };

  void post_more();
  void take_ended(std::vector<Pending>& ended);
  void fail_with(const Error& error);
  void finish();

  Site& site_;
  const std::shared_ptr<Reply> reply_;
  const std::shared_ptr<TextRegion> region_;
  const EmbeddingTerms terms_;
  const CancellationSource source_;
  std::atomic<bool> is_posted_{false};

  std::mutex mutex_;  // of what follows
  std::vector<Pending> pending_;
  std::vector<std::string> texts_;  // of the embeddings, in JSON
  size_t n_posted_ = 0;
  bool is_over_ = false;
};

void EmbeddingAnswer::pump() {
  is_posted_ = false;
  std::vector<Pending> ended;  // go when the lock is free
  const std::lock_guard lock(mutex_);
  if (is_over_) return;
  take_ended(ended);
  if (!is_over_) post_more();
  if (!is_over_ && pending_.empty()) finish();
  if (!is_over_) return;
  source_.cancel();
  for (Pending& one : pending_) ended.push_back(std::move(one));
  pending_.clear();
}

void EmbeddingAnswer::take_ended(std::vector<Pending>& ended) {
  const auto is_running = [](const Pending& one) { return !one.request->has_ended(); };
  const auto first = std::partition(pending_.begin(), pending_.end(), is_running);
  std::move(first, pending_.end(), std::back_inserter(ended));
  pending_.erase(first, pending_.end());
  for (const Pending& one : ended) {
    auto values = one.request->result();
    if (!values) return fail_with(values.error());
    values->resize(terms_.n_dimensions);
    scale_to_one(*values);
    texts_[one.index] = terms_.is_base64 ? bytes_text(*values) : numbers_text(*values);
  }
}

void EmbeddingAnswer::post_more() {
  while (n_posted_ < terms_.texts.size() && pending_.size() < kAtOnce) {
    Work work = terms_.work;
    work.cancellation = source_.ticket();
    auto request = EmbeddingRequest::start(region_->context(), terms_.texts[n_posted_], work,
                                           [self = shared_from_this()] {
                                             if (self->is_posted_.exchange(true)) return;
                                             self->site_.answers.post([self] { self->pump(); });
                                           });
    if (!request && request.error().code == ErrorCode::busy && !pending_.empty()) return;
    if (!request) return fail_with(request.error());
    pending_.push_back({n_posted_++, *std::move(request)});
  }
}

void EmbeddingAnswer::fail_with(const Error& error) {
  is_over_ = true;
  const bool has_left = reply_->ticket().cancelled();
  const ApiError refusal = api_error(error);
  site_.metrics.add("requests_finished_total", 1,
                    {{"kind", "embedding"}, {"reason", has_left ? "cancelled" : refusal.code}});
  reply_->send(answer_of(refusal));
}

void EmbeddingAnswer::finish() {
  is_over_ = true;
  const size_t n_tokens = terms_.n_tokens();
  site_.metrics.add("requests_finished_total", 1, {{"kind", "embedding"}, {"reason", "stop"}});
  HttpAnswer answer;
  answer.fields.push_back({"content-type", "application/json; charset=utf-8"});
  if (const std::string ignored = ignored_text(terms_.ignored); !ignored.empty()) {
    answer.fields.push_back({"x-parlance-ignored", ignored});
  }
  answer.body = R"({"object":"list","data":[)";
  for (size_t i = 0; i < texts_.size(); ++i) {
    if (i > 0) answer.body += ',';
    answer.body += fmt::format(R"({{"object":"embedding","index":{},"embedding":{}}})", i, texts_[i]);
  }
  answer.body += fmt::format(R"(],"model":{},"usage":{{"prompt_tokens":{},"total_tokens":{}}}}})",
                             Json(terms_.model).line(), n_tokens, n_tokens);
  reply_->send(std::move(answer));
}

std::vector<Token> tokens_to_embed(const TextModel& model, std::string_view text) {
  return model.tokenizer().encode(text, {.add_special = true});
}

ApiResult<EmbeddingTerms> read_embedding_terms(const Site& site, const Call& call, const TextRegion& region,
                                               const std::string& offer) {
  PARLANCE_API_TRY(const CheckedBody checked, read_body(site, call, embedding_fields()));
  const Body& body = checked.body;
  const Json* input = body.find("input");
  if (!input) return refuse("missing_required_parameter", "input", "there is no input; give a text");
  const TextModel& model = region.model();
  EmbeddingTerms terms{.model = offer, .ignored = checked.ignored, .texts = {}, .work = {}};
  PARLANCE_API_TRY(
      terms.texts,
      read_prompts(*input,
                   {.name = "input", .n_most = kMostTexts, .model = model, .tokens_of = tokens_to_embed}));
  const auto n_ctx = static_cast<size_t>(region.context()->options().n_ctx);
  for (size_t i = 0; i < terms.texts.size(); ++i) {
    if (terms.texts[i].size() <= n_ctx) continue;
    return refuse("context_length_exceeded", "input",
                  "input: text {} has {} tokens, and the embedding model takes {}; shorten or divide it", i,
                  terms.texts[i].size(), n_ctx);
  }
  const auto n_embd = model.hyper_parameters().n_embd;
  const int64_t n_wanted = body.integer("dimensions").value_or(n_embd);
  if (n_wanted > n_embd) {
    return refuse("invalid_value", "dimensions", "dimensions must lie in [1, {}], got {}", n_embd, n_wanted);
  }
  terms.n_dimensions = static_cast<size_t>(n_wanted);
  terms.is_base64 = body.text("encoding_format") == "base64";
  const bool is_short = terms.texts.size() == 1 && terms.texts.front().size() <= kInteractiveTokens;
  PARLANCE_API_TRY(const std::string class_name, read_class(call, body));
  terms.work.priority =
      is_short && class_name == "interactive" ? Priority::interactive : Priority::background;
  PARLANCE_API_TRY(const auto time, read_deadline(site, call, body));
  terms.work.deadline = call.request.began + time;
  return terms;
}

ApiResult<void> embed_for(Site& site, const Call& call, const std::string& offer) {
  PARLANCE_API_TRY(auto region, site.regions.embedding.acquire());
  PARLANCE_API_TRY(EmbeddingTerms terms, read_embedding_terms(site, call, *region, offer));
  const auto answer =
      std::make_shared<EmbeddingAnswer>(site, call.reply, std::move(region), std::move(terms));
  site.enter(answer);
  answer->pump();
  return {};
}

}  // namespace

ApiResult<void> embed_texts(Site& site, Call& call) {
  PARLANCE_API_TRY(const Json json, parse_body(call.request.body));
  PARLANCE_API_TRY(const std::string offer, find_offer(site, Body(json).text("model"), ModelKind::embedding));
  const auto shared = std::make_shared<Call>(std::move(call));
  call.reply = shared->reply;
  // The model may be loading still, and many texts take a while to be made tokens of.
  const bool is_posted = site.sound.post([&site, shared, offer] {
    if (shared->reply->ticket().cancelled()) return;
    if (const auto done = embed_for(site, *shared, offer); !done) send_error(*shared, done.error());
  });
  if (is_posted) return {};
  return tl::unexpected(
      try_again(503, "server_overloaded", "too many requests wait for their models; try again later", 2));
}

}  // namespace parlance
