// Sessions that share a context: the same numbers whether a beginning was computed here, there or before, and
// every page accounted for.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "engine/session.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace parlance {
namespace {

// The bundled model: two KV heads of 64 and a real vocabulary.
class SharedContext : public testing::Test {
 protected:
  void SetUp() override {
    const auto folder = test::source_root() / "models/demo/text";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".gguf") path_ = entry.path();
    }
    loaded_ = test::load_text_model(path_);
    ASSERT_TRUE(loaded_.model);
  }

  std::shared_ptr<Context> make_context(SessionOptions options) {
    auto context = Context::create(*loaded_.model, options);
    EXPECT_TRUE(context) << context.error().message;
    return context ? *std::move(context) : nullptr;
  }

  static std::unique_ptr<Session> open(const std::shared_ptr<Context>& context) {
    auto session = Session::create(context);
    EXPECT_TRUE(session) << session.error().message;
    return session ? *std::move(session) : nullptr;
  }

  // n tokens that depend on the seed.
  std::vector<Token> text(int64_t n, unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<Token> tokens(static_cast<size_t>(n));
    for (Token& token : tokens) token = static_cast<Token>(random() % 500);
    return tokens;
  }

  static std::vector<Token> join(std::vector<Token> a, const std::vector<Token>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  static std::vector<float> logits_of(Session& session, const std::vector<Token>& prompt) {
    const auto logits = session.set_prompt(prompt);
    EXPECT_TRUE(logits) << logits.error().message;
    return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
  }

  static KvPolicy windowed(KvFormat format, int64_t n_sink, int64_t n_recent) {
    return {.k = {.format = format}, .v = {.format = format}, .n_sink = n_sink, .n_recent = n_recent};
  }

  std::filesystem::path path_;
  test::LoadedModel loaded_;
};

TEST_F(SharedContext, AReusedBeginningChangesNoBit) {
  for (const KvFormat format : {KvFormat::f16, KvFormat::tbq4_0, KvFormat::q8_0}) {
    SCOPED_TRACE(name_of(format));
    const SessionOptions options{.n_ctx = 512, .n_batch = 64, .cache = windowed(format, 0, 0), .n_seq = 2};
    const auto beginning = text(192, 1);
    const auto prompt = join(beginning, text(50, 2));
    const auto cold_context = make_context(options);
    const auto cold = open(cold_context);
    const auto want = logits_of(*cold, prompt);
    EXPECT_EQ(cold->n_reused(), 0);

    const auto context = make_context(options);
    const auto first = open(context), second = open(context);
    logits_of(*first, join(beginning, text(70, 3)));
    const auto got = logits_of(*second, prompt);
    EXPECT_EQ(second->n_reused(), 192);
    EXPECT_EQ(got, want);
    logits_of(*second, text(30, 4));  // leaves, and comes back to what it computed itself
    EXPECT_EQ(logits_of(*second, prompt), logits_of(*second, prompt));
    EXPECT_EQ(second->n_reused(), 241);
  }
}

TEST_F(SharedContext, ManyConversationsStoreACommonBeginningOnce) {
  constexpr int kConversations = 64;
  const auto context = make_context({.n_ctx = 1088, .n_batch = 128, .n_seq = kConversations});
  const auto beginning = text(1000, 5);
  std::vector<std::unique_ptr<Session>> sessions;
  const int64_t n_free = context->pools()[PageKind::main].n_free();
  int64_t n_computed = 0;
  for (int i = 0; i < kConversations; ++i) {
    sessions.push_back(open(context));
    ASSERT_TRUE(sessions.back());
    const auto prompt = join(beginning, text(20, 100 + static_cast<unsigned>(i)));
    logits_of(*sessions.back(), prompt);
    n_computed += static_cast<int64_t>(prompt.size()) - sessions.back()->n_reused();
  }
  // Some of the random ends begin with the same token, too.
  EXPECT_LE(n_computed, 1020 + 63 * 20);
  EXPECT_GE(n_computed, 1020 + 63 * 15);
  // 960 of the 1,000 positions lie in whole pages; the other 40 are in the page of what follows.
  EXPECT_EQ(n_free - context->pools()[PageKind::main].n_free(), 15 + 64);
  sessions.clear();
  context->tree().evict({INT32_MAX, 0});
  EXPECT_EQ(context->pools()[PageKind::main].n_free(), n_free);
}

TEST_F(SharedContext, AForkGoesItsOwnWay) {
  for (const KvPolicy& policy : {windowed(KvFormat::f16, 0, 0), windowed(KvFormat::tbq3_0, 64, 64)}) {
    const auto context = make_context({.n_ctx = 512, .n_batch = 64, .cache = policy, .n_seq = 3});
    const auto alone = open(make_context({.n_ctx = 512, .n_batch = 64, .cache = policy, .n_seq = 1}));
    const auto session = open(context);
    const auto stem = text(200, 6), left = text(9, 7), right = text(11, 8);
    logits_of(*session, stem);
    auto twin = session->fork();
    ASSERT_TRUE(twin) << twin.error().message;
    const auto go_on = [](Session& s, const std::vector<Token>& tokens) {
      const auto logits = s.append(tokens);
      return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
    };
    const auto right_logits = go_on(**twin, right);
    const auto left_logits = go_on(*session, left);
    logits_of(*alone, stem);
    EXPECT_EQ(left_logits, go_on(*alone, left));
    EXPECT_NE(left_logits, right_logits);
    EXPECT_EQ((*twin)->tokens(), join(stem, right));
    EXPECT_EQ(session->tokens(), join(stem, left));
  }
}

TEST_F(SharedContext, TwoRequestsForTheSameTextComputeItOnce) {
  const auto context = make_context({.n_ctx = 1024, .n_batch = 64, .n_seq = 2});
  const auto prompt = text(900, 9);
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 2; ++i) sessions.push_back(open(context));
  std::vector<std::vector<float>> logits(2);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) {
    threads.emplace_back([&, i] { logits[i] = logits_of(*sessions[i], prompt); });
  }
  for (std::thread& thread : threads) thread.join();
  const int64_t later = std::max(sessions[0]->n_reused(), sessions[1]->n_reused());
  EXPECT_EQ(std::min(sessions[0]->n_reused(), sessions[1]->n_reused()), 0);
  EXPECT_GE(later, 896) << "at least all whole pages";
}

TEST_F(SharedContext, AWindowThatHoldsAllIsExact) {
  const auto prompt = text(300, 10);
  const auto plain = open(make_context({.n_ctx = 512, .n_batch = 64}));
  const auto wide =
      open(make_context({.n_ctx = 512, .n_batch = 64, .cache = windowed(KvFormat::tbq3_0, 0, 512)}));
  EXPECT_EQ(logits_of(*plain, prompt), logits_of(*wide, prompt));
}

// The logits' distance shrinks as more of the text is exact.
TEST_F(SharedContext, WindowsAndSinksTakeEffect) {
  const auto prompt = text(400, 11);
  const auto exact = logits_of(*open(make_context({.n_ctx = 512, .n_batch = 64})), prompt);
  const auto distance = [&](const KvPolicy& policy) {
    const auto session = open(make_context({.n_ctx = 512, .n_batch = 64, .cache = policy}));
    const auto logits = logits_of(*session, prompt);
    double sum = 0;
    for (size_t i = 0; i < logits.size(); ++i) sum += std::pow(static_cast<double>(logits[i] - exact[i]), 2);
    return sum;
  };
  const double all = distance(windowed(KvFormat::tbq3_0, 0, 0));
  const double recent = distance(windowed(KvFormat::tbq3_0, 0, 256));
  EXPECT_LT(recent, all);
  EXPECT_GT(recent, 0);
}

TEST_F(SharedContext, WindowedSequencesAreCutAndExtended) {
  const auto context =
      make_context({.n_ctx = 512, .n_batch = 64, .cache = windowed(KvFormat::tbq4_0, 64, 64), .n_seq = 2});
  const auto session = open(context);
  const auto prompt = text(400, 12);
  const auto first = logits_of(*session, prompt);
  for (const int64_t cut : {390, 250, 100, 70, 30}) {
    session->truncate(cut);
    EXPECT_EQ(std::ssize(session->tokens()), cut);
    const auto again = logits_of(*session, prompt);
    ASSERT_EQ(again.size(), first.size());
    float largest = 0;
    for (size_t i = 0; i < again.size(); ++i) largest = std::max(largest, std::fabs(again[i] - first[i]));
    EXPECT_LT(largest, 1) << "cut at " << cut;
  }
  const auto other = open(context);
  EXPECT_EQ(logits_of(*other, prompt).size(), first.size());
}

// A page that leaves the window in the very step that is cancelled holds what it held.
TEST_F(SharedContext, ACancelledStepLeavesCompressedPagesWhole) {
  const SessionOptions options{.n_ctx = 512, .n_batch = 64, .cache = windowed(KvFormat::tbq4_0, 0, 64)};
  const auto calm = open(make_context(options)), disturbed = open(make_context(options));
  const auto prompt = text(256, 18), more = text(5, 19);
  logits_of(*calm, prompt);
  logits_of(*disturbed, prompt);
  const CancellationSource source;
  const Work cancelled{.cancellation = source.ticket()};
  source.cancel();
  ASSERT_FALSE(disturbed->append(more, 1, {}, cancelled));
  const auto want = calm->append(more), got = disturbed->append(more);
  ASSERT_TRUE(want && got);
  EXPECT_TRUE(std::ranges::equal(*got, *want));
}

// What the tree knows in both kinds takes no exact pages away from the sequences that begin with it.
TEST_F(SharedContext, SharedBeginningsLeaveExactPagesForTheirEnds) {
  const auto context =
      make_context({.n_ctx = 512, .n_batch = 64, .cache = windowed(KvFormat::tbq4_0, 0, 64), .n_seq = 2});
  const auto first = open(context), second = open(context);
  const auto beginning = text(320, 61);
  logits_of(*first, beginning);
  EXPECT_FALSE(logits_of(*second, join(beginning, text(150, 62))).empty());
  EXPECT_FALSE(logits_of(*first, join(beginning, text(150, 63))).empty());
  EXPECT_FALSE(logits_of(*second, join(beginning, text(180, 64))).empty());
}

TEST_F(SharedContext, OldTextsGiveWay) {
  const auto context = make_context({.n_ctx = 256, .n_batch = 64, .n_seq = 2, .n_cache = 300});
  const auto session = open(context);
  for (unsigned i = 0; i < 12; ++i) EXPECT_FALSE(logits_of(*session, text(200, 20 + i)).empty());
  EXPECT_GT(context->tree().stats().n_pages_evicted, 0u);
  const auto second = open(context);
  const auto refused = second->set_prompt(text(250, 50));
  ASSERT_FALSE(refused) << "the first session holds its pages";
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_TRUE(second->tokens().empty());
}

// Turns that part inside a page leave nothing behind that would keep a sequence from filling the context.
TEST_F(SharedContext, OneSequenceFillsTheContextWhateverItSaidBefore) {
  const auto session = open(make_context({.n_ctx = 256, .n_batch = 64}));
  std::vector<Token> history = text(20, 60);
  for (unsigned turn = 0; turn < 10; ++turn) {
    ASSERT_FALSE(logits_of(*session, history).empty());
    ASSERT_TRUE(session->append(text(9, 70 + turn)));  // said, and then remembered in other words
    history = join(history, text(turn + 11, 80 + turn));
  }
  history.resize(240);
  EXPECT_FALSE(logits_of(*session, history).empty());
  EXPECT_TRUE(session->append(text(16, 90)));
}

TEST_F(SharedContext, NoMoreSessionsThanSequences) {
  const auto context = make_context({.n_ctx = 64, .n_seq = 1});
  auto session = open(context);
  EXPECT_FALSE(Session::create(context));
  session.reset();
  EXPECT_TRUE(Session::create(context));
}

TEST_F(SharedContext, SnapshotsBringEveryBitBack) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "conversation.kv";
  for (const KvPolicy& policy : {windowed(KvFormat::tbq4_0, 0, 0), windowed(KvFormat::qjl1_256, 64, 64),
                                 windowed(KvFormat::f16, 0, 0)}) {
    if (policy.k.format == KvFormat::qjl1_256 && loaded_.model->hyper_parameters().head_dim_k % 128 != 0)
      continue;
    const SessionOptions options{.n_ctx = 512, .n_batch = 64, .cache = policy};
    const auto prompt = text(230, 13), more = text(5, 14);
    const auto session = open(make_context(options));
    logits_of(*session, prompt);
    ASSERT_TRUE(session->save(file));
    const auto want = *session->append(more);

    const auto restored = open(make_context(options));
    const auto done = restored->restore(file, prompt);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(restored->tokens(), prompt);
    const auto got = *restored->append(more);
    EXPECT_TRUE(std::ranges::equal(got, want));
  }
}

TEST_F(SharedContext, DoubtfulSnapshotsAreRefusedAndCounted) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "conversation.kv";
  const auto prompt = text(150, 15);
  const SessionOptions options{.n_ctx = 256, .n_batch = 64};
  const auto session = open(make_context(options));
  logits_of(*session, prompt);
  ASSERT_TRUE(session->save(file));
  std::string bytes = test::read_text(file);

  const auto context = make_context(options);
  const auto reader = open(context);
  logits_of(*reader, text(40, 16));
  const auto before = reader->tokens();
  for (size_t at = 0; at < bytes.size(); at += bytes.size() / 97) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    std::ofstream(file, std::ios::binary) << damaged;
    EXPECT_FALSE(reader->restore(file, prompt)) << "byte " << at;
    EXPECT_EQ(reader->tokens(), before);
  }
  EXPECT_GT(context->snapshot_refusals().count(SnapshotRefusal::damaged), 90u);
  std::ofstream(file, std::ios::binary) << bytes;
  EXPECT_FALSE(reader->restore(file, text(150, 17))) << "another text";
  SessionOptions other = options;
  other.cache = windowed(KvFormat::q8_0, 0, 0);
  const auto foreign = open(make_context(other))->restore(file, prompt);
  ASSERT_FALSE(foreign);
  EXPECT_NE(foreign.error().message.find("conversation.kv"), std::string::npos);
  EXPECT_TRUE(reader->restore(file, prompt));
}

}  // namespace
}  // namespace parlance
