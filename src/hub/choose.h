// Which files of a repository are the model that is meant. The same rules choose from what a hub lists and
// from what is on the disk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hub/model_name.h"

namespace parlance {

enum class RepoKind : uint8_t {
  model,    // GGUF: one file, or the parts of one, and what belongs to it
  bundle,   // a folder with a manifest, all of it
  sources,  // what parlance convert makes a model of
};

struct ChosenFiles {
  RepoKind kind = RepoKind::model;
  std::vector<std::string> paths = {};  // all
  // Of a model, among them: its file (of several parts the first), the encoder of what it hears or sees
  // ("mmproj"), and the codec of one that speaks. Empty: there is none.
  std::string model = {}, mmproj = {}, codec = {};
};

// Of the model's file the quantisation counts: `name.tag` if it is given, else Q4_K_M, Q8_0, what there is.
// Errors name what the repository has instead.
Result<ChosenFiles> choose_files(const ModelName& name, const std::vector<std::string>& paths);

// The quantisation that a file's name tells, "Q8_0"; empty: none.
std::string quantisation_of(std::string_view path);

}  // namespace parlance
