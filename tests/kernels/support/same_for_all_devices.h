// What tests of several devices have in common: random inputs and what the definition makes of them.
#pragma once

#include <map>
#include <random>
#include <sstream>
#include <string>
#include <utility>

namespace parlance::test {

// What `make()` makes from random numbers: at the first device by making it, at the others what was made
// then, which leaves the random numbers as making did. It is the same when the numbers were, and `what` says
// all else that decides. One `make` in the source is one store.
template <class Make>
const auto& same_for_all_devices(std::mt19937& random, const std::string& what, const Make& make) {
  using Made = decltype(make());
  static std::map<std::string, std::pair<Made, std::mt19937>> known;
  std::ostringstream key;
  key << random << '\n' << what;
  auto found = known.find(key.str());
  if (found == known.end()) {
    Made made = make();
    found = known.emplace(key.str(), std::pair<Made, std::mt19937>(std::move(made), random)).first;
  }
  random = found->second.second;
  return found->second.first;
}

// Numbers that decide, as a part of `what`.
template <class Numbers>
std::string listed(const Numbers& numbers) {
  std::string text = ":";
  for (const auto number : numbers) text += std::to_string(number) + ',';
  return text;
}

}  // namespace parlance::test
