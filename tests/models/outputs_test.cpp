// What a step of a model yields beside logits: chosen rows in their order, the residual stream behind layers,
// and rows that are added to it on the way.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "engine/context.h"
#include "support/text_model.h"

namespace parlance {
namespace {

using Rows = std::vector<float>;  // of n_embd or n_logits values each

constexpr int64_t kTokens = 13, kContext = 64;

// One sequence of a model on the CPU, all parts of which are run for one batch.
class OneStep {
 public:
  OneStep(const TextModel& model, Device& device) : model_(model.model()), stream_(device.make_stream()) {
    const HyperParameters& hp = model.hyper_parameters();
    const KvPolicy f32{.k = {.format = KvFormat::f32}, .v = {.format = KvFormat::f32}};
    for (const ModelPart& part : model_.placement().parts()) {
      Memory& memory = memories_.emplace_back();
      memory.cache = *KvCache::create(
          device, kv_layout(hp, {.n_ctx = kContext, .cache = f32}, part.first_layer, part.end_layer),
          {.main = 1}, kContext, 1);
      memory.cache->set_pages(0, {&page_, 1}, 0, 1);
      const int64_t n_recurrent = hp.n_layers_of(LayerKind::delta_net, part.first_layer, part.end_layer);
      memory.states = *RecurrentState::create(device, recurrent_layout(hp, n_recurrent, 0), 1);
    }
    std::vector<int32_t> tokens(kTokens);
    for (int32_t i = 0; i < kTokens; ++i) tokens[static_cast<size_t>(i)] = (37 * i + 5) % 300;
    std::vector<int32_t> positions(kTokens);
    std::iota(positions.begin(), positions.end(), 0);
    batch_.token = tensor_of(tokens);
    batch_.view = {.seq = tensor_of(std::vector<int32_t>(kTokens, 0)),
                   .pos = tensor_of(positions),
                   .n_kv_bound = kContext};
  }

  // f32 [n, …] in memory that lives as long as this.
  Tensor tensor_of(const Rows& values, int64_t n) { return tensor(DType::f32, n, values); }
  Tensor tensor_of(const std::vector<int32_t>& values) {
    return tensor(DType::i32, static_cast<int64_t>(values.size()), values);
  }

  Batch& batch() { return batch_; }

  struct Result {
    Rows h, hidden, normed, logits;
  };
  // Yields what the last part does, and the h of the first if there are several.
  Result run(const Wants& wants) {
    Result result;
    Batch batch = batch_;
    for (size_t part = 0; part < memories_.size(); ++part) {
      Memory& memory = memories_[part];
      Outputs out;
      const auto forward = [&] {
        const SequenceMemory of_part{memory.cache->layers(*stream_), memory.states->layers()};
        out = model_.forward(*stream_, batch, of_part, wants, model_.placement().layers_of(part));
      };
      const Plan plan = stream_->dry_run(forward);
      EXPECT_TRUE(plan.missing.empty());
      EXPECT_TRUE(stream_->reserve(plan));
      stream_->step(Stream::kOnce, forward);
      if (part + 1 < memories_.size()) {
        result.h = values_of(out.h);
        batch.h = tensor_of(result.h, out.h.ne[0]);
      }
      result.hidden = values_of(out.hidden);
      result.normed = values_of(out.normed);
      result.logits = values_of(out.logits);
    }
    return result;
  }

  static Rows values_of(const Tensor& tensor) {
    if (!tensor) return {};
    const float* first = tensor.as<const float>();
    return {first, first + tensor.n_elements()};
  }

 private:
  struct Memory {
    std::unique_ptr<KvCache> cache;
    std::unique_ptr<RecurrentState> states;
  };

  template <class T>
  Tensor tensor(DType dtype, int64_t n, const std::vector<T>& values) {
    auto buffer = stream_->device().allocate(values.size() * sizeof(T));
    EXPECT_TRUE(buffer);
    buffers_.push_back(*std::move(buffer));
    Tensor made;
    made.dtype = dtype;
    made.ne = {n, static_cast<int64_t>(values.size()) / n, 1, 1};
    made.buffer = buffers_.back().get();
    made.data = buffers_.back()->base();
    stream_->upload(made, std::as_bytes(std::span(values)));
    return made;
  }

  const Model& model_;
  std::unique_ptr<Stream> stream_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  std::vector<Memory> memories_;
  const PageRef page_{.main = 0};
  Batch batch_;
};

// The same arithmetic for few rows and for many, on every processor.
CpuOptions exact_arithmetic() {
  const auto isa = choose_isa();
  return {.n_threads = 2, .isa = isa && name_of(*isa).starts_with("avx512") ? "avx2" : ""};
}

class ModelOutputs : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    PARLANCE_REQUIRE_FIXTURES("text/models/qwen35.gguf");
    path_ = test::fixtures_root() / "text/models" / GetParam();
    loaded_ = test::load_text_model(path_, exact_arithmetic());
    ASSERT_TRUE(loaded_.model);
  }

  OneStep step() const { return OneStep(*loaded_.model, *loaded_.device); }
  int64_t n_embd() const { return loaded_.model->hyper_parameters().n_embd; }
  int64_t n_layer() const { return loaded_.model->model().placement().parts().back().end_layer; }

  static std::span<const float> row(const Rows& rows, size_t i, size_t n_rows) {
    const size_t n = rows.size() / n_rows;
    return std::span(rows).subspan(i * n, n);
  }
  static void expect_near(std::span<const float> got, std::span<const float> want, float error = 1e-4f) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], error) << i;
  }

  // All rows, behind all layers.
  std::map<int64_t, Rows> streams_behind_layers() {
    OneStep one = step();
    std::map<int64_t, Rows> seen;
    const auto look_behind = [&](int64_t layer) {
      return [&seen, layer](Stream& s, const Tensor& h) {
        if (!s.plan()) seen[layer] = OneStep::values_of(h);
      };
    };
    std::vector<decltype(look_behind(0))> visits;
    for (int64_t layer = 0; layer < n_layer(); ++layer) visits.push_back(look_behind(layer));
    std::vector<Tap> taps;
    for (int64_t layer = n_layer() - 1; layer >= 0; --layer)  // in any order
      taps.push_back({layer, visits[static_cast<size_t>(layer)]});
    one.run({.taps = taps});
    return seen;
  }

  std::filesystem::path path_;
  test::LoadedModel loaded_;
};

TEST_P(ModelOutputs, RowsComeInTheOrderOfWhatIsWanted) {
  OneStep all = step(), some = step();
  std::vector<int32_t> every(kTokens);
  std::iota(every.begin(), every.end(), 0);
  const std::vector<int32_t> wanted{7, 0, 12, 7, 3};
  const auto want = all.run({.rows = all.tensor_of(every)});
  const auto got = some.run({.rows = some.tensor_of(wanted)});
  for (const auto rows : {&OneStep::Result::hidden, &OneStep::Result::normed, &OneStep::Result::logits}) {
    ASSERT_EQ((got.*rows).size() / wanted.size(), (want.*rows).size() / kTokens);
    for (size_t i = 0; i < wanted.size(); ++i)
      expect_near(row(got.*rows, i, wanted.size()), row(want.*rows, static_cast<size_t>(wanted[i]), kTokens));
  }
  EXPECT_EQ(got.hidden.size(), wanted.size() * static_cast<size_t>(n_embd()));
  EXPECT_EQ(got.logits.size(), wanted.size() * static_cast<size_t>(loaded_.model->model().n_logits()));
  EXPECT_NE(Rows(row(got.logits, 0, 5).begin(), row(got.logits, 0, 5).end()),
            Rows(row(got.logits, 1, 5).begin(), row(got.logits, 1, 5).end()));
}

TEST_P(ModelOutputs, WhatNobodyWantsIsAbsent) {
  OneStep none = step(), embeds = step();
  const auto nothing = none.run({});
  EXPECT_TRUE(nothing.hidden.empty() && nothing.normed.empty() && nothing.logits.empty());
  const auto embedded = embeds.run({.rows = embeds.tensor_of({4, 2}), .logits = false});
  EXPECT_EQ(embedded.normed.size(), 2 * static_cast<size_t>(n_embd()));
  EXPECT_TRUE(embedded.logits.empty());
}

// What is pooled is the last layer's stream under a norm: each row has the length that the norm's weights
// give.
TEST_P(ModelOutputs, NormedRowsAreTheHiddenOnesUnderTheNorm) {
  OneStep one = step();
  const auto out = one.run({.rows = one.tensor_of({0, 5}), .logits = false});
  for (size_t i = 0; i < 2; ++i) {
    const auto hidden = row(out.hidden, i, 2), normed = row(out.normed, i, 2);
    double squares = 0;
    for (const float v : hidden) squares += static_cast<double>(v) * static_cast<double>(v);
    const double rms = std::sqrt(squares / static_cast<double>(hidden.size()));
    const auto other = row(out.hidden, 1 - i, 2), other_normed = row(out.normed, 1 - i, 2);
    double other_squares = 0;
    for (const float v : other) other_squares += static_cast<double>(v) * static_cast<double>(v);
    const double other_rms = std::sqrt(other_squares / static_cast<double>(other.size()));
    for (size_t k = 0; k < hidden.size(); ++k) {  // the norm's weight is the same for both rows
      EXPECT_NEAR(static_cast<double>(normed[k]) * rms * static_cast<double>(other[k]),
                  static_cast<double>(other_normed[k]) * other_rms * static_cast<double>(hidden[k]), 1e-3);
    }
  }
}

TEST_P(ModelOutputs, TapsSeeTheStreamBehindTheirLayers) {
  const auto seen = streams_behind_layers();
  ASSERT_EQ(std::ssize(seen), n_layer());
  for (const auto& [layer, h] : seen) {
    EXPECT_EQ(h.size(), static_cast<size_t>(n_embd() * kTokens)) << layer;
    if (layer > 0) {
      EXPECT_NE(h, seen.at(layer - 1)) << layer;
    }
  }
  // Behind the last layer stands what is wanted of the model.
  OneStep one = step();
  const auto out = one.run({.rows = one.tensor_of({1, 12})});
  const Rows& last = seen.at(n_layer() - 1);
  expect_near(row(out.hidden, 0, 2), row(last, 1, kTokens));
  expect_near(row(out.hidden, 1, 2), row(last, 12, kTokens));
}

// A model that is cut behind a layer hands the next part what a tap sees there.
TEST_P(ModelOutputs, TapsSeeWhatPartsHandOn) {
  const auto seen = streams_behind_layers();
  for (int64_t n = 1; n < n_layer(); ++n) {
    SCOPED_TRACE(n);
    const auto host = *make_cpu_device(exact_arithmetic());
    const auto model =
        TextModel::load(*GgufFile::open(path_), Placement(*loaded_.device, *host, n_layer(), n));
    ASSERT_TRUE(model) << model.error().message;
    ASSERT_EQ((*model)->model().placement().parts().size(), 2u);
    OneStep one(**model, *loaded_.device);
    const auto out = one.run({.rows = one.tensor_of({12})});
    const int64_t cut = (*model)->model().placement().parts().front().end_layer;
    expect_near(out.h, seen.at(cut - 1));
    expect_near(out.hidden, row(seen.at(n_layer() - 1), 12, kTokens));
  }
}

// Looking changes nothing, whatever the one who looks allocates and writes.
TEST_P(ModelOutputs, TapsLeaveTheStepAsItIs) {
  OneStep plain = step(), tapped = step();
  const auto want = plain.run({.rows = plain.tensor_of({3, 12})});
  int n_visits = 0;
  const auto visit = [&](Stream& s, const Tensor& h) {
    const Tensor own = s.workspace().allocate(DType::f32, h.ne[0], h.ne[1]);
    if (s.plan()) return;
    ++n_visits;
    copy(s, own, h);
    std::fill_n(own.as<float>(), own.n_elements(), 1e9f);
  };
  const std::vector<Tap> taps{{0, visit}, {n_layer() - 1, visit}, {0, visit}};
  const auto got = tapped.run({.rows = tapped.tensor_of({3, 12}), .taps = taps});
  EXPECT_EQ(n_visits, 3);
  expect_near(got.logits, want.logits);
}

TEST_P(ModelOutputs, RowsAreAddedBehindTheirLayer) {
  const auto plain = streams_behind_layers();
  for (const int64_t layer : {int64_t{0}, n_layer() - 1}) {
    SCOPED_TRACE(layer);
    OneStep one = step();
    Rows rows(static_cast<size_t>(2 * n_embd()));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = 0.25f * std::sin(static_cast<float>(i));
    const std::vector<LayerRowsAt> added{{layer, {5, one.tensor_of(rows, n_embd())}}};  // to tokens 5 and 6
    one.batch().added = added;
    Rows seen;
    const auto look = [&](Stream& s, const Tensor& h) {
      if (!s.plan()) seen = OneStep::values_of(h);
    };
    const std::vector<Tap> taps{{layer, look}};
    const auto out = one.run({.rows = one.tensor_of({4, 6}), .taps = taps});
    Rows want = plain.at(layer);
    for (size_t i = 0; i < rows.size(); ++i) want[static_cast<size_t>(5 * n_embd()) + i] += rows[i];
    expect_near(seen, want);
    const Rows& last = plain.at(n_layer() - 1);
    expect_near(row(out.hidden, 0, 2), row(last, 4, kTokens));  // a token before them does not see them
    float most = 0;
    for (size_t k = 0; k < static_cast<size_t>(n_embd()); ++k)
      most = std::max(most, std::abs(row(out.hidden, 1, 2)[k] - row(last, 6, kTokens)[k]));
    EXPECT_GT(most, 0.01f);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ModelOutputs, testing::Values("qwen3-f16.gguf", "qwen35.gguf"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase_if(name,
                                         [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
                           return name;
                         });

}  // namespace
}  // namespace parlance
