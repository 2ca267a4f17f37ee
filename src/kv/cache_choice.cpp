#include "kv/cache_choice.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace parlance {

namespace {

// Nats for the errors of all layers together, each as a share of what attention yields: through what was
// measured of the bundled model, hard to compress and as it is, with uniform formats from 3 to 8 bits on a
// text that was computed exactly (docs/kv-cache.md).
double nats_behind_exact(double loss) {
  return loss * (0.03 + 0.12 * loss);
}

// How many times as much it is where the first positions are compressed, too. They attend to few others, so
// that errors of these do not cancel out in what they become; and all that comes behind attends to them and
// is computed from what they have become, layer by layer. Measured: 8 to 30 times.
constexpr double kFromTheFirstOn = 10;

// How much more than it seems an error of keys is worth to whoever chooses: the longer a text is, the more
// keys contend for attention, and the more of it goes astray. Measured on notes of 1,000 to 4,000 tokens: as
// much as that of values where keys are normalised, six to ten times as much where they are not.
constexpr double kKeysInLongTexts = 6;

enum class Side { keys, values };

// What a cache does to keys before and beside their formats.
struct KeyCare {
  bool equalises, keeps_first;

  double nats_of(double loss) const { return nats_behind_exact(loss) * (keeps_first ? 1 : kFromTheFirstOn); }
};

double loss_of(const CacheProbe& probe, KvFormat format, int64_t layer, Side side, KeyCare care) {
  if (format <= KvFormat::bf16) return 0;
  if (!probe.tried(format)) return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const HeadLoss& head : probe.losses(format, layer, care.equalises)) {
    const float all = side == Side::keys ? head.from_keys : head.from_values;
    const float later = side == Side::keys ? head.from_later_keys : head.from_later_values;
    sum += static_cast<double>(care.keeps_first ? later : all);
  }
  return sum;
}

double loss_of(const CacheProbe& probe, const KvLayout& layout, KeyCare care) {
  double loss = 0;
  for (int64_t layer = 0; layer < layout.n_layer; ++layer) {
    const LayerCoding coding = layout.coding(layer);
    loss += loss_of(probe, coding.k.format, layer, Side::keys, care);
    loss += loss_of(probe, coding.v.format, layer, Side::values, care);
  }
  return loss;
}

// The formats of one side of one layer, and what is still open about it.
struct SideChoice {
  int64_t layer;
  Side side;
  KvFormat format;
};

class Chooser {
 public:
  Chooser(const CacheProbe& probe, const KvLayout& layout, KeyCare care)
      : probe_(probe), layout_(layout), care_(care), candidates_(probe.formats) {
    candidates_.push_back(KvFormat::f16);
    std::ranges::sort(candidates_, {}, [&](KvFormat f) { return bits(Side::keys, f); });
    for (int64_t layer = 0; layer < layout.n_layer; ++layer) {
      for (const Side side : {Side::keys, Side::values}) sides_.push_back({layer, side, candidates_.front()});
    }
  }

  // Of all sides: which gets which format, as long as there is something to gain.
  void spend(const CacheGoal& goal) {
    double most = goal.most_bits * static_cast<double>(sides_.size());
    for (const SideChoice& s : sides_) most -= bits(s.side, s.format);
    while (nats() > goal.most_divergence) {
      SideChoice* best = nullptr;
      KvFormat format{};
      double best_gain = 0;
      for (SideChoice& s : sides_) {
        for (const KvFormat candidate : candidates_) {
          const double more = bits(s.side, candidate) - bits(s.side, s.format);
          if (more <= 0 || more > most + 1e-9) continue;
          const double weight = s.side == Side::keys ? kKeysInLongTexts : 1;
          const double gain = weight * (loss(s, s.format) - loss(s, candidate)) / more;
          if (gain <= best_gain) continue;
          best_gain = gain;
          best = &s;
          format = candidate;
        }
      }
      if (!best) return;
      most -= bits(best->side, format) - bits(best->side, best->format);
      best->format = format;
    }
  }

  KvPolicy policy() const {
    KvPolicy policy = layout_.policy;
    policy.goal.reset();
    policy.layers.clear();
    for (size_t i = 0; i < sides_.size(); i += 2)
      policy.layers.push_back({sides_[i].layer, sides_[i].format, sides_[i + 1].format});
    return policy;
  }

 private:
  // Bits that a value of this side has in this format, weighted so that the mean over sides is the mean over
  // values.
  double bits(Side side, KvFormat format) const {
    const int64_t n = side == Side::keys ? layout_.head_dim_k : layout_.head_dim_v;
    const double bytes = static_cast<double>(kv_row_bytes(format, n));
    return 16 * bytes / static_cast<double>(layout_.head_dim_k + layout_.head_dim_v);
  }
  double loss(const SideChoice& s, KvFormat format) const {
    return loss_of(probe_, format, s.layer, s.side, care_);
  }
  double nats() const {
    return care_.nats_of(std::transform_reduce(sides_.begin(), sides_.end(), 0.0, std::plus(),
                                               [this](const SideChoice& s) { return loss(s, s.format); }));
  }

  const CacheProbe& probe_;
  const KvLayout& layout_;
  KeyCare care_;
  std::vector<KvFormat> candidates_;  // the smallest first
  std::vector<SideChoice> sides_;
};

}  // namespace

double predicted_divergence(const CacheProbe& probe, const KvLayout& layout, bool is_equalised) {
  const KeyCare care{.equalises = is_equalised, .keeps_first = layout.policy.n_sink > 0};
  return care.nats_of(loss_of(probe, layout, care));
}

KvPolicy choose_formats(const CacheProbe& probe, const KvLayout& layout, bool is_equalised) {
  Chooser chooser(probe, layout, {.equalises = is_equalised, .keeps_first = layout.policy.n_sink > 0});
  if (layout.policy.goal) chooser.spend(*layout.policy.goal);
  return chooser.policy();
}

double bits_per_value(const KvLayout& layout) {
  const int64_t n_values = layout.n_layer * layout.n_head_kv * (layout.head_dim_k + layout.head_dim_v);
  return n_values > 0 ? 8 * static_cast<double>(layout.bytes_per_token()) / static_cast<double>(n_values) : 0;
}

}  // namespace parlance
