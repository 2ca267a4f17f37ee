// Whole files quantised: against recorded files byte for byte, and what is refused.
#include "models/quantize.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gguf/reader.h"
#include "gguf/writer.h"
#include "models/mixture.h"
#include "support/fixtures.h"
#include "support/json_file.h"
#include "support/temporary_folder.h"

namespace parlance {
namespace {

namespace fs = std::filesystem;

class Quantize : public testing::Test {
 protected:
  fs::path temporary(const std::string& name) const { return folder_ / name; }

 private:
  test::TemporaryFolder folder_;
};

struct Content {
  std::string name;
  std::vector<int64_t> ne;
  std::vector<float> values;  // stored as f32
};

void write_file(const fs::path& path, const std::vector<Content>& contents, uint32_t alignment = 0) {
  GgufWriter writer;
  writer.set_string("general.architecture", "llama");
  writer.set_u32("general.file_type", 0);
  writer.set_strings("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
  if (alignment > 0) writer.set_u32("general.alignment", alignment);
  for (const Content& content : contents) writer.add_tensor(content.name, DType::f32, content.ne);
  ASSERT_TRUE(writer.begin(path));
  for (const Content& content : contents) {
    ASSERT_TRUE(writer.write_tensor(std::as_bytes(std::span(content.values))));
  }
  ASSERT_TRUE(writer.finish());
}

Content random_matrix(const std::string& name, int64_t n_in, int64_t n_out) {
  std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>{}(name)));
  std::normal_distribution<float> normal(0, 0.02f);
  Content content{name, {n_in, n_out}, std::vector<float>(static_cast<size_t>(n_in * n_out))};
  for (float& value : content.values) value = normal(random);
  return content;
}

std::vector<Content> small_model() {
  return {random_matrix("token_embd.weight", 256, 40),
          random_matrix("blk.0.attn_q.weight", 256, 256),
          {"blk.0.attn_norm.weight", {256}, std::vector<float>(256, 1.0f)},
          random_matrix("blk.0.ffn_down.weight", 512, 256)};
}

Result<QuantizeReport> quantize(const fs::path& in, const fs::path& out, const std::string& mixture,
                                int n_threads = 2) {
  return quantize_file(in, out, {.mixture = mixture, .n_threads = n_threads, .progress = {}});
}

std::string bytes_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void expect_same_tensors(const GgufFile& file, const GgufFile& expected) {
  EXPECT_EQ(file.tensors().size(), expected.tensors().size());
  for (const GgufTensor& want : expected.tensors()) {
    SCOPED_TRACE(want.name);
    const GgufTensor* got = file.find_tensor(want.name);
    ASSERT_TRUE(got);
    EXPECT_EQ(name_of(got->dtype), name_of(want.dtype));
    EXPECT_EQ(got->ne, want.ne);
    ASSERT_EQ(got->bytes.size(), want.bytes.size());
    EXPECT_EQ(std::memcmp(got->bytes.data(), want.bytes.data(), want.bytes.size()), 0);
  }
}

// Files named <model>-<mixture>.gguf beside <model>-f16.gguf (or -f32, -bf16) were made of it by
// llama-quantize.
TEST_F(Quantize, RecordedFilesAreMadeAgainByteForByte) {
  PARLANCE_REQUIRE_FIXTURES("text/models");
  int n_compared = 0;
  for (const fs::path& source : test::fixture_files("text/models", ".gguf")) {
    const std::string stem = source.stem().string();
    const size_t dash = stem.rfind('-');
    if (dash == std::string::npos) continue;
    const Mixture* source_mixture = find_mixture(stem.substr(dash + 1));
    if (!source_mixture || traits(source_mixture->base).block_elements > 1) continue;
    for (const fs::path& recorded : test::fixture_files("text/models", ".gguf")) {
      const std::string name = recorded.stem().string();
      if (recorded == source || !name.starts_with(stem.substr(0, dash + 1))) continue;
      const Mixture* mixture = find_mixture(name.substr(dash + 1));
      if (!mixture) continue;
      SCOPED_TRACE(recorded.filename());
      const fs::path out = temporary("again.gguf");
      const auto report = quantize(source, out, std::string(mixture->name));
      ASSERT_TRUE(report) << report.error().message;
      const auto got = GgufFile::open(out);
      const auto expected = GgufFile::open(recorded);
      ASSERT_TRUE(got) << got.error().message;
      ASSERT_TRUE(expected) << expected.error().message;
      expect_same_tensors(*got, *expected);
      for (const auto& [key, value] : expected->metadata()) {
        const GgufValue* copied = got->find(key);
        ASSERT_TRUE(copied) << key;
        EXPECT_TRUE(std::ranges::equal(copied->bytes, value.bytes)) << key;
      }
      ++n_compared;
    }
  }
  if (n_compared == 0) GTEST_SKIP() << "no model with a quantised version beside it among the fixtures";
}

TEST_F(Quantize, ReportCountsTensorsAndBytes) {
  const fs::path in = temporary("plain.gguf");
  const fs::path out = temporary("report.gguf");
  write_file(in, small_model());
  const auto report = quantize(in, out, "Q4_K_M");
  ASSERT_TRUE(report) << report.error().message;
  const uint64_t n_values = 256 * 40 + 256 * 256 + 256 + 512 * 256;
  EXPECT_EQ(report->bytes_before, n_values * 4);
  ASSERT_EQ(report->before.size(), 1u);
  EXPECT_EQ(report->before[0].n_tensors, 4u);
  ASSERT_EQ(report->after.size(), 3u);  // the norm; attn_q; embedding (tied) and ffn_down
  EXPECT_EQ(report->after[0].dtype, DType::f32);
  EXPECT_EQ(report->after[1].dtype, DType::q4_k);
  EXPECT_EQ(report->after[1].bytes, 256u * 144);
  EXPECT_EQ(report->after[2].dtype, DType::q6_k);
  EXPECT_EQ(report->after[2].n_tensors, 2u);
  EXPECT_EQ(report->bytes_after, 1024u + 256 * 144 + (40 + 512) * 210);
  EXPECT_EQ(report->n_requantised, 0u);
  EXPECT_EQ(report->n_fallback, 0u);

  const auto again = quantize(out, temporary("again.gguf"), "Q4_0");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->n_requantised, 2u);  // the embedding is q6_k already
}

TEST_F(Quantize, MetadataIsCopiedAndBroughtUpToDate) {
  const fs::path in = temporary("plain.gguf");
  const fs::path out = temporary("metadata.gguf");
  write_file(in, small_model(), 64);
  ASSERT_TRUE(quantize(in, out, "Q6_K"));
  const auto file = GgufFile::open(out);
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->get_int("general.file_type", 0, 100).value(), 18);
  EXPECT_EQ(file->get_int("general.quantization_version", 0, 100).value(), 2);
  EXPECT_EQ(file->get_string("general.architecture").value(), "llama");
  EXPECT_EQ(file->find_strings("tokenizer.ggml.tokens").value()->size(), 2u);
  EXPECT_EQ(file->find("general.alignment"), nullptr);
  EXPECT_EQ(file->alignment(), 32u);
}

TEST_F(Quantize, ThreadsDoNotChangeTheFile) {
  const fs::path in = temporary("plain.gguf");
  write_file(in, small_model());
  ASSERT_TRUE(quantize(in, temporary("one.gguf"), "Q4_K_M", 1));
  ASSERT_TRUE(quantize(in, temporary("three.gguf"), "Q4_K_M", 3));
  EXPECT_EQ(bytes_of(temporary("one.gguf")), bytes_of(temporary("three.gguf")));
}

TEST_F(Quantize, SameTypeIsCopied) {
  const fs::path in = temporary("plain.gguf");
  write_file(in, small_model());
  ASSERT_TRUE(quantize(in, temporary("first.gguf"), "Q5_1"));
  const auto report = quantize(temporary("first.gguf"), temporary("second.gguf"), "Q5_1");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->n_requantised, 0u);
  EXPECT_EQ(bytes_of(temporary("first.gguf")), bytes_of(temporary("second.gguf")));
}

TEST_F(Quantize, ProgressIsReportedAndCanStop) {
  const fs::path in = temporary("plain.gguf");
  const fs::path out = temporary("progress.gguf");
  fs::remove(out);
  write_file(in, small_model());
  std::vector<std::string> seen;
  uint64_t bytes_done = 0;
  QuantizeOptions options{
      .mixture = "Q8_0", .n_threads = 1, .progress = [&](const QuantizeProgress& progress) {
        seen.emplace_back(progress.tensor);
        EXPECT_EQ(progress.n_tensors_done, seen.size());
        EXPECT_EQ(progress.n_tensors, 4u);
        EXPECT_GT(progress.bytes_done, bytes_done);
        bytes_done = progress.bytes_done;
        return seen.size() != 2;
      }};
  const auto stopped = quantize_file(in, out, options);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
  EXPECT_EQ(seen, (std::vector<std::string>{"token_embd.weight", "blk.0.attn_q.weight"}));
  EXPECT_FALSE(fs::exists(out));

  options.progress = [&](const QuantizeProgress& progress) {
    bytes_done = progress.bytes_done;
    EXPECT_LE(progress.bytes_done, progress.bytes_total);
    return true;
  };
  const auto report = quantize_file(in, out, options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(bytes_done, report->bytes_before);
}

// The error names the tensor and the place, and a file that was there before is as it was.
TEST_F(Quantize, ValuesThatAreNotNumbersAreRefused) {
  const fs::path in = temporary("broken.gguf");
  const fs::path out = temporary("kept.gguf");
  for (const float odd : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    for (const size_t broken : {size_t{1}, size_t{2}}) {  // a matrix, and a norm that is only copied
      std::vector<Content> contents = small_model();
      contents[broken].values[contents[broken].values.size() - 6] = odd;
      contents[broken].values.back() = odd;
      write_file(in, contents);
      std::ofstream(out) << "as it was";
      const auto report = quantize(in, out, "Q4_0");
      ASSERT_FALSE(report);
      EXPECT_EQ(report.error().code, ErrorCode::corrupt_file);
      const std::string place =
          contents[broken].name + " has a value 250 of row " + (broken == 1 ? "255" : "0");
      EXPECT_NE(report.error().message.find(place), std::string::npos) << report.error().message;
      EXPECT_EQ(bytes_of(out), "as it was");
    }
  }
}

TEST_F(Quantize, ValuesBeyondTheTypeAreRefused) {
  const fs::path in = temporary("large.gguf");
  std::vector<Content> contents = small_model();
  contents[1].values[300] = 1e9f;
  write_file(in, contents);
  for (const char* mixture : {"F16", "Q8_0", "Q4_0", "Q4_K_M", "Q6_K"}) {
    const auto report = quantize(in, temporary("large-out.gguf"), mixture);
    ASSERT_FALSE(report) << mixture;
    EXPECT_EQ(report.error().code, ErrorCode::unsupported);
    EXPECT_NE(report.error().message.find("blk.0.attn_q.weight"), std::string::npos)
        << report.error().message;
  }
  EXPECT_TRUE(quantize(in, temporary("large-out.gguf"), "BF16"));
  contents[1].values[300] = 1e5f;  // beyond f16, but a step of q8_0 is a 127th of it
  write_file(in, contents);
  EXPECT_FALSE(quantize(in, temporary("large-out.gguf"), "F16"));
  EXPECT_TRUE(quantize(in, temporary("large-out.gguf"), "Q8_0"));
}

TEST_F(Quantize, TypesThatCannotBeReadAreNamed) {
  const fs::path in = temporary("unreadable.gguf");
  GgufWriter writer;
  const std::vector<int64_t> ne = {256, 2};
  writer.add_tensor("blk.0.attn_q.weight", DType::iq2_xs, ne);
  ASSERT_TRUE(writer.begin(in));
  ASSERT_TRUE(writer.write_tensor(std::vector<std::byte>(2 * row_bytes(DType::iq2_xs, 256))));
  ASSERT_TRUE(writer.finish());
  const auto report = quantize(in, temporary("unreadable-out.gguf"), "Q8_0");
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::unsupported);
  EXPECT_NE(report.error().message.find("blk.0.attn_q.weight is iq2_xs"), std::string::npos)
      << report.error().message;
  EXPECT_FALSE(fs::exists(temporary("unreadable-out.gguf")));
}

TEST_F(Quantize, RequestsThatCannotBeMetAreRefused) {
  const fs::path in = temporary("plain.gguf");
  write_file(in, small_model());
  const std::string before = bytes_of(in);

  const auto unknown = quantize(in, temporary("out.gguf"), "Q4_K_XL");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(unknown.error().message.find("Q4_K_XL"), std::string::npos);
  EXPECT_NE(unknown.error().message.find("Q4_K_M"), std::string::npos);

  const auto onto_itself = quantize(in, in, "Q8_0");
  ASSERT_FALSE(onto_itself);
  EXPECT_EQ(onto_itself.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(bytes_of(in), before);

  EXPECT_FALSE(quantize(temporary("absent.gguf"), temporary("out.gguf"), "Q8_0"));
  EXPECT_FALSE(quantize(in, temporary("absent-folder/out.gguf"), "Q8_0"));
}

TEST_F(Quantize, MalformedFilesAreRefusedInWords) {
  PARLANCE_REQUIRE_FIXTURES("text/malformed/cases.json");
  const fs::path folder = test::fixtures_root() / "text/malformed";
  const std::string base = test::read_text(folder / "ok-base.gguf");
  const fs::path in = temporary("malformed-in.gguf");
  const fs::path out = temporary("malformed-out.gguf");
  for (const auto& c : test::read_json(folder / "cases.json")) {
    std::string bytes;
    for (const auto& segment : c["segments"]) {
      bytes += segment.is_string() ? test::from_hex(segment) : base.substr(segment[0], segment[1]);
    }
    std::ofstream(in, std::ios::binary) << bytes;
    const auto report = quantize(in, out, "Q4_K_M", 1);
    if (report) {
      EXPECT_TRUE(GgufFile::open(out)) << c["file"];
    } else {
      EXPECT_EQ(report.error().message.find('\n'), std::string::npos) << report.error().message;
    }
  }
}

}  // namespace
}  // namespace parlance
