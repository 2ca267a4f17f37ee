#include "engine/layer_split.h"

#include "base/parameter.h"
#include "engine/session.h"
#include "support/memory_only_device.h"
#include "support/text_model.h"

namespace parlance {
namespace {

class LayerSplit : public testing::Test {
 protected:
  void SetUp() override {
    path_ = test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf";
    file_.emplace(*GgufFile::open(path_));
    hp_ = *read_hyper_parameters(*file_);
  }

  Result<int64_t> choose(size_t free, std::optional<int64_t> wanted) {
    return choose_device_layers(*file_, hp_, options_, test::MemoryOnlyDevice(free), wanted);
  }

  static constexpr size_t kReserve = size_t{256} << 20;
  std::filesystem::path path_;
  std::optional<GgufFile> file_;
  HyperParameters hp_;
  SessionOptions options_{.n_ctx = 256, .n_batch = 32};
};

TEST_F(LayerSplit, TakesWhatFits) {
  const LayerMemory memory = layer_memory(*file_, hp_, options_);
  EXPECT_EQ(*choose(size_t{1} << 34, {}), hp_.n_layer);
  EXPECT_EQ(*choose(size_t{1} << 34, 1000), hp_.n_layer);
  EXPECT_EQ(*choose(size_t{1} << 34, 1), 1);
  EXPECT_EQ(*choose(kReserve + memory.total(1, false), {}), 1);
  EXPECT_EQ(*choose(0, 0), 0);
}

TEST_F(LayerSplit, SaysWhatWouldFit) {
  const LayerMemory memory = layer_memory(*file_, hp_, options_);
  const auto too_many = choose(kReserve + memory.total(1, false), 2);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(too_many.error().message.find(set_to(Parameter::gpu_layers, 1)), std::string::npos)
      << too_many.error().message;
  const auto none = choose(1000, {});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find(set_to(Parameter::device, "cpu")), std::string::npos)
      << none.error().message;
}

// Recurrent layers have states for every sequence, and for drafts what was computed of their tokens.
TEST_F(LayerSplit, CountsWhatRecurrentLayersKeep) {
  PARLANCE_REQUIRE_FIXTURES("text/models/qwen35.gguf");
  const auto file = *GgufFile::open(test::fixtures_root() / "text/models/qwen35.gguf");
  const HyperParameters hp = *read_hyper_parameters(file);
  const RecurrentLayout layout = recurrent_layout(hp, 1, kMostDrafted);
  const auto layer_bytes = [&](int n_seq, bool looks_up) {
    SessionOptions options = options_;
    options.n_seq = n_seq;
    options.looks_up = looks_up;
    return layer_memory(file, hp, options).layer_bytes;
  };
  EXPECT_EQ(layer_bytes(9, false) - layer_bytes(5, false), 4 * layout.bytes());
  EXPECT_EQ(layer_bytes(5, true) - layer_bytes(5, false), 6 * layout.kept_bytes());
}

// Every split of the layers over two devices computes what one device computes; the second time with the
// prompt known but for its last token.
TEST_F(LayerSplit, SplitModelsSayTheSame) {
  const std::vector<Token> prompt = {5, 17, 3, 99, 4, 42, 7};
  const auto whole = test::load_text_model(path_);
  const auto whole_session = test::make_session(*whole.model, options_);
  std::vector<std::vector<float>> expected;
  for (int round = 0; round < 2; ++round) {
    whole_session->truncate(0);
    const auto logits = whole_session->set_prompt(prompt);
    ASSERT_TRUE(logits);
    expected.emplace_back(logits->begin(), logits->end());
  }

  for (int64_t n = 0; n <= hp_.n_layer; ++n) {
    const auto host = *make_cpu_device({.n_threads = 1}), device = *make_cpu_device({.n_threads = 2});
    const auto model = TextModel::load(*GgufFile::open(path_), Placement(*device, *host, hp_.n_layer, n));
    ASSERT_TRUE(model) << model.error().message;
    const auto session = test::make_session(**model, options_);
    for (const std::vector<float>& want : expected) {
      session->truncate(0);
      const auto split = session->set_prompt(prompt);
      ASSERT_TRUE(split) << split.error().message;
      EXPECT_EQ(std::vector<float>(split->begin(), split->end()), want) << n << " layers on the device";
    }
  }
}

}  // namespace
}  // namespace parlance
