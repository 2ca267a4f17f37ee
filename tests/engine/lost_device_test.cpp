// What a session does when its device stops working.
#include "engine/session.h"
#include "support/text_model.h"

namespace parlance {
namespace {

// The CPU, until it is lost.
class FragileDevice final : public Device {
 public:
  class FragileStream final : public Stream {
   public:
    FragileStream(FragileDevice& device, std::unique_ptr<Stream> cpu)
        : Stream(device), device_(device), cpu_(std::move(cpu)) {}
    void upload(const Tensor& dst, std::span<const std::byte> bytes) override {
      if (!device_.is_lost) cpu_->upload(dst, bytes);
    }
    Result<void> download(std::span<std::byte> bytes, const Tensor& src) override {
      PARLANCE_CHECK(synchronize());
      return cpu_->download(bytes, src);
    }
    void copy(const Tensor& dst, const Tensor& src) override { cpu_->copy(dst, src); }
    Result<void> synchronize() override {
      if (device_.is_lost) return fail(ErrorCode::device_failed, "fragile: the device was lost; start again");
      return {};
    }

   protected:
    void run_step(uint64_t, FunctionRef<void()>) override {}

   private:
    FragileDevice& device_;
    std::unique_ptr<Stream> cpu_;
  };

  std::string_view name() const override { return "fragile"; }
  std::string_view description() const override { return "fragile"; }
  DeviceMemory memory() const override { return cpu_->memory(); }
  const OpTable& ops() const override { return cpu_->ops(); }
  Result<std::unique_ptr<Buffer>> allocate(size_t bytes) override { return cpu_->allocate(bytes); }
  Result<std::unique_ptr<Buffer>> import_weights(std::span<const std::byte> bytes) override {
    return cpu_->import_weights(bytes);
  }
  std::unique_ptr<Stream> make_stream() override {
    return std::make_unique<FragileStream>(*this, cpu_->make_stream());
  }

  bool is_lost = false;

 private:
  std::unique_ptr<Device> cpu_ = std::move(*make_cpu_device({.n_threads = 1}));
};

TEST(LostDevice, IsAnErrorInWordsAndNotAnAnswer) {
  FragileDevice device;
  const auto model =
      TextModel::load(test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf", device);
  ASSERT_TRUE(model) << model.error().message;
  const auto session = test::make_session(**model, {.n_ctx = 64, .n_batch = 16});
  device.is_lost = true;
  for (int round = 0; round < 2; ++round) {
    const auto logits = session->set_prompt(std::vector<Token>{1, 2, 3});
    ASSERT_FALSE(logits);
    EXPECT_EQ(logits.error().code, ErrorCode::device_failed);
    EXPECT_NE(logits.error().message.find("lost"), std::string::npos);
  }
  EXPECT_TRUE(session->tokens().empty());
}

}  // namespace
}  // namespace parlance
