// Tiny models and drafters for them, on one device, for tests.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engine/generate.h"
#include "models/dflash.h"
#include "support/temporary_folder.h"
#include "support/tested_device.h"
#include "support/text_model.h"
#include "support/tiny_drafter.h"
#include "support/tiny_model.h"
#include "support/watched_device.h"

namespace parlance::test {

class TinyPair : public testing::Test {
 protected:
  std::shared_ptr<const TextModel> load(const TinyShape& shape) {
    const auto path = folder_.path() / (std::to_string(n_files_++) + ".gguf");
    write_tiny_model(path, shape);
    return load(path);
  }

  std::shared_ptr<const TextModel> load(const std::filesystem::path& path) {
    auto model = TextModel::load(path, tested_device());
    EXPECT_TRUE(model) << model.error().message;
    return model ? *std::move(model) : nullptr;
  }

  // With random weights, for a model of write_tiny_model().
  std::shared_ptr<const Dflash> load_block_drafter(const TextModel& target, const TinyDrafter& shape = {}) {
    struct Loaded {
      GgufFile file;
      std::unique_ptr<Dflash> model;
    };
    const auto path = folder_.path() / (std::to_string(n_files_++) + ".gguf");
    EXPECT_TRUE(write_tiny_drafter(path, shape));
    auto loaded = std::make_shared<Loaded>(Loaded{*GgufFile::open(path), nullptr});
    auto model = Dflash::load(loaded->file, target.model());
    EXPECT_TRUE(model) << model.error().message;
    if (!model) return nullptr;
    loaded->model = *std::move(model);
    return {loaded, loaded->model.get()};
  }

  // The watched one, unless another is asked for.
  Device& tested_device() {
    if (!named_ && std::getenv("PARLANCE_TEST_DEVICE")) {
      auto named = make_tested_device({.n_threads = 1, .deterministic = true});
      EXPECT_TRUE(named) << named.error().message;
      if (named) named_ = *std::move(named);
    }
    return named_ ? *named_ : device_;
  }

  static std::shared_ptr<Context> make_context(const TextModel& model, const SessionOptions& options) {
    auto context = Context::create(model, options);
    EXPECT_TRUE(context) << context.error().message;
    return context ? *std::move(context) : nullptr;
  }

  static std::vector<Token> text(int64_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Token> tokens(static_cast<size_t>(n));
    for (Token& token : tokens) token = static_cast<Token>(random() % 250);
    return tokens;
  }

  // Greedy, with as many drafted tokens in every step as there may be.
  static GenerateOptions always(int64_t most, int64_t n = 60) {
    GenerateOptions options;
    options.sampling.temperature = 0;
    options.max_tokens = n;
    options.ignore_eos = true;
    options.draft.most = most;
    options.draft.is_required = true;
    return options;
  }

  static GenerateResult answer(Session& session, const std::vector<Token>& prompt,
                               const GenerateOptions& options) {
    auto result = generate(session, prompt, options);
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : GenerateResult{};
  }

  static GenerateResult plain(const TextModel& model, const std::vector<Token>& prompt,
                              GenerateOptions options, int64_t n_ctx = 256) {
    options.draft = {.is_on = false};
    return answer(*make_session(model, {.n_ctx = n_ctx}), prompt, options);
  }

  // An answer that is cancelled before each operation of the model and of whatever drafts in turn, in a new
  // session each time: `check` is given what was said until then, and the session.
  template <class Check>
  void cancel_before_each_operation(const TextModel& model, const SessionOptions& kind,
                                    const std::vector<Token>& prompt, const GenerateOptions& options,
                                    const Check& check) {
    if (&tested_device() != &device_) GTEST_SKIP() << "only the CPU's operations are watched";
    int n_operations = 0;
    const auto calm = make_session(model, kind);
    device_.on_operation = [&] { ++n_operations; };
    answer(*calm, prompt, options);
    device_.on_operation = {};
    EXPECT_GT(n_operations, 0);
    for (int at = 0; at < n_operations && !HasFatalFailure(); ++at) {
      SCOPED_TRACE(testing::Message() << "cancelled before operation " << at << " of " << n_operations);
      const auto session = make_session(model, kind);
      const CancellationSource source;
      GenerateOptions cancelled = options;
      cancelled.work.cancellation = source.ticket();
      int n = 0;
      device_.on_operation = [&] {
        if (n++ == at) source.cancel();
      };
      const GenerateResult said = answer(*session, prompt, cancelled);
      device_.on_operation = {};
      check(said, *session);
    }
  }

  TemporaryFolder folder_;
  WatchedDevice device_;
  std::unique_ptr<Device> named_;
  int n_files_ = 0;
};

}  // namespace parlance::test
