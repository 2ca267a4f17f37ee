// What people call models that lie elsewhere: ORG/NAME[:QUANTISATION] of a hub, or an address.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace parlance {

inline constexpr std::string_view kHubPrefix = "hf:";

struct ModelName {
  std::string repo;               // "Qwen/Qwen3-0.6B-GGUF"; empty: `url` it is
  std::string revision = "main";  // a branch, a tag or a commit
  std::string tag = {};           // "Q8_0"; empty: what is usual
  std::string file = {};          // one file of the repository; empty: which belong together is found out
  std::string url = {};

  // As --model takes it.
  std::string text() const;
  // The revision as one part of an address: a slash in the name of a branch belongs to it.
  std::string escaped_revision() const;
};

// Whether a name is not that of a file or a folder here: "hf:…", "https://…" or "http://…".
bool is_remote_name(std::string_view name);

// "ORG/NAME", "ORG/NAME:TAG", "ORG/NAME@REVISION", "ORG/NAME/FILE", any of them behind "hf:" or the address
// of a hub (huggingface.co, hf.co, or `endpoint`, which others' mirrors have), also of a page of it
// (…/tree/REVISION, …/blob/REVISION/FILE, …/resolve/REVISION/FILE); else an address.
Result<ModelName> parse_model_name(std::string_view text, std::string_view endpoint);

// Whether a name from outside may become a path below a folder: relative, with '/', nothing that leads
// upwards or is empty, no control characters, no part longer than a file's name may be.
bool is_safe_path(std::string_view path);

// The same for one name of a file, which is not hidden either.
bool is_safe_name(std::string_view name);

// A path as a part of an address.
std::string escaped_path(std::string_view path);

}  // namespace parlance
