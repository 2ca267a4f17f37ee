#include "engine/probe_cache.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/checked.h"
#include "base/os/thread.h"
#include "base/thread_pool.h"
#include "engine/session.h"
#include "engine/stored_pages.h"
#include "kv/attention_sample.h"
#include "kv/key_equalising.h"
#include "models/layers/rope.h"
#include "quant/float_rows.h"

namespace parlance {

namespace {

constexpr std::array kUsualFormats = {KvFormat::tbq3_0, KvFormat::tbq4_0, KvFormat::q8_0};

constexpr int64_t kProbeTokens = 500;
constexpr int64_t kProbeQueries = 32;  // the last tokens, whose queries look back at the others' keys
constexpr int64_t kProbeKeys = 36;     // of these, at even distances behind the first ones
constexpr int64_t kFirstKeys = 4;      // which are often unlike the others
constexpr int64_t kTriedQueries = 4;   // of the queries, those that formats are tried with

// Of several kinds, so that whatever a model was made for, some of it is in its way of speaking.
constexpr std::string_view kProbeText =
    "The ferry leaves the old harbour at seven in the morning and comes back at a quarter past six. Anna, "
    "who keeps "
    "the tickets, wrote in her notebook: \"Monday: 14 people, 3 dogs, one piano.\" Nobody could say where "
    "the piano "
    "had gone. Her brother Tom thought that the captain had sold it; the captain thought that Tom had dreamt "
    "it.\n\n"
    "user: What is the capital of France, and how far is it from Berlin?\n"
    "assistant: The capital of France is Paris. It is about 880 kilometres from Berlin as the crow flies.\n"
    "user: And if a train goes 220 km an hour, how long does it take?\n"
    "assistant: 880 divided by 220 is 4, so about four hours without a stop.\n\n"
    "def mean(values):\n    total = 0.0\n    for value in values:\n        total += value\n"
    "    return total / len(values) if values else None\n\n"
    "{\"name\": \"set_timer\", \"arguments\": {\"minutes\": 25, \"label\": \"tea\"}}\n\n"
    "Notes: the key of the red box lies under the third flower pot. My sister's birthday is on the 9th of "
    "May. The "
    "meeting with Mr Keller was moved from Tuesday to Thursday, 10:30, room 4. Buy bread, two lemons, and "
    "oil for the "
    "door. The password of the guest network is written on the back of the clock.\n\n"
    "In autumn the river rises by almost two metres. Then the lower road is closed, and whoever wants to go "
    "to the mill "
    "has to walk along the dam, past the willows and the small chapel, which takes half an hour longer. \"It "
    "is a "
    "nice walk,\" says the miller, \"if you do not carry flour.\" Die Luft ist klar, und man sieht bis zu "
    "den Bergen. "
    "Le soir, on entend les cloches de l'autre rive.\n\n"
    "1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89. Each number is the sum of the two before it. Where does the key "
    "of the red "
    "box lie? Under the third flower pot. When is the birthday of my sister? On the 9th of May. Which day is "
    "the "
    "meeting with Mr Keller now? On Thursday at half past ten, in room 4. And what did Anna write on Monday? "
    "That there "
    "were fourteen people, three dogs and one piano. So the piano was on the ferry when it left, and it was "
    "not there "
    "any more when it came back; that is all that is known of it, and the captain does not like to be "
    "asked.\n\nWhere does the key of the red box lie, and when is the meeting with Mr Keller?";

// Which pairs of a head's elements turn, and how fast.
std::vector<TurningPair> turning_pairs(const TextModel& model) {
  const RopeParameters& rope = model.hyper_parameters().rope;
  const std::vector<float> inverse = rope_frequencies(rope, {}).inverse;
  const int64_t n = rope.n_rot / 2;
  std::vector<TurningPair> pairs;
  for (int64_t i = 0; i < n; ++i) {
    const bool are_halves = model.model().rope_style() == RopeStyle::halves;
    pairs.push_back({.first = are_halves ? i : 2 * i,
                     .second = are_halves ? i + n : 2 * i + 1,
                     .frequency = static_cast<double>(inverse[static_cast<size_t>(2 * i)])});
  }
  return pairs;
}

// The positions whose keys and values are looked at: the first ones, and others at even distances.
std::vector<int64_t> sampled_positions(int64_t n_keys) {
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < std::min(kFirstKeys, n_keys); ++i) positions.push_back(i);
  for (int64_t i = 0; i < kProbeKeys; ++i) {
    const int64_t position = kFirstKeys + (n_keys - kFirstKeys) * i / kProbeKeys;
    if (position > positions.back() && position < n_keys) positions.push_back(position);
  }
  return positions;
}

// A text that a model computes, and what is seen of its attention meanwhile.
class ProbeRun {
 public:
  static Result<ProbeRun> compute(const TextModel& model, std::span<const Token> tokens,
                                  const Cancellation& cancellation) {
    const HyperParameters& hp = model.hyper_parameters();
    const int64_t n_keys = std::ssize(tokens) - kProbeQueries;
    if (n_keys < kProbeQueries) {
      return fail(ErrorCode::unsupported, "{}: a context of {} tokens is too short to try cache formats in",
                  model.file().name(), hp.n_ctx_train);
    }
    ProbeRun run(model, n_keys);
    const auto n_tokens = std::ssize(tokens);
    PARLANCE_TRY(run.session_, Session::create(model, {.n_ctx = n_tokens, .n_batch = n_tokens}));
    const Work work{.cancellation = cancellation};
    PARLANCE_CHECK(run.watch_queries(tokens, work));
    PARLANCE_CHECK(run.read_keys());
    return run;
  }

  const std::vector<int64_t>& k_positions() const { return k_positions_; }

  // Of attention layer `layer`; once.
  AttentionSample take_sample(int64_t layer) {
    const HyperParameters& hp = model_->hyper_parameters();
    const auto l = static_cast<size_t>(layer);
    return {.n_head = hp.n_head,
            .n_head_kv = hp.n_head_kv,
            .head_dim_k = hp.head_dim_k,
            .head_dim_v = hp.head_dim_v,
            .scale = hp.attention_scale,
            .k_positions = k_positions_,
            .q = std::move(queries_[l]),
            .k = std::move(keys_[l]),
            .v = std::move(values_[l])};
  }

 private:
  ProbeRun(const TextModel& model, int64_t n_keys)
      : model_(&model), n_keys_(n_keys), k_positions_(sampled_positions(n_keys)) {}

  // Computes the text in one step, and copies what queries its last tokens have to host memory.
  Result<void> watch_queries(std::span<const Token> tokens, const Work& work) {
    const HyperParameters& hp = model_->hyper_parameters();
    const int64_t n_row = hp.head_dim_k * hp.n_head;
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<std::pair<PartRunner*, Tensor>> copies;  // of each attention layer
    std::vector<size_t> first_of_part;
    for (const auto& part : session_->context().parts()) {
      first_of_part.push_back(copies.size());
      for (int64_t layer = 0; layer < part->cache().layout().n_layer; ++layer) {
        Tensor copy;
        copy.ne = {n_row, kProbeQueries, 1, 1};
        PARLANCE_TRY(buffers.emplace_back(), part->stream().device().allocate(copy.size()));
        copy.buffer = buffers.back().get();
        copy.data = buffers.back()->base();
        copies.emplace_back(part.get(), copy);
      }
    }
    size_t current = 0;
    const auto see = [&](Stream& s, int64_t layer, const Tensor& q) {
      copy(s, copies[first_of_part[current] + static_cast<size_t>(layer)].second,
           q.reshaped(n_row, q.ne[2]).rows(n_keys_, kProbeQueries));
    };
    std::vector<std::unique_ptr<PartTap>> taps;
    for (const auto& part : session_->context().parts()) {
      taps.push_back(std::make_unique<PartTap>(*part, current, taps.size(), see));
    }
    const auto computed = session_->append(tokens, 1, {}, work);
    taps.clear();
    if (!computed) return tl::unexpected<Error>(computed.error());
    for (const auto& [part, tensor] : copies) {
      std::vector<float>& q = queries_.emplace_back(static_cast<size_t>(n_row * kProbeQueries));
      PARLANCE_CHECK(part->stream().download(std::as_writable_bytes(std::span(q)), tensor));
    }
    return {};
  }

  // Shows one part's queries to whoever wants them, as long as it lives.
  class PartTap {
   public:
    using See = FunctionRef<void(Stream& s, int64_t layer, const Tensor& q)>;
    PartTap(PartRunner& part, size_t& current, size_t index, See see)
        : part_(part),
          seen_([&current, index, see](Stream& s, int64_t layer, const Tensor& q) {
            current = index;
            see(s, layer, q);
          }),
          tap_(seen_) {
      part_.show_queries(&tap_);
    }
    ~PartTap() { part_.show_queries(nullptr); }
    PartTap(const PartTap&) = delete;
    PartTap& operator=(const PartTap&) = delete;

   private:
    PartRunner& part_;
    std::function<void(Stream&, int64_t, const Tensor&)> seen_;
    QueryTap tap_;
  };

  // Keys and values of the sampled positions.
  Result<void> read_keys() {
    Context& context = session_->context();
    const HyperParameters& hp = model_->hyper_parameters();
    const int64_t n_layer = context.layout().n_layer, per_page = context.layout().page_tokens;
    const auto n_rows = static_cast<int64_t>(k_positions_.size()) * hp.n_head_kv;
    keys_.assign(static_cast<size_t>(n_layer),
                 std::vector<float>(static_cast<size_t>(n_rows * hp.head_dim_k)));
    values_.assign(static_cast<size_t>(n_layer),
                   std::vector<float>(static_cast<size_t>(n_rows * hp.head_dim_v)));
    std::vector<std::byte> page(context.page_bytes(PageKind::main));
    int64_t held = -1;
    for (size_t i = 0; i < k_positions_.size(); ++i) {
      const int64_t wanted = k_positions_[i] / per_page;
      if (wanted != held) {
        const PageRef ref = session_->sequence().pages().pages()[static_cast<size_t>(wanted)];
        PARLANCE_CHECK(copy_page(context, ref, per_page, page));
        held = wanted;
      }
      for (int64_t layer = 0; layer < n_layer; ++layer) take_rows(page, layer, static_cast<int64_t>(i));
    }
    return {};
  }

  // Of the i-th position in a layer. In a page, the keys of each head follow each other, then the values.
  void take_rows(std::span<const std::byte> page, int64_t layer, int64_t i) {
    const HyperParameters& hp = model_->hyper_parameters();
    const KvLayout& layout = session_->context().layout();
    const int64_t per_page = layout.page_tokens, n_positions = std::ssize(k_positions_);
    const int64_t at = k_positions_[static_cast<size_t>(i)] % per_page;
    const size_t layer_bytes = layout.layer_bytes_per_token({}) * static_cast<size_t>(per_page);
    const std::byte* side = page.data() + static_cast<size_t>(layer) * layer_bytes;
    const auto take = [&](int64_t n, std::vector<float>& out) {
      for (int64_t head = 0; head < hp.n_head_kv; ++head) {
        const auto row = static_cast<size_t>((head * per_page + at) * n) * sizeof(uint16_t);
        decode_row_f16(side + row, out.data() + (head * n_positions + i) * n, n);
      }
      side += static_cast<size_t>(hp.n_head_kv * per_page * n) * sizeof(uint16_t);
    };
    take(hp.head_dim_k, keys_[static_cast<size_t>(layer)]);
    take(hp.head_dim_v, values_[static_cast<size_t>(layer)]);
  }

  const TextModel* model_;
  int64_t n_keys_;
  std::vector<int64_t> k_positions_;
  std::unique_ptr<Session> session_;
  std::vector<std::vector<float>> queries_;  // [head_dim_k, n_head, kProbeQueries] of each attention layer
  std::vector<std::vector<float>> keys_, values_;  // [head_dim, k_positions_, n_head_kv] of each
};

float length_of(const float* x, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] * x[i];
  return std::sqrt(sum);
}

// How much longer the longest of the first keys is than the median of the others, in any head.
float length_of_first_keys(const AttentionSample& sample) {
  float most = 0;
  for (int64_t head = 0; head < sample.n_head_kv; ++head) {
    std::vector<float> lengths;
    for (int64_t i = 0; i < sample.n_keys(); ++i)
      lengths.push_back(
          length_of(sample.k.data() + (head * sample.n_keys() + i) * sample.head_dim_k, sample.head_dim_k));
    const auto others = std::span(lengths).subspan(static_cast<size_t>(kFirstKeys));
    const float first = *std::max_element(lengths.begin(), lengths.begin() + kFirstKeys);
    std::ranges::nth_element(others, others.begin() + std::ssize(others) / 2);
    most = std::max(most, first / std::max(others[others.size() / 2], 1e-9f));
  }
  return std::isfinite(most) ? most : 0;
}

// Where keys are better off as they are, a head goes without: by the errors of the usual formats together, so
// that nothing depends on what else was tried. `losses` are of each format.
void keep_where_it_helps(std::span<FormatLosses> losses, KeyEqualiser& equaliser) {
  const size_t n_head = losses.front().plain.size(), n = equaliser.scale.size() / n_head;
  for (size_t head = 0; head < n_head; ++head) {
    float before = 0, after = 0;
    for (size_t f = 0; f < std::min(losses.size(), kUsualFormats.size()); ++f) {
      before += losses[f].plain[head].from_later_keys;
      after += losses[f].equalised[head].from_later_keys;
    }
    if (after < before) continue;
    std::fill_n(equaliser.shift.begin() + static_cast<std::ptrdiff_t>(head * n), n, 0.0f);
    std::fill_n(equaliser.scale.begin() + static_cast<std::ptrdiff_t>(head * n), n, 1.0f);
    for (FormatLosses& format : losses) format.equalised[head] = format.plain[head];
  }
}

std::vector<KvFormat> formats_that_fit(const HyperParameters& hp, std::span<const KvFormat> more) {
  std::vector<KvFormat> formats(kUsualFormats.begin(), kUsualFormats.end());
  for (const KvFormat format : more) {
    if (std::ranges::find(formats, format) == formats.end()) formats.push_back(format);
  }
  std::erase_if(formats, [&](KvFormat format) {
    const int64_t block = traits(format).block_elements;
    return hp.head_dim_k % block != 0 || hp.head_dim_v % block != 0;
  });
  return formats;
}

}  // namespace

std::string_view probe_text() {
  return kProbeText;
}

std::vector<Token> probe_tokens(const TextModel& model, std::span<const Token> prompt) {
  const auto most = static_cast<size_t>(std::min(kProbeTokens, model.hyper_parameters().n_ctx_train));
  if (prompt.size() <= most) return {prompt.begin(), prompt.end()};
  const size_t n_end = std::min(static_cast<size_t>(kProbeQueries), most);
  std::vector<Token> tokens(prompt.begin(), prompt.begin() + static_cast<std::ptrdiff_t>(most - n_end));
  tokens.insert(tokens.end(), prompt.end() - static_cast<std::ptrdiff_t>(n_end), prompt.end());
  return tokens;
}

std::span<const KvFormat> usual_cache_formats() {
  return kUsualFormats;
}

Result<CacheProbe> probe_cache(const TextModel& model, std::span<const Token> tokens,
                               std::span<const KvFormat> more, const Cancellation& cancellation) {
  const HyperParameters& hp = model.hyper_parameters();
  CacheProbe probe;
  probe.n_layer = hp.n_layers_of(LayerKind::attention);
  probe.n_head_kv = hp.n_head_kv;
  probe.head_dim_k = hp.head_dim_k;
  probe.formats = formats_that_fit(hp, more);
  if (probe.n_layer == 0 || probe.formats.empty()) {
    return fail(ErrorCode::unsupported, "{}: the model has no keys and values that a cache could compress",
                model.file().name());
  }
  PARLANCE_TRY(ProbeRun run, ProbeRun::compute(model, tokens, cancellation));
  const KeyTurns turns(turning_pairs(model), run.k_positions(), hp.n_ctx_train);
  const auto n_layer = static_cast<size_t>(probe.n_layer), n_head = static_cast<size_t>(probe.n_head_kv);
  probe.plain.resize(probe.formats.size() * n_layer * n_head);
  probe.equalised.resize(probe.plain.size());
  probe.first_keys.resize(n_layer);
  probe.equaliser.layers.resize(n_layer);
  // What is computed here, the host computes for every device.
  const Device& device = *model.model().placement().first().device;
  const int n_threads =
      device.name() == "cpu" ? device.n_threads() : static_cast<int>(usable_processors().size());
  ThreadPool pool(n_threads, /*pin=*/false);
  std::vector<std::optional<AttentionSample>> samples(n_layer);
  std::vector<std::vector<SampledHead>> heads(n_layer);
  pool.run(probe.n_layer, [&](int64_t layer, int) {
    const auto l = static_cast<size_t>(layer);
    const AttentionSample& sample = samples[l].emplace(run.take_sample(layer));
    for (int64_t head = 0; head < hp.n_head_kv; ++head)
      heads[l].emplace_back(sample, head, kTriedQueries, kFirstKeys);
    probe.equaliser.layers[l] = equaliser_for(heads[l], turns);
    probe.first_keys[l] = length_of_first_keys(sample);
  });
  std::vector<FormatLosses> losses(n_layer * probe.formats.size());  // [n_formats, n_layer]
  pool.run(std::ssize(losses), [&](int64_t i, int) {
    const auto l = static_cast<size_t>(i) / probe.formats.size(),
               f = static_cast<size_t>(i) % probe.formats.size();
    losses[static_cast<size_t>(i)] = losses_of(heads[l], probe.formats[f], probe.equaliser.layers[l]);
  });
  for (size_t l = 0; l < n_layer; ++l) {
    const auto of_layer = std::span(losses).subspan(l * probe.formats.size(), probe.formats.size());
    keep_where_it_helps(of_layer, probe.equaliser.layers[l]);
    for (size_t f = 0; f < probe.formats.size(); ++f) {
      const auto at = static_cast<std::ptrdiff_t>((f * n_layer + l) * n_head);
      std::ranges::copy(of_layer[f].plain, probe.plain.begin() + at);
      std::ranges::copy(of_layer[f].equalised, probe.equalised.begin() + at);
    }
  }
  return probe;
}

}  // namespace parlance
