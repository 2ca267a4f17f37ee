#include "base/random_id.h"

#include <random>

namespace parlance {

std::string random_id(std::string_view prefix, size_t n) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  thread_local std::random_device device;
  std::uniform_int_distribution<size_t> choose(0, kLetters.size() - 1);
  std::string id(prefix);
  for (size_t i = 0; i < n; ++i) id += kLetters[choose(device)];
  return id;
}

}  // namespace parlance
