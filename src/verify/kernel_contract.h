// What this program promises of the cache formats: their layout, the operations on them and where these run,
// the names under which elizaOS's manifests ask for them, and the recorded numbers that stand for each. A
// test fails when the tables of the program, or the fixtures, say otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "verify/harness.h"

namespace parlance::verify {

inline constexpr int kContractVersion = 1;

struct FormatEntry {
  std::string_view name;
  uint32_t block_elements;
  uint32_t block_bytes;
};

// In the order of KvFormat.
inline constexpr std::array<FormatEntry, 11> kContractFormats = {{{"f32", 1, 4},
                                                                  {"f16", 1, 2},
                                                                  {"bf16", 1, 2},
                                                                  {"q8_0", 32, 34},
                                                                  {"q4_0", 32, 18},
                                                                  {"tbq3_0", 32, 14},
                                                                  {"tbq4_0", 32, 18},
                                                                  {"tbq3_tcq", 128, 52},
                                                                  {"qjl1_256", 128, 34},
                                                                  {"q4_polar", 128, 82},
                                                                  {"q4_polar_residual", 128, 82}}};

// Where the operations of `parlance verify` run for every format, or pair of formats.
inline constexpr std::array<std::string_view, 8> kContractInstructionSets = {
    "scalar", "avx2", "avx512", "avx512_bf16", "avx512_amx", "neon", "neon_dotprod", "neon_i8mm"};

// Operations that `parlance verify kernels` looks at; of the formats that their names stand for, or of all.
inline constexpr std::array<std::string_view, 13> kContractOperations = {"kv_write",
                                                                         "get_rows",
                                                                         "mul_mv",
                                                                         "attn_score_qjl",
                                                                         "attn_score_qjl_i8",
                                                                         "attn_score_tbq",
                                                                         "attn_score_polar",
                                                                         "attn_score_polar_preht",
                                                                         "attn_score_stored",
                                                                         "fused_attn_qjl_tbq",
                                                                         "fused_attn_qjl_polar",
                                                                         "packed_attention",
                                                                         "attention"};

// One kernel of elizaOS's contract.
struct KernelEntry {
  std::string_view kernel;                     // its name in fixtures: "turbo3"
  std::string_view manifest;                   // in a manifest: "turboquant_q3"
  std::string_view capability;                 // among the capabilities of a runtime: "turbo3"
  std::array<std::string_view, 2> formats;     // cache formats that carry it, or empty
  std::array<std::string_view, 3> operations;  // that are of it alone, or empty
  std::array<std::string_view, 5> fixtures;    // recorded numbers, or empty
};

// fused_attn is in no list of names: it comes with the others.
inline constexpr std::array<KernelEntry, 5> kContractKernels = {{
    {"turbo3",
     "turboquant_q3",
     "turbo3",
     {"tbq3_0"},
     {"attn_score_tbq"},
     {"rows_tbq3_0.json", "attn_score.json"}},
    {"turbo4",
     "turboquant_q4",
     "turbo4",
     {"tbq4_0"},
     {"attn_score_tbq", "attn_score_stored"},
     {"rows_tbq4_0.json", "attn_score.json", "upstream/turbo4.json"}},
    {"turbo3_tcq",
     "turbo3_tcq",
     "turbo3_tcq",
     {"tbq3_tcq"},
     {"attn_score_tbq"},
     {"rows_tbq3_tcq.json", "attn_score.json", "upstream/turbo3_tcq.json"}},
    {"qjl",
     "qjl",
     "qjl_full",
     {"qjl1_256"},
     {"attn_score_qjl", "attn_score_qjl_i8"},
     {"rows_qjl1_256.json", "attn_score.json", "qjl_int8.json", "upstream/qjl.json"}},
    {"polar",
     "polarquant",
     "polarquant",
     {"q4_polar", "q4_polar_residual"},
     {"attn_score_polar", "attn_score_polar_preht"},
     {"rows_q4_polar.json", "attn_score.json", "upstream/polar.json", "upstream/polar_qjl.json",
      "upstream/polar_preht.json"}},
}};

// The figures of the harness's self-test, as it prints them.
struct PublishedFigure {
  HarnessFormat format;
  std::string_view figure;
};
inline constexpr std::array<PublishedFigure, 6> kPublishedFigures = {
    {{HarnessFormat::turbo3, "-2.501480"},
     {HarnessFormat::turbo4, "-23.721790"},
     {HarnessFormat::turbo3_tcq, "-4.822659"},
     {HarnessFormat::qjl, "3.696591"},
     {HarnessFormat::polar, "-1.994053"},
     {HarnessFormat::polar_qjl, "-1.438744"}}};

}  // namespace parlance::verify
