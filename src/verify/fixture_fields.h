// An object of a fixture: its fields by name and kind. The first one that is not as asked for is remembered,
// with the path to it, and stands for all that follow; the caller asks for it when a case has been read.
// Included by the readers of fixtures only, with the library of JSON behind it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "quant/kv_format.h"

namespace parlance::verify {

using nlohmann::json;

// What is wrong with a file, once something is.
class Problem {
 public:
  explicit Problem(std::string_view file) : file_(file) {}

  bool found() const { return !message_.empty(); }
  void note(const std::string& path, const std::string& what);
  tl::unexpected<Error> error() const { return tl::unexpected<Error>({ErrorCode::corrupt_file, message_}); }

 private:
  std::string file_;
  std::string message_;
};

class Fields {
 public:
  Fields(const json& object, std::string path, Problem& problem);

  bool has(const char* key) const { return object_->contains(key) && !(*object_)[key].is_null(); }
  // Of a field that is not as asked for, the least value, zero or nothing is yielded.
  int64_t integer(const char* key, int64_t min, int64_t max) const;
  double number(const char* key) const;
  bool flag(const char* key) const;  // true, false, 1 or 0
  std::string text(const char* key) const;
  KvFormat format(const char* key) const;
  // n finite numbers in one list, or in lists of any depth.
  std::vector<float> floats(const char* key, int64_t n) const;
  // n bytes, as hexadecimal digits or as a list of numbers.
  std::vector<std::byte> bytes(const char* key, int64_t n) const;
  std::vector<Fields> objects(const char* key) const;

  const json& value(const char* key) const;  // null when it is not there
  const std::string& path() const { return path_; }
  void note(const std::string& key, const std::string& what) const;
  bool is_bad() const { return problem_->found(); }
  Problem& problem() const { return *problem_; }

 private:
  const json* object_;
  std::string path_;
  Problem* problem_;
};

}  // namespace parlance::verify
