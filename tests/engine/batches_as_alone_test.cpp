// Prompts of a context that batches them as alone: their numbers are those of nobody being there, on devices
// whose arithmetic depends on how many rows are computed together.
#include <algorithm>
#include <thread>

#include "engine/request.h"
#include "support/random_tokens.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"
#include "support/tiny_model.h"

namespace parlance {
namespace {

std::vector<float> logits_of(Session& session, const std::vector<Token>& prompt) {
  const auto logits = session.set_prompt(prompt);
  EXPECT_TRUE(logits) << logits.error().message;
  return logits ? std::vector<float>(logits->begin(), logits->end()) : std::vector<float>();
}

// Of any length, beside an answer and other prompts, with and without pauses between their layers.
TEST(BatchesAsAlone, WhoeverElseIsThere) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "tiny.gguf";
  test::write_tiny_model(path, {.n_layer = 4, .matrices = DType::f16});
  const auto loaded = test::load_text_model(path, CpuOptions{.n_threads = 2});
  ASSERT_TRUE(loaded.model);
  constexpr size_t kSpeakers = 3;
  const std::vector<int64_t> lengths = {40, 1, 17, 33, 64, 65, 100, 16, 63, 128, 200};
  // None begins like another: nothing of it is known.
  const auto prompt = [&](size_t speaker, size_t i) {
    const auto which = static_cast<unsigned>(speaker * lengths.size() + i + 1);
    auto tokens = test::random_tokens(lengths[(i + speaker) % lengths.size()], which);
    tokens.front() = static_cast<Token>(which);
    return tokens;
  };
  for (const bool can_pause : {true, false}) {
    SessionOptions options{.n_ctx = 4096, .n_batch = 64, .n_seq = kSpeakers + 1, .n_outputs = 4};
    options.batches_as_alone = true;
    if (!can_pause)
      options.draft_model = std::shared_ptr<const TextModel>(std::shared_ptr<void>(), loaded.model.get());
    const auto context = *Context::create(*loaded.model, options);
    ASSERT_EQ(context->can_pause(), can_pause);
    GenerateOptions saying;
    saying.max_tokens = 4000;
    saying.ignore_eos = true;
    const auto answer = *Request::start(context, {100, 101, 102}, saying);
    std::vector<std::vector<std::vector<float>>> got(kSpeakers);
    {
      std::vector<std::jthread> speakers;
      for (size_t speaker = 0; speaker < kSpeakers; ++speaker) {
        speakers.emplace_back([&, speaker] {
          const auto session = *Session::create(context);
          for (size_t i = 0; i < lengths.size(); ++i)
            got[speaker].push_back(logits_of(*session, prompt(speaker, i)));
        });
      }
    }
    EXPECT_FALSE(answer->has_ended()) << "nobody was beside them";
    for (size_t speaker = 0; speaker < kSpeakers; ++speaker) {
      for (size_t i = 0; i < lengths.size(); ++i) {
        const auto alone = *Session::create(*Context::create(*loaded.model, options));
        EXPECT_TRUE(logits_of(*alone, prompt(speaker, i)) == got[speaker][i])
            << prompt(speaker, i).size() << " tokens, " << (can_pause ? "with" : "without") << " pauses";
      }
    }
  }
}

}  // namespace
}  // namespace parlance
