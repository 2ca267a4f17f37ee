// Drafters that memory lacks for: one that was named is an error, one that nobody named is left out.
#include "assistant/draft_region.h"

#include <gtest/gtest.h>

#include "base/parameter.h"
#include "support/tiny_pair.h"

namespace parlance {
namespace {

class DraftRegion : public test::TinyPair {};

TEST_F(DraftRegion, ADrafterThatDoesNotFitIsLeftOutUnlessItWasNamed) {
  const auto model = load({.n_layer = 2});
  ASSERT_TRUE(model);
  const DraftModels kinds[] = {{.block = load_block_drafter(*model, {.target_layers = {0, 1}}), .model = {}},
                               {.block = {}, .model = load({.n_layer = 1})}};
  const SessionOptions options{.n_ctx = 200, .n_batch = 32};
  const auto taken = [&](const DraftModels& drafters) {
    DraftModels used = drafters;
    const auto context = create_context(*model, options, used, options.n_batch, true, {});
    EXPECT_TRUE(context);
    EXPECT_TRUE(used.block == drafters.block && used.model == drafters.model);
    return device_.n_in_use;
  };
  const size_t alone = taken({});
  for (const DraftModels& kind : kinds) {
    const size_t together = taken(kind);
    ASSERT_GT(together, alone);
    for (const size_t room : {alone, (alone + together) / 2, together - 1}) {
      for (const bool may_go : {false, true}) {
        DraftModels used = kind;
        std::vector<std::string> remarks;
        device_.most_in_use = room;
        const auto context = create_context(*model, options, used, options.n_batch, may_go,
                                            [&](const std::string& remark) { remarks.push_back(remark); });
        device_.most_in_use = SIZE_MAX;
        EXPECT_EQ(context.has_value(), may_go);
        EXPECT_EQ(used.block || used.model, !may_go);
        ASSERT_EQ(remarks.size(), may_go ? 1u : 0u);
        const std::string& said = may_go ? remarks[0] : context.error().message;
        EXPECT_NE(said.find(set_to(Parameter::draft, "none")), std::string::npos) << said;
        if (may_go) {
          EXPECT_EQ((*context)->draft_bytes(), 0u);
        }
      }
    }
  }
}

TEST_F(DraftRegion, BatchesAreSmallerWhereThatGivesRoom) {
  const auto model = load({.n_layer = 2});
  ASSERT_TRUE(model);
  const DraftModels kinds[] = {{.block = load_block_drafter(*model, {.target_layers = {0, 1}}), .model = {}},
                               {.block = {}, .model = load({.n_layer = 1})}};
  constexpr int64_t kFew = 16, kMany = 128;
  const auto create = [&](const DraftModels& kind, int64_t n_batch, size_t room) {
    DraftModels used = kind;
    device_.most_in_use = room;
    auto context = create_context(*model, {.n_ctx = 200, .n_batch = n_batch}, used, kFew, true,
                                  [](const std::string& remark) { ADD_FAILURE() << remark; });
    device_.most_in_use = SIZE_MAX;
    return context ? *std::move(context) : nullptr;
  };
  for (const DraftModels& kind : kinds) {
    const auto taken = [&](int64_t n_batch) {
      const auto context = create(kind, n_batch, SIZE_MAX);
      EXPECT_TRUE(context && context->options().n_batch == n_batch);
      return device_.n_in_use;
    };
    const size_t few = taken(kFew), many = taken(kMany);
    ASSERT_GT(many, few);
    for (const size_t room : {few, many - 1}) {
      const auto context = create(kind, kMany, room);
      ASSERT_TRUE(context);
      EXPECT_EQ(context->options().n_batch, kFew);
      EXPECT_GT(context->draft_bytes(), 0u);
    }
  }
}

}  // namespace
}  // namespace parlance
