#include "realtime/strands.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "realtime/conversation_store.h"

namespace parlance {
namespace {

TEST(Strands, JobsOfOneRunInOrderAndOneAtATime) {
  constexpr int kStrands = 20, kJobs = 500;
  Strands strands(4);
  std::vector<std::shared_ptr<Strand>> all;
  std::vector<std::vector<int>> done(kStrands);
  std::atomic<int> n_done{0};
  for (int i = 0; i < kStrands; ++i) all.push_back(strands.make());
  for (int job = 0; job < kJobs; ++job) {
    for (int i = 0; i < kStrands; ++i) {
      all[static_cast<size_t>(i)]->post([&, i, job] {
        done[static_cast<size_t>(i)].push_back(job);  // unguarded: a strand is one thread at a time
        ++n_done;
      });
    }
  }
  while (n_done < kStrands * kJobs) std::this_thread::yield();
  for (const auto& jobs : done) {
    ASSERT_EQ(jobs.size(), static_cast<size_t>(kJobs));
    EXPECT_TRUE(std::is_sorted(jobs.begin(), jobs.end()));
  }
}

TEST(Strands, OneIsWokenAtTheLastTimeThatItNamed) {
  Strands strands(2);
  const auto strand = strands.make();
  const auto now = Strand::Clock::now();
  std::promise<int> woken;
  std::atomic<int> n_woken{0};
  const auto wake = [&](int which) {
    return [&, which] {
      if (++n_woken == 1) woken.set_value(which);
    };
  };
  strand->wake_at(now + std::chrono::hours(1), wake(1));
  strand->wake_at(now + std::chrono::milliseconds(1), wake(2));
  strand->wake_at(now + std::chrono::milliseconds(5), wake(3));
  EXPECT_EQ(woken.get_future().get(), 3);
  EXPECT_GE(Strand::Clock::now(), now + std::chrono::milliseconds(5));
  strand->wake_at(Strand::Clock::now() + std::chrono::milliseconds(1), wake(4));
  strand->wake_at({}, {});
  strands.stop();
  EXPECT_EQ(n_woken, 1);
  strand->post([&] { ++n_woken; });
  EXPECT_EQ(n_woken, 1) << "nothing runs behind the end";
}

// A job holds its strand's owner, as owners' jobs do: whatever waits at the end lets go of it.
TEST(Strands, NothingIsHeldAfterTheEnd) {
  struct Owner {
    std::shared_ptr<Strand> strand;
  };
  for (const bool is_running : {false, true}) {
    auto strands = std::make_unique<Strands>(1);
    auto owner = std::make_shared<Owner>(strands->make());
    const std::weak_ptr<Owner> is_held = owner;
    std::promise<void> begun, may_end;
    owner->strand->post([&] {
      begun.set_value();
      may_end.get_future().wait();
    });
    begun.get_future().wait();
    // Behind a job of its own strand that is running, or of another's.
    const auto waiting = is_running ? owner->strand : strands->make();
    const auto other = std::make_shared<Owner>(waiting);
    const std::weak_ptr<Owner> other_is_held = other;
    waiting->post([owner, other] {});
    owner.reset();
    std::thread end([&] { strands.reset(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    may_end.set_value();
    end.join();
    EXPECT_TRUE(is_held.expired()) << is_running;
    EXPECT_EQ(other_is_held.use_count(), 1) << is_running << ": this test's";
  }
}

TEST(ConversationStore, KeepsWhatWasSaidForAWhile) {
  ConversationStore store(std::chrono::minutes(60));
  const auto now = ConversationStore::Clock::now();
  Item item;
  item.id = "one";
  ItemPart part;
  part.is_sound = true;
  part.has_text = false;
  part.sound = std::make_shared<const std::string>("sound");
  item.parts = {part};
  Item open = item;
  open.id = "two";
  open.status = Item::Status::in_progress;
  store.keep("anna", "conv", {item, open}, now);
  EXPECT_TRUE(store.find("bert", "conv", now).empty());
  const auto kept = store.find("anna", "conv", now + std::chrono::minutes(59));
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_FALSE(kept[0].awaits_text());
  EXPECT_FALSE(kept[0].parts[0].sound);
  EXPECT_EQ(store.find("anna", "conv", now + std::chrono::minutes(110)).size(), 1u) << "it was used";
  EXPECT_TRUE(store.find("anna", "conv", now + std::chrono::minutes(171)).empty());
  for (size_t i = 0; i < ConversationStore::kMost + 5; ++i) {
    store.keep("", std::to_string(i), {item}, now + std::chrono::milliseconds(i));
  }
  EXPECT_TRUE(store.find("", "4", now).empty());
  EXPECT_FALSE(store.find("", "5", now).empty());
}

}  // namespace
}  // namespace parlance
