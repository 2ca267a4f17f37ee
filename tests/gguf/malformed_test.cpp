// The recorded set of broken and unusual files, against the container alone. What needs knowledge of models
// (missing keys, impossible sizes of a network, vocabularies) passes here and is refused by their loaders.
#include <algorithm>
#include <array>

#include "gguf/gguf_bytes.h"
#include "gguf/reader.h"
#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

// Cases whose fault is not one of the container, by the beginning of their names. tensor-name-64 is among
// them because the limit of 64 bytes is not kept here: published speech models have names of 71 bytes, and
// loaders of models refuse the tensor of that case because they do not know it.
constexpr std::array<std::string_view, 16> kModelFaults{
    "missing-",     "arch-",     "block-count-", "head-",         "embd-",          "eps-",
    "tokens-",      "toktypes-", "tokenizer-",   "pre-",          "tensor-missing", "tensor-transposed",
    "tensor-extra", "norm-",     "eos-",         "tensor-name-64"};

bool is_model_fault(std::string_view file) {
  return std::any_of(kModelFaults.begin(), kModelFaults.end(),
                     [file](std::string_view fault) { return file.starts_with(fault); });
}

// A case is pieces of a sound file ([offset, length]) and literal bytes in hexadecimal, one after the other.
std::string assemble(const nlohmann::json& segments, const std::string& base) {
  std::string bytes;
  for (const nlohmann::json& segment : segments) {
    if (segment.is_string()) {
      bytes += test::from_hex(segment);
    } else {
      bytes += base.substr(segment.at(0), segment.at(1));
    }
  }
  return bytes;
}

TEST(Malformed, RecordedCases) {
  PARLANCE_REQUIRE_FIXTURES("text/malformed/cases.json");
  const auto folder = test::fixtures_root() / "text/malformed";
  const std::string base = test::read_text(folder / "ok-base.gguf");
  int n_refused = 0;
  for (const nlohmann::json& c : test::read_json(folder / "cases.json")) {
    const std::string file = c.at("file");
    const std::string want = c.at("want");
    SCOPED_TRACE(file + ": " + std::string(c.at("why")));
    const std::string bytes = assemble(c.at("segments"), base);

    const Result<GgufFile> parsed = GgufFile::parse(test::as_bytes(bytes), file);
    if (want == "accept" || (want == "reject" && is_model_fault(file))) {
      EXPECT_TRUE(parsed) << parsed.error().message;
    } else if (want == "reject") {
      EXPECT_FALSE(parsed);
    }
    if (parsed) continue;
    ++n_refused;
    const std::string& message = parsed.error().message;
    EXPECT_TRUE(message.starts_with(file + ": ")) << message;
    EXPECT_TRUE(std::all_of(message.begin(), message.end(), [](char ch) { return ch >= ' ' && ch <= '~'; }))
        << message;
  }
  EXPECT_GT(n_refused, 0);
}

TEST(Malformed, EveryTruncation) {
  test::GgufBytes gguf;
  gguf.key("a.number", 4, test::field<uint32_t>(7));
  gguf.key("a.text", 8, test::text_field("hello"));
  gguf.key("a.list", 9, test::array_fields(8, 2, test::text_field("one") + test::text_field("two")));
  gguf.tensor("w", {8, 2}, 0, 0).tensor("b", {3}, 0, 64);
  gguf.data.assign(64 + 12, 'x');
  const std::string whole = gguf.file();
  ASSERT_TRUE(GgufFile::parse(test::as_bytes(whole), "whole"));
  for (size_t size = 0; size < whole.size(); ++size) {
    // In a block of its own, so that a sanitizer sees a read past its end.
    const std::vector<char> cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(GgufFile::parse(std::as_bytes(std::span(cut)), "cut")) << size;
  }
}

}  // namespace
}  // namespace parlance
