// Checks against the definition, on random vectors.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "base/function_ref.h"
#include "verify/kernels.h"
#include "verify/subjects.h"

namespace parlance::verify {

namespace {

// Sketches and unnormalised Hadamard transforms of unit gaussian vectors deviate by the root of 128.
constexpr float kPreparedDeviation = 11.3f;

class RandomCases {
 public:
  std::vector<float> vectors(int64_t n, float deviation = 1) {
    std::normal_distribution<float> distribution(0, deviation);
    std::vector<float> values(static_cast<size_t>(n));
    for (float& value : values) value = distribution(random_);
    return values;
  }

  // The middle row of each head is zero.
  EncodedRows rows(KvFormat format, int64_t head_dim, int64_t n_rows, int64_t n_head_kv) {
    const size_t row_bytes = kv_row_bytes(format, head_dim);
    EncodedRows rows{format, head_dim, n_rows, n_head_kv, {}};
    rows.bytes.resize(static_cast<size_t>(n_head_kv * n_rows) * row_bytes);
    for (int64_t i = 0; i < n_head_kv * n_rows; ++i) {
      std::vector<float> x = vectors(head_dim);
      if (i % n_rows == n_rows / 2) std::fill(x.begin(), x.end(), 0.0f);
      const KvCoding coding{.format = format, .encoder = KvEncoder::compatible};
      coding.encode(x.data(), rows.bytes.data() + static_cast<size_t>(i) * row_bytes, head_dim);
    }
    return rows;
  }

 private:
  std::mt19937 random_{20260519};
};

struct Shape {
  int64_t n_head, n_head_kv, n_rows, n_queries;
};
constexpr std::array<Shape, 4> kShapes = {{{1, 1, 1, 1}, {1, 1, 31, 1}, {4, 2, 33, 3}, {8, 2, 100, 1}}};

struct ScoreKind {
  ScoreOperation operation;
  KvFormat format;
};
constexpr std::array<ScoreKind, 9> kScoreKinds = {
    {{ScoreOperation::qjl, KvFormat::qjl1_256},
     {ScoreOperation::qjl_i8, KvFormat::qjl1_256},
     {ScoreOperation::tbq, KvFormat::tbq3_0},
     {ScoreOperation::tbq, KvFormat::tbq4_0},
     {ScoreOperation::tbq, KvFormat::tbq3_tcq},
     {ScoreOperation::polar, KvFormat::q4_polar},
     {ScoreOperation::polar, KvFormat::q4_polar_residual},
     {ScoreOperation::polar_preht, KvFormat::q4_polar},
     {ScoreOperation::polar_preht, KvFormat::q4_polar_residual}}};

// Every tested device beside the definition, which is asked once for each case.
class Comparison {
 public:
  Comparison(std::span<const TestedDevice> tested, const TestedDevice& definition) : definition_(definition) {
    for (const TestedDevice& device : tested) {
      if (device.isa != Isa::scalar)
        sides_.push_back({&device, Checks(device.label, std::string(kDefinition))});
    }
  }

  // `run` yields the result of a device.
  void add(const Subject& subject, FunctionRef<Outcome(const TestedDevice&)> run, double scale = 1) {
    const Outcome want = run(definition_);
    for (Side& side : sides_) {
      if (!want) {
        side.checks.fail(subject, want.error());
      } else {
        compare(side.checks, subject, run(*side.device), **want, scale);
      }
    }
  }
  void add_bytes(const Subject& subject, FunctionRef<WrittenRows(const TestedDevice&)> run) {
    const WrittenRows want = run(definition_);
    for (Side& side : sides_) {
      if (!want) {
        side.checks.fail(subject, want.error());
      } else {
        compare(side.checks, subject, run(*side.device), **want);
      }
    }
  }

  std::vector<Check> take() {
    std::vector<Check> all;
    for (Side& side : sides_) {
      for (Check& check : side.checks.take()) all.push_back(std::move(check));
    }
    return all;
  }

 private:
  struct Side {
    const TestedDevice* device;
    Checks checks;
  };
  const TestedDevice& definition_;
  std::vector<Side> sides_;
};

void random_scores(RandomCases& random, Comparison& comparison) {
  for (const ScoreKind& kind : kScoreKinds) {
    for (const int64_t head_dim : {64, 128, 256}) {
      if (head_dim % traits(kind.format).block_elements != 0) continue;
      for (const Shape& shape : kShapes) {
        const bool is_sketch = kind.format == KvFormat::qjl1_256;
        const bool is_prepared = is_sketch || kind.operation == ScoreOperation::polar_preht;
        const int64_t n = is_sketch ? 2 * head_dim : head_dim;
        ScoreCase c{kind.operation, random.rows(kind.format, head_dim, shape.n_rows, shape.n_head_kv),
                    shape.n_head, shape.n_queries};
        c.q = random.vectors(n * shape.n_head * shape.n_queries, is_prepared ? kPreparedDeviation : 1);
        c.tolerance = kAbsolute;
        comparison.add(subject_of(c), [&](const TestedDevice& device) { return scores(device, c); });
      }
    }
  }
}

void random_fused(RandomCases& random, Comparison& comparison) {
  for (const KvFormat v : {KvFormat::tbq3_0, KvFormat::q4_polar, KvFormat::q4_polar_residual}) {
    for (const Shape& shape : kShapes) {
      AttentionCase c{.n_head = shape.n_head, .n_q = shape.n_queries};
      c.k = random.rows(KvFormat::qjl1_256, 128, shape.n_rows, shape.n_head_kv);
      c.v = random.rows(v, 128, shape.n_rows, shape.n_head_kv);
      c.q = random.vectors(256 * shape.n_head * shape.n_queries, kPreparedDeviation);
      c.sm_scale = 0.0883883461f;
      c.tolerance = kAbsolute;
      for (const int64_t base : {-2, 0, 17, 1000}) {  // of -2, the first queries see nothing
        c.is_causal = base != 1000;
        c.q_pos_base = base;
        comparison.add(subject_of_fused(c),
                       [&](const TestedDevice& device) { return attention_from_sketches(device, c); });
      }
    }
  }
}

void random_attention(RandomCases& random, Comparison& comparison) {
  constexpr int64_t kHeadDim = 128, kRows = 37, kHeadsKv = 2, kHeads = 4;
  std::array<EncodedRows, kKvFormatCount> rows;
  for (size_t id = 0; id < kKvFormatCount; ++id) {
    rows[id] = random.rows(static_cast<KvFormat>(id), kHeadDim, kRows, kHeadsKv);
  }
  for (const int64_t n_q : {1, 9}) {  // decode; enough that the queries of a head share a tile
    AttentionCase c{.n_head = kHeads, .n_q = n_q, .is_causal = true, .q_pos_base = kRows - n_q};
    c.q = random.vectors(kHeadDim * kHeads * n_q);
    c.sm_scale = 1 / std::sqrt(static_cast<float>(kHeadDim));
    c.tolerance = kAbsolute;
    for (const EncodedRows& k : rows) {
      for (const EncodedRows& v : rows) {
        c.k = k;
        c.v = v;
        comparison.add(subject_of_packed(c),
                       [&](const TestedDevice& device) { return attention_over_rows(device, c); });
        comparison.add(subject_of_pages(c), [&](const TestedDevice& device) {
          return attention_over_pages(device, c, {.least_squares = true});
        });
      }
    }
  }
}

void random_rows(RandomCases& random, Comparison& comparison) {
  constexpr int64_t kRows = 9;
  for (size_t id = 0; id < kKvFormatCount; ++id) {
    const auto format = static_cast<KvFormat>(id);
    for (const int64_t head_dim : {64, 128, 256}) {
      if (head_dim % traits(format).block_elements != 0) continue;
      const std::vector<float> x = random.vectors(head_dim * kRows), q = random.vectors(2 * head_dim);
      const EncodedRows rows = random.rows(format, head_dim, kRows, 1);
      const double row_length = std::sqrt(static_cast<double>(head_dim));
      comparison.add(
          subject_of_rows("get_rows", format, Unit::relative),
          [&](const TestedDevice& device) { return decoded_rows(device, rows); }, row_length);
      comparison.add(
          subject_of_rows("mul_mv", format, Unit::relative),
          [&](const TestedDevice& device) { return products(device, rows, q); }, length_of(q) * row_length);
      comparison.add_bytes(subject_of_rows("kv_write", format, Unit::bytes), [&](const TestedDevice& device) {
        return written_rows(device, format, head_dim, x);
      });
    }
  }
}

}  // namespace

std::vector<Check> check_against_definition(std::span<const TestedDevice> tested,
                                            const TestedDevice& definition) {
  RandomCases random;
  Comparison comparison(tested, definition);
  random_rows(random, comparison);
  random_scores(random, comparison);
  random_fused(random, comparison);
  random_attention(random, comparison);
  return comparison.take();
}

}  // namespace parlance::verify
