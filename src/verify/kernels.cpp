#include "verify/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "base/function_ref.h"
#include "kernels/cpu/rows.h"
#include "quant/sketch_int8.h"

namespace parlance::verify {

namespace {

constexpr double kAbsolute = 1e-3;  // the harness's, for scores and outputs
constexpr double kRelative = 1e-5;  // of the recorded rows

// Sketches and unnormalised Hadamard transforms of unit gaussian vectors deviate by the root of 128.
constexpr float kPreparedDeviation = 11.3f;

std::string_view name_of(ScoreOperation operation) {
  constexpr std::array<std::string_view, 6> kNames = {"attn_score_qjl",         "attn_score_qjl_i8",
                                                      "attn_score_tbq",         "attn_score_polar",
                                                      "attn_score_polar_preht", "attn_score_stored"};
  return kNames[static_cast<size_t>(operation)];
}

std::string pair_name(const AttentionCase& c) {
  return fmt::format("{} x {}", name_of(c.k.format), name_of(c.v.format));
}

Subject subject_of(const ScoreCase& c) {
  return {std::string(name_of(c.operation)), std::string(name_of(c.k.format)), Unit::absolute, c.tolerance};
}

Subject subject_of_fused(const AttentionCase& c) {
  const std::string_view name =
      c.v.format == KvFormat::tbq3_0 ? "fused_attn_qjl_tbq" : "fused_attn_qjl_polar";
  return {std::string(name), pair_name(c), Unit::absolute, c.tolerance};
}

Subject subject_of_packed(const AttentionCase& c) {
  return {"packed_attention", pair_name(c), Unit::absolute, c.tolerance};
}

// The product's attention may meet a compressed cache in integers, whose errors are small beside the format's
// own.
Subject subject_of_pages(const AttentionCase& c) {
  constexpr double kFloats = 1e-6, kCompressed = 1e-3;
  const bool is_float = c.k.format <= KvFormat::bf16 && c.v.format <= KvFormat::bf16;
  return {"attention", pair_name(c), Unit::squares, is_float ? kFloats : kCompressed};
}

Subject subject_of_rows(std::string operation, KvFormat format, Unit unit) {
  return {std::move(operation), std::string(name_of(format)), unit, unit == Unit::bytes ? 0 : kRelative};
}

// The length of a vector, for errors relative to it: never zero.
double length_of(const std::vector<float>& x) {
  constexpr double kLeast = 1e-25;
  double squares = 0;
  for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(squares) + kLeast;
}

// A result, when the device has the kernel.
void compare(Checks& checks, const Subject& subject, const Outcome& got, const std::vector<float>& want,
             double scale = 1) {
  if (!got) return checks.fail(subject, got.error());
  if (*got) checks.compare(subject, **got, want, scale);
}

void compare(Checks& checks, const Subject& subject, const WrittenRows& got,
             const std::vector<std::byte>& want) {
  if (!got) return checks.fail(subject, got.error());
  if (*got) checks.compare(subject, **got, want);
}

// ---- Random vectors ----

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

// ---- Fixtures ----

void recorded_row(const TestedDevice& tested, const RowCase& c, Checks& checks) {
  const auto n = static_cast<int64_t>(c.x.size());
  const EncodedRows row{c.format, n, 1, 1, c.encoded};
  if (c.is_byte_exact) {
    compare(checks, subject_of_rows("kv_write", c.format, Unit::bytes),
            written_rows(tested, c.format, n, c.x), c.encoded);
  }
  if (!c.decoded.empty()) {
    compare(checks, subject_of_rows("get_rows", c.format, Unit::relative), decoded_rows(tested, row),
            c.decoded, length_of(c.x));
  }
  for (size_t i = 0; i < c.scores.size(); ++i) {
    compare(checks, subject_of_rows("mul_mv", c.format, Unit::relative), products(tested, row, c.queries[i]),
            std::vector<float>{c.scores[i]}, length_of(c.x) * length_of(c.queries[i]));
  }
}

void recorded_query(Isa isa, const PrepareCase& c, Checks& checks) {
  const Subject subject{"query_prep", c.name, Unit::relative, kRelative};
  const auto n = static_cast<int64_t>(c.x.size());
  std::vector<float> got(c.expected.size());
  const auto transform = c.is_inverse ? from_stored_of(isa) : to_stored_of(isa);
  transform(c.transform, c.x.data(), got.data(), n);
  for (float& value : got) value *= c.factor;
  checks.compare(subject, got, c.expected, length_of(c.x) * static_cast<double>(c.factor));
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

std::vector<Check> check_against_fixture(const TestedDevice& tested, const Fixture& fixture) {
  Checks checks(tested.label, fixture.name);
  for (const RowCase& c : fixture.rows) recorded_row(tested, c, checks);
  for (const ScoreCase& c : fixture.scores) compare(checks, subject_of(c), scores(tested, c), c.expected);
  for (const AttentionCase& c : fixture.fused) {
    compare(checks, subject_of_fused(c), attention_from_sketches(tested, c), c.expected);
  }
  for (const AttentionCase& c : fixture.paged) {
    compare(checks, subject_of_packed(c), attention_over_rows(tested, c), c.expected);
    compare(checks, subject_of_pages(c), attention_over_pages(tested, c, {.least_squares = false}),
            c.expected);
  }
  if (tested.isa) {
    for (const PrepareCase& c : fixture.prepared) recorded_query(*tested.isa, c, checks);
  }
  return checks.take();
}

std::vector<Check> check_harness(const Fixture& fixture) {
  Checks checks("host", fixture.name);
  for (const HarnessRowCase& c : fixture.harness_rows) {
    const std::string format(name_of(c.format));
    if (c.is_byte_exact) {
      checks.compare({"harness encode", format, Unit::bytes, 0}, encode(c.format, c.x.data()), c.encoded);
    }
    if (!c.decoded.empty()) {
      checks.compare({"harness decode", format, Unit::relative, kRelative},
                     decode(c.format, c.encoded.data()), c.decoded, length_of(c.x));
    }
  }
  for (const HarnessScoreCase& c : fixture.harness_scores) {
    std::vector<float> got;
    for (size_t i = 0; i < c.expected.size(); ++i) {
      got.push_back(score(c.format, c.q.data(), c.records.data() + i * record_bytes(c.format)));
    }
    checks.compare({"harness score", std::string(name_of(c.format)), Unit::absolute, kAbsolute}, got,
                   c.expected);
  }
  for (const SketchCase& c : fixture.sketches) {
    const SketchInt8 rounded = round_sketch(c.sketch.data());
    std::vector<float> got(rounded.codes.begin(), rounded.codes.end()), want = c.codes;
    got.push_back(rounded.scale);
    want.push_back(c.scale);
    checks.compare({"sketch in bytes", "qjl1_256", Unit::absolute, 1e-6}, got, want);
  }
  if (fixture.self_test) {
    HarnessRandom random;
    std::vector<float> got, want;
    for (size_t i = 0; i < fixture.self_test->q.size(); ++i) {
      got.insert(got.end(), {random.gaussian(), random.gaussian()});
      want.insert(want.end(), {fixture.self_test->q[i], fixture.self_test->x[i]});
    }
    checks.compare({"harness random numbers", "gaussian", Unit::absolute, 1e-6}, got, want);
  }
  return checks.take();
}

}  // namespace parlance::verify
