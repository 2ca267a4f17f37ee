// Metadata of a hybrid model that contradicts itself or the tensors: refused in words.
#include "gguf/writer.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace parlance {
namespace {

class Qwen35Metadata : public testing::Test {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("text/models/qwen35-mtp.gguf");
    device_ = *make_cpu_device({.n_threads = 1});
  }

  // The recorded model with one key changed or left out, and without tensors whose names contain `dropped`.
  Result<std::unique_ptr<TextModel>> load(const std::string& key, std::optional<uint32_t> value,
                                          std::string_view dropped = "-") {
    const auto file = *GgufFile::open(test::fixtures_root() / "text/models/qwen35-mtp.gguf");
    GgufWriter writer;
    for (const auto& [name, old] : file.metadata()) {
      if (name != "qwen35." + key) writer.copy(name, old);
    }
    if (value) writer.set_u32("qwen35." + key, *value);
    std::vector<const GgufTensor*> kept;
    for (const GgufTensor& tensor : file.tensors()) {
      if (tensor.name.find(dropped) != std::string_view::npos) continue;
      kept.push_back(&tensor);
      writer.add_tensor(tensor.name, tensor.dtype, std::span(tensor.ne).first(tensor.n_dims));
    }
    const auto path = folder_.path() / "changed.gguf";
    EXPECT_TRUE(writer.begin(path));
    for (const GgufTensor* tensor : kept) EXPECT_TRUE(writer.write_tensor(tensor->bytes));
    EXPECT_TRUE(writer.finish());
    return TextModel::load(path, *device_);
  }

  void expect_refused(const Result<std::unique_ptr<TextModel>>& model, std::string_view what) {
    ASSERT_FALSE(model);
    const std::string& message = model.error().message;
    EXPECT_NE(message.find(what), std::string::npos) << message;
    EXPECT_NE(message.find("changed.gguf"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }

  test::TemporaryFolder folder_;
  std::unique_ptr<Device> device_;
};

TEST_F(Qwen35Metadata, TheRecordedFileLoads) {
  const auto model = load("nothing", 1);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->hyper_parameters().n_layer_nextn, 1);
}

TEST_F(Qwen35Metadata, SizesOfTheDeltaNet) {
  for (const char* key :
       {"ssm.state_size", "ssm.group_count", "ssm.time_step_rank", "ssm.conv_kernel", "ssm.inner_size"}) {
    SCOPED_TRACE(key);
    expect_refused(load(key, std::nullopt), key);
    expect_refused(load(key, 0), key);
    expect_refused(load(key, 1u << 31), key);
  }
  expect_refused(load("ssm.conv_kernel", 9), "ssm.conv_kernel");
  expect_refused(load("ssm.conv_kernel", 3), "ssm_conv1d.weight: expected [3, ");
  expect_refused(load("ssm.group_count", 3), "not a multiple of 3 key heads");
  expect_refused(load("ssm.inner_size", 32), "ssm.inner_size must be");
}

TEST_F(Qwen35Metadata, LayersAndTheirKind) {
  EXPECT_TRUE(load("full_attention_interval", std::nullopt)) << "the tensors say which layers are recurrent";
  expect_refused(load("full_attention_interval", 2), "full_attention_interval is 2");
  expect_refused(load("full_attention_interval", 0), "full_attention_interval");
  expect_refused(load("nothing", 1, "blk.1.ssm_conv1d"), "no tensor blk.1.ssm_conv1d.weight");
  expect_refused(load("nothing", 1, "blk.0."), "blk.0.attn_norm.weight");
  expect_refused(load("nextn_predict_layers", 5), "nextn_predict_layers is 5 of 5 layers");
  expect_refused(load("nextn_predict_layers", 0), "by which layer 4 would be recurrent");
}

TEST_F(Qwen35Metadata, HeadsOfAttention) {
  expect_refused(load("attention.value_length", 2), "attention.value_length");
  expect_refused(load("rope.dimension_count", 3), "rope.dimension_count");
  expect_refused(load("rope.dimension_count", 4096), "rope.dimension_count");
}

TEST_F(Qwen35Metadata, TensorsThatAreMissing) {
  for (const char* tensor : {"blk.0.ssm_a", "blk.0.ssm_dt.bias", "blk.0.attn_gate", "blk.0.ssm_norm",
                             "blk.0.post_attention_norm", "blk.3.attn_q_norm"}) {
    SCOPED_TRACE(tensor);
    expect_refused(load("nothing", 1, tensor), tensor);
  }
  EXPECT_TRUE(load("nothing", 1, "nextn.")) << "what predicts further tokens is not needed";
}

}  // namespace
}  // namespace parlance
