// Broken and unusual files, through everything that loads a model: a result or an error in words, never a
// crash.
#include <fstream>

#include "support/json_file.h"
#include "support/text_model.h"

namespace parlance {
namespace {

// A case is pieces of the base file ([offset, length]) and literal bytes (hexadecimal), one after the other.
std::string assemble(const nlohmann::json& segments, const std::string& base) {
  std::string bytes;
  for (const auto& segment : segments) {
    if (segment.is_string()) {
      bytes += test::from_hex(segment);
    } else {
      bytes += base.substr(segment[0].get<size_t>(), segment[1].get<size_t>());
    }
  }
  return bytes;
}

TEST(MalformedFiles, AreRefusedInWords) {
  PARLANCE_REQUIRE_FIXTURES("text/malformed/cases.json");
  const auto folder = test::fixtures_root() / "text/malformed";
  const std::string base = test::read_text(folder / "ok-base.gguf");
  const auto device = make_cpu_device({.n_threads = 1});
  ASSERT_TRUE(device);
  const std::filesystem::path path = testing::TempDir() + "/malformed.gguf";

  for (const auto& c : test::read_json(folder / "cases.json")) {
    const auto file = c["file"].get<std::string>();
    SCOPED_TRACE(file + ": " + c["why"].get<std::string>());
    std::ofstream(path, std::ios::binary) << assemble(c["segments"], base);

    const auto model = TextModel::load(path, **device);
    const auto want = c["want"].get<std::string>();
    if (want == "accept") {
      EXPECT_TRUE(model) << model.error().message;
    } else if (want == "reject") {
      EXPECT_FALSE(model);
    }
    if (!model) {
      EXPECT_NE(model.error().message.find("malformed.gguf"), std::string::npos) << model.error().message;
      EXPECT_EQ(model.error().message.find('\n'), std::string::npos) << model.error().message;
      continue;
    }
    const auto session = Session::create(**model, {.n_ctx = 64, .n_batch = 16});
    if (session) {
      EXPECT_TRUE((*session)->append(std::vector<Token>{0, 1, 2}));
    }
  }
}

}  // namespace
}  // namespace parlance
