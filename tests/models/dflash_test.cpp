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
    EXPECT_TRUE(pause.runner().draft({&block, 1}, {}));
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

// A window is refused where the context is longer, and nothing of a drafter is there where it is not used.
TEST_F(DflashFiles, ContextHasRoomForItOrSaysWhyNot) {
  const auto base = write({}), narrow = folder_.path() / "drafter-narrow.gguf";
  ASSERT_TRUE(test::copy_gguf(
      base, narrow, [](GgufWriter& w) { w.set_u32("dflash-draft.attention.sliding_window", 100); }));
  const auto drafter = load(narrow);
  ASSERT_TRUE(drafter);
  EXPECT_TRUE(Session::create(*target_.model, {.n_ctx = 100, .drafter = *drafter}));
  const auto too_long = Session::create(*target_.model, {.n_ctx = 101, .drafter = *drafter});
  ASSERT_FALSE(too_long);
  EXPECT_NE(too_long.error().message.find("the last 100 positions"), std::string::npos);
  EXPECT_EQ(test::make_session(*target_.model, {.n_ctx = 100})->context().draft_bytes(), 0u);
  const auto with = test::make_session(*target_.model, {.n_ctx = 100, .drafter = *drafter});
  const Context& context = with->context();
  const size_t per_token = 2 * 2 * 16 * sizeof(uint16_t);  // layers, keys and values, of a head
  EXPECT_EQ(context.draft_bytes() % (per_token * 64), 0u);
  EXPECT_LE(context.draft_bytes(), per_token * 64 * 4);  // two pages, one to copy to, one that fills up steps
}

}  // namespace
}  // namespace parlance
