// Contexts: batches of several sequences, outputs, codes, what sequences hold, states, embeddings.
#include <atomic>
#include <fstream>
#include <random>
#include <thread>

#include "assistant/embedding.h"
#include "assistant/text_region.h"
#include "capi/llama/support.h"
#include "engine/generate.h"
#include "engine/session.h"

namespace parlance::test {
namespace {

// The library's inside, without this interface.
const TextRegion& demo_region() {
  static const auto region = [] {
    Choice choice;
    choice.files.text = demo_text_file();
    choice.n_ctx = 512;
    static DeviceShelf devices(2);
    return *TextRegion::load(choice, devices, {});
  }();
  return *region;
}

TEST(LlamaContext, SaysWhatTheCommandSays) {
  for (const std::string question : {"What is the capital of France?", "Tell me a joke", "Who are you?"}) {
    const auto ctx = demo_llama_context();
    const std::string prompt = prompt_of(question);
    const auto session = *Session::create(demo_region().context());
    GenerateOptions options;
    options.max_tokens = 40;
    options.sampling.temperature = 0;
    std::string expected;
    const auto request = *Request::start(*session, llama_tokens_of(prompt), options);
    while (const auto piece = request->next()) expected += piece->text;
    EXPECT_EQ(llama_greedy_answer(ctx.get(), prompt), expected);
    EXPECT_GT(expected.size(), 5u);
  }
}

TEST(LlamaContext, HasSizesAsThere) {
  struct Case {
    uint32_t n_ctx, n_batch, n_seq;
    bool is_unified;
    uint32_t ctx, ctx_seq, batch;
  };
  for (const Case& c : {Case{0, 2048, 1, false, 4096, 4096, 2048}, Case{5, 10, 1, false, 256, 256, 5},
                        Case{300, 100, 1, false, 512, 512, 100}, Case{300, 2048, 4, false, 1024, 256, 300},
                        Case{300, 2048, 4, true, 512, 512, 300}, Case{1000, 512, 3, false, 1536, 512, 512}}) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = c.n_ctx;
    params.n_batch = c.n_batch;
    params.n_seq_max = c.n_seq;
    params.kv_unified = c.is_unified;
    const auto ctx = demo_llama_context(params);
    EXPECT_EQ(llama_n_ctx(ctx.get()), c.ctx);
    EXPECT_EQ(llama_n_ctx_seq(ctx.get()), c.ctx_seq);
    EXPECT_EQ(llama_n_batch(ctx.get()), c.batch);
    EXPECT_EQ(llama_n_ubatch(ctx.get()), std::min(c.batch, 512u));
    EXPECT_EQ(llama_n_seq_max(ctx.get()), c.n_seq);
    EXPECT_EQ(llama_get_model(ctx.get()), demo_llama());
    EXPECT_EQ(llama_pooling_type(ctx.get()), LLAMA_POOLING_TYPE_NONE);
  }
}

TEST(LlamaContext, RefusesWhatItCannotDo) {
  const auto refuses = [](const char* word, auto change) {
    llama_context_params params = llama_context_default_params();
    change(params);
    const LlamaLog log;
    const OwnedLlamaContext ctx(llama_init_from_model(demo_llama(), params));
    EXPECT_FALSE(ctx) << word;
    EXPECT_TRUE(log.says(word)) << log.text;
  };
  refuses("ctx_type", [](auto& p) { p.ctx_type = LLAMA_CONTEXT_TYPE_MTP; });
  refuses("rope_", [](auto& p) { p.rope_freq_base = 1e6f; });
  refuses("rope_", [](auto& p) { p.yarn_orig_ctx = 4096; });
  refuses("attention_type", [](auto& p) { p.attention_type = LLAMA_ATTENTION_TYPE_NON_CAUSAL; });
  refuses("pooling_type", [](auto& p) { p.pooling_type = LLAMA_POOLING_TYPE_RANK; });
  refuses("pooling_type", [](auto& p) { p.pooling_type = static_cast<enum llama_pooling_type>(17); });
  refuses("cb_eval", [](auto& p) { p.cb_eval = [](ggml_tensor*, bool, void*) { return true; }; });
  refuses("moe_cache_size", [](auto& p) { p.moe_cache_size = 1; });
  refuses("ctx_other", [](auto& p) { p.ctx_other = reinterpret_cast<llama_context*>(1); });
  refuses("n_seq_max", [](auto& p) { p.n_seq_max = 1000; });
  refuses("type_k", [](auto& p) { p.type_k = static_cast<ggml_type>(14); });
  refuses("type_v", [](auto& p) { p.type_v = static_cast<ggml_type>(9999); });
  refuses("n_ctx", [](auto& p) { p.n_ctx = UINT32_MAX; });
  llama_sampler_seq_config sampler = {0, nullptr};
  refuses("samplers", [&](auto& p) {
    p.samplers = &sampler;
    p.n_samplers = 1;
  });
}

TEST(LlamaContext, KeepsCachesInTheFormatsItHas) {
  const std::string prompt = prompt_of(kQuestion);
  const std::string expected = llama_greedy_answer(demo_llama_context().get(), prompt);
  for (const int type : {0, 1, 8, 30}) {  // f32, f16, q8_0, bf16
    llama_context_params params = llama_context_default_params();
    params.type_k = params.type_v = static_cast<ggml_type>(type);
    EXPECT_EQ(llama_greedy_answer(demo_llama_context(params).get(), prompt), expected) << type;
  }
}

TEST(LlamaBatch, OutputsAreThoseThatWereWanted) {
  const auto tokens = llama_tokens_of("The capital of France is Paris.");
  const auto ctx = demo_llama_context();
  OwnBatch all;
  for (size_t i = 0; i < tokens.size(); ++i) all.add(tokens[i], static_cast<llama_pos>(i), {0}, true);
  ASSERT_EQ(llama_decode(ctx.get(), all), 0);
  std::vector<std::vector<float>> rows;
  for (size_t i = 0; i < tokens.size(); ++i) rows.push_back(logits_at(ctx.get(), static_cast<int32_t>(i)));
  EXPECT_EQ(llama_get_logits(ctx.get()), llama_get_logits_ith(ctx.get(), 0));
  EXPECT_EQ(logits_at(ctx.get(), -1), rows.back());

  const auto other = demo_llama_context();
  OwnBatch some = all;
  for (size_t i = 0; i < tokens.size(); ++i) some.wanted[i] = i == 1 || i == 4;
  ASSERT_EQ(llama_decode(other.get(), some), 0);
  EXPECT_LT(largest_difference(logits_at(other.get(), 1), rows[1]), kSameLogits);
  EXPECT_LT(largest_difference(logits_at(other.get(), 4), rows[4]), kSameLogits);
  EXPECT_EQ(llama_get_logits_ith(other.get(), 4), llama_get_logits_ith(other.get(), -1));
  EXPECT_EQ(llama_get_logits_ith(other.get(), 1), llama_get_logits(other.get()));
  const LlamaLog log;
  for (const int none : {0, 2, -3, 100, INT32_MIN, INT32_MAX})
    EXPECT_EQ(llama_get_logits_ith(other.get(), none), nullptr);
  EXPECT_TRUE(log.says("no output")) << log.text;
  EXPECT_EQ(llama_get_embeddings(other.get()), nullptr);

  // More rows than a step makes room for.
  llama_context_params params = llama_context_default_params();
  const auto wide = demo_llama_context(params);
  OwnBatch many;
  for (int i = 0; i < 200; ++i) many.add(tokens[static_cast<size_t>(i) % tokens.size()], i, {0}, i % 2 == 0);
  ASSERT_EQ(llama_decode(wide.get(), many), 0);
  EXPECT_LT(largest_difference(logits_at(wide.get(), 2), rows[2]), kSameLogits);
  EXPECT_EQ(llama_get_logits_ith(wide.get(), 198), llama_get_logits_ith(wide.get(), -1));
}

TEST(LlamaBatch, SequencesDoNotDisturbEachOther) {
  const auto a = llama_tokens_of(prompt_of("Tell me a joke")), b = llama_tokens_of("The weather is");
  llama_context_params params = llama_context_default_params();
  params.n_seq_max = 3;
  params.n_ctx = 1024;
  std::vector<std::vector<float>> alone;
  for (const auto& text : {a, b}) {
    const auto ctx = demo_llama_context();
    OwnBatch batch;
    batch.add(text, 0);
    ASSERT_EQ(llama_decode(ctx.get(), batch), 0);
    alone.push_back(logits_at(ctx.get(), -1));
  }
  // Interleaved, token by token, at places of their own.
  const auto ctx = demo_llama_context(params);
  OwnBatch mixed;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i < a.size()) mixed.add(a[i], static_cast<llama_pos>(i), {2}, i + 1 == a.size());
    if (i < b.size()) mixed.add(b[i], static_cast<llama_pos>(i + 7), {0}, i + 1 == b.size());
  }
  ASSERT_EQ(llama_decode(ctx.get(), mixed), 0);
  int32_t last_a = -1, last_b = -1;
  for (int32_t i = 0; i < static_cast<int32_t>(mixed.ids.size()); ++i)
    (mixed.ids[static_cast<size_t>(i)][0] == 2 ? last_a : last_b) = i;
  EXPECT_LT(largest_difference(logits_at(ctx.get(), last_a), alone[0]), kSameLogits);
  EXPECT_LT(largest_difference(logits_at(ctx.get(), last_b), alone[1]), kSameLogits);
  const llama_memory_t memory = llama_get_memory(ctx.get());
  EXPECT_EQ(llama_memory_seq_pos_min(memory, 0), 7);
  EXPECT_EQ(llama_memory_seq_pos_max(memory, 0), 6 + static_cast<int>(b.size()));
  EXPECT_EQ(llama_memory_seq_pos_min(memory, 1), -1);
  EXPECT_EQ(llama_memory_seq_pos_max(memory, 2), static_cast<int>(a.size()) - 1);
}

TEST(LlamaBatch, OneTokenOfManySequencesIsOneOutput) {
  const auto shared = llama_tokens_of(prompt_of("Tell me"));
  llama_context_params params = llama_context_default_params();
  params.n_seq_max = 4;
  const auto ctx = demo_llama_context(params);
  OwnBatch batch;
  for (size_t i = 0; i < shared.size(); ++i)
    batch.add(shared[i], static_cast<llama_pos>(i), {1, 3, 0}, i + 1 == shared.size());
  ASSERT_EQ(llama_decode(ctx.get(), batch), 0);
  const auto together = logits_at(ctx.get(), -1);
  const auto next = static_cast<llama_pos>(shared.size());
  for (const llama_seq_id seq : {1, 3, 0})
    EXPECT_EQ(llama_memory_seq_pos_max(llama_get_memory(ctx.get()), seq), next - 1);
  EXPECT_EQ(llama_memory_seq_pos_max(llama_get_memory(ctx.get()), 2), -1);
  // They go on apart.
  OwnBatch apart;
  for (const llama_seq_id seq : {0, 1, 3}) apart.add(likeliest(together) + seq, next, {seq}, true);
  ASSERT_EQ(llama_decode(ctx.get(), apart), 0);
  for (const llama_seq_id seq : {0, 1, 3}) {
    const auto alone = demo_llama_context();
    auto text = shared;
    text.push_back(likeliest(together) + seq);
    OwnBatch one;
    one.add(text, 0);
    ASSERT_EQ(llama_decode(alone.get(), one), 0);
    EXPECT_LT(largest_difference(logits_at(ctx.get(), seq == 3 ? 2 : seq), logits_at(alone.get(), -1)),
              kSameLogits)
        << seq;
  }
}

TEST(LlamaBatch, CodesSayWhatWentWrong) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 256;
  params.n_batch = 200;
  params.n_seq_max = 1;
  const auto ctx = demo_llama_context(params);
  const llama_memory_t memory = llama_get_memory(ctx.get());
  const auto tokens = llama_tokens_of("one two three");
  const auto is_refused = [&](const char* word, auto change) {
    OwnBatch own;
    own.add(tokens, 0, llama_memory_seq_pos_max(memory, 0) + 1);
    llama_batch batch = own;
    change(batch);
    const LlamaLog log;
    EXPECT_EQ(llama_decode(ctx.get(), batch), -1) << word;
    EXPECT_TRUE(log.says(word)) << log.text;
  };
  is_refused("give it one at least", [](llama_batch& b) { b.n_tokens = 0; });
  is_refused("give it one at least", [](llama_batch& b) { b.n_tokens = -5; });
  is_refused("n_batch", [](llama_batch& b) { b.n_tokens = 201; });
  is_refused("vocabulary", [](llama_batch& b) { b.token[1] = 4096; });
  is_refused("vocabulary", [](llama_batch& b) { b.token[0] = -1; });
  is_refused("n_seq_max", [](llama_batch& b) { b.seq_id[0][0] = 1; });
  is_refused("n_seq_max", [](llama_batch& b) { b.seq_id[0][0] = -1; });
  is_refused("no sequence", [](llama_batch& b) { b.n_seq_id[1] = 0; });
  is_refused("no sequence", [](llama_batch& b) { b.seq_id[1] = nullptr; });
  is_refused("position", [](llama_batch& b) { b.pos[1] = 5; });
  is_refused("position", [](llama_batch& b) { b.pos[0] = -2; });
  is_refused("either tokens or rows", [](llama_batch& b) { b.token = nullptr; });
  EXPECT_EQ(llama_memory_seq_pos_max(memory, 0), -1);
  {
    const LlamaLog log;
    EXPECT_EQ(llama_encode(ctx.get(), {}), -1);
    EXPECT_TRUE(log.says("llama_decode")) << log.text;
  }
  // No room: what was there stays.
  std::vector<llama_token> many(200, tokens[0]);
  ASSERT_EQ(llama_decode(ctx.get(), llama_batch_get_one(many.data(), 200)), 0);
  is_refused("position", [](llama_batch& b) { b.pos[0] = 199; });
  const LlamaLog log;
  EXPECT_EQ(llama_decode(ctx.get(), llama_batch_get_one(many.data(), 57)), 1);
  EXPECT_TRUE(log.says("n_ctx")) << log.text;
  EXPECT_EQ(llama_memory_seq_pos_max(memory, 0), 199);
  EXPECT_EQ(llama_decode(ctx.get(), llama_batch_get_one(many.data(), 56)), 0);
  EXPECT_EQ(llama_decode(ctx.get(), llama_batch_get_one(many.data(), 1)), 1);
}

TEST(LlamaBatch, SharedRoomIsCountedOverAllSequences) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 256;
  params.n_seq_max = 4;
  params.kv_unified = true;
  const auto ctx = demo_llama_context(params);
  std::vector<llama_token> text(100, 5);
  OwnBatch two;
  two.add(text, 0);
  two.add(text, 1);
  EXPECT_EQ(llama_decode(ctx.get(), two), 0);
  OwnBatch third;
  third.add(text, 2);
  EXPECT_EQ(llama_decode(ctx.get(), third), 1);
  EXPECT_EQ(llama_memory_seq_pos_max(llama_get_memory(ctx.get()), 2), -1);
  EXPECT_TRUE(llama_memory_seq_rm(llama_get_memory(ctx.get()), 0, -1, -1));
  EXPECT_EQ(llama_decode(ctx.get(), third), 0);
}

TEST(LlamaBatch, AbortEndsIt) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = 4096;
  params.n_ubatch = 64;
  const auto ctx = demo_llama_context(params);
  std::vector<llama_token> text(2000, 5);
  static std::atomic<int> n_asked;
  n_asked = 0;
  llama_set_abort_callback(
      ctx.get(), [](void*) { return ++n_asked > 1; }, nullptr);
  EXPECT_EQ(llama_decode(ctx.get(), llama_batch_get_one(text.data(), 2000)), 2);
  const llama_pos end = llama_memory_seq_pos_max(llama_get_memory(ctx.get()), 0) + 1;
  EXPECT_LT(end, 2000);
  EXPECT_GT(n_asked, 1);
  // What was computed stays, and can be gone on from.
  llama_set_abort_callback(ctx.get(), nullptr, nullptr);
  EXPECT_EQ(llama_decode(ctx.get(), llama_batch_get_one(text.data(), 3)), 0);
  EXPECT_EQ(llama_memory_seq_pos_max(llama_get_memory(ctx.get()), 0), end + 2);
  llama_set_abort_callback(
      ctx.get(), [](void*) { return true; }, nullptr);
  EXPECT_EQ(llama_decode(ctx.get(), llama_batch_get_one(text.data(), 3)), 2);
  EXPECT_EQ(llama_memory_seq_pos_max(llama_get_memory(ctx.get()), 0), end + 2);
}

TEST(LlamaBatch, RowsInPlaceOfTokens) {
  const auto ctx = demo_llama_context();
  std::vector<float> rows(3 * 512);
  std::mt19937 random(1);
  for (float& value : rows) value = std::normal_distribution<float>(0, 0.02f)(random);
  llama_batch batch = llama_batch_init(3, 512, 1);
  batch.n_tokens = 3;
  std::copy(rows.begin(), rows.end(), batch.embd);
  for (int i = 0; i < 3; ++i) {
    batch.pos[i] = i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = i == 2;
  }
  EXPECT_EQ(llama_decode(ctx.get(), batch), 0);
  const auto first = logits_at(ctx.get(), -1);
  llama_memory_clear(llama_get_memory(ctx.get()), true);
  batch.embd[0] += 1;
  EXPECT_EQ(llama_decode(ctx.get(), batch), 0);
  EXPECT_GT(largest_difference(logits_at(ctx.get(), -1), first), 0.1f);
  EXPECT_TRUE(llama_memory_seq_rm(llama_get_memory(ctx.get()), 0, 2, -1));
  const LlamaLog log;
  EXPECT_FALSE(
      llama_memory_seq_rm(llama_get_memory(ctx.get()), 0, 0, 1));  // the second row is not kept elsewhere
  EXPECT_TRUE(log.says("rows")) << log.text;
  llama_batch_free(batch);
  llama_batch_free({});
}

class LlamaMemory : public testing::Test {
 protected:
  LlamaMemory() {
    llama_context_params params = llama_context_default_params();
    params.n_seq_max = 4;
    params.n_ctx = 2048;
    ctx_ = demo_llama_context(params);
    memory_ = llama_get_memory(ctx_.get());
  }

  std::vector<float> decoded(const std::vector<llama_token>& text, llama_seq_id seq) {
    OwnBatch batch;
    batch.add(text, seq, llama_memory_seq_pos_max(memory_, seq) + 1);
    EXPECT_EQ(llama_decode(ctx_.get(), batch), 0);
    return logits_at(ctx_.get(), -1);
  }
  static std::vector<float> fresh(const std::vector<llama_token>& text) {
    const auto ctx = demo_llama_context();
    OwnBatch batch;
    batch.add(text, 0);
    EXPECT_EQ(llama_decode(ctx.get(), batch), 0);
    return logits_at(ctx.get(), -1);
  }
  static std::vector<llama_token> joined(std::vector<llama_token> a, const std::vector<llama_token>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  llama_pos last(llama_seq_id seq) const { return llama_memory_seq_pos_max(memory_, seq); }
  llama_pos first(llama_seq_id seq) const { return llama_memory_seq_pos_min(memory_, seq); }

  const std::vector<llama_token> a_ = llama_tokens_of("The quick brown fox jumps over the lazy dog"),
                                 b_ = llama_tokens_of(" and runs away"), c_ = llama_tokens_of(" from here.");
  const llama_pos n_a_ = static_cast<llama_pos>(a_.size()), n_b_ = static_cast<llama_pos>(b_.size()),
                  n_c_ = static_cast<llama_pos>(c_.size());
  OwnedLlamaContext ctx_;
  llama_memory_t memory_ = nullptr;
};

TEST_F(LlamaMemory, ATailCanBeTakenBack) {
  decoded(a_, 1);
  decoded(b_, 1);
  EXPECT_TRUE(llama_memory_seq_rm(memory_, 1, n_a_, -1));
  EXPECT_EQ(last(1), n_a_ - 1);
  EXPECT_LT(largest_difference(decoded(c_, 1), fresh(joined(a_, c_))), kSameLogits);
  EXPECT_TRUE(llama_memory_seq_rm(memory_, -1, -1, -1));
  EXPECT_EQ(last(1), -1);
  EXPECT_TRUE(llama_memory_seq_rm(memory_, 2, 5, 9));  // there is nothing
}

TEST_F(LlamaMemory, AGapIsClosedByMovingWhatIsBehind) {
  EXPECT_TRUE(llama_memory_can_shift(memory_));
  decoded(joined(a_, b_), 0);
  EXPECT_TRUE(llama_memory_seq_rm(memory_, 0, n_a_ - 3, n_a_));
  EXPECT_EQ(last(0), n_a_ + n_b_ - 1);
  {
    const LlamaLog log;
    OwnBatch batch;
    batch.add(c_, 0, n_a_ + n_b_);
    EXPECT_EQ(llama_decode(ctx_.get(), batch), -1);
    EXPECT_TRUE(log.says("llama_memory_seq_add")) << log.text;
    EXPECT_EQ(llama_state_seq_get_size(ctx_.get(), 0), 0u);
  }
  llama_memory_seq_add(memory_, 0, n_a_, -1, -3);
  EXPECT_EQ(last(0), n_a_ + n_b_ - 4);
  const std::vector<llama_token> rest(a_.begin(), a_.end() - 3);
  EXPECT_LT(largest_difference(decoded(c_, 0), fresh(joined(joined(rest, b_), c_))), kSameLogits);
}

TEST_F(LlamaMemory, TheBeginningCanGo) {
  decoded(joined(a_, b_), 0);
  EXPECT_TRUE(llama_memory_seq_rm(memory_, 0, 0, n_a_));
  EXPECT_EQ(first(0), n_a_);
  EXPECT_LT(largest_difference(decoded(c_, 0), fresh(joined(b_, c_))), kSameLogits);
  llama_memory_seq_add(memory_, 0, -1, -1, -n_a_);  // all of it, elsewhere
  EXPECT_EQ(first(0), 0);
  EXPECT_EQ(last(0), n_b_ + n_c_ - 1);
  EXPECT_LT(largest_difference(decoded(a_, 0), fresh(joined(joined(b_, c_), a_))), kSameLogits);
  const LlamaLog log;
  llama_memory_seq_add(memory_, 0, -1, -1, -1);  // below 0
  llama_memory_seq_add(memory_, 0, 3, -1, -1);   // two tokens at one place
  llama_memory_seq_add(memory_, 0, 3, -1, INT32_MAX);
  EXPECT_TRUE(log.says("two tokens would stand")) << log.text;
  EXPECT_EQ(first(0), 0);
  EXPECT_EQ(last(0), n_a_ + n_b_ + n_c_ - 1);
}

TEST_F(LlamaMemory, CopiesGoOnByThemselves) {
  decoded(a_, 0);
  llama_memory_seq_cp(memory_, 0, 2, -1, -1);
  EXPECT_EQ(last(2), n_a_ - 1);
  const auto with_b = decoded(b_, 0), with_c = decoded(c_, 2);
  EXPECT_LT(largest_difference(with_b, fresh(joined(a_, b_))), kSameLogits);
  EXPECT_LT(largest_difference(with_c, fresh(joined(a_, c_))), kSameLogits);
  llama_memory_seq_cp(memory_, 0, 3, -1, 4);  // a beginning
  EXPECT_EQ(last(3), 3);
  llama_memory_seq_cp(memory_, 2, 3, 4, -1);  // behind what it holds
  EXPECT_EQ(last(3), n_a_ + n_c_ - 1);
  EXPECT_LT(largest_difference(decoded(b_, 3), fresh(joined(joined(a_, c_), b_))), kSameLogits);
  llama_memory_seq_keep(memory_, 2);
  EXPECT_EQ(last(0), -1);
  EXPECT_EQ(last(3), -1);
  EXPECT_EQ(last(2), n_a_ + n_c_ - 1);
  llama_memory_clear(memory_, false);
  EXPECT_EQ(last(2), -1);
  const LlamaLog log;
  llama_memory_seq_cp(memory_, 0, 9, -1, -1);
  llama_memory_seq_keep(memory_, -4);
  EXPECT_TRUE(log.says("there is no sequence 9")) << log.text;
}

TEST_F(LlamaMemory, StatesAreBytes) {
  decoded(a_, 1);
  std::vector<uint8_t> state(llama_state_seq_get_size(ctx_.get(), 1));
  ASSERT_GT(state.size(), 1000u);
  EXPECT_EQ(llama_state_seq_get_data(ctx_.get(), state.data(), state.size() - 1, 1), 0u);
  EXPECT_EQ(llama_state_seq_get_data(ctx_.get(), state.data(), state.size(), 1), state.size());
  const auto expected = decoded(b_, 1);

  const auto other = demo_llama_context();
  ASSERT_EQ(llama_state_seq_set_data(other.get(), state.data(), state.size(), 0), state.size());
  EXPECT_EQ(llama_memory_seq_pos_max(llama_get_memory(other.get()), 0), n_a_ - 1);
  OwnBatch batch;
  batch.add(b_, 0, n_a_);
  ASSERT_EQ(llama_decode(other.get(), batch), 0);
  EXPECT_LT(largest_difference(logits_at(other.get(), -1), expected), kSameLogits);

  // Wherever it is cut, and whatever bit of its head is changed, it is refused, and the sequence stays.
  const LlamaLog log;
  for (size_t n = 0; n < state.size(); n += n < 300 ? 1 : 997)
    EXPECT_EQ(llama_state_seq_set_data(other.get(), state.data(), n, 0), 0u) << n;
  for (size_t i = 0; i < 200; ++i) {
    if (i >= 8 && i < 12) continue;  // where it begins, which may be anywhere
    auto changed = state;
    changed[i] ^= 0x10;
    EXPECT_EQ(llama_state_seq_set_data(other.get(), changed.data(), changed.size(), 0), 0u) << i;
  }
  EXPECT_EQ(llama_memory_seq_pos_max(llama_get_memory(other.get()), 0), n_a_ + n_b_ - 1);
  auto textless = state;
  textless[12] = 0;
  EXPECT_EQ(llama_state_seq_set_data(other.get(), textless.data(), textless.size(), 0), 0u);
  EXPECT_EQ(llama_memory_seq_pos_max(llama_get_memory(other.get()), 0), n_a_ + n_b_ - 1);
  // Of other formats it is of no use.
  llama_context_params params = llama_context_default_params();
  params.type_k = params.type_v = GGML_TYPE_F32;
  EXPECT_EQ(llama_state_seq_set_data(demo_llama_context(params).get(), state.data(), state.size(), 0), 0u);
  // That of nothing empties.
  std::vector<uint8_t> nothing(llama_state_seq_get_size(ctx_.get(), 3));
  EXPECT_EQ(llama_state_seq_get_data(ctx_.get(), nothing.data(), nothing.size(), 3), nothing.size());
  EXPECT_EQ(llama_state_seq_set_data(other.get(), nothing.data(), nothing.size(), 0), nothing.size());
  EXPECT_EQ(llama_memory_seq_pos_max(llama_get_memory(other.get()), 0), -1);
}

TEST_F(LlamaMemory, StatesAreFiles) {
  const TemporaryFolder folder;
  const std::string path = (folder / "state").string();
  decoded(a_, 0);
  const size_t size = llama_state_seq_save_file(ctx_.get(), path.c_str(), 0, a_.data(), a_.size());
  ASSERT_GT(size, 0u);
  EXPECT_EQ(std::filesystem::file_size(path), size);
  std::vector<llama_token> tokens(a_.size());
  size_t n = 0;
  EXPECT_EQ(llama_state_seq_load_file(ctx_.get(), path.c_str(), 2, tokens.data(), a_.size() - 1, &n), 0u);
  EXPECT_EQ(llama_state_seq_load_file(ctx_.get(), path.c_str(), 2, nullptr, 0, &n), size);  // counts alone
  EXPECT_EQ(n, a_.size());
  EXPECT_EQ(last(2), -1);
  EXPECT_EQ(llama_state_seq_load_file(ctx_.get(), path.c_str(), 2, tokens.data(), tokens.size(), &n), size);
  EXPECT_EQ(tokens, a_);
  EXPECT_LT(largest_difference(decoded(b_, 2), decoded(b_, 0)), kSameLogits);
  const LlamaLog log;
  EXPECT_EQ(llama_state_seq_load_file(ctx_.get(), (path + "2").c_str(), 2, tokens.data(), tokens.size(), &n),
            0u);
  EXPECT_EQ(llama_state_seq_save_file(ctx_.get(), (path + "/x").c_str(), 0, a_.data(), a_.size()), 0u);
  std::filesystem::resize_file(path, 30);
  EXPECT_EQ(llama_state_seq_load_file(ctx_.get(), path.c_str(), 2, tokens.data(), tokens.size(), &n), 0u);
  EXPECT_EQ(last(2), n_a_ + n_b_ - 1);
}

std::vector<float> row(const float* values) {
  EXPECT_NE(values, nullptr);
  return values ? std::vector<float>(values, values + 512) : std::vector<float>();
}

TEST(LlamaEmbeddings, ArePooledAsWanted) {
  const std::string texts[] = {"hello world", "The weather is fine today, isn't it?"};
  std::vector<std::vector<std::vector<float>>> rows(2);  // of each text
  for (size_t t = 0; t < 2; ++t) {
    llama_context_params params = llama_context_default_params();
    params.embeddings = true;
    const auto ctx = demo_llama_context(params);
    auto tokens = llama_tokens_of(texts[t]);
    const auto n = static_cast<int32_t>(tokens.size());
    ASSERT_EQ(llama_decode(ctx.get(), llama_batch_get_one(tokens.data(), n)), 0);
    for (int32_t i = 0; i < n; ++i)
      rows[t].push_back(row(llama_get_embeddings_ith(ctx.get(), i)));  // all, unless told
    EXPECT_EQ(llama_get_embeddings(ctx.get()), llama_get_embeddings_ith(ctx.get(), 0));
    EXPECT_EQ(llama_get_embeddings_seq(ctx.get(), 0), nullptr);
    // Logits are there, too.
    const auto plain = demo_llama_context();
    ASSERT_EQ(llama_decode(plain.get(), llama_batch_get_one(tokens.data(), n)), 0);
    EXPECT_LT(largest_difference(logits_at(ctx.get(), -1), logits_at(plain.get(), -1)), kSameLogits);
    EXPECT_EQ(row(llama_get_embeddings_ith(ctx.get(), -1)), rows[t].back());
    EXPECT_EQ(llama_memory_seq_pos_max(llama_get_memory(ctx.get()), 0), n - 1);
    llama_set_embeddings(ctx.get(), false);
    llama_memory_clear(llama_get_memory(ctx.get()), true);
    ASSERT_EQ(llama_decode(ctx.get(), llama_batch_get_one(tokens.data(), n)), 0);
    EXPECT_EQ(llama_get_embeddings_ith(ctx.get(), -1), nullptr);
    EXPECT_EQ(logits_at(ctx.get(), -1).size(), 4096u);
  }
  for (const enum llama_pooling_type pooling :
       {LLAMA_POOLING_TYPE_MEAN, LLAMA_POOLING_TYPE_CLS, LLAMA_POOLING_TYPE_LAST}) {
    llama_context_params params = llama_context_default_params();
    params.embeddings = true;
    params.pooling_type = pooling;
    params.n_seq_max = 2;
    params.n_ubatch = 4;  // texts are longer than a step
    const auto ctx = demo_llama_context(params);
    EXPECT_EQ(llama_pooling_type(ctx.get()), pooling);
    OwnBatch both;
    for (llama_seq_id t = 0; t < 2; ++t) both.add(llama_tokens_of(texts[t]), t);
    ASSERT_EQ(llama_decode(ctx.get(), both), 0);
    for (size_t t = 0; t < 2; ++t) {
      std::vector<float> expected = pooling == LLAMA_POOLING_TYPE_CLS ? rows[t].front() : rows[t].back();
      if (pooling == LLAMA_POOLING_TYPE_MEAN) {
        std::ranges::fill(expected, 0);
        for (const auto& one : rows[t]) {
          for (size_t i = 0; i < one.size(); ++i) expected[i] += one[i] / static_cast<float>(rows[t].size());
        }
      }
      EXPECT_LT(largest_difference(row(llama_get_embeddings_seq(ctx.get(), static_cast<llama_seq_id>(t))),
                                   expected),
                0.02f);
    }
    EXPECT_EQ(llama_get_embeddings_seq(ctx.get(), 7), nullptr);
    EXPECT_EQ(llama_get_embeddings(ctx.get()), nullptr);
    const LlamaLog log;
    EXPECT_EQ(llama_get_logits(ctx.get()), nullptr);
    EXPECT_TRUE(log.says("pooled")) << log.text;
  }
  // The same that the other door of the library gives.
  const auto inside = embed_text(demo_region(), texts[1], Pooling::last, {});
  ASSERT_TRUE(inside);
  EXPECT_LT(largest_difference(*inside, rows[1].back()), 0.02f);
}

TEST(LlamaContext, SeveralInSeveralThreads) {
  const std::string prompt = prompt_of("What can you do?");
  const std::string expected = llama_greedy_answer(demo_llama_context().get(), prompt);
  std::vector<std::string> answers(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < answers.size(); ++i) {
    threads.emplace_back([&, i] {
      llama_context_params params = llama_context_default_params();
      params.n_threads = params.n_threads_batch = 1 + static_cast<int>(i % 2);
      answers[i] = llama_greedy_answer(demo_llama_context(params).get(), prompt);
    });
  }
  for (auto& thread : threads) thread.join();
  for (const std::string& answer : answers) EXPECT_EQ(answer, expected);
}

TEST(LlamaContext, OutlivesItsModelsHandle) {
  OwnedLlamaModel model(llama_model_load_from_file(demo_text_file().c_str(), llama_model_default_params()));
  const OwnedLlamaContext ctx(llama_init_from_model(model.get(), llama_context_default_params()));
  model.reset();
  llama_token token = 5;
  EXPECT_EQ(llama_decode(ctx.get(), llama_batch_get_one(&token, 1)), 0);
}

TEST(LlamaPerformance, IsMeasuredWhereWanted) {
  llama_context_params params = llama_context_default_params();
  params.no_perf = false;
  const auto ctx = demo_llama_context(params);
  llama_greedy_answer(ctx.get(), prompt_of(kQuestion));
  const llama_perf_context_data data = llama_perf_context(ctx.get());
  EXPECT_EQ(data.n_p_eval, static_cast<int>(llama_tokens_of(prompt_of(kQuestion)).size()));
  EXPECT_GT(data.n_eval, 3);
  EXPECT_GT(data.t_p_eval_ms, 0);
  EXPECT_GT(data.t_eval_ms, 0);
  const LlamaLog log;
  llama_perf_context_print(ctx.get());
  EXPECT_TRUE(log.says("tokens per second")) << log.text;
  EXPECT_EQ(log.highest, GGML_LOG_LEVEL_INFO);
  llama_perf_context_reset(ctx.get());
  EXPECT_EQ(llama_perf_context(ctx.get()).t_eval_ms, 0);
}

}  // namespace
}  // namespace parlance::test
