// The kinds of samplers that look at the candidates alone: those that choose, that leave out, and the
// temperatures. What each does, and in which order it leaves candidates, is as llama.cpp has it, so that
// chains draw the same tokens from the same logits and seed.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "capi/llama/report.h"
#include "capi/llama/sampler.h"

namespace parlance::capi {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

}  // namespace

void sort_candidates(llama_token_data_array& candidates, size_t k) {
  const auto all = all_of(candidates);
  const auto rank = [](const llama_token_data& c) { return std::isnan(c.logit) ? kNever : c.logit; };
  const auto is_before = [rank](const llama_token_data& a, const llama_token_data& b) {
    return rank(a) != rank(b) ? rank(a) > rank(b) : a.id < b.id;
  };
  k = std::min(k, all.size());
  if (k == all.size()) {
    std::ranges::sort(all, is_before);
  } else {
    std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(k), is_before);
  }
  candidates.sorted = true;
}

float highest_logit(const llama_token_data_array& candidates) {
  float highest = candidates.data[0].logit;
  for (size_t i = 1; !candidates.sorted && i < candidates.size; ++i)
    highest = std::max(highest, candidates.data[i].logit);
  return highest;
}

void softmax(llama_token_data_array& candidates) {
  const float highest = highest_logit(candidates);
  float sum = 0;
  for (llama_token_data& c : all_of(candidates)) sum += c.p = std::exp(c.logit - highest);
  for (llama_token_data& c : all_of(candidates)) c.p /= sum;
}

namespace {

template <class Derived>
class CloneableSampler : public LlamaSampler {
 public:
  std::unique_ptr<LlamaSampler> clone() const override {
    return std::make_unique<Derived>(static_cast<const Derived&>(*this));
  }
};

class Greedy final : public CloneableSampler<Greedy> {
 public:
  const char* name() const override { return "greedy"; }
  void apply(llama_token_data_array& candidates) override {
    const auto all = all_of(candidates);
    candidates.selected = std::ranges::max_element(all, {}, &llama_token_data::logit) - all.begin();
  }
};

uint32_t seed_for(uint32_t wanted) {
  if (wanted != LLAMA_DEFAULT_SEED) return wanted;
  std::random_device device;
  return device();
}

// Draws by probability, one number for each token.
class Drawn final : public CloneableSampler<Drawn> {
 public:
  explicit Drawn(uint32_t seed) : wanted_(seed) { reset(); }
  const char* name() const override { return "dist"; }
  uint32_t seed() const override { return seed_; }
  void reset() override {
    seed_ = seed_for(wanted_);
    random_.seed(seed_);
  }
  void apply(llama_token_data_array& candidates) override {
    const double random = std::uniform_real_distribution<double>(0, 1)(random_);
    const float highest = highest_logit(candidates);
    double total = 0;
    for (llama_token_data& c : all_of(candidates)) total += c.p = std::exp(c.logit - highest);
    double sum = 0;
    candidates.selected = -1;
    for (llama_token_data& c : all_of(candidates)) {
      sum += c.p;
      if (candidates.selected < 0 && sum >= total * random) candidates.selected = &c - candidates.data;
      c.p = static_cast<float>(c.p / total);
    }
    if (candidates.selected < 0) candidates.selected = static_cast<int64_t>(candidates.size) - 1;
  }

 private:
  uint32_t wanted_;
  uint32_t seed_ = 0;
  std::mt19937 random_;
};

class TopK final : public CloneableSampler<TopK> {
 public:
  explicit TopK(int32_t k) : k_(k) {}
  const char* name() const override { return "top-k"; }
  void apply(llama_token_data_array& candidates) override {
    if (k_ <= 0) return;
    const size_t k = std::min(candidates.size, static_cast<size_t>(k_));
    if (!candidates.sorted) sort_candidates(candidates, k);
    candidates.size = k;
  }

 private:
  int32_t k_;
};

class TopP final : public CloneableSampler<TopP> {
 public:
  TopP(float p, size_t min_keep) : p_(p), min_keep_(min_keep) {}
  const char* name() const override { return "top-p"; }
  void apply(llama_token_data_array& candidates) override {
    if (!(p_ < 1)) return;
    softmax(candidates);
    if (!candidates.sorted) sort_candidates(candidates, candidates.size);
    float sum = 0;
    size_t n = 0;
    while (n < candidates.size) {
      sum += candidates.data[n++].p;
      if (sum >= p_ && n >= min_keep_) break;
    }
    candidates.size = n;
  }

 private:
  float p_;
  size_t min_keep_;
};

class MinP final : public CloneableSampler<MinP> {
 public:
  MinP(float p, size_t min_keep) : p_(p), min_keep_(min_keep) {}
  const char* name() const override { return "min-p"; }
  void apply(llama_token_data_array& candidates) override {
    if (!(p_ > 0)) return;
    const float least = highest_logit(candidates) + std::log(p_);
    const auto is_likely = [&](const llama_token_data& c) { return c.logit >= least; };
    const auto all = all_of(candidates);
    const auto n_likely = static_cast<size_t>(std::ranges::count_if(all, is_likely));
    if (!candidates.sorted && n_likely > 0 && n_likely >= min_keep_) {  // these stay in their order
      std::ranges::copy_if(all, all.begin(), is_likely);
      candidates.size = n_likely;
      return;
    }
    if (!candidates.sorted) sort_candidates(candidates, candidates.size);
    candidates.size = std::min(candidates.size, std::max({n_likely, min_keep_, size_t{1}}));
  }

 private:
  float p_;
  size_t min_keep_;
};

// Keeps what is about as surprising as the distribution is on average.
class Typical final : public CloneableSampler<Typical> {
 public:
  Typical(float p, size_t min_keep) : p_(p), min_keep_(min_keep) {}
  const char* name() const override { return "typical"; }
  void apply(llama_token_data_array& candidates) override {
    if (!(p_ < 1)) return;
    if (!candidates.sorted) sort_candidates(candidates, candidates.size);
    softmax(candidates);
    float entropy = 0;
    for (const llama_token_data& c : all_of(candidates)) entropy -= c.p > 0 ? c.p * std::log(c.p) : 0;
    const auto all = all_of(candidates);
    std::vector<llama_token_data> by_distance(all.begin(), all.end());
    std::ranges::stable_sort(by_distance, {}, [&](const llama_token_data& c) {
      return c.p > 0 ? std::abs(-std::log(c.p) - entropy) : std::numeric_limits<float>::infinity();
    });
    float sum = 0;
    size_t n = 0;
    while (n < by_distance.size()) {
      sum += by_distance[n++].p;
      if (sum > p_ && n >= min_keep_) break;
    }
    std::copy_n(by_distance.begin(), n, candidates.data);
    candidates.size = n;
    candidates.sorted = false;
  }

 private:
  float p_;
  size_t min_keep_;
};

// At 0 and below the likeliest alone is left.
void apply_temperature(llama_token_data_array& candidates, float temperature) {
  const auto all = all_of(candidates);
  if (temperature > 0) {
    for (llama_token_data& c : all) c.logit /= temperature;
    return;
  }
  const auto likeliest = std::ranges::max_element(all, {}, &llama_token_data::logit);
  for (auto c = all.begin(); c != all.end(); ++c) {
    if (c != likeliest) c->logit = kNever;
  }
}

class Temperature final : public CloneableSampler<Temperature> {
 public:
  explicit Temperature(float t) : t_(t) {}
  const char* name() const override { return "temp"; }
  void apply(llama_token_data_array& candidates) override { apply_temperature(candidates, t_); }

 private:
  float t_;
};

// Between t - delta, where the distribution is sharp, and t + delta, where it is flat.
class DynamicTemperature final : public CloneableSampler<DynamicTemperature> {
 public:
  DynamicTemperature(float t, float delta, float exponent) : t_(t), delta_(delta), exponent_(exponent) {}
  const char* name() const override { return "temp-ext"; }
  void apply(llama_token_data_array& candidates) override {
    if (!(delta_ > 0)) return apply_temperature(candidates, t_);
    if (candidates.size == 1) return;
    if (!candidates.sorted) sort_candidates(candidates, candidates.size);
    softmax(candidates);
    float entropy = 0;
    for (const llama_token_data& c : all_of(candidates)) entropy -= c.p > 0 ? c.p * std::log(c.p) : 0;
    const float flatness = entropy / std::log(static_cast<float>(candidates.size));
    const float lowest = std::max(0.0f, t_ - delta_), highest = t_ + delta_;
    apply_temperature(candidates, lowest + (highest - lowest) * std::pow(flatness, exponent_));
    softmax(candidates);
  }

 private:
  float t_, delta_, exponent_;
};

template <class Kind, class... Args>
llama_sampler* make_step(const char* function, Args... args) {
  return llama_answer(function, static_cast<llama_sampler*>(nullptr), [&]() -> Result<llama_sampler*> {
    return give_sampler(std::make_unique<Kind>(args...));
  });
}

}  // namespace

}  // namespace parlance::capi

using namespace parlance;
using namespace parlance::capi;

llama_sampler* llama_sampler_init_greedy() {
  return make_step<Greedy>(__func__);
}

llama_sampler* llama_sampler_init_dist(uint32_t seed) {
  return make_step<Drawn>(__func__, seed);
}

llama_sampler* llama_sampler_init_top_k(int32_t k) {
  return make_step<TopK>(__func__, k);
}

llama_sampler* llama_sampler_init_top_p(float p, size_t min_keep) {
  return make_step<TopP>(__func__, p, min_keep);
}

llama_sampler* llama_sampler_init_min_p(float p, size_t min_keep) {
  return make_step<MinP>(__func__, p, min_keep);
}

llama_sampler* llama_sampler_init_typical(float p, size_t min_keep) {
  return make_step<Typical>(__func__, p, min_keep);
}

llama_sampler* llama_sampler_init_temp(float t) {
  return make_step<Temperature>(__func__, t);
}

llama_sampler* llama_sampler_init_temp_ext(float t, float delta, float exponent) {
  return make_step<DynamicTemperature>(__func__, t, delta, exponent);
}
