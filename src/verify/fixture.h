// Recorded numbers of reference programs for the cache formats, as data. One struct holds what a file has,
// whatever its schema: encoded rows, scores, attention from sketches and from pages, prepared queries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "quant/kv_format.h"
#include "verify/harness.h"

namespace parlance::verify {

// Encoded head vectors: [n_head_kv][n_rows] of head_dim each.
struct EncodedRows {
  KvFormat format = {};
  int64_t head_dim = 0;
  int64_t n_rows = 0;
  int64_t n_head_kv = 0;
  std::vector<std::byte> bytes = {};
};

// One head vector, its bytes, and what they decode to.
struct RowCase {
  std::string name = {};
  KvFormat format = {};
  std::vector<float> x = {};  // [head_dim]
  std::vector<std::byte> encoded = {};
  bool is_byte_exact = false;                    // the compatible encoder gives these bytes
  std::vector<float> decoded = {};               // [head_dim]; empty: not recorded
  std::vector<std::vector<float>> queries = {};  // [head_dim] each
  std::vector<float> scores = {};                // of the queries
};

enum class ScoreOperation : uint8_t { qjl, qjl_i8, tbq, polar, polar_preht, stored };

struct ScoreCase {
  ScoreOperation operation = {};
  EncodedRows k = {};
  int64_t n_head = 0;
  int64_t n_batch = 0;
  std::vector<float> q = {};         // [n_batch][n_head][head_dim, or 256 of a sketch]
  std::vector<float> expected = {};  // [n_batch][n_head][n_rows]
  double tolerance = 0;
};

// Attention from sketches of queries (fused_attn_qjl_*), or from head vectors and pages.
struct AttentionCase {
  EncodedRows k = {}, v = {};
  int64_t n_head = 0;
  int64_t n_q = 0;
  bool is_causal = false;
  int64_t q_pos_base = 0;
  float sm_scale = 0;
  std::vector<float> q = {};         // [n_q][n_head][n]
  std::vector<float> expected = {};  // [n_q][n_head][head_dim of v]
  double tolerance = 0;
};

// What a query becomes before it meets keys.
struct PrepareCase {
  std::string name = {};
  KvTransform transform = {};
  bool is_inverse = false;
  float factor = 1;  // of what the transform yields
  std::vector<float> x = {};
  std::vector<float> expected = {};
};

// A sketch in bytes.
struct SketchCase {
  std::vector<float> sketch = {};  // [256]
  float scale = 0;
  std::vector<float> codes = {};  // [256]
};

// A vector in a format of the harness.
struct HarnessRowCase {
  std::string name = {};
  HarnessFormat format = {};
  std::vector<float> x = {};  // [128]
  std::vector<std::byte> encoded = {};
  bool is_byte_exact = false;
  std::vector<float> decoded = {};  // [128]; empty: not recorded
};

struct HarnessScoreCase {
  HarnessFormat format = {};
  std::vector<float> q = {};  // [128]
  std::vector<std::byte> records = {};
  std::vector<float> expected = {};  // one of each record
};

// The pair of vectors of the harness's self-test.
struct SelfTestCase {
  std::vector<float> q, x;  // [128]
};

struct Fixture {
  std::string name;      // "attn_score.json"
  std::string left_out;  // why nothing of it is looked at; empty: it is
  std::vector<RowCase> rows = {};
  std::vector<ScoreCase> scores = {};
  std::vector<AttentionCase> fused = {};  // of sketches
  std::vector<AttentionCase> paged = {};  // of head vectors
  std::vector<PrepareCase> prepared = {};
  std::vector<SketchCase> sketches = {};
  std::vector<HarnessRowCase> harness_rows = {};
  std::vector<HarnessScoreCase> harness_scores = {};
  std::optional<SelfTestCase> self_test;
};

// Any text is accepted; what is no fixture is an error that names the file and the field.
Result<Fixture> parse_fixture(std::string_view name, std::string_view text);

// Every *.json of the folder and of its folder "upstream", sorted by name, without index.json.
Result<std::vector<Fixture>> read_fixtures(const std::filesystem::path& folder);

}  // namespace parlance::verify
