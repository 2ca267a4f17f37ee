// Runs a fuzz target without libFuzzer: a bounded number of mutations of the files of a corpus, from a seed, so
// that a run can be repeated exactly.
//
//   gguf_fuzz [--runs N] [--seed S] FILE_OR_FOLDER...
#include <algorithm>
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

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

Bytes read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

uint64_t below(std::mt19937_64& random, uint64_t n) { return n ? random() % n : 0; }

// Values at the edges of integer types, which counts and offsets in files are tried with.
constexpr uint64_t kEdges[] = {0,          1,          2,          31,         32,         127,        128,
                               255,        256,        0x7fff,     0x8000,     0xffff,     0x7fffffff, 0x80000000,
                               0xffffffff, 1ull << 32, 1ull << 40, 1ull << 62, 1ull << 63, ~0ull};

void mutate(Bytes& bytes, std::mt19937_64& random) {
  for (uint64_t n = 1 + below(random, 4); n > 0; --n) {
    // Headers hold the counts: half of the edits fall into the first bytes.
    const uint64_t reach = below(random, 2) ? bytes.size() : std::min<uint64_t>(bytes.size(), 4096);
    const uint64_t at = below(random, reach);
    switch (below(random, 7)) {
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
      case 3: bytes.resize(at); break;
      case 4: {
        const uint64_t length = std::min<uint64_t>(below(random, 64), bytes.size() - at);
        bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.begin() + static_cast<ptrdiff_t>(at + length));
        break;
      }
      case 5: {
        const uint64_t length = std::min<uint64_t>(below(random, 64), bytes.size() - at);
        const Bytes copy(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.begin() + static_cast<ptrdiff_t>(at + length));
        const uint64_t to = below(random, bytes.size() + 1);
        bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(to), copy.begin(), copy.end());
        break;
      }
      case 6: {
        Bytes noise(below(random, 16));
        for (uint8_t& b : noise) b = static_cast<uint8_t>(random());
        bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at), noise.begin(), noise.end());
        break;
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t runs = 1000, seed = 1;
  std::vector<Bytes> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--runs" && i + 1 < argc) {
      runs = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (fs::is_directory(arg)) {
      for (const auto& entry : fs::recursive_directory_iterator(arg)) {
        if (entry.is_regular_file()) corpus.push_back(read_file(entry.path()));
      }
    } else if (fs::is_regular_file(arg)) {
      corpus.push_back(read_file(arg));
    } else {
      std::fprintf(stderr, "%s: no such file or folder: %s\nusage: %s [--runs N] [--seed S] FILE_OR_FOLDER...\n", argv[0],
                   arg.c_str(), argv[0]);
      return 2;
    }
  }
  std::sort(corpus.begin(), corpus.end());
  if (corpus.empty()) corpus.emplace_back();
  for (const Bytes& bytes : corpus) LLVMFuzzerTestOneInput(bytes.data(), bytes.size());

  std::mt19937_64 random(seed);
  for (uint64_t run = 0; run < runs; ++run) {
    Bytes bytes = corpus[below(random, corpus.size())];
    mutate(bytes, random);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
  std::printf("%llu mutated inputs of %zu files, no crash\n", static_cast<unsigned long long>(runs), corpus.size());
  return 0;
}
