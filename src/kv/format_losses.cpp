#include "kv/format_losses.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/rows.h"

namespace parlance {

namespace {

// Rows of one side, encoded and decoded to what attention multiplies: n_stored values each.
struct StoredRows {
  int64_t n_stored = 0;
  std::vector<float> rows;  // [n_stored, n_rows]

  StoredRows(const KvCoding& coding, const float* x, int64_t n, int64_t n_rows)
      : n_stored(stored_elements(coding.transform(), n)),
        rows(static_cast<size_t>(stored_elements(coding.transform(), n) * n_rows)) {
    static const Isa isa = available_isas().back();  // all give the same bytes
    const RowEncoder encode(isa, coding);
    std::vector<std::byte> bytes(kv_row_bytes(coding.format, n));
    for (int64_t row = 0; row < n_rows; ++row) {
      encode(x + row * n, bytes.data(), n);
      traits(coding.format).decode_stored_row(bytes.data(), rows.data() + row * n_stored, n);
    }
  }
};

double energy(const float* x, int64_t n) {
  return static_cast<double>(dot(x, x, n));
}

// Squared errors, summed over the queries of a head.
struct KeyErrors {
  double scores = 0, outputs = 0, outputs_of_later = 0;
};
struct ValueErrors {
  double outputs = 0, outputs_of_later = 0;
};

// One head whose keys or values go into a format.
class HeadComparison {
 public:
  HeadComparison(const SampledHead& head, KvFormat format)
      : head_(head),
        coding_{.format = format},
        n_keys_(head.sample->n_keys()),
        n_(head.sample->head_dim_k),
        n_v_(head.sample->head_dim_v) {}

  // `shift` and `scale` of the head equalise the keys; null: they are as they are.
  KeyErrors of_keys(const float* shift, const float* scale) const {
    std::vector<float> equalised;
    if (scale) {
      equalised.assign(head_.k, head_.k + n_keys_ * n_);
      for (float* k = equalised.data(); k != equalised.data() + n_keys_ * n_; k += n_) {
        for (int64_t i = 0; i < n_; ++i) k[i] = (k[i] - shift[i]) * scale[i];
      }
    }
    const StoredRows stored(coding_, scale ? equalised.data() : head_.k, n_, n_keys_);
    std::vector<float> q(static_cast<size_t>(n_)), prepared(static_cast<size_t>(stored.n_stored));
    std::vector<float> scores(static_cast<size_t>(n_keys_));
    KeyErrors errors;
    for (int64_t row = 0; row < head_.n_rows; ++row) {
      const float* const x = head_.q.data() + row * n_;
      for (int64_t i = 0; i < n_; ++i) q[static_cast<size_t>(i)] = scale ? x[i] / scale[i] : x[i];
      // What a shift takes off all scores of a query.
      const float common = shift ? head_.sample->scale * dot(x, shift, n_) : 0;
      to_stored(coding_.transform(), q.data(), prepared.data(), n_);
      dots(prepared.data(), stored.rows.data(), n_keys_, stored.n_stored, scores.data());
      for (float& score : scores) score = head_.sample->scale * score + common;
      add_errors(row, scores, errors);
    }
    return errors;
  }

  ValueErrors of_values() const {
    const StoredRows stored(coding_, head_.v, n_v_, n_keys_);
    std::vector<float> sum(static_cast<size_t>(stored.n_stored)), output(static_cast<size_t>(n_v_));
    std::vector<float> exact(output.size());
    ValueErrors errors;
    for (int64_t row = 0; row < head_.n_rows; ++row) {
      const float* const p = head_.weights.data() + row * n_keys_;
      const auto error = [&](int64_t first, int64_t end, const float* want) {
        add_weighted(sum.data(), stored.rows.data() + first * stored.n_stored, p + first, end - first,
                     stored.n_stored);
        from_stored(coding_.transform(), sum.data(), output.data(), n_v_);
        for (int64_t i = 0; i < n_v_; ++i) output[static_cast<size_t>(i)] -= want[i];
        return energy(output.data(), n_v_);
      };
      std::ranges::fill(sum, 0.0f);
      const float* const of_all = head_.outputs.data() + row * n_v_;
      std::ranges::fill(exact, 0.0f);
      add_weighted(exact.data(), head_.v + head_.n_first * n_v_, p + head_.n_first, n_keys_ - head_.n_first,
                   n_v_);
      errors.outputs_of_later += error(head_.n_first, n_keys_, exact.data());
      errors.outputs += error(0, head_.n_first, of_all);
    }
    return errors;
  }

 private:
  // Of a query whose scores are these in place of exact ones.
  void add_errors(int64_t row, std::vector<float>& scores, KeyErrors& errors) const {
    const float* const exact = head_.scores.data() + row * n_keys_;
    const float* const p = head_.weights.data() + row * n_keys_;
    double mean = 0, square = 0;
    for (int64_t key = 0; key < n_keys_; ++key) {
      const double error =
          static_cast<double>(scores[static_cast<size_t>(key)]) - static_cast<double>(exact[key]);
      mean += static_cast<double>(p[key]) * error;
      square += static_cast<double>(p[key]) * error * error;
    }
    errors.scores += square - mean * mean;

    const float largest =
        std::max(*std::ranges::max_element(scores), *std::max_element(exact, exact + n_keys_));
    double all = 0;
    for (float& score : scores) all += static_cast<double>(score = std::exp(score - largest));
    std::vector<float> sum(static_cast<size_t>(n_v_));
    add_weighted(sum.data(), head_.v, scores.data(), n_keys_, n_v_);
    errors.outputs += change_of(row, sum, all);
    for (int64_t key = 0; key < head_.n_first; ++key) {
      float& weight = scores[static_cast<size_t>(key)];
      weight = std::exp(exact[key] - largest) - weight;
      all += static_cast<double>(weight);
    }
    add_weighted(sum.data(), head_.v, scores.data(), head_.n_first, n_v_);
    errors.outputs_of_later += change_of(row, sum, all);
  }

  // Of what a query gets, where that is sum / weight.
  double change_of(int64_t row, const std::vector<float>& sum, double weight) const {
    const float* const exact = head_.outputs.data() + row * n_v_;
    const auto share = static_cast<float>(1 / weight);
    double change = 0;
    for (int64_t i = 0; i < n_v_; ++i) {
      const float error = sum[static_cast<size_t>(i)] * share - exact[i];
      change += static_cast<double>(error * error);
    }
    return change;
  }

  const SampledHead& head_;
  KvCoding coding_;
  int64_t n_keys_, n_, n_v_;
};

// Errors that are no numbers, or beyond what is imaginable, are as bad as any.
float bounded(double share) {
  constexpr double kMost = 1e6;
  return static_cast<float>(share < kMost ? std::max(share, 0.0) : kMost);
}

}  // namespace

FormatLosses losses_of(std::span<const SampledHead> heads, KvFormat format, const KeyEqualiser& equaliser) {
  double all = 0;
  for (const SampledHead& head : heads) all += energy(head.outputs.data(), std::ssize(head.outputs));
  const double share = 1 / std::max(all, 1e-30);
  FormatLosses losses;
  for (size_t i = 0; i < heads.size(); ++i) {
    const HeadComparison comparison(heads[i], format);
    const auto first = i * static_cast<size_t>(heads[i].sample->head_dim_k);
    const ValueErrors values = comparison.of_values();
    const auto add = [&](const KeyErrors& keys, std::vector<HeadLoss>& out) {
      const double scores = keys.scores / static_cast<double>(heads[i].n_rows);
      out.push_back({.scores = bounded(std::sqrt(std::max(scores, 0.0))),
                     .from_keys = bounded(keys.outputs * share),
                     .from_values = bounded(values.outputs * share),
                     .from_later_keys = bounded(keys.outputs_of_later * share),
                     .from_later_values = bounded(values.outputs_of_later * share)});
    };
    add(comparison.of_keys(nullptr, nullptr), losses.plain);
    add(comparison.of_keys(equaliser.shift.data() + first, equaliser.scale.data() + first), losses.equalised);
  }
  return losses;
}

}  // namespace parlance
