#include "verify/self_test.h"

#include <algorithm>
#include <cmath>

#include "verify/kernel_contract.h"

namespace parlance::verify {

namespace {

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

// The score of x, encoded, with q.
Result<float> product(const TestedDevice& tested, const EncodedRows& row, const std::vector<float>& q) {
  PARLANCE_TRY(const auto scores, products(tested, row, q));
  if (!scores) return fail(ErrorCode::unsupported, "{}: there is no mul_mv; choose the CPU", tested.label);
  return scores->front();
}

}  // namespace

bool SelfTest::has_passed() const {
  return std::all_of(figures.begin(), figures.end(),
                     [](const Figure& f) { return f.found == f.published; }) &&
         std::all_of(parities.begin(), parities.end(),
                     [](const Parity& p) { return p.difference <= p.tolerance; });
}

Result<SelfTest> run_self_test(const TestedDevice& tested) {
  HarnessRandom random;
  std::vector<float> q, x;
  for (int64_t i = 0; i < kHarnessHead; ++i) {
    q.push_back(random.gaussian());
    x.push_back(random.gaussian());
  }
  SelfTest test;
  test.exact = static_cast<float>(dot(q, x));
  for (const auto& [format, published] : kPublishedFigures) {
    const auto record = encode(format, x.data());
    test.figures.push_back(
        {format, fmt::format("{:.6f}", score(format, q.data(), record.data())), published});
  }

  const auto sketch = encode(HarnessFormat::qjl, x.data());
  const double by_sketch = static_cast<double>(score(HarnessFormat::qjl, q.data(), sketch.data()));
  const double by_vector = dot(q, decode(HarnessFormat::qjl, sketch.data()));
  test.parities.push_back(
      {"qjl: sketch times signs, q times decoded vector", std::fabs(by_sketch - by_vector), 1e-5});
  for (const bool has_residual : {false, true}) {
    const HarnessFormat format = has_residual ? HarnessFormat::polar_qjl : HarnessFormat::polar;
    const auto record = encode(format, x.data());
    const EncodedRows row{has_residual ? KvFormat::q4_polar_residual : KvFormat::q4_polar, kHarnessHead, 1, 1,
                          record};
    PARLANCE_TRY(const float by_product, product(tested, row, q));
    const double decoded = dot(q, decode(format, record.data()));
    test.parities.push_back({fmt::format("{}: mul_mv, q times decoded vector", name_of(format)),
                             std::fabs(static_cast<double>(by_product) - decoded), 1e-3});
  }

  for (const FormatEntry& entry : kContractFormats) {
    const auto format = *kv_format_from_name(entry.name);
    EncodedRows row{format, kHarnessHead, 1, 1, {}};
    row.bytes.resize(kv_row_bytes(format, kHarnessHead));
    KvCoding{.format = format, .encoder = KvEncoder::compatible}.encode(x.data(), row.bytes.data(),
                                                                        kHarnessHead);
    PARLANCE_TRY(const float found, product(tested, row, q));
    test.runtime.push_back({format, found});
  }
  return test;
}

}  // namespace parlance::verify
