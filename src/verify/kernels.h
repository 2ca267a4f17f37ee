// Compares every operation on cache formats, on every device, with the scalar definition and with recorded
// numbers.
#pragma once

#include <span>
#include <vector>

#include "verify/check.h"
#include "verify/fixture.h"
#include "verify/operations.h"

namespace parlance::verify {

// Against the definition, on random vectors and awkward shapes. Of the definition itself, among the tested,
// there is nothing.
std::vector<Check> check_against_definition(std::span<const TestedDevice> tested,
                                            const TestedDevice& definition);

// Against what a fixture records.
std::vector<Check> check_against_fixture(const TestedDevice& tested, const Fixture& fixture);

// What of a fixture is about the harness's own formats, and sketches in bytes: code of the host.
std::vector<Check> check_harness(const Fixture& fixture);

}  // namespace parlance::verify
