// What it costs to find out how a model's cache can be compressed: the probe, and a plain prefill of its
// text, in turn (A B A B). Both make a session of their own, and write to its memory for the first time.
//
//   cache_probe MODEL.gguf [ROUNDS [THREADS]]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "engine/probe_cache.h"
#include "engine/session.h"
#include "kernels/cpu/cpu_device.h"

namespace {

using namespace parlance;

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "%s\n", result.error().message.c_str());
  std::exit(1);
}

template <class Work>
double seconds_of(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> x) {
  std::ranges::sort(x);
  return x[x.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "cache_probe MODEL.gguf [ROUNDS [THREADS]]\n");
    return 2;
  }
  const int n_rounds = argc > 2 ? std::atoi(argv[2]) : 15;
  const auto device = must(make_cpu_device({.n_threads = argc > 3 ? std::atoi(argv[3]) : 0}));
  const auto model = must(TextModel::load(argv[1], *device));
  const std::vector<Token> tokens = probe_tokens(*model, model->tokenizer().encode(probe_text()));
  const auto n_tokens = std::ssize(tokens);
  std::vector<double> probes, prefills, ratios;
  for (int round = -1; round < n_rounds; ++round) {
    const double prefill = seconds_of([&] {
      const auto session = must(Session::create(*model, {.n_ctx = n_tokens, .n_batch = n_tokens}));
      must(session->append(tokens));
    });
    const double probe = seconds_of([&] { must(probe_cache(*model, tokens, {})); });
    if (round < 0) continue;  // to warm up
    prefills.push_back(prefill);
    probes.push_back(probe);
    ratios.push_back(probe / prefill);
  }
  std::printf("%ld tokens: prefill %.1f ms, probe %.1f ms, ratio %.2f (median of %d)\n",
              static_cast<long>(n_tokens), 1e3 * median(prefills), 1e3 * median(probes), median(ratios),
              n_rounds);
}
