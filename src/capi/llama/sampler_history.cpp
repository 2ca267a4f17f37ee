// The kinds of samplers that know tokens by number or by what was said before: biases, penalties, grammars.
#include <cmath>
#include <deque>
#include <unordered_map>
#include <vector>

#include "capi/llama/model.h"
#include "capi/llama/report.h"
#include "capi/llama/sampler.h"
#include "grammar/grammar.h"
#include "grammar/token_masks.h"
#include "grammar/token_trie.h"

namespace parlance::capi {

namespace {

class LogitBias final : public LlamaSampler {
 public:
  explicit LogitBias(std::span<const llama_logit_bias> biases) {
    for (const llama_logit_bias& one : biases) biases_[one.token] += one.bias;
  }
  const char* name() const override { return "logit-bias"; }
  void apply(llama_token_data_array& candidates) override {
    if (biases_.empty()) return;
    for (llama_token_data& c : all_of(candidates)) {
      if (const auto bias = biases_.find(c.id); bias != biases_.end()) c.logit += bias->second;
    }
    candidates.sorted = false;
  }
  std::unique_ptr<LlamaSampler> clone() const override { return std::make_unique<LogitBias>(*this); }

 private:
  std::unordered_map<llama_token, float> biases_;
};

struct PenaltyWeights {
  float repeat, frequency, presence;
  bool are_idle() const { return repeat == 1 && frequency == 0 && presence == 0; }
};

// Makes tokens that were seen among the last ones less likely.
class RepetitionPenalties final : public LlamaSampler {
 public:
  RepetitionPenalties(size_t n_last, PenaltyWeights weights) : n_last_(n_last), weights_(weights) {}
  const char* name() const override { return "penalties"; }
  void accept(llama_token token) override {
    if (n_last_ == 0) return;
    if (last_.size() == n_last_) {
      const auto oldest = counts_.find(last_.front());
      if (--oldest->second == 0) counts_.erase(oldest);
      last_.pop_front();
    }
    last_.push_back(token);
    ++counts_[token];
  }
  void reset() override {
    last_.clear();
    counts_.clear();
  }
  void apply(llama_token_data_array& candidates) override {
    if (weights_.are_idle() || counts_.empty()) return;
    for (llama_token_data& c : all_of(candidates)) {
      const auto seen = counts_.find(c.id);
      if (seen == counts_.end()) continue;
      c.logit = c.logit > 0 ? c.logit / weights_.repeat : c.logit * weights_.repeat;
      c.logit -= static_cast<float>(seen->second) * weights_.frequency + weights_.presence;
    }
    candidates.sorted = false;
  }
  std::unique_ptr<LlamaSampler> clone() const override {
    return std::make_unique<RepetitionPenalties>(*this);
  }

 private:
  size_t n_last_;
  PenaltyWeights weights_;
  std::deque<llama_token> last_;
  std::unordered_map<llama_token, int> counts_;
};

// What a grammar needs of a model, for as long as samplers follow it.
struct FollowedGrammar {
  std::shared_ptr<LlamaModel> model;
  std::shared_ptr<const TokenTrie> trie;
  std::shared_ptr<TokenMasks> masks;
};

// Leaves what may come next; without a grammar, everything.
class GrammarSampler final : public LlamaSampler {
 public:
  GrammarSampler() = default;
  explicit GrammarSampler(FollowedGrammar grammar)
      : grammar_(std::move(grammar)), state_(grammar_.masks->begin()) {}
  const char* name() const override { return "grammar"; }
  void apply(llama_token_data_array& candidates) override {
    if (!state_) return;
    const auto allowed = state_->allowed();
    if (!allowed) return llama_log_error(name(), allowed.error());
    for (llama_token_data& c : all_of(candidates)) {
      if (!(*allowed)->allows(c.id)) c.logit = -INFINITY;
    }
    candidates.sorted = false;
  }
  void accept(llama_token token) override {
    if (!state_ || grammar_.model->tokenizer().is_end_of_generation(token) || state_->advance(token)) return;
    llama_log_error(name(),
                    {ErrorCode::invalid_argument,
                     fmt::format("token {} may not come here; the grammar stays where it is", token)});
  }
  void reset() override {
    if (state_) state_ = grammar_.masks->begin();
  }
  std::unique_ptr<LlamaSampler> clone() const override { return std::make_unique<GrammarSampler>(*this); }

 private:
  FollowedGrammar grammar_;  // null members: none
  std::optional<GrammarState> state_;
};

Result<FollowedGrammar> follow_grammar(std::shared_ptr<LlamaModel> model, std::string text,
                                       std::string_view root) {
  if (root != "root") text += fmt::format("\nroot ::= {}\n", root);
  PARLANCE_TRY(auto grammar, Grammar::from_gbnf(text));
  FollowedGrammar followed;
  followed.trie =
      model->text() ? model->text()->token_trie() : std::make_shared<TokenTrie>(model->tokenizer());
  PARLANCE_TRY(followed.masks, TokenMasks::make(std::move(grammar), followed.trie));
  followed.model = std::move(model);
  return followed;
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

llama_sampler* llama_sampler_init_logit_bias(int32_t, int32_t n_logit_bias,
                                             const llama_logit_bias* logit_bias) {
  return llama_answer(__func__, static_cast<llama_sampler*>(nullptr), [&]() -> Result<llama_sampler*> {
    if (n_logit_bias < 0 || (!logit_bias && n_logit_bias > 0))
      return fail(ErrorCode::invalid_argument, "there are {} biases at {}", n_logit_bias,
                  logit_bias ? "their place" : "NULL");
    return give_sampler(
        std::make_unique<LogitBias>(std::span(logit_bias, static_cast<size_t>(n_logit_bias))));
  });
}

llama_sampler* llama_sampler_init_penalties(int32_t, int32_t penalty_last_n, float penalty_repeat,
                                            float penalty_freq, float penalty_present) {
  return llama_answer(__func__, static_cast<llama_sampler*>(nullptr), [&]() -> Result<llama_sampler*> {
    if (!(penalty_repeat > 0) || !std::isfinite(penalty_repeat) || !std::isfinite(penalty_freq) ||
        !std::isfinite(penalty_present)) {
      return fail(
          ErrorCode::invalid_argument,
          "penalty_repeat is {}, penalty_freq {}, penalty_present {}; they are finite, and the first above 0",
          penalty_repeat, penalty_freq, penalty_present);
    }
    return give_sampler(
        std::make_unique<RepetitionPenalties>(static_cast<size_t>(std::max(penalty_last_n, 0)),
                                              PenaltyWeights{penalty_repeat, penalty_freq, penalty_present}));
  });
}

llama_sampler* llama_sampler_init_grammar(const llama_vocab* vocab, const char* grammar_str,
                                          const char* grammar_root) {
  return llama_answer(__func__, static_cast<llama_sampler*>(nullptr),
                      [&, function = __func__]() -> Result<llama_sampler*> {
                        if (!grammar_str || !*grammar_str)
                          return give_sampler(std::make_unique<GrammarSampler>());
                        auto model = llama_model_of(function, vocab);
                        if (!model) return nullptr;
                        PARLANCE_TRY(FollowedGrammar grammar,
                                     follow_grammar(std::move(model), grammar_str,
                                                    grammar_root && *grammar_root ? grammar_root : "root"));
                        return give_sampler(std::make_unique<GrammarSampler>(std::move(grammar)));
                      });
}
