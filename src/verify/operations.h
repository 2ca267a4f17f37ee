// Operations on host memory: each uploads what it needs, runs on a device, and yields the result.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/cpu/cpu_device.h"
#include "verify/fixture.h"
#include "verify/packed_rows.h"

namespace parlance::verify {

// A device that is looked at.
struct TestedDevice {
  std::string label;  // "cpu avx2", "vulkan:0"
  std::unique_ptr<Device> device;
  std::optional<Isa> isa;  // of the CPU

  PackedOps packed() const { return isa ? packed_ops(*isa) : packed_ops(*device); }
};

// Every instruction set of this processor, the definition (scalar) first.
Result<std::vector<TestedDevice>> cpu_devices(int n_threads);

// Empty: the device has no kernel for it.
using Outcome = Result<std::optional<std::vector<float>>>;

Outcome scores(const TestedDevice& tested, const ScoreCase& c);
Outcome attention_from_sketches(const TestedDevice& tested, const AttentionCase& c);
Outcome attention_over_rows(const TestedDevice& tested, const AttentionCase& c);  // of head vectors, in f32
// Through a paged cache that is coded like this; formats and sizes are those of the case.
struct SketchReading {
  bool least_squares;
};
Outcome attention_over_pages(const TestedDevice& tested, const AttentionCase& c, SketchReading reading);
Outcome decoded_rows(const TestedDevice& tested, const EncodedRows& rows);  // [n_rows][head_dim]
Outcome products(const TestedDevice& tested, const EncodedRows& rows, const std::vector<float>& x);

// The bytes of head vectors x [n_rows][head_dim], written to a cache by the compatible encoder.
using WrittenRows = Result<std::optional<std::vector<std::byte>>>;
WrittenRows written_rows(const TestedDevice& tested, KvFormat format, int64_t head_dim,
                         const std::vector<float>& x);

}  // namespace parlance::verify
