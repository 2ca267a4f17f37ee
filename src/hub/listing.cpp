#include "hub/listing.h"

#include <algorithm>

#include "base/ascii.h"
#include "hub/content_digest.h"
#include "hub/model_name.h"
#include "json/json.h"

namespace parlance {

namespace {

constexpr size_t kSha1Digits = 40;
constexpr int64_t kMostFileBytes = int64_t{1} << 50;

bool is_digest(std::string_view text, size_t n_digits) {
  return text.size() == n_digits &&
         std::ranges::all_of(text, [](char c) { return ascii::is_digit(c) || (c >= 'a' && c <= 'f'); });
}

std::string text_at(const Json& object, std::string_view key) {
  const auto value = object.member(key);
  return value ? value->text().value_or("") : "";
}

std::optional<HubFile> file_of(const Json& entry) {
  if (!entry.is_object() || text_at(entry, "type") != "file") return std::nullopt;
  HubFile file;
  file.path = text_at(entry, "path");
  const auto size = entry.member("size");
  const int64_t n_bytes = size ? size->integer().value_or(-1) : -1;
  const auto lfs = entry.member("lfs");
  const bool is_large = lfs && lfs->is_object();
  file.digest = text_at(is_large ? *lfs : entry, "oid");
  if (file.digest.starts_with("sha256:")) file.digest.erase(0, std::string_view("sha256:").size());
  if (!is_safe_path(file.path) || n_bytes < 0 || n_bytes > kMostFileBytes ||
      !is_digest(file.digest, is_large ? kSha256Digits : kSha1Digits)) {
    return std::nullopt;
  }
  file.n_bytes = static_cast<uint64_t>(n_bytes);
  return file;
}

tl::unexpected<Error> no_answer(std::string_view what) {
  return fail(ErrorCode::corrupt_file,
              "the hub's answer is not {}; is it a hub that HF_ENDPOINT names, or a page to log in to a "
              "network?",
              what);
}

}  // namespace

Result<std::string> parse_commit(std::string_view json) {
  const auto answer = Json::parse(json);
  if (!answer || !answer->is_object()) return no_answer("the description of a model");
  std::string commit = text_at(*answer, "sha");
  if (!is_digest(commit, kSha1Digits)) return no_answer("the description of a model with its commit");
  return commit;
}

Result<std::vector<HubFile>> parse_tree(std::string_view json) {
  const auto answer = Json::parse(json);
  const auto entries = answer ? answer->elements() : std::nullopt;
  if (!entries) return no_answer("a list of files");
  if (entries->size() > kMostListedFiles) return no_answer("a list of files that ends");
  std::vector<HubFile> files;
  for (const Json& entry : *entries) {
    if (auto file = file_of(entry)) files.push_back(*std::move(file));
  }
  return files;
}

std::string next_page(std::string_view link) {
  // <https://host/path?query>; rel="next", …
  for (size_t begin = link.find('<'); begin != link.npos; begin = link.find('<', begin + 1)) {
    const size_t end = link.find('>', begin);
    if (end == link.npos) return {};
    const std::string_view about = link.substr(end, std::min(link.find('<', end), link.size()) - end);
    if (about.find("rel=\"next\"") == about.npos && about.find("rel=next") == about.npos) continue;
    std::string_view address = link.substr(begin + 1, end - begin - 1);
    if (const size_t host = address.find("://"); host != address.npos) {
      const size_t path = address.find('/', host + 3);
      if (path == address.npos) return {};
      address = address.substr(path);
    }
    return address.starts_with('/') ? std::string(address) : std::string();
  }
  return {};
}

}  // namespace parlance
