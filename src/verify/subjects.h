// What the checks compare: the names of operations and formats, tolerances, and results against expected
// values.
#pragma once

#include <string>
#include <vector>

#include "verify/check.h"
#include "verify/fixture.h"
#include "verify/operations.h"

namespace parlance::verify {

inline constexpr double kAbsolute = 1e-3;  // the harness's, for scores and outputs
inline constexpr double kRelative = 1e-5;  // of the recorded rows

Subject subject_of(const ScoreCase& c);
Subject subject_of_fused(const AttentionCase& c);   // attention from sketches
Subject subject_of_packed(const AttentionCase& c);  // attention over rows, in f32
// The product's attention may meet a compressed cache in integers, whose errors are small beside the format's
// own.
Subject subject_of_pages(const AttentionCase& c);
Subject subject_of_rows(std::string operation, KvFormat format, Unit unit);

// The length of a vector, for errors relative to it: never zero.
double length_of(const std::vector<float>& x);

// A device's result, when it has the kernel. Errors are divided by `scale` first.
void compare(Checks& checks, const Subject& subject, const Outcome& got, const std::vector<float>& want,
             double scale = 1);
void compare(Checks& checks, const Subject& subject, const WrittenRows& got,
             const std::vector<std::byte>& want);

}  // namespace parlance::verify
