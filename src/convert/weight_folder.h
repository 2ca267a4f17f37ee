// A model as its makers publish it: a folder with weights in one file or several, and JSON about them.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "convert/safetensors.h"
#include "json/json.h"

namespace parlance {

class WeightFolder {
 public:
  // Of the weights, those that model.safetensors.index.json names, or all files *.safetensors. Errors: there
  // are none, one is damaged, or the index names what is not there.
  static Result<WeightFolder> open(const std::filesystem::path& folder);

  const std::filesystem::path& path() const { return path_; }
  // What the model is called: the folder's name, or the repository's where it is of a hub's cache.
  std::string name() const;

  // By name, in order.
  const std::map<std::string, const SafeTensor*, std::less<>>& tensors() const { return tensors_; }
  const SafeTensor* find(std::string_view name) const;
  Result<std::vector<std::byte>> read(const SafeTensor& tensor) const;

  bool has_file(const std::string& name) const;
  Result<std::string> read_file(const std::string& name) const;  // a text of at most 256 MiB
  Result<Json> read_json(const std::string& name) const;
  // Null where there is no such file.
  Result<Json> read_json_if_there(const std::string& name) const;

 private:
  std::filesystem::path path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, const SafeTensor*, std::less<>> tensors_;
  std::map<const SafeTensor*, const SafetensorsFile*> file_of_;
};

// Fields of a JSON object that must be of a kind. Errors name object and field.

struct JsonFields {
  const Json& object;
  std::string name;  // for messages: "config.json"

  std::optional<Json> find(std::string_view key) const;  // null is absent
  Result<int64_t> integer(std::string_view key, int64_t min, int64_t max) const;
  Result<double> number(std::string_view key) const;
  int64_t integer_or(std::string_view key, int64_t fallback) const;
  double number_or(std::string_view key, double fallback) const;
  std::string text_or(std::string_view key, std::string_view fallback) const;
  bool truth_or(std::string_view key, bool fallback) const;
  Result<std::vector<int32_t>> integers(std::string_view key) const;
};

}  // namespace parlance
