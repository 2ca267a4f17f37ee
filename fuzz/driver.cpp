// Runs a fuzz target without libFuzzer: a bounded number of mutations of the files of a corpus, from a seed,
// so that a run can be repeated exactly. An input that ends the program is left behind as crash-<seed>-<run>.
//
//   gguf_reader_fuzz [--runs N] [--seed S] [--seconds T] [--max-bytes B] [--fixtures PATH]...
//   FILE_OR_FOLDER...
//
// --seconds ends the run early; --max-bytes leaves larger files of the corpus out; --fixtures names a file or
// folder below the recorded fixtures (PARLANCE_FIXTURES), which is left out when they are not on this
// machine.
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
// Of the sanitizers' run time, when there is one.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

constexpr unsigned kHangSeconds = 30;      // of a processor, for one input
constexpr unsigned kLongestSeconds = 300;  // on the clock

struct Options {
  uint64_t runs = 1000;
  uint64_t seed = 1;
  double seconds = 0;  // 0: no limit
  uint64_t max_bytes = 256 * 1024;
  std::vector<fs::path> corpus;
};

Bytes read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Files below the paths, without those that are too large and in an order that does not depend on the disk.
std::vector<Bytes> read_corpus(const Options& options) {
  std::vector<fs::path> files;
  for (const fs::path& path : options.corpus) {
    if (fs::is_directory(path)) {
      for (const auto& entry : fs::recursive_directory_iterator(path)) files.push_back(entry.path());
    } else {
      files.push_back(path);
    }
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> corpus;
  for (const fs::path& file : files) {
    if (fs::is_regular_file(file) && fs::file_size(file) <= options.max_bytes)
      corpus.push_back(read_file(file));
  }
  if (corpus.empty()) corpus.emplace_back();
  return corpus;
}

uint64_t below(std::mt19937_64& random, uint64_t n) {
  return n ? random() % n : 0;
}

// Values at the edges of integer types, which counts and offsets in files are tried with.
constexpr uint64_t kEdges[] = {0,          1,          2,          31,         32,
                               127,        128,        255,        256,        0x7fff,
                               0x8000,     0xffff,     0x7fffffff, 0x80000000, 0xffffffff,
                               1ull << 32, 1ull << 40, 1ull << 62, 1ull << 63, ~0ull};

// A piece of up to 64 bytes.
Bytes piece_of(const Bytes& bytes, std::mt19937_64& random) {
  const uint64_t at = below(random, bytes.size());
  const uint64_t length = std::min<uint64_t>(below(random, 64), bytes.size() - at);
  const auto begin = bytes.begin() + static_cast<ptrdiff_t>(at);
  return {begin, begin + static_cast<ptrdiff_t>(length)};
}

void insert(Bytes& bytes, uint64_t at, const Bytes& piece) {
  bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), piece.begin(), piece.end());
}

// One edit; `other` is a file to take a piece from.
void mutate(Bytes& bytes, const Bytes& other, std::mt19937_64& random) {
  // Headers hold the counts: half of the edits fall into the first bytes.
  const uint64_t reach = below(random, 2) ? bytes.size() : std::min<uint64_t>(bytes.size(), 4096);
  const uint64_t at = below(random, reach);
  switch (below(random, 8)) {
    case 0:
      if (!bytes.empty()) bytes[at] ^= static_cast<uint8_t>(1u << below(random, 8));
      break;
    case 1:
      if (!bytes.empty()) bytes[at] = static_cast<uint8_t>(random());
      break;
    case 2: {
      const uint64_t value = kEdges[below(random, std::size(kEdges))];
      const size_t width = size_t{1} << below(random, 4);
      if (at + width <= bytes.size()) std::memcpy(bytes.data() + at, &value, width);
      break;
    }
    case 3:
      bytes.resize(at);
      break;
    case 4: {
      const auto begin = bytes.begin() + static_cast<ptrdiff_t>(at);
      bytes.erase(begin,
                  begin + static_cast<ptrdiff_t>(std::min<uint64_t>(below(random, 64), bytes.size() - at)));
      break;
    }
    case 5: {
      const Bytes piece = piece_of(bytes, random);
      insert(bytes, at, piece);
      break;
    }
    case 6: {
      Bytes noise(below(random, 16));
      for (uint8_t& b : noise) b = static_cast<uint8_t>(random());
      insert(bytes, at, noise);
      break;
    }
    case 7: {
      const Bytes piece = piece_of(other, random);
      if (at + piece.size() <= bytes.size())
        std::copy(piece.begin(), piece.end(), bytes.begin() + static_cast<ptrdiff_t>(at));
      break;
    }
  }
}

// What runs now, for the handlers below.
const Bytes* current = nullptr;
char crash_name[64];
double slowest_s = 0;  // of all inputs

void save_current() {
  if (!current) return;
  if (std::FILE* file = std::fopen(crash_name, "wb")) {
    std::fwrite(current->data(), 1, current->size(), file);
    std::fclose(file);
    std::fprintf(stderr, "the input is in %s\n", crash_name);
  }
  current = nullptr;
}

void on_signal(int signal) {
  const bool is_late = signal == SIGALRM || signal == SIGPROF;
  if (is_late) {
    std::fprintf(stderr, "an input took more than %u seconds of a processor, or %u in all\n", kHangSeconds,
                 kLongestSeconds);
  }
  save_current();
  std::signal(is_late ? SIGABRT : signal, SIG_DFL);
  std::raise(is_late ? SIGABRT : signal);
}

void run_one(const Bytes& bytes, uint64_t seed, const char* kind, uint64_t number) {
  std::snprintf(crash_name, sizeof crash_name, "crash-%llu-%s%llu", static_cast<unsigned long long>(seed),
                kind, static_cast<unsigned long long>(number));
  current = &bytes;
  alarm(kLongestSeconds);
  const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = kHangSeconds, .tv_usec = 0}}, none{};
  setitimer(ITIMER_PROF, &limit, nullptr);
  const auto begin = std::chrono::steady_clock::now();
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  slowest_s =
      std::max(slowest_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  setitimer(ITIMER_PROF, &none, nullptr);
  alarm(0);
  current = nullptr;
}

fs::path fixtures_root() {
  if (const char* root = std::getenv("PARLANCE_FIXTURES"); root && *root) return root;
  return PARLANCE_DEFAULT_FIXTURES;
}

// False when an argument is wrong, which it has told.
bool read_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.starts_with("--") && i + 1 < argc) {
      const char* value = argv[++i];
      if (arg == "--runs") {
        options.runs = std::strtoull(value, nullptr, 10);
      } else if (arg == "--seed") {
        options.seed = std::strtoull(value, nullptr, 10);
      } else if (arg == "--seconds") {
        options.seconds = std::strtod(value, nullptr);
      } else if (arg == "--max-bytes") {
        options.max_bytes = std::strtoull(value, nullptr, 10);
      } else if (arg == "--fixtures") {
        const fs::path path = fixtures_root() / value;
        if (fs::exists(path)) options.corpus.push_back(path);
      } else {
        std::fprintf(stderr, "%s: no option %s\n", argv[0], arg.c_str());
        return false;
      }
    } else if (fs::exists(arg)) {
      options.corpus.emplace_back(arg);
    } else {
      std::fprintf(stderr, "%s: no such file or folder: %s\n", argv[0], arg.c_str());
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!read_options(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: %s [--runs N] [--seed S] [--seconds T] [--max-bytes B] [--fixtures PATH]... "
                 "FILE_OR_FOLDER...\n",
                 argv[0]);
    return 2;
  }
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(save_current);
  std::signal(SIGABRT, on_signal);
  std::signal(SIGALRM, on_signal);
  std::signal(SIGPROF, on_signal);
  if (!__sanitizer_set_death_callback) std::signal(SIGSEGV, on_signal);

  const std::vector<Bytes> corpus = read_corpus(options);
  for (size_t i = 0; i < corpus.size(); ++i) run_one(corpus[i], options.seed, "file", i);

  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  std::mt19937_64 random(options.seed);
  uint64_t run = 0;
  for (; run < options.runs && (options.seconds <= 0 || seconds() < options.seconds); ++run) {
    Bytes bytes = corpus[below(random, corpus.size())];
    const Bytes& other = corpus[below(random, corpus.size())];
    for (uint64_t edits = 1 + below(random, 4); edits > 0; --edits) mutate(bytes, other, random);
    run_one(bytes, options.seed, "run", run);
  }
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  std::printf(
      "%llu mutated inputs of %zu files in %.1f s, no crash; the slowest took %.0f ms, at most %ld MB of "
      "memory\n",
      static_cast<unsigned long long>(run), corpus.size(), seconds(), 1000 * slowest_s, use.ru_maxrss / 1024);
  return 0;
}
