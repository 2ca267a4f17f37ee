// What comparing an operation's result with an expected one gave.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"

namespace parlance::verify {

// What errors are counted in.
enum class Unit : uint8_t {
  absolute,  // of the values themselves
  relative,  // to the lengths of the vectors that were multiplied
  bytes,     // how many differ
  squares,   // mean square error, of the mean square of what is expected
};

// What was compared, and how far it may be off.
struct Subject {
  std::string operation;  // "attn_score_tbq"
  std::string format;     // "tbq3_0"; of keys and values "qjl1_256 x tbq3_0"
  Unit unit = Unit::absolute;
  double tolerance = 0;
};

// Everything that was compared of one subject, on one device, against one source.
struct Check {
  Subject subject;
  std::string device;   // "cpu avx2"
  std::string against;  // "definition", or the name of a fixture
  int64_t n_values = 0;
  double max_error = 0;
  std::string problem = {};  // why there is no result; empty: there is

  // Not a number is no error that a tolerance allows.
  bool has_passed() const { return problem.empty() && max_error <= subject.tolerance; }
};

inline constexpr std::string_view kDefinition = "definition";

// Checks of a device against a source, one for each subject.
class Checks {
 public:
  Checks(std::string device, std::string against)
      : device_(std::move(device)), against_(std::move(against)) {}

  // Errors are divided by `scale` first.
  void compare(const Subject& subject, const std::vector<float>& got, const std::vector<float>& want,
               double scale = 1);
  void compare(const Subject& subject, const std::vector<std::byte>& got, const std::vector<std::byte>& want);
  void fail(const Subject& subject, const Error& error);

  std::vector<Check> take();

 private:
  Check& check_of(const Subject& subject);

  std::string device_, against_;
  std::map<std::tuple<std::string, std::string>, Check> checks_;
};

}  // namespace parlance::verify
