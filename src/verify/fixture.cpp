#include "verify/fixture.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "base/os/file.h"
#include "base/os/folder.h"
#include "quant/sketch.h"
#include "verify/fixture_readers.h"

namespace parlance::verify {

namespace {

// ---- kv-rows-1 ----

// Vectors by their size.
using QueriesBySize = std::map<int64_t, std::vector<std::vector<float>>>;

QueriesBySize queries_of(const Fields& file) {
  QueriesBySize queries;
  const json& object = file.value("queries");
  if (!object.is_object()) file.note("queries", "expected an object of lists");
  for (const auto& [key, list] : object.items()) {
    const int64_t size = std::atoll(key.c_str());
    if (size < 1 || size > kMostHeadDim || !list.is_array()) {
      file.note("queries", "expected lists by head size");
      break;
    }
    const json one = {{"queries", list}};
    const Fields fields(one, "queries." + key, file.problem());
    const std::vector<float> all = fields.floats("queries", size * static_cast<int64_t>(list.size()));
    if (file.is_bad()) break;
    for (auto from = all.begin(); from != all.end(); from += size)
      queries[size].emplace_back(from, from + size);
  }
  return queries;
}

void read_row(const Fields& row, KvFormat format, const QueriesBySize& queries, Fixture& fixture) {
  RowCase c{.name = row.text("name"), .format = format};
  const int64_t n = head_dim_of(row, "head_dim", format);
  c.x = row.floats("x", n);
  c.encoded = row.bytes("encoded", static_cast<int64_t>(kv_row_bytes(format, n)));
  c.is_byte_exact = row.flag("byte_exact");
  if (row.flag("finite")) {
    c.decoded = row.floats(row.has("decoded_unrotated") ? "decoded_unrotated" : "decoded", n);
    const auto of_size = queries.find(n);
    if (of_size != queries.end()) c.queries = of_size->second;
    c.scores = row.floats("scores", static_cast<int64_t>(c.queries.size()));
  }
  if (c.decoded.size() == c.x.size() && row.has("decoded_residual")) {
    RowCase residual = c;
    residual.format = KvFormat::q4_polar_residual;
    residual.decoded = row.floats("decoded_residual", n);
    residual.scores = row.floats("scores_residual", static_cast<int64_t>(c.queries.size()));
    fixture.rows.push_back(std::move(residual));
  }
  fixture.rows.push_back(std::move(c));
}

void read_harness_row(const Fields& row, HarnessFormat format, Fixture& fixture) {
  HarnessRowCase c{.name = row.text("name"), .format = format};
  c.x = row.floats("x", kHarnessHead);
  c.encoded = row.bytes("encoded", static_cast<int64_t>(record_bytes(format)));
  c.is_byte_exact = row.flag("byte_exact");
  const bool is_finite = row.flag("finite");
  if (format == HarnessFormat::polar) {  // recorded with the residual, decoded without and with it
    HarnessRowCase with_residual = c;
    with_residual.format = HarnessFormat::polar_qjl;
    if (is_finite) with_residual.decoded = row.floats("decoded_residual", kHarnessHead);
    fixture.harness_rows.push_back(std::move(with_residual));
    c.is_byte_exact = false;
  }
  if (is_finite) c.decoded = row.floats("decoded", kHarnessHead);
  fixture.harness_rows.push_back(std::move(c));
}

void read_rows(const Fields& file, Fixture& fixture) {
  constexpr std::string_view kHarnessPrefix = "verify_";
  const std::string name = file.text("format");
  if (name.starts_with(kHarnessPrefix)) {
    const auto format = harness_format_from_name(std::string_view(name).substr(kHarnessPrefix.size()));
    if (!format) return file.note("format", "the harness has no such format");
    for (const Fields& row : file.objects("rows")) read_harness_row(row, *format, fixture);
    return;
  }
  const auto format = kv_format_from_name(name);
  if (!format) {
    fixture.left_out = fmt::format("'{}' is no cache format of this program", name.substr(0, 40));
    return;
  }
  const QueriesBySize queries = queries_of(file);
  for (const Fields& row : file.objects("rows")) read_row(row, *format, queries, fixture);
}

// ---- kv-prep-1 ----

void read_prepared(const Fields& fields, Fixture& fixture) {
  struct Kind {
    const char* key;
    KvTransform transform;
    bool is_inverse;
    float factor;
    int64_t multiple;
  };
  constexpr float kPerSketch = 256 / 1.2533141373155003f;
  constexpr std::array<Kind, 6> kKinds = {
      {{"tbq_query", KvTransform::signed_hadamard_32, false, 1, 32},
       {"attn_rot_full", KvTransform::hadamard, false, 1, 64},
       {"wht_rotated", KvTransform::signed_hadamard_128, false, 1, 128},
       {"wht_rotated_inverse_of_x", KvTransform::signed_hadamard_128, true, 1, 128},
       {"hadamard128_unnormalised", KvTransform::hadamard_128, false, 128, 128},
       {"qjl_sketch", KvTransform::sketch, false, kPerSketch, 128}}};
  const int64_t n = fields.integer("head_dim", 1, kMostHeadDim);
  const std::vector<float> x = fields.floats("x", n);
  for (const Kind& kind : kKinds) {
    if (!fields.has(kind.key) || n % kind.multiple != 0) continue;
    const int64_t n_out = stored_elements(kind.transform, n);
    fixture.prepared.push_back(
        {kind.key, kind.transform, kind.is_inverse, kind.factor, x, fields.floats(kind.key, n_out)});
  }
}

// ---- kv-selftest-1 ----

void read_self_test(const Fields& file, Fixture& fixture) {
  fixture.self_test = SelfTestCase{file.floats("q", kHarnessHead), file.floats("x", kHarnessHead)};
  const std::vector<float>& x = fixture.self_test->x;
  const Fields encoded(file.value("encoded"), "encoded", file.problem());
  for (int i = 0; i < kHarnessFormatCount; ++i) {
    const auto format = static_cast<HarnessFormat>(i);
    const auto bytes =
        encoded.bytes(std::string(name_of(format)).c_str(), static_cast<int64_t>(record_bytes(format)));
    fixture.harness_rows.push_back({"self-test", format, x, bytes, true, {}});
  }
  const Fields runtime(file.value("runtime_encoded"), "runtime_encoded", file.problem());
  const Fields scores(file.value("runtime_true_scores"), "runtime_true_scores", file.problem());
  for (const KvFormat format :
       {KvFormat::tbq3_0, KvFormat::tbq4_0, KvFormat::tbq3_tcq, KvFormat::q4_polar, KvFormat::qjl1_256}) {
    const std::string name(name_of(format));
    RowCase c{.name = "self-test", .format = format, .x = x, .is_byte_exact = true};
    c.encoded = runtime.bytes(name.c_str(), static_cast<int64_t>(kv_row_bytes(format, kHarnessHead)));
    c.queries = {fixture.self_test->q};
    c.scores = {static_cast<float>(scores.number(name.c_str()))};
    fixture.rows.push_back(std::move(c));
  }
}

void read_file(const Fields& file, Fixture& fixture) {
  if (!file.has("schema")) {
    if (file.has("kernel")) return read_harness_file(file, fixture);
    return file.note("schema", "expected the name of a schema, or a kernel of the harness");
  }
  const std::string schema = file.text("schema");
  if (schema == "kv-rows-1") return read_rows(file, fixture);
  if (schema == "kv-selftest-1") return read_self_test(file, fixture);
  const auto cases = [&](auto read) {
    for (const Fields& fields : file.objects("cases")) read(fields);
  };
  if (schema == "kv-score-1") return cases([&](const Fields& f) { read_score(f, fixture); });
  if (schema == "kv-mixed-1") return cases([&](const Fields& f) { read_mixed(f, fixture); });
  if (schema == "kv-prep-1") return cases([&](const Fields& f) { read_prepared(f, fixture); });
  if (schema == "kv-qjl-int8-1") {
    const double tolerance = file.number("tolerance_i8");
    return cases([&](const Fields& f) { read_int8(f, tolerance, fixture); });
  }
  if (schema == "kv-fused-1") {
    const KvFormat v = file.format("v_type");
    if (v != KvFormat::tbq3_0 && v != KvFormat::q4_polar)
      return file.note("v_type", "expected tbq3_0 or q4_polar");
    const auto sm_scale = static_cast<float>(file.number("sm_scale"));
    return cases([&](const Fields& f) { read_fused(f, v, sm_scale, fixture); });
  }
  file.note("schema", fmt::format("'{}' is none that this program reads", schema.substr(0, 40)));
}

// The *.json of a folder, sorted.
Result<std::vector<std::filesystem::path>> json_files(const std::filesystem::path& folder) {
  PARLANCE_TRY(std::vector<std::filesystem::path> files, files_in(folder));
  std::erase_if(files, [](const std::filesystem::path& path) {
    return path.extension() != ".json" || path.filename() == "index.json";
  });
  return files;
}

}  // namespace

int64_t head_dim_of(const Fields& fields, const char* key, KvFormat format) {
  const int64_t head_dim = fields.integer(key, 1, kMostHeadDim);
  if (head_dim % traits(format).block_elements == 0) return head_dim;
  fields.note(key, fmt::format("expected a multiple of {}", traits(format).block_elements));
  return traits(format).block_elements;
}

Result<Fixture> parse_fixture(std::string_view name, std::string_view text) {
  Problem problem(name);
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) {
    problem.note("text", "expected JSON");
    return problem.error();
  }
  Fixture fixture;
  fixture.name = name;
  read_file(Fields(root, "", problem), fixture);
  if (problem.found()) return problem.error();
  return fixture;
}

Result<std::vector<Fixture>> read_fixtures(const std::filesystem::path& folder) {
  constexpr size_t kMostBytes = size_t{64} << 20;
  PARLANCE_TRY(std::vector<std::filesystem::path> files, json_files(folder));
  const std::filesystem::path upstream = folder / "upstream";
  if (is_folder(upstream)) {
    PARLANCE_TRY(const std::vector<std::filesystem::path> more, json_files(upstream));
    files.insert(files.end(), more.begin(), more.end());
  }
  if (files.empty()) {
    return fail(ErrorCode::not_found, "{}: there is no fixture (*.json); name the folder kv of the fixtures",
                folder.string());
  }
  std::vector<Fixture> fixtures;
  for (const std::filesystem::path& file : files) {
    PARLANCE_TRY(const std::string text, read_text_file(file, kMostBytes));
    PARLANCE_TRY(Fixture fixture, parse_fixture(file.lexically_relative(folder).string(), text));
    fixtures.push_back(std::move(fixture));
  }
  return fixtures;
}

}  // namespace parlance::verify
