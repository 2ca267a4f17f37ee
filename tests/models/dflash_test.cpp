// Block drafters' files: both kinds of names mean the same drafter, and what does not fit the target is
// refused by name.
#include "models/dflash.h"

#include <functional>
#include <numeric>

#include "engine/runner.h"
#include "engine/scheduler.h"
#include "support/gguf_copy.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/tiny_drafter.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

class DflashFiles : public testing::Test {
 protected:
  void SetUp() override {
    test::write_tiny_model(folder_.path() / "target.gguf", {.n_layer = 4});
    target_ = test::load_text_model(folder_.path() / "target.gguf",
                                    CpuOptions{.n_threads = 1, .deterministic = true});
    ASSERT_TRUE(target_.model);
  }

  std::filesystem::path write(const test::TinyDrafter& drafter) {
    const auto path = folder_.path() / fmt::format("drafter-{}.gguf", n_written_++);
    const auto written = test::write_tiny_drafter(path, drafter);
    EXPECT_TRUE(written) << written.error().message;
    return path;
  }

  // With the mapping, which outlives the drafter.
  Result<std::shared_ptr<const Dflash>> load(const std::filesystem::path& path) {
    PARLANCE_TRY(auto file, GgufFile::open(path));
    files_.push_back(std::make_unique<GgufFile>(std::move(file)));
    PARLANCE_TRY(auto drafter, Dflash::load(*files_.back(), target_.model->model()));
    return std::shared_ptr<const Dflash>(std::move(drafter));
  }

  void expect_refused(const std::filesystem::path& path, const std::vector<std::string>& words) {
    const auto drafter = load(path);
    ASSERT_FALSE(drafter) << words.front();
    for (const std::string& word : words)
      EXPECT_NE(drafter.error().message.find(word), std::string::npos) << drafter.error().message;
    EXPECT_NE(drafter.error().message.find("drafter-"), std::string::npos) << drafter.error().message;
  }

  // What the drafter says behind a text that was computed in steps of so many tokens: logits of its slots.
  std::vector<float> proposal(std::shared_ptr<const Dflash> drafter, int64_t n_batch = 64) {
    const auto session =
        test::make_session(*target_.model, {.n_ctx = 100, .n_batch = n_batch, .drafter = std::move(drafter)});
    std::vector<Token> text(70);
    std::iota(text.begin(), text.end(), 20);
    EXPECT_TRUE(session->set_prompt(text));
    Sequence& sequence = session->sequence();
    EXPECT_TRUE(sequence.append(std::vector<Token>{9}));
    const Scheduler::Pause pause(session->context().scheduler());
    const int64_t n_slots = session->context().options().drafter->parameters().block_size;
    EXPECT_TRUE(pause.runner().prepare({&sequence, n_slots, 0}));
    const Runner::Block block{&sequence, n_slots, n_slots - 1};
    EXPECT_TRUE(pause.runner().draft({&block, 1}, Wanted::logits, {}));
    const std::span<const float> outputs = pause.runner().outputs();
    sequence.failed();  // gives the room back
    return {outputs.begin(), outputs.end()};
  }

  test::TemporaryFolder folder_;
  test::LoadedModel target_;
  std::vector<std::unique_ptr<GgufFile>> files_;
  int n_written_ = 0;
};

TEST_F(DflashFiles, BothKindsOfNamesAreTheSameDrafter) {
  const auto draft = load(write({})), by_other_norm = load(write({.is_norm_named_by_place = false}));
  const auto mainline = load(write({.architecture = "dflash", .is_norm_named_by_place = false}));
  ASSERT_TRUE(draft && by_other_norm && mainline) << (mainline ? "" : mainline.error().message);
  EXPECT_EQ((*mainline)->parameters().block_size, 6);
  EXPECT_EQ((*mainline)->parameters().mask_token, 258);
  EXPECT_EQ((*mainline)->parameters().target_layers, (std::vector<int64_t>{0, 2}));
  const std::vector<float> logits = proposal(*draft);
  EXPECT_EQ(logits.size(), 5u * 259);
  EXPECT_EQ(logits, proposal(*by_other_norm));
  EXPECT_EQ(logits, proposal(*mainline));
}

TEST_F(DflashFiles, OrderOfTheLayersIsThatOfTheColumns) {
  const auto one = load(write({.target_layers = {3, 0, 1}})),
             other = load(write({.target_layers = {0, 1, 3}}));
  ASSERT_TRUE(one && other);
  EXPECT_NE(proposal(*one), proposal(*other));
}

// What it knows of a text does not depend on the steps in which the target computed it.
TEST_F(DflashFiles, TextInPiecesIsTheTextAtOnce) {
  const auto drafter = load(write({}));
  ASSERT_TRUE(drafter);
  const std::vector<float> at_once = proposal(*drafter, 128);
  for (const int64_t n_batch : {6, 13, 64}) EXPECT_EQ(proposal(*drafter, n_batch), at_once) << n_batch;
}

TEST_F(DflashFiles, WhatDoesNotFitTheTargetIsRefusedByName) {
  expect_refused(write({.n_embd = 32}), {"dflash-draft.embedding_length", "32", "64"});
  expect_refused(write({.n_vocab = 300}), {"dflash-draft.vocab_size", "300", "259"});
  expect_refused(write({.target_layers = {0, 4}}), {"dflash-draft.dflash.target_layer_ids", "layer 4"});
  expect_refused(write({.target_layers = {1, 1}}), {"dflash-draft.dflash.target_layer_ids", "twice"});
  expect_refused(write({.target_layers = {-1}}), {"dflash-draft.dflash.target_layer_ids"});
  expect_refused(write({.architecture = "dflash", .target_layers = {9}}),
                 {"dflash.target_layers", "layer 9"});
  expect_refused(write({.mask_token = 259}), {"dflash-draft.dflash.mask_token_id"});
  for (const uint32_t block_size : {0u, 1u, 1'000'000u})
    expect_refused(write({.block_size = block_size}), {"dflash-draft.dflash.block_size"});
  expect_refused(write({.n_layer = 0}), {"dflash-draft.block_count"});
}

TEST_F(DflashFiles, BrokenKeysAndMissingTensorsAreRefusedInWords) {
  const auto base = write({});
  const auto changed = [&](const std::function<void(GgufWriter&)>& change) {
    const auto path = folder_.path() / fmt::format("drafter-{}.gguf", n_written_++);
    EXPECT_TRUE(test::copy_gguf(base, path, change));
    return path;
  };
  expect_refused(changed([](GgufWriter& w) { w.set_string("general.architecture", "qwen3"); }),
                 {"general.architecture"});
  expect_refused(changed([](GgufWriter& w) { w.set_string("dflash-draft.dflash.block_size", "six"); }),
                 {"dflash-draft.dflash.block_size"});
  expect_refused(changed([](GgufWriter& w) { w.set_i32s("dflash-draft.dflash.target_layer_ids", {}); }),
                 {"dflash-draft.dflash.target_layer_ids"});
  const std::vector<int32_t> three = {0, 1, 2};
  expect_refused(changed([&](GgufWriter& w) { w.set_i32s("dflash-draft.dflash.target_layer_ids", three); }),
                 {"dflash_fc.weight", "192"});
  expect_refused(changed([](GgufWriter& w) { w.set_u32("dflash-draft.block_count", 3); }), {"blk.2."});
  expect_refused(changed([](GgufWriter& w) { w.set_u32("dflash-draft.block_count", 1); }), {"blk.1."});
}

// A slot sees the last positions up to its own, as many as the window has, in the layers that have one; what
// is before that may be anything.
TEST_F(DflashFiles, WindowsEndWhereTheySay) {
  constexpr int64_t kPage = 64, kText = 150;
  const auto base = write({});
  const auto with_window = [&](uint32_t window, const std::vector<bool>& pattern) {
    const auto path = folder_.path() / fmt::format("drafter-{}.gguf", n_written_++);
    EXPECT_TRUE(test::copy_gguf(base, path, [&](GgufWriter& w) {
      w.set_u32("dflash-draft.attention.sliding_window", window);
      if (!pattern.empty()) w.set_bools("dflash-draft.attention.sliding_window_pattern", pattern);
    }));
    auto drafter = load(path);
    EXPECT_TRUE(drafter) << drafter.error().message;
    return *std::move(drafter);
  };
  // Behind a text, whose first page may be another one's.
  const auto proposal_behind = [&](std::shared_ptr<const Dflash> drafter, bool is_changed) {
    const auto session =
        test::make_session(*target_.model, {.n_ctx = 256, .n_batch = 64, .drafter = std::move(drafter)});
    std::vector<Token> text(kText);
    std::iota(text.begin(), text.end(), 3);
    EXPECT_TRUE(session->set_prompt(text));
    Sequence& sequence = session->sequence();
    EXPECT_TRUE(sequence.append(std::vector<Token>{9}));
    const Scheduler::Pause pause(session->context().scheduler());
    EXPECT_TRUE(pause.runner().prepare({&sequence, 6, 0}));
    if (is_changed) {
      PartRunner& part = *session->context().parts().front();
      KvCache& cache = *part.caches()[1];
      EXPECT_EQ(cache.layout().page_tokens, kPage);
      const std::vector<std::byte> bytes(cache.layout().page_bytes(PageKind::main), std::byte{0x31});
      cache.restore_page(part.stream(), PageKind::main, sequence.pages().pages()[0].main, bytes);
      EXPECT_TRUE(part.stream().synchronize());
    }
    const Runner::Block block{&sequence, 6, 5};
    EXPECT_TRUE(pause.runner().draft({&block, 1}, Wanted::logits, {}));
    return std::vector<float>(pause.runner().outputs().begin(), pause.runner().outputs().end());
  };
  const auto sees_first_page = [&](uint32_t window, const std::vector<bool>& pattern = {}) {
    const auto drafter = with_window(window, pattern);
    return proposal_behind(drafter, true) != proposal_behind(drafter, false);
  };
  // The first slot stands behind the text.
  constexpr uint32_t kOnlyBehind = kText + 1 - kPage;
  EXPECT_FALSE(sees_first_page(kOnlyBehind));
  EXPECT_TRUE(sees_first_page(kOnlyBehind + 1));
  EXPECT_FALSE(sees_first_page(1));
  EXPECT_FALSE(sees_first_page(kOnlyBehind, {true, true}));
  EXPECT_TRUE(sees_first_page(kOnlyBehind, {true, false}));
  EXPECT_TRUE(sees_first_page(kOnlyBehind, {false, true}));
  EXPECT_TRUE(sees_first_page(kOnlyBehind, {false, false}));
  const std::vector<float> whole = proposal_behind(*load(base), false);
  EXPECT_EQ(proposal_behind(with_window(1000, {}), false), whole);
  EXPECT_EQ(proposal_behind(with_window(0, {true, true}), false), whole);
  EXPECT_NE(proposal_behind(with_window(kOnlyBehind, {}), false), whole);

  const auto wrong = folder_.path() / "drafter-wrong.gguf";
  ASSERT_TRUE(test::copy_gguf(base, wrong, [](GgufWriter& w) {
    w.set_u32("dflash-draft.attention.sliding_window", 100);
    w.set_bools("dflash-draft.attention.sliding_window_pattern", {true});
  }));
  expect_refused(wrong, {"sliding_window_pattern has 1 values for 2 layers"});
  ASSERT_TRUE(test::copy_gguf(
      base, wrong, [](GgufWriter& w) { w.set_u32("dflash-draft.attention.sliding_window_pattern", 1); }));
  expect_refused(wrong, {"sliding_window_pattern", "an array of bools"});
}

// Of any number of texts, of any length and on any pages; nothing is there where no drafter is.
TEST_F(DflashFiles, MemoryIsThatOfItsKeysAndValues) {
  const auto drafter = load(write({}));
  ASSERT_TRUE(drafter);
  const size_t per_token = 2 * 2 * 16 * sizeof(uint16_t);  // layers, keys and values, of a head
  for (const int n_seq : {1, 2, 7}) {
    for (const int64_t n_ctx : {63, 64, 65, 300}) {
      for (const int64_t n_cache : {0, 100}) {
        SessionOptions options{.n_ctx = n_ctx, .drafter = *drafter};
        options.n_seq = n_seq;
        options.n_cache = n_cache;
        const auto with = Context::create(*target_.model, options);
        ASSERT_TRUE(with) << with.error().message;
        options.drafter = nullptr;
        const auto without = Context::create(*target_.model, options);
        EXPECT_EQ((*without)->draft_bytes(), 0u);
        EXPECT_EQ((*without)->parts().front()->caches().size(), 1u);
        // As many positions as the model has pages for, and no more.
        const size_t n_positions = (*with)->kv_bytes() / (*with)->layout().bytes_per_token();
        EXPECT_EQ((*with)->kv_bytes(), (*without)->kv_bytes());
        EXPECT_LE((*with)->draft_bytes(), per_token * (n_positions + 64));
        EXPECT_GE((*with)->draft_bytes(), per_token * n_positions);
      }
    }
  }
}

}  // namespace
}  // namespace parlance
