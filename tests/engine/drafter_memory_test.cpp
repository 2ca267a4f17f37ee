// What drafting takes of memory: what it says, nothing where nothing drafts, and a remedy where it is not
// there.
#include <algorithm>

#include "base/parameter.h"
#include "engine/context.h"
#include "support/tiny_pair.h"

namespace parlance {
namespace {

constexpr int64_t kMemoryContext = 200;

class DrafterMemory : public test::TinyPair {
 protected:
  void SetUp() override {
    if (&tested_device() != &device_) GTEST_SKIP() << "only the watched CPU counts its memory";
    model_ = load({.n_layer = 3});
    ASSERT_TRUE(model_);
    block_ = load_block_drafter(*model_);
    smaller_ = load({.n_layer = 1});
    ASSERT_TRUE(block_ && smaller_);
  }

  struct Kind {
    const char* name;
    bool looks_up = false;
    std::shared_ptr<const Dflash> block = {};
    std::shared_ptr<const TextModel> model = {};
  };
  std::vector<Kind> kinds() const {
    return {{"none"}, {"lookup", true}, {"block", false, block_}, {"model", false, nullptr, smaller_}};
  }

  static SessionOptions with(const Kind& kind, int n_seq = 1) {
    SessionOptions options{.n_ctx = kMemoryContext, .n_batch = 32, .n_seq = n_seq};
    options.looks_up = kind.looks_up;
    options.drafter = kind.block;
    options.draft_model = kind.model;
    return options;
  }

  std::shared_ptr<const TextModel> model_, smaller_;
  std::shared_ptr<const Dflash> block_;
};

// Keys and values of each position and the pages that the model's cache has beside those: one that others
// share gives way to a copy, and one is for the rows that fill up recorded steps.
TEST_F(DrafterMemory, CachesAreAsLargeAsTheirFormatsSay) {
  for (const int n_seq : {1, 3}) {
    for (const Kind& kind : kinds()) {
      SCOPED_TRACE(testing::Message() << kind.name << ", sequences " << n_seq);
      const auto context = make_context(*model_, with(kind, n_seq));
      ASSERT_TRUE(context);
      if (!kind.block && !kind.model) {
        EXPECT_EQ(context->draft_bytes(), 0u);
        continue;
      }
      const HyperParameters& hp =
          kind.block ? kind.block->hyper_parameters() : kind.model->hyper_parameters();
      const auto n_bytes_each =
          static_cast<size_t>(hp.n_layer * hp.n_head_kv * (hp.head_dim_k + hp.head_dim_v)) * sizeof(uint16_t);
      const auto page = static_cast<size_t>(context->layout().page_tokens);
      const size_t n_pages = (kMemoryContext + page - 1) / page + 1;
      const size_t expected = n_bytes_each * page * (n_pages * static_cast<size_t>(n_seq) + 1);
      const size_t of_passes = kind.model ? context->draft_context()->workspace_bytes() : 0;
      EXPECT_EQ(context->draft_bytes(), expected + of_passes);
    }
  }
}

TEST_F(DrafterMemory, WhereNothingDraftsNothingIsTaken) {
  const auto taken = [&](const Kind& kind) {
    const size_t before = device_.n_in_use;
    const auto context = make_context(*model_, with(kind));
    return device_.n_in_use - before;
  };
  const std::vector<Kind> all = kinds();
  const size_t plain = taken(all[0]);
  EXPECT_EQ(taken(all[0]), plain);
  for (size_t i = 2; i < all.size(); ++i) {
    const auto context = make_context(*model_, with(all[i]));
    const size_t workspace = all[i].model ? context->draft_context()->workspace_bytes() : 0;
    EXPECT_GE(taken(all[i]) - plain, context->draft_bytes() - workspace) << all[i].name;
  }
}

// However much is there, of whatever it is that lacks room.
TEST_F(DrafterMemory, WhatDoesNotFitIsSaidWithARemedy) {
  for (const Kind& kind : kinds()) {
    const size_t before = device_.n_in_use;
    const size_t needed = [&] {
      const auto context = make_context(*model_, with(kind));
      return device_.n_in_use - before;
    }();
    const bool drafts = kind.block || kind.model;
    bool names_drafter = false;
    constexpr size_t kParts = 50;
    for (size_t part = 0; part < kParts; ++part) {
      device_.most_in_use = before + needed * part / kParts;
      const auto context = Context::create(*model_, with(kind));
      device_.most_in_use = SIZE_MAX;
      SCOPED_TRACE(testing::Message() << kind.name << " with " << part << " parts of the room");
      ASSERT_FALSE(context);
      const std::string& message = context.error().message;
      EXPECT_EQ(context.error().code, ErrorCode::out_of_memory);
      EXPECT_EQ(message.find('\n'), std::string::npos);
      EXPECT_NE(message.find(set_to(Parameter::ctx_size, "")), std::string::npos) << message;
      const bool has_remedy = message.find(set_to(Parameter::draft, "none")) != std::string::npos;
      EXPECT_EQ(has_remedy, drafts) << message;
      names_drafter |=
          message.find("draft model") != std::string::npos || message.find("drafter") != std::string::npos;
    }
    EXPECT_EQ(names_drafter, drafts) << kind.name;
    EXPECT_TRUE(make_context(*model_, with(kind)));
  }
}

}  // namespace
}  // namespace parlance
