// Which conversations are open: slots, turns, idle times.
#include "assistant/conversation_registry.h"

#include <thread>

#include "support/fixtures.h"
#include "support/json_file.h"

namespace parlance {
namespace {

using nlohmann::json;
using Outcome = OpenConversation::Entry::Outcome;

OpenConversation::Name named(const std::string& id, const std::string& owner = "") {
  return {.owner = owner, .key = "conv:" + id, .id = id};
}

class Registry : public testing::Test {
 protected:
  ConversationRegistry::Open open(const OpenConversation::Name& name, Lifetime lifetime = Lifetime::lasting) {
    return registry_.open(name, -1, lifetime, now_).conversation;
  }
  static std::shared_ptr<const ConversationText> text(std::vector<Token> tokens) {
    return std::make_shared<ConversationText>(ConversationText{std::move(tokens), {}});
  }

  ConversationRegistry registry_{4};
  ConversationRegistry::Clock::time_point now_ = ConversationRegistry::Clock::now();
};

TEST_F(Registry, FullSlotsAreSharedAsTheClientsDoIt) {
  PARLANCE_REQUIRE_FIXTURES("precache-vectors.json");
  const json vectors = test::read_json(test::fixtures_root() / "precache-vectors.json");
  ASSERT_EQ(vectors["registryHashFallback"].size(), 20u);
  for (const json& one : vectors["registryHashFallback"]) {
    const std::vector<int> loads(one["parallel"].get<size_t>(), 1);
    EXPECT_EQ(lowest_loaded_slot(loads, one["conversationId"].get<std::string>()), one["slot"]) << one.dump();
  }
  EXPECT_EQ(lowest_loaded_slot({2, 0, 1, 0}, "room-1"), 1);
  EXPECT_EQ(lowest_loaded_slot({7}, "room-1"), 0);
}

TEST_F(Registry, EachConversationHasASlotAsLongAsItIsOpen) {
  const auto a = open(named("a")), b = open(named("b"));
  EXPECT_EQ(a->slot, 0);
  EXPECT_EQ(b->slot, 1);
  EXPECT_EQ(open(named("a")), a);
  EXPECT_EQ(registry_.find("", "conv:a"), a);
  registry_.take_slot(a);
  EXPECT_EQ(registry_.at_slot(0), a);
  EXPECT_EQ(registry_.at_slot(1), nullptr);
  EXPECT_EQ(registry_.at_slot(4), nullptr);
  registry_.close(a);
  EXPECT_EQ(registry_.at_slot(0), nullptr);
  EXPECT_EQ(registry_.find("", "conv:a"), nullptr);
  EXPECT_EQ(open(named("c"))->slot, 0);
  EXPECT_EQ(registry_.most_open(), 2u);
  EXPECT_EQ(registry_.recommended_slots(1), 4);
  EXPECT_EQ(registry_.recommended_slots(9), 9);
}

TEST_F(Registry, TheSameNameOfAnotherClientIsAnotherConversation) {
  const auto a = open(named("a", "home")), b = open(named("a", "office"));
  EXPECT_NE(a, b);
  EXPECT_EQ(registry_.find("home", "conv:a"), a);
  EXPECT_EQ(registry_.find("", "conv:a"), nullptr);
}

TEST_F(Registry, AKeyThatReadsLikeAConversationsIsNone) {
  const auto key =
      registry_.open({.owner = "", .key = "conv:a", .id = ""}, 2, Lifetime::brief, now_).conversation;
  EXPECT_EQ(registry_.find("", "conv:a"), nullptr);
  const auto a = open(named("a"));
  EXPECT_NE(a, key);
  EXPECT_EQ(a->slot, 0) << "keys are no load";
  registry_.close(key);
  EXPECT_EQ(registry_.find("", "conv:a"), a);
}

TEST_F(Registry, WithoutANameASlotIsAllThereIs) {
  const auto a = registry_.open_nameless(-1, now_);
  EXPECT_EQ(a->slot, 0);
  EXPECT_EQ(registry_.at_slot(0), a);
  a->begin(nullptr);
  for (int slot = 1; slot < 4; ++slot) EXPECT_EQ(registry_.open_nameless(-1, now_)->slot, slot);
  now_ += std::chrono::seconds(1);
  EXPECT_NE(registry_.open_nameless(-1, now_)->slot, 0) << "somebody is at it";
  EXPECT_TRUE(registry_.all().empty());
}

TEST_F(Registry, OneRequestAtATimeInOrderAndNoMoreThanFourWait) {
  const auto conversation = open(named("a"));
  std::vector<int> order;
  const auto first = conversation->enter([] {});
  ASSERT_EQ(first.outcome, Outcome::now);
  std::vector<uint64_t> ids;
  for (int i = 0; i < 4; ++i) {
    const auto entry = conversation->enter([&order, i] { order.push_back(i); });
    EXPECT_EQ(entry.outcome, Outcome::waits);
    ids.push_back(entry.id);
  }
  EXPECT_EQ(conversation->enter([] {}).outcome, Outcome::refused);
  conversation->leave(ids[1]);  // the client has gone
  EXPECT_TRUE(order.empty());
  conversation->leave(first.id);
  EXPECT_EQ(order, std::vector<int>{0});
  conversation->leave(first.id);  // once more changes nothing
  EXPECT_EQ(order, std::vector<int>{0});
  conversation->leave(ids[0]);
  EXPECT_EQ(order, (std::vector<int>{0, 2}));
  conversation->leave(ids[2]);
  conversation->leave(ids[3]);
  EXPECT_EQ(order, (std::vector<int>{0, 2, 3}));
  EXPECT_EQ(conversation->enter([] {}).outcome, Outcome::now);
}

TEST_F(Registry, IdleOnesAreClosedWhenTheyAreOlderThanTheirTimeAndNotBefore) {
  for (const Lifetime lifetime : {Lifetime::brief, Lifetime::lasting, Lifetime::extended}) {
    const auto conversation = open(named(std::string(name_of(lifetime))), lifetime);
    const auto longest = std::min(horizon_of(lifetime), horizon_of(Lifetime::lasting));
    EXPECT_TRUE(registry_.close_idle(now_ + longest).empty());
    EXPECT_EQ(registry_.close_idle(now_ + longest + std::chrono::milliseconds(1)), std::vector{conversation});
    EXPECT_TRUE(registry_.all().empty());
  }
  const auto busy = open(named("busy"));
  busy->begin(nullptr);
  EXPECT_TRUE(registry_.close_idle(now_ + std::chrono::hours(48)).empty());
  busy->end(nullptr);
  EXPECT_EQ(registry_.close_idle(now_ + std::chrono::hours(48)).size(), 1u);
}

TEST_F(Registry, TheOldestMakesRoom) {
  ConversationRegistry registry(2, 3);
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_FALSE(registry.open(named(id), -1, Lifetime::lasting, now_).displaced);
    now_ += std::chrono::seconds(1);
  }
  EXPECT_FALSE(registry.open(named("a"), -1, Lifetime::lasting, now_).displaced);
  const auto opened = registry.open(named("d"), -1, Lifetime::lasting, now_);
  ASSERT_TRUE(opened.displaced);
  EXPECT_EQ(opened.displaced->name.id, "b");
  EXPECT_EQ(registry.all().size(), 3u);
  for (const auto& one : registry.all()) one->begin(nullptr);
  EXPECT_FALSE(registry.open(named("e"), -1, Lifetime::lasting, now_).displaced) << "all are at work";
  EXPECT_EQ(registry.all().size(), 4u);
  const auto e = registry.find("", "conv:e");
  const auto turn = e->enter({});
  EXPECT_FALSE(registry.open(named("f"), -1, Lifetime::lasting, now_).displaced) << "somebody is at it";
  e->leave(turn.id);
  EXPECT_EQ(registry.open(named("g"), -1, Lifetime::lasting, now_).displaced, e);
}

TEST_F(Registry, WhatIsInAFileIsKnownUntilThereIsMore) {
  const auto conversation = open(named("a"));
  EXPECT_FALSE(conversation->is_unsaved());
  const auto first = text({1, 2, 3});
  conversation->begin(first);
  EXPECT_TRUE(conversation->is_unsaved());
  conversation->saved(first);
  EXPECT_FALSE(conversation->is_unsaved());
  conversation->end(text({1, 2, 3, 4}));
  EXPECT_TRUE(conversation->is_unsaved());
  conversation->saved(conversation->text());
  conversation->set_lifetime(Lifetime::extended);
  EXPECT_TRUE(conversation->is_unsaved()) << "its file has another name now";
  EXPECT_EQ(conversation->erase(), 4);
  EXPECT_FALSE(conversation->is_unsaved());
}

TEST_F(Registry, APrefixIsTheTextOnlyWhereThereIsNone) {
  const auto fresh = open(named("fresh")), old = open(named("old"));
  fresh->set_prefix(text({1, 2}));
  EXPECT_EQ(fresh->text()->tokens, (std::vector<Token>{1, 2}));
  old->end(text({1, 2, 3}));
  old->set_prefix(text({1, 2}));
  EXPECT_EQ(old->text()->tokens.size(), 3u);
  EXPECT_EQ(old->prefix()->tokens.size(), 2u);
}

// Every request gets its turn, whoever leaves when.
TEST_F(Registry, ManyThreadsTakeTurns) {
  const auto conversation = open(named("a"));
  std::atomic<int> n_inside = 0, n_done = 0, n_refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        std::atomic<bool> is_turn = false;
        const auto entry = conversation->enter([&] { is_turn = true; });
        if (entry.outcome == Outcome::refused) {
          ++n_refused;
          continue;
        }
        while (entry.outcome == Outcome::waits && !is_turn) std::this_thread::yield();
        EXPECT_EQ(++n_inside, 1);
        --n_inside;
        ++n_done;
        conversation->leave(entry.id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(n_done + n_refused, 800);
  EXPECT_EQ(n_refused, 0) << "no more than three wait";
}

}  // namespace
}  // namespace parlance
