// Checks against recorded numbers.
#include "kernels/cpu/rows.h"
#include "quant/sketch_int8.h"
#include "verify/kernels.h"
#include "verify/subjects.h"

namespace parlance::verify {

namespace {

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
