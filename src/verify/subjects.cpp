#include "verify/subjects.h"

#include <array>
#include <cmath>

namespace parlance::verify {

namespace {

std::string_view name_of(ScoreOperation operation) {
  constexpr std::array<std::string_view, 6> kNames = {"attn_score_qjl",         "attn_score_qjl_i8",
                                                      "attn_score_tbq",         "attn_score_polar",
                                                      "attn_score_polar_preht", "attn_score_stored"};
  return kNames[static_cast<size_t>(operation)];
}

std::string pair_name(const AttentionCase& c) {
  return fmt::format("{} x {}", name_of(c.k.format), name_of(c.v.format));
}

}  // namespace

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

Subject subject_of_pages(const AttentionCase& c) {
  constexpr double kFloats = 1e-6, kCompressed = 1e-3;
  const bool is_float = c.k.format <= KvFormat::bf16 && c.v.format <= KvFormat::bf16;
  return {"attention", pair_name(c), Unit::squares, is_float ? kFloats : kCompressed};
}

Subject subject_of_rows(std::string operation, KvFormat format, Unit unit) {
  return {std::move(operation), std::string(name_of(format)), unit, unit == Unit::bytes ? 0 : kRelative};
}

double length_of(const std::vector<float>& x) {
  constexpr double kLeast = 1e-25;
  double squares = 0;
  for (const float v : x) squares += static_cast<double>(v) * static_cast<double>(v);
  return std::sqrt(squares) + kLeast;
}

void compare(Checks& checks, const Subject& subject, const Outcome& got, const std::vector<float>& want,
             double scale) {
  if (!got) return checks.fail(subject, got.error());
  if (*got) checks.compare(subject, **got, want, scale);
}

void compare(Checks& checks, const Subject& subject, const WrittenRows& got,
             const std::vector<std::byte>& want) {
  if (!got) return checks.fail(subject, got.error());
  if (*got) checks.compare(subject, **got, want);
}

}  // namespace parlance::verify
