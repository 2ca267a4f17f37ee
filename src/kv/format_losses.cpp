#include "kv/format_losses.h"

#include <algorithm>
#include <cmath>

namespace parlance {

namespace {

// Of the queries of a sample, those whose attention is computed.
constexpr int64_t kQueries = 4;

// What the searching encoder, which caches use, leaves of the compatible one's squared error. It takes twenty times
// as long, and what it gains hardly depends on what is encoded.
double left_by_search(KvFormat format) {
  if (format == KvFormat::tbq3_0) return 0.8;
  return format == KvFormat::tbq4_0 || format == KvFormat::q4_0 ? 0.67 : 1;
}

float dot(const float* a, const float* b, int64_t n) {
  float sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Rows of one side, encoded and decoded to what attention multiplies: `stored` values each.
struct StoredRows {
  int64_t n_stored = 0;
  std::vector<float> rows;  // [n_stored, n_rows]

  StoredRows(const KvCoding& coding, const float* x, int64_t n, int64_t n_rows)
      : n_stored(stored_elements(coding.transform(), n)),
        rows(static_cast<size_t>(stored_elements(coding.transform(), n) * n_rows)) {
    std::vector<std::byte> bytes(kv_row_bytes(coding.format, n));
    for (int64_t row = 0; row < n_rows; ++row) {
      coding.encode(x + row * n, bytes.data(), n);
      traits(coding.format).decode_stored_row(bytes.data(), rows.data() + row * n_stored, n);
    }
  }
};

void softmax(std::vector<float>& x) {
  const float largest = std::ranges::max(x);
  float sum = 0;
  for (float& value : x) sum += value = std::exp(value - largest);
  for (float& value : x) value /= sum;
}

std::vector<float> weighted(const std::vector<float>& weights, const float* rows, int64_t n) {
  std::vector<float> sum(static_cast<size_t>(n));
  for (const float weight : weights) {
    for (int64_t i = 0; i < n; ++i) sum[static_cast<size_t>(i)] += weight * rows[i];
    rows += n;
  }
  return sum;
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += d * d;
  }
  return sum;
}

// Sums over the queries of one head of keys and values.
struct HeadSums {
  double energy = 0, scores = 0, from_keys = 0, from_values = 0;
  int64_t n = 0;
};

class HeadComparison {
 public:
  HeadComparison(const AttentionSample& sample, KvFormat format, const KeyEqualiser* equaliser, int64_t head)
      : sample_(sample),
        coding_{.format = format, .encoder = KvEncoder::compatible},
        n_(sample.head_dim_k),
        keys_(sample.k.begin() + head * sample.n_keys() * n_,
              sample.k.begin() + (head + 1) * sample.n_keys() * n_),
        values_(sample.v.data() + head * sample.n_keys() * sample.head_dim_v) {
    if (equaliser) {
      const float* const shift = equaliser->shift.data() + head * n_;
      scale_ = equaliser->scale.data() + head * n_;
      for (size_t i = 0; i < keys_.size(); ++i) {
        const auto element = static_cast<int64_t>(i) % n_;
        keys_[i] = (keys_[i] - shift[element]) * scale_[element];
      }
    }
  }

  HeadSums run(int64_t first_query_head, int64_t n_shared) const {
    const StoredRows stored_keys(coding_, keys_.data(), n_, sample_.n_keys());
    const StoredRows stored_values(coding_, values_, sample_.head_dim_v, sample_.n_keys());
    HeadSums sums;
    const int64_t step = std::max<int64_t>(sample_.n_queries() / kQueries, 1);
    for (int64_t query = step - 1; query < sample_.n_queries(); query += step) {
      for (int64_t head = first_query_head; head < first_query_head + n_shared; ++head)
        add(sample_.q.data() + (query * sample_.n_head + head) * n_, stored_keys, stored_values, sums);
    }
    return sums;
  }

 private:
  void add(const float* x, const StoredRows& stored_keys, const StoredRows& stored_values, HeadSums& sums) const {
    std::vector<float> q(x, x + n_);
    for (int64_t i = 0; scale_ && i < n_; ++i) q[static_cast<size_t>(i)] /= scale_[i];
    std::vector<float> prepared(static_cast<size_t>(stored_keys.n_stored));
    to_stored(coding_.transform(), q.data(), prepared.data(), n_);
    const int64_t n_keys = sample_.n_keys(), n_v = sample_.head_dim_v;
    std::vector<float> exact(static_cast<size_t>(n_keys)), got(exact.size());
    for (int64_t i = 0; i < n_keys; ++i) {
      exact[static_cast<size_t>(i)] = sample_.scale * dot(q.data(), keys_.data() + i * n_, n_);
      got[static_cast<size_t>(i)] =
          sample_.scale *
          dot(prepared.data(), stored_keys.rows.data() + i * stored_keys.n_stored, stored_keys.n_stored);
    }
    std::vector<float> p = exact;
    softmax(p);
    double mean = 0, square = 0;
    for (size_t i = 0; i < p.size(); ++i) {
      const double d = static_cast<double>(got[i]) - static_cast<double>(exact[i]);
      mean += static_cast<double>(p[i]) * d;
      square += static_cast<double>(p[i]) * d * d;
    }
    softmax(got);
    const std::vector<float> output = weighted(p, values_, n_v);
    const std::vector<float> stored = weighted(p, stored_values.rows.data(), stored_values.n_stored);
    std::vector<float> of_values(static_cast<size_t>(n_v));
    from_stored(coding_.transform(), stored.data(), of_values.data(), n_v);
    sums.scores += square - mean * mean;
    sums.energy += squared_distance(output, std::vector<float>(output.size()));
    sums.from_keys += squared_distance(weighted(got, values_, n_v), output);
    sums.from_values += squared_distance(of_values, output);
    ++sums.n;
  }

  const AttentionSample& sample_;
  KvCoding coding_;
  int64_t n_;
  std::vector<float> keys_;  // as they are stored, before the format
  const float* values_;
  const float* scale_ = nullptr;
};

// Errors that are no numbers, or beyond what is imaginable, are as bad as any.
float bounded(double share) {
  constexpr double kMost = 1e6;
  return static_cast<float>(share < kMost ? std::max(share, 0.0) : kMost);
}

}  // namespace

std::vector<HeadLoss> losses_of(const AttentionSample& sample, KvFormat format,
                                const KeyEqualiser* equaliser) {
  const int64_t n_shared = sample.n_head / sample.n_head_kv;
  std::vector<HeadSums> heads;
  double energy = 0;
  for (int64_t head = 0; head < sample.n_head_kv; ++head) {
    heads.push_back(HeadComparison(sample, format, equaliser, head).run(head * n_shared, n_shared));
    energy += heads.back().energy;
  }
  std::vector<HeadLoss> losses;
  for (const HeadSums& sums : heads) {
    const double left = left_by_search(format);
    const double share = left / std::max(energy, 1e-30);
    const double scores = left * sums.scores / static_cast<double>(sums.n);
    losses.push_back({.scores = bounded(std::sqrt(std::max(scores, 0.0))),
                      .from_keys = bounded(sums.from_keys * share),
                      .from_values = bounded(sums.from_values * share)});
  }
  return losses;
}

}  // namespace parlance
