// A step that is cancelled anywhere leaves nothing behind: what follows is as if it had never been.
#include <algorithm>
#include <atomic>
#include <barrier>
#include <random>
#include <thread>

#include "engine/generate.h"
#include "engine/scheduler.h"
#include "support/random_tokens.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/tiny_model.h"
#include "support/watched_device.h"

namespace parlance {
namespace {

class Cancel : public testing::Test {
 protected:
  bool load(const std::filesystem::path& path) {
    auto model = TextModel::load(path, device_);
    EXPECT_TRUE(model) << model.error().message;
    if (model) model_ = *std::move(model);
    return model_ != nullptr;
  }

  // A first layer, a last one and one between them: no others differ in what is done when.
  bool load_three_layers() {
    const test::TemporaryFolder folder;
    test::write_tiny_model(folder.path() / "tiny.gguf", {.n_layer = 3});
    return load(folder.path() / "tiny.gguf");
  }

  std::unique_ptr<Session> session(const KvPolicy& cache) const {
    return test::make_session(*model_, {.n_ctx = 256, .n_batch = 16, .cache = cache, .n_seq = 2});
  }

  static std::vector<float> copy(const Result<std::span<const float>>& logits) {
    EXPECT_TRUE(logits) << logits.error().message;
    return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
  }

  // `compute` on a session that `prepare` made, cancelled before each of its operations in turn; then once
  // more, which must yield what it yields undisturbed, bit for bit. A second session then begins with what
  // the context remembers.
  template <class Prepare, class Compute>
  void expect_nothing_left(const KvPolicy& cache, const Prepare& prepare, const Compute& compute,
                           const std::vector<Token>& again) {
    const auto calm = session(cache);
    ASSERT_TRUE(calm);
    prepare(*calm);
    int n_operations = 0;
    device_.on_operation = [&] { ++n_operations; };
    const std::vector<float> expected = copy(compute(*calm, Work{}));
    device_.on_operation = {};
    const auto follower = *Session::create(calm->shared_context());
    const std::vector<float> expected_again = copy(follower->set_prompt(again));
    ASSERT_GT(n_operations, 10);
    for (int at = 0; at < n_operations; ++at) {
      SCOPED_TRACE(testing::Message() << "cancelled before operation " << at << " of " << n_operations);
      const auto disturbed = session(cache);
      prepare(*disturbed);
      const CancellationSource source;
      int n = 0;
      device_.on_operation = [&] {
        if (n++ == at) source.cancel();
      };
      const auto cancelled = compute(*disturbed, Work{.cancellation = source.ticket()});
      device_.on_operation = {};
      if (!cancelled) {
        ASSERT_EQ(cancelled.error().code, ErrorCode::cancelled);
        ASSERT_EQ(copy(compute(*disturbed, Work{})), expected);
      } else {
        ASSERT_EQ(copy(cancelled), expected);  // the last operation was under way
      }
      const auto other = *Session::create(disturbed->shared_context());
      ASSERT_EQ(copy(other->set_prompt(again)), expected_again);
    }
  }

  test::WatchedDevice device_;
  std::unique_ptr<TextModel> model_;
};

TEST_F(Cancel, BetweenAnyTwoOperations) {
  ASSERT_TRUE(load_three_layers());
  const auto prompt = test::random_tokens(40, 1), more = test::random_tokens(3, 2);
  for (const KvPolicy& cache :
       {KvPolicy{}, KvPolicy{.k = {.format = KvFormat::tbq4_0}, .v = {.format = KvFormat::tbq4_0}}}) {
    expect_nothing_left(
        cache, [](Session&) {}, [&](Session& s, const Work& work) { return s.set_prompt(prompt, work); },
        prompt);
    expect_nothing_left(
        cache, [&](Session& s) { ASSERT_TRUE(s.set_prompt(prompt)); },
        [&](Session& s, const Work& work) { return s.append(more, 1, {}, work); }, prompt);
  }
}

// Tokens before those that are appended have to be computed again: their page was compressed.
TEST_F(Cancel, WhileTokensAreComputedAgain) {
  ASSERT_TRUE(load_three_layers());
  const KvPolicy cache{
      .k = {.format = KvFormat::q8_0}, .v = {.format = KvFormat::q8_0}, .n_sink = 0, .n_recent = 16};
  const auto prompt = test::random_tokens(150, 3), more = test::random_tokens(3, 4);
  expect_nothing_left(
      cache,
      [&](Session& s) {
        ASSERT_TRUE(s.set_prompt(prompt));
        s.truncate(30);
      },
      [&](Session& s, const Work& work) { return s.append(more, 1, {}, work); }, prompt);
}

TEST_F(Cancel, BetweenAnyTwoOperationsOfAHybridModel) {
  PARLANCE_REQUIRE_FIXTURES("text/models/qwen35.gguf");
  ASSERT_TRUE(load(test::fixtures_root() / "text/models/qwen35.gguf"));
  const auto prompt = test::random_tokens(24, 5), more = test::random_tokens(3, 6);
  expect_nothing_left(
      {}, [&](Session& s) { ASSERT_TRUE(s.set_prompt(prompt)); },
      [&](Session& s, const Work& work) { return s.append(more, 1, {}, work); }, prompt);
}

// A ticket that was cancelled before the call is not forgotten.
TEST_F(Cancel, BeforeTheStart) {
  ASSERT_TRUE(load(test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf"));
  const auto s = session({});
  const CancellationSource source;
  const Work work{.cancellation = source.ticket()};
  source.cancel();
  const auto logits = s->set_prompt(test::random_tokens(10, 7), work);
  ASSERT_FALSE(logits);
  EXPECT_EQ(logits.error().code, ErrorCode::cancelled);
  GenerateOptions options;
  options.work = work;
  const auto result = generate(*s, test::random_tokens(10, 7), options);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->finish_reason, FinishReason::cancelled);
  EXPECT_TRUE(result->tokens.empty());
}

// What waits for its turn ends at once, also in the middle of a step, whatever happens in it; nobody else
// notices.
TEST_F(Cancel, OfWhatWaitsIsNotHeldUpByAStepUnderWay) {
  ASSERT_TRUE(load(test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf"));
  GenerateOptions options;
  options.max_tokens = 12;
  options.ignore_eos = true;
  options.sampling.temperature = 0;
  const auto expected = generate(*session({}), test::random_tokens(20, 8), options);
  ASSERT_TRUE(expected);
  const auto context = *Context::create(*model_, {.n_ctx = 256, .n_batch = 16, .n_seq = 1});
  const auto running = *Request::start(context, test::random_tokens(20, 8), options);
  const auto waiting = *Request::start(context, test::random_tokens(30, 9), options);
  const auto last = *Request::start(context, test::random_tokens(20, 8), options);
  bool is_withdrawn = false, is_again = true, has_begun = true;
  device_.on_operation = [&, n = 0]() mutable {
    if (++n != 25) return;
    is_withdrawn = waiting->withdraw() && waiting->has_ended();
    is_again = waiting->withdraw();
    has_begun = !running->withdraw();
  };
  while (last->next()) {
  }
  device_.on_operation = {};
  EXPECT_TRUE(is_withdrawn);
  EXPECT_FALSE(is_again) << "it has ended already";
  EXPECT_TRUE(has_begun) << "it goes on";
  EXPECT_FALSE(last->withdraw());
  ASSERT_TRUE(waiting->result());
  EXPECT_EQ(waiting->result()->finish_reason, FinishReason::cancelled);
  EXPECT_TRUE(waiting->result()->tokens.empty());
  EXPECT_EQ(running->result()->tokens, expected->tokens);
  EXPECT_EQ(last->result()->tokens, expected->tokens);
  EXPECT_EQ(context->scheduler().stats().n_tasks, 0);
}

// From many threads at any moment: each request ends once, and those that stay say what they would alone. Of
// the first requests one is in a step that lasts until the others were withdrawn.
TEST_F(Cancel, OfWhatWaitsAtAnyMoment) {
  ASSERT_TRUE(load(test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf"));
  GenerateOptions options;
  options.max_tokens = 3;
  options.ignore_eos = true;
  options.sampling.temperature = 0;
  const auto expected = generate(*session({}), test::random_tokens(10, 8), options);
  ASSERT_TRUE(expected);
  const auto context = *Context::create(*model_, {.n_ctx = 64, .n_batch = 16, .n_seq = 1});
  constexpr int kClients = 4;
  std::barrier all(kClients);
  std::atomic<bool> lasts{true};
  device_.on_operation = [&] {
    while (lasts) std::this_thread::yield();
  };
  std::vector<std::thread> clients;
  std::atomic<int> n_withdrawn{0}, n_wrong{0};
  for (unsigned client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      std::mt19937 random(client);
      for (int i = 0; i < 25; ++i) {
        std::atomic<int> n_news{0};
        const auto request = *Request::start(context, test::random_tokens(10, 8), options, [&] { ++n_news; });
        const bool is_first = i == 0;
        if (is_first) all.arrive_and_wait();
        for (auto n = random() % 100; n > 0; --n) std::this_thread::yield();
        const bool is_withdrawn = (is_first || random() % 2 == 0) && request->withdraw();
        if (is_withdrawn) {
          ++n_withdrawn;
          if (!request->has_ended() || n_news != 1) ++n_wrong;
        }
        if (is_first) {
          all.arrive_and_wait();
          lasts = false;
        }
        if (is_withdrawn) continue;
        while (request->next()) {
        }
        if (request->result()->tokens != expected->tokens) ++n_wrong;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  device_.on_operation = {};
  EXPECT_GE(n_withdrawn, kClients - 1);
  EXPECT_EQ(n_wrong, 0);
  EXPECT_EQ(context->scheduler().stats().n_tasks, 0);
}

// One of a batch leaves; the others' step goes on.
TEST_F(Cancel, OfOneSequenceDoesNotDisturbTheOthers) {
  ASSERT_TRUE(load(test::source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf"));
  GenerateOptions options;
  options.max_tokens = 6;
  options.ignore_eos = true;
  options.sampling.temperature = 0;
  const auto expected = generate(*session({}), test::random_tokens(20, 8), options);
  ASSERT_TRUE(expected);
  for (int at = 0; at < 400; at += 7) {
    const auto context = *Context::create(*model_, {.n_ctx = 256, .n_batch = 64, .n_seq = 2});
    const CancellationSource source;
    GenerateOptions dropped = options;
    dropped.work.cancellation = source.ticket();
    const auto leaves = *Request::start(context, test::random_tokens(30, 9), dropped);
    const auto stays = *Request::start(context, test::random_tokens(20, 8), options);
    int n = 0;
    device_.on_operation = [&] {
      if (n++ == at) source.cancel();
    };
    while (stays->next()) {
    }
    device_.on_operation = {};
    ASSERT_TRUE(stays->result());
    ASSERT_EQ(stays->result()->tokens, expected->tokens) << "cancelled before operation " << at;
  }
}

}  // namespace
}  // namespace parlance
