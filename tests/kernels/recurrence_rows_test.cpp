// Recurrences whose last tokens are taken back go on as if these had never been: outputs and states are, to
// the bit, those of single tokens.
#include <cstring>

#include "kernels/support/kv_pages.h"

namespace parlance::test {
namespace {

constexpr int64_t kSeq = 3, kTaps = 4, kKeyHeads = 1, kHeads = 2, kLength = 70;

std::vector<float> random_inputs(std::mt19937& random, int64_t n) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) value = normal(random);
  return values;
}

// A short convolution and a delta net behind it, with memory for sequences on one device. A position's true
// inputs are the same for all sequences.
class Recurrences {
 public:
  // n_draft 0: nothing can be taken back.
  Recurrences(const DeviceCase& device, int64_t head_dim, int64_t n_draft)
      : head_dim_(head_dim), n_places_(2 * n_draft + 1), bench_(device_of(device)) {
    std::mt19937 random(5);
    const int64_t n = n_channel();
    x_ = random_inputs(random, n * kLength);
    gates_ = random_inputs(random, 2 * kHeads * kLength);
    taps_ = bench_.upload({kTaps, n, 1, 1}, random_inputs(random, kTaps * n));
    a_ = bench_.upload({kHeads, 1, 1, 1}, std::vector<float>{-0.3f, -2});
    dt_bias_ = bench_.upload({kHeads, 1, 1, 1}, random_inputs(random, kHeads));
    // Whatever is there before a sequence starts.
    conv_.state = bench_.upload({n, kTaps - 1, kSeq, 1}, random_inputs(random, n * (kTaps - 1) * kSeq));
    delta_.state = bench_.upload({head_dim, head_dim, kHeads, kSeq},
                                 random_inputs(random, head_dim * head_dim * kHeads * kSeq));
    if (n_draft == 0) return;
    const auto room = [&](int64_t n_values) {
      return bench_.upload({n_values, n_places_, kSeq, 1},
                           random_inputs(random, n_values * n_places_ * kSeq));
    };
    conv_.kept = room(n);
    delta_.kept = room(n + 2 * kHeads);
  }

  // Positions [first, first + n) of a sequence, of which the inputs from `n_true` on are false.
  struct Run {
    int32_t seq;
    int64_t first, n, n_true;
    int64_t from, to;
  };

  // The outputs of all tokens.
  std::vector<float> compute(const std::vector<Run>& runs) {
    std::vector<float> x, alpha, beta;
    std::vector<int32_t> from, to;
    TokenPlaces places;
    for (const Run& run : runs) {
      places.add(run.seq, static_cast<int32_t>(run.first), static_cast<int32_t>(run.n));
      from.insert(from.end(), static_cast<size_t>(run.n), static_cast<int32_t>(run.from));
      to.insert(to.end(), static_cast<size_t>(run.n), static_cast<int32_t>(run.to));
      for (int64_t pos = run.first; pos < run.first + run.n; ++pos) {
        const float sign = pos < run.first + run.n_true ? 1.0f : -0.7f;
        const auto add = [&](std::vector<float>& to_rows, const std::vector<float>& all, int64_t at,
                             int64_t n) {
          for (int64_t i = 0; i < n; ++i) to_rows.push_back(sign * all[static_cast<size_t>(at + i)]);
        };
        add(x, x_, pos * n_channel(), n_channel());
        add(alpha, gates_, 2 * pos * kHeads, kHeads);
        add(beta, gates_, (2 * pos + 1) * kHeads, kHeads);
      }
    }
    const Tensor tx = bench_.upload({n_channel(), places.size(), 1, 1}, x);
    const DeltaNetGates gates{.alpha = bench_.upload({kHeads, places.size(), 1, 1}, alpha),
                              .beta = bench_.upload({kHeads, places.size(), 1, 1}, beta),
                              .a = a_,
                              .dt_bias = dt_bias_};
    BatchView batch = places.on(bench_);
    if (conv_.kept) {
      batch.state_from = bench_.upload(from);
      batch.state_to = bench_.upload(to);
    }
    return bench_.run([&](Stream& s) {
      return gated_delta_net(s, short_conv(s, tx, taps_, conv_, batch), gates, delta_, batch, 1e-6f);
    });
  }

  // Of a sequence, both.
  std::vector<float> state(int32_t seq) {
    std::vector<float> all;
    for (const Tensor& tensor : {conv_.state, delta_.state}) {
      const auto values = bench_.download(tensor);
      const auto n = static_cast<std::ptrdiff_t>(values.size()) / kSeq;
      all.insert(all.end(), values.begin() + seq * n, values.begin() + (seq + 1) * n);
    }
    return all;
  }

  int64_t n_outputs() const { return kHeads * head_dim_; }  // of a token
  int64_t n_places() const { return n_places_; }

 private:
  int64_t n_channel() const { return (2 * kKeyHeads + kHeads) * head_dim_; }

  int64_t head_dim_;
  int64_t n_places_;
  OpBench bench_;
  std::vector<float> x_, gates_;
  Tensor taps_, a_, dt_bias_;
  Recurrence conv_, delta_;
};

class RecurrenceRows : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    if (!device_of(device())->ops().gated_delta_net.run) GTEST_SKIP() << "the device has no gated_delta_net";
  }
  static const DeviceCase& device() { return device_cases()[GetParam()]; }

  // The outputs and, behind each position, the states of single tokens.
  void compute_plainly(int64_t head_dim, int64_t length = kLength) {
    Recurrences plain(device(), head_dim, 0);
    outputs_.clear();
    states_.assign(1, {});
    for (int64_t pos = 0; pos < length; ++pos) {
      outputs_.push_back(plain.compute({{0, pos, 1, 1, 0, 0}}));
      states_.push_back(plain.state(0));
    }
  }

  void expect_true_rows(std::span<const float> outputs, const Recurrences::Run& run, int64_t n_outputs) {
    for (int64_t i = 0; i < run.n_true; ++i) {
      const auto row = outputs.subspan(static_cast<size_t>(i * n_outputs), static_cast<size_t>(n_outputs));
      const auto& plain = outputs_[static_cast<size_t>(run.first + i)];
      ASSERT_EQ(0, std::memcmp(row.data(), plain.data(), plain.size() * sizeof(float)))
          << "position " << run.first + i << " in a run of " << run.n << " from " << run.first
          << ", states from " << run.from << " to " << run.to;
    }
  }

  std::vector<std::vector<float>> outputs_, states_;
};

// Drafts of every length that every number of tokens is taken of, behind texts of any length, the start
// included; and behind them another draft, a longer piece, or a single token.
TEST_P(RecurrenceRows, AnyNumberOfDraftedTokensIsTakenBack) {
  const bool is_cpu = device().name.starts_with("cpu");
  for (const int64_t head_dim : is_cpu ? std::vector<int64_t>{7, 32, 128} : std::vector<int64_t>{32}) {
    compute_plainly(head_dim);
    for (const int64_t n_draft : {1, 2, 5, 19}) {
      for (const int64_t n_before : {0, 1, 9}) {
        for (int64_t n_taken = 0; n_taken <= n_draft; ++n_taken) {
          Recurrences tested(device(), head_dim, n_draft);
          const auto run = [&](const Recurrences::Run& wanted) {
            const auto outputs = tested.compute({wanted});
            expect_true_rows(outputs, wanted, tested.n_outputs());
          };
          if (n_before > 0) run({1, 0, n_before, n_before, 0, n_before});
          const int64_t settled = n_before + 1, next = settled + n_taken;
          run({1, n_before, 1 + n_draft, 1 + n_taken, n_before, settled});
          ASSERT_EQ(tested.state(1), states_[static_cast<size_t>(settled)]) << n_draft << " " << n_before;
          const int64_t n_next =
              std::array{1 + n_draft, int64_t{25}, int64_t{1}}[static_cast<size_t>(n_taken % 3)];
          const int64_t to = n_next == 1 + n_draft ? next + 1 : next + n_next;
          run({1, next, n_next, n_next, settled, to});
          ASSERT_EQ(tested.state(1), states_[static_cast<size_t>(to)]) << n_draft << " " << n_taken;
        }
      }
    }
  }
}

// Any order of drafts, of pieces of drafts, of prompts and of taking back, for several sequences at once.
TEST_P(RecurrenceRows, AnyOrderOfRuns) {
  constexpr int64_t kDraft = 6;
  compute_plainly(32);
  struct Known {
    int64_t n = 0, stored = 0;
  };
  for (int round = 0; round < 12; ++round) {
    std::mt19937 random(static_cast<unsigned>(round));
    const auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
    Recurrences tested(device(), 32, kDraft);
    std::array<Known, kSeq> known{};
    for (int step = 0; step < 25; ++step) {
      std::vector<Recurrences::Run> runs;
      for (int32_t seq = 0; seq < kSeq; ++seq) {
        Known& k = known[static_cast<size_t>(seq)];
        if (below(4) == 0 && k.n > k.stored) k.n = k.stored + below(k.n - k.stored + 1);  // taken back
        if (below(12) == 0) k = {};                                                       // begun again
        const int64_t n = std::min(1 + below(below(3) == 0 ? 20 : kDraft), kLength - k.n);
        if (n == 0 || (below(4) == 0 && !runs.empty())) continue;
        Recurrences::Run run{seq, k.n, n, n, k.stored, k.n + n};
        // The state may stay where it is, or go anywhere, as far as there is room for what comes behind it.
        if (k.n + n - k.stored <= tested.n_places()) run.to = k.stored + below(k.n + n - k.stored + 1);
        run.n_true = std::max<int64_t>(run.to - k.n, 0);
        run.n_true += below(n - run.n_true + 1);
        k = {k.n + run.n_true, run.to};
        runs.push_back(run);
      }
      if (runs.empty()) continue;
      const auto outputs = tested.compute(runs);
      std::span<const float> rest = outputs;
      for (const Recurrences::Run& run : runs) {
        SCOPED_TRACE(testing::Message() << "round " << round << " step " << step);
        expect_true_rows(rest, run, tested.n_outputs());
        rest = rest.subspan(static_cast<size_t>(run.n * tested.n_outputs()));
        if (run.to == 0) continue;
        ASSERT_EQ(tested.state(run.seq), states_[static_cast<size_t>(run.to)]);
      }
    }
  }
}

// Heads too large for a lane's registers.
TEST_P(RecurrenceRows, LargeHeads) {
  constexpr int64_t kDraft = 3;
  compute_plainly(300, 14);
  for (int64_t n_taken = 0; n_taken <= kDraft; ++n_taken) {
    Recurrences tested(device(), 300, kDraft);
    for (const Recurrences::Run& run : {Recurrences::Run{2, 0, 4, 4, 0, 4},
                                        {2, 4, 1 + kDraft, 1 + n_taken, 4, 5},
                                        {2, 5 + n_taken, 6, 6, 5, 11 + n_taken}}) {
      expect_true_rows(tested.compute({run}), run, tested.n_outputs());
      ASSERT_EQ(tested.state(2), states_[static_cast<size_t>(run.to)]);
    }
  }
}

PARLANCE_FOR_EACH_DEVICE(RecurrenceRows, &OpTable::short_conv, &OpTable::gated_delta_net);

}  // namespace
}  // namespace parlance::test
