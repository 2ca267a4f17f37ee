// Fixtures of operations: scores and attention.
#include <algorithm>
#include <array>

#include "quant/sketch.h"
#include "verify/fixture_readers.h"

namespace parlance::verify {

namespace {

constexpr double kScoreTolerance = 1e-3;  // of the harness, for every value
constexpr int64_t kMostHeads = 1 << 12;

// The number of query heads, a multiple of that of KV heads.
int64_t n_head_of(const Fields& fields, int64_t n_head_kv) {
  const int64_t n_head = fields.integer("n_heads", 1, kMostHeads);
  if (n_head % n_head_kv != 0) fields.note("n_heads", fmt::format("expected a multiple of {}", n_head_kv));
  return n_head;
}

EncodedRows rows_of(const Fields& fields, const char* key, KvFormat format, int64_t head_dim, int64_t n_rows,
                    int64_t n_head_kv) {
  const auto row_bytes = static_cast<int64_t>(kv_row_bytes(format, head_dim));
  return {format, head_dim, n_rows, n_head_kv, fields.bytes(key, n_head_kv * n_rows * row_bytes)};
}

KvFormat with_residual(bool has_residual) {
  return has_residual ? KvFormat::q4_polar_residual : KvFormat::q4_polar;
}

struct RecordedScore {
  ScoreOperation operation;
  KvFormat format;
};

RecordedScore recorded_score_of(const Fields& fields) {
  const std::string operation = fields.text("op");
  const KvFormat format = fields.format("k_type");
  const bool is_tbq =
      format == KvFormat::tbq3_0 || format == KvFormat::tbq4_0 || format == KvFormat::tbq3_tcq;
  if (operation == "ATTN_SCORE_QJL" && format == KvFormat::qjl1_256) return {ScoreOperation::qjl, format};
  if (operation == "ATTN_SCORE_TBQ" && is_tbq) return {ScoreOperation::tbq, format};
  if (operation.starts_with("ATTN_SCORE_POLAR") && format == KvFormat::q4_polar) {
    const bool is_prepared = fields.flag("q_is_pre_hadamarded");
    return {is_prepared ? ScoreOperation::polar_preht : ScoreOperation::polar,
            with_residual(fields.flag("use_qjl"))};
  }
  fields.note("op", "there is no such operation on this k_type");
  return {ScoreOperation::qjl, KvFormat::qjl1_256};
}

// Elements of one query.
int64_t query_elements(ScoreOperation operation) {
  const bool is_sketch = operation == ScoreOperation::qjl || operation == ScoreOperation::qjl_i8;
  return is_sketch ? kSketchOutputs : kHarnessHead;
}

// What both have, but for keys, values and numbers.
AttentionCase attention_of(const Fields& fields, int64_t n_head_kv) {
  AttentionCase c{.n_head = n_head_of(fields, n_head_kv)};
  c.n_q = fields.has("n_q") ? fields.integer("n_q", 1, kMostRows) : 1;
  c.is_causal = fields.has("causal") && fields.flag("causal");
  c.q_pos_base = c.is_causal ? fields.integer("q_pos_base", 0, kMostRows) : 0;
  c.tolerance = kScoreTolerance;
  return c;
}

// Rows of a case that gives head vectors besides their bytes.
void read_raw_rows(const Fields& fields, const char* key, const EncodedRows& rows, Fixture& fixture) {
  const int64_t n_vectors = rows.n_head_kv * rows.n_rows;
  const std::vector<float> all = fields.floats(key, n_vectors * rows.head_dim);
  if (fields.is_bad()) return;
  const auto row_bytes = static_cast<std::ptrdiff_t>(kv_row_bytes(rows.format, rows.head_dim));
  for (std::ptrdiff_t i = 0; i < n_vectors; ++i) {
    RowCase c{.name = fmt::format("{} {}", key, i), .format = rows.format, .is_byte_exact = true};
    c.x.assign(all.begin() + i * rows.head_dim, all.begin() + (i + 1) * rows.head_dim);
    c.encoded.assign(rows.bytes.begin() + i * row_bytes, rows.bytes.begin() + (i + 1) * row_bytes);
    fixture.rows.push_back(std::move(c));
  }
}

void read_harness_scores(const Fields& file, const std::string& kernel, Fixture& fixture) {
  if (file.integer("head_dim", kHarnessHead, kHarnessHead) != kHarnessHead) return;
  const bool is_qjl = kernel == "qjl", is_polar = kernel.starts_with("polar");
  const int64_t n_rows = file.integer(is_qjl ? "n_tokens" : is_polar ? "n_rows" : "n_kv", 1, kMostRows);
  if (kernel == "turbo3") {
    const auto n_bytes = static_cast<int64_t>(record_bytes(HarnessFormat::turbo3));
    fixture.harness_scores.push_back({HarnessFormat::turbo3, file.floats("q", kHarnessHead),
                                      file.bytes("k_blocks", n_rows * n_bytes),
                                      file.floats("expected_scores", n_rows)});
    return;
  }
  const auto add = [&](ScoreOperation operation, KvFormat format, const char* q, const char* k,
                       const char* expected) {
    fixture.scores.push_back({operation, rows_of(file, k, format, kHarnessHead, n_rows, 1), 1, 1,
                              file.floats(q, query_elements(operation)), file.floats(expected, n_rows),
                              kScoreTolerance});
  };
  if (kernel == "turbo4") {
    add(ScoreOperation::stored, KvFormat::tbq4_0, "q", "k_blocks", "expected_scores");
  } else if (kernel == "turbo3_tcq") {
    add(ScoreOperation::tbq, KvFormat::tbq3_tcq, "q", "k_blocks", "expected_scores");
  } else if (is_qjl) {
    add(ScoreOperation::qjl, KvFormat::qjl1_256, "q_sketch", "k_blocks", "expected_scores");
  } else if (kernel == "polar") {
    add(ScoreOperation::polar, with_residual(file.flag("use_qjl")), "q", "k_blocks", "expected_scores");
  } else {
    add(ScoreOperation::polar_preht, KvFormat::q4_polar, "hq", "k_blocks", "expected_scores");
    add(ScoreOperation::polar_preht, KvFormat::q4_polar_residual, "hq", "k_blocks_qjl",
        "expected_scores_qjl");
    add(ScoreOperation::polar, KvFormat::q4_polar, "q", "k_blocks", "expected_scores");
  }
}

void read_harness_fused(const Fields& file, const std::string& kernel, Fixture& fixture) {
  const bool is_polar = kernel == "fused_attn_qjl_polar";
  const KvFormat v_format = is_polar ? with_residual(file.flag("use_qjl")) : KvFormat::tbq3_0;
  const auto sm_scale = static_cast<float>(file.number("sm_scale"));
  for (const Fields& fields : file.objects("cases")) {
    const int64_t n_head_kv = fields.integer("n_kv_heads", 1, kMostHeads);
    const int64_t n_rows = fields.integer("n_kv", 1, kMostRows);
    AttentionCase c = attention_of(fields, n_head_kv);
    c.sm_scale = sm_scale;
    c.k = rows_of(fields, "k_blocks", KvFormat::qjl1_256, kHarnessHead, n_rows, n_head_kv);
    c.v = rows_of(fields, "v_blocks", v_format, kHarnessHead, n_rows, n_head_kv);
    c.q = fields.floats("q_sketch", c.n_head * kSketchOutputs);
    c.expected = fields.floats("expected_out", c.n_head * kHarnessHead);
    fixture.fused.push_back(std::move(c));
  }
}

}  // namespace

void read_score(const Fields& fields, Fixture& fixture) {
  const RecordedScore kind = recorded_score_of(fields);
  const int64_t n_head_kv = fields.integer("n_kv_heads", 1, kMostHeads);
  const int64_t n_rows = fields.integer("n_kv", 1, kMostRows);
  const int64_t n_head = n_head_of(fields, n_head_kv);
  ScoreCase c{.operation = kind.operation,
              .k = rows_of(fields, "k", kind.format, kHarnessHead, n_rows, n_head_kv),
              .n_head = n_head,
              .n_batch = fields.integer("n_batch", 1, kMostRows),
              .tolerance = kScoreTolerance};
  const int64_t n_queries = c.n_head * c.n_batch;
  c.q = fields.floats("q", n_queries * query_elements(kind.operation));
  c.expected = fields.floats("expected_scores", n_queries * n_rows);
  fixture.scores.push_back(std::move(c));
}

void read_int8(const Fields& fields, double tolerance, Fixture& fixture) {
  const int64_t n_head_kv = fields.integer("n_kv_heads", 1, kMostHeads);
  const int64_t n_rows = fields.integer("n_kv", 1, kMostRows);
  const int64_t n_head = n_head_of(fields, n_head_kv);
  ScoreCase c{.operation = ScoreOperation::qjl_i8,
              .k = rows_of(fields, "k", KvFormat::qjl1_256, kHarnessHead, n_rows, n_head_kv),
              .n_head = n_head,
              .n_batch = 1,
              .tolerance = tolerance};
  c.q = fields.floats("q_sketch", c.n_head * kSketchOutputs);
  c.expected = fields.floats("expected_scores_i8", c.n_head * n_rows);
  const std::vector<float> scales = fields.floats("i8_scale", c.n_head);
  const std::vector<float> codes = fields.floats("i8_values", c.n_head * kSketchOutputs);
  if (fields.is_bad()) return;
  for (int64_t head = 0; head < c.n_head; ++head) {
    const auto part = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin() + head * kSketchOutputs,
                                all.begin() + (head + 1) * kSketchOutputs);
    };
    fixture.sketches.push_back({part(c.q), scales[static_cast<size_t>(head)], part(codes)});
  }
  ScoreCase exact = c;
  exact.operation = ScoreOperation::qjl;
  exact.expected = fields.floats("expected_scores_f32", c.n_head * n_rows);
  exact.tolerance = kScoreTolerance;
  fixture.scores.push_back(std::move(c));
  fixture.scores.push_back(std::move(exact));
}

void read_fused(const Fields& fields, KvFormat v_format, float sm_scale, Fixture& fixture) {
  const int64_t n_head_kv = fields.integer("n_kv_heads", 1, kMostHeads);
  const int64_t n_rows = fields.integer("n_kv", 1, kMostRows);
  AttentionCase c = attention_of(fields, n_head_kv);
  c.sm_scale = sm_scale;
  c.k = rows_of(fields, "k", KvFormat::qjl1_256, kHarnessHead, n_rows, n_head_kv);
  c.v = rows_of(fields, "v", v_format, kHarnessHead, n_rows, n_head_kv);
  const int64_t n_queries = c.n_head * c.n_q;
  c.q = fields.floats("q_sketch", n_queries * kSketchOutputs);
  c.expected = fields.floats("expected_out", n_queries * kHarnessHead);
  if (fields.has("k_raw")) read_raw_rows(fields, "k_raw", c.k, fixture);
  if (fields.has("v_raw")) read_raw_rows(fields, "v_raw", c.v, fixture);
  if (fields.has("expected_out_residual")) {
    AttentionCase residual = c;
    residual.v.format = KvFormat::q4_polar_residual;
    residual.expected = fields.floats("expected_out_residual", n_queries * kHarnessHead);
    fixture.fused.push_back(std::move(residual));
  }
  fixture.fused.push_back(std::move(c));
}

void read_mixed(const Fields& fields, Fixture& fixture) {
  const KvFormat k = fields.format("k_type"), v = fields.format("v_type");
  const int64_t head_dim = head_dim_of(fields, "head_dim", k);
  if (head_dim % traits(v).block_elements != 0) fields.note("v_type", "its block does not divide head_dim");
  const int64_t n_head_kv = fields.integer("n_kv_heads", 1, kMostHeads);
  const int64_t n_rows = fields.integer("n_kv", 1, kMostRows);
  AttentionCase c = attention_of(fields, n_head_kv);
  c.sm_scale = static_cast<float>(fields.number("sm_scale"));
  c.k = rows_of(fields, "k", k, head_dim, n_rows, n_head_kv);
  c.v = rows_of(fields, "v", v, head_dim, n_rows, n_head_kv);
  const int64_t n_queries = c.n_head * c.n_q;
  c.q = fields.floats("q", n_queries * head_dim);
  c.expected = fields.floats("expected_out", n_queries * head_dim);
  if (!c.is_causal || c.q_pos_base + c.n_q > n_rows) {
    fields.note("causal", "attention over pages is causal, and a query's own position is among the rows");
  }
  fixture.paged.push_back(std::move(c));
}

void read_harness_file(const Fields& file, Fixture& fixture) {
  constexpr std::array<std::string_view, 6> kScoreKernels = {"turbo3", "turbo4", "turbo3_tcq",
                                                             "qjl",    "polar",  "polar_preht"};
  const std::string kernel = file.text("kernel");
  if (kernel == "fused_attn_qjl_tbq" || kernel == "fused_attn_qjl_polar") {
    return read_harness_fused(file, kernel, fixture);
  }
  if (std::find(kScoreKernels.begin(), kScoreKernels.end(), kernel) == kScoreKernels.end()) {
    return file.note("kernel", fmt::format("'{}' is no kernel of the harness", kernel.substr(0, 40)));
  }
  read_harness_scores(file, kernel, fixture);
}

}  // namespace parlance::verify
