// Any bytes as a file of recorded numbers: refused with one line, or read in memory in proportion to their
// number, with as many of everything as its checks rely on.
#include <cstdint>
#include <string_view>

#include "allocations.h"
#include "quant/sketch.h"
#include "verify/fixture.h"

namespace {

using namespace parlance::verify;
using parlance::fuzz::require;

void check_rows(const EncodedRows& rows) {
  const size_t row_bytes = parlance::kv_row_bytes(rows.format, rows.head_dim);
  require(rows.n_rows > 0 && rows.n_head_kv > 0 && row_bytes > 0, "there are rows");
  require(rows.bytes.size() == static_cast<size_t>(rows.n_rows * rows.n_head_kv) * row_bytes,
          "rows are whole");
}

void check(const Fixture& fixture) {
  for (const RowCase& c : fixture.rows) {
    const auto n = static_cast<int64_t>(c.x.size());
    require(c.encoded.size() == parlance::kv_row_bytes(c.format, n), "a row is encoded as its format says");
    require(c.decoded.empty() || c.decoded.size() == c.x.size(), "a row is decoded as it was");
    require(c.scores.empty() || c.scores.size() == c.queries.size(), "each query has a score");
    for (const auto& q : c.queries) require(q.size() == c.x.size(), "queries are as long as rows");
  }
  for (const ScoreCase& c : fixture.scores) {
    check_rows(c.k);
    require(c.n_head % c.k.n_head_kv == 0, "KV heads have as many query heads each");
    require(c.expected.size() == static_cast<size_t>(c.n_head * c.n_batch * c.k.n_rows),
            "all scores are there");
    require(c.q.size() % static_cast<size_t>(c.n_head * c.n_batch) == 0 && !c.q.empty(),
            "all queries are there");
  }
  for (const auto* cases : {&fixture.fused, &fixture.paged}) {
    for (const AttentionCase& c : *cases) {
      check_rows(c.k);
      check_rows(c.v);
      require(c.k.n_rows == c.v.n_rows && c.k.n_head_kv == c.v.n_head_kv, "each key has a value");
      require(c.n_head % c.k.n_head_kv == 0, "KV heads have as many query heads each");
      require(c.expected.size() == static_cast<size_t>(c.n_head * c.n_q * c.v.head_dim),
              "all results are there");
    }
  }
  for (const AttentionCase& c : fixture.paged)
    require(c.q_pos_base + c.n_q <= c.k.n_rows, "queries are rows");
  for (const PrepareCase& c : fixture.prepared) {
    const auto n = static_cast<int64_t>(c.x.size());
    require(c.expected.size() == static_cast<size_t>(parlance::stored_elements(c.transform, n)),
            "a query is prepared in full");
  }
  for (const SketchCase& c : fixture.sketches) {
    require(c.sketch.size() == parlance::kSketchOutputs && c.codes.size() == c.sketch.size(),
            "sketches are whole");
  }
  for (const HarnessRowCase& c : fixture.harness_rows) {
    require(c.x.size() == kHarnessHead && c.encoded.size() == record_bytes(c.format), "records are whole");
  }
  for (const HarnessScoreCase& c : fixture.harness_scores) {
    require(c.records.size() == c.expected.size() * record_bytes(c.format), "each record has a score");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const parlance::fuzz::AllocationLimit limit((size_t{1} << 20) + 400 * size);
  const auto fixture = parse_fixture("input", {reinterpret_cast<const char*>(data), size});
  if (fixture) {
    check(*fixture);
    return 0;
  }
  const std::string& message = fixture.error().message;
  require(message.size() < 1000, "messages are short");
  for (const char c : message) require(c >= ' ' && c <= '~', "messages are one line of plain text");
  return 0;
}
