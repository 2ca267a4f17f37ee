#include "hub/model_name.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace parlance {

namespace {

constexpr size_t kMostNameBytes = 2048;
constexpr size_t kMostRepoPart = 96;
constexpr size_t kMostPathPart = 255;
constexpr std::array<std::string_view, 4> kHubHosts = {"huggingface.co", "www.huggingface.co", "hf.co",
                                                       "www.hf.co"};

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool is_word(char c) {
  return ascii::is_letter(c) || ascii::is_digit(c) || c == '-' || c == '_' || c == '.';
}

// As hubs name owners and repositories: "--" is what parts of names are joined with in the cache.
bool is_repo_part(std::string_view part) {
  return !part.empty() && part.size() <= kMostRepoPart && std::ranges::all_of(part, is_word) &&
         part.find("--") == part.npos && part.find("..") == part.npos && part.front() != '-' &&
         part.front() != '.' && part.back() != '-' && part.back() != '.';
}

// A branch, a tag or a commit: "refs/pr/3".
bool is_revision(std::string_view text) {
  return is_safe_path(text) &&
         std::ranges::all_of(text, [](char c) { return is_word(c) || c == '/' || c == '+'; });
}

// Takes what stands before the first of `separators`, and leaves that and the rest.
std::string_view take_until(std::string_view& rest, std::string_view separators) {
  const size_t end = std::min(rest.find_first_of(separators), rest.size());
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(end);
  return taken;
}

std::string_view without_scheme(std::string_view url) {
  const size_t end = url.find("://");
  return end == url.npos ? url : url.substr(end + 3);
}

tl::unexpected<Error> no_name(std::string_view text) {
  return fail(ErrorCode::invalid_argument,
              "'{}' names no model; give ORG/NAME or ORG/NAME:QUANTISATION of a hub, as in "
              "Qwen/Qwen3-0.6B-GGUF:Q8_0, or an https address",
              text.substr(0, 200));
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && ascii::hex_value(text[i + 1]) >= 0 &&
        ascii::hex_value(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(ascii::hex_value(text[i + 1]) * 16 + ascii::hex_value(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

// What stands behind ORG/NAME in a name.
Result<ModelName> parse_rest(std::string_view text, std::string_view rest, ModelName name) {
  if (rest.starts_with('@')) {
    rest.remove_prefix(1);
    name.revision = unescaped(take_until(rest, ":/"));
    if (!is_revision(name.revision)) return no_name(text);
  }
  if (rest.starts_with('/')) {
    name.file = rest.substr(1);
    if (!is_safe_path(name.file)) return no_name(text);
    return name;
  }
  if (rest.starts_with(':')) {
    name.tag = rest.substr(1);
    if (name.tag.empty() || name.tag.size() > kMostRepoPart || !std::ranges::all_of(name.tag, is_word)) {
      return no_name(text);
    }
    return name;
  }
  if (rest.empty()) return name;
  return no_name(text);
}

// A page of the hub: what stands behind ORG/NAME in its address.
Result<ModelName> parse_page(std::string_view text, std::string_view rest, ModelName name) {
  if (const size_t end = rest.find_first_of("?#"); end != rest.npos) rest = rest.substr(0, end);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  if (rest.empty() || rest.starts_with(':') || rest.starts_with('@')) return parse_rest(text, rest, name);
  rest.remove_prefix(1);
  const std::string_view kind = take_until(rest, "/");
  if (kind != "tree" && kind != "blob" && kind != "resolve") return no_name(text);
  if (rest.empty()) return no_name(text);
  rest.remove_prefix(1);
  name.revision = unescaped(take_until(rest, "/"));
  if (!rest.empty()) name.file = unescaped(rest.substr(1));
  if (kind == "tree") name.file.clear();  // a folder says nothing of which file is meant
  if (!is_revision(name.revision) || (!name.file.empty() && !is_safe_path(name.file))) return no_name(text);
  return name;
}

}  // namespace

std::string ModelName::text() const {
  if (repo.empty()) return url;
  std::string all = std::string(kHubPrefix) + repo;
  if (revision != "main") all += "@" + escaped_revision();
  if (!file.empty()) return all + "/" + file;
  return tag.empty() ? all : all + ":" + tag;
}

std::string ModelName::escaped_revision() const {
  std::string text = escaped_path(revision);
  for (size_t at = text.find('/'); at != text.npos; at = text.find('/')) text.replace(at, 1, "%2F");
  return text;
}

bool is_remote_name(std::string_view name) {
  return name.starts_with(kHubPrefix) || name.starts_with("https://") || name.starts_with("http://");
}

bool is_safe_name(std::string_view name) {
  return is_safe_path(name) && name.find('/') == name.npos && name.front() != '.';
}

bool is_safe_path(std::string_view path) {
  if (path.empty() || path.size() > kMostNameBytes) return false;
  if (std::ranges::any_of(path, [](char c) { return is_control(c) || c == '\\'; })) return false;
  while (true) {
    const std::string_view part = take_until(path, "/");
    if (part.empty() || part == "." || part == ".." || part.size() > kMostPathPart) return false;
    if (path.empty()) return true;
    path.remove_prefix(1);
  }
}

std::string escaped_path(std::string_view path) {
  std::string out;
  for (const char c : path) {
    if (is_word(c) || c == '/' || c == '~') {
      out.push_back(c);
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Result<ModelName> parse_model_name(std::string_view text, std::string_view endpoint) {
  std::string_view rest = text;
  if (rest.size() > kMostNameBytes || std::ranges::any_of(rest, is_control))
    return no_name(text.substr(0, 0));
  if (rest.starts_with(kHubPrefix)) rest.remove_prefix(kHubPrefix.size());
  const bool is_address = rest.starts_with("https://") || rest.starts_with("http://");
  bool is_page = is_address;
  if (is_address) {
    std::string_view path = without_scheme(rest);
    const std::string host = ascii::lower(take_until(path, "/?#"));
    if (host.empty()) return no_name(text);
    const bool is_endpoint = !endpoint.empty() && rest.starts_with(endpoint) &&
                             (rest.size() == endpoint.size() || rest[endpoint.size()] == '/');
    if (is_endpoint) path = rest.substr(endpoint.size());
    if (!is_endpoint && std::ranges::find(kHubHosts, host) == kHubHosts.end()) {
      ModelName name;
      name.url = text;
      return name;
    }
    if (!path.starts_with('/')) return no_name(text);
    rest = path.substr(1);
  } else if (const std::string_view host = rest.substr(0, rest.find('/'));
             std::ranges::find(kHubHosts, host) != kHubHosts.end() && host.size() < rest.size()) {
    rest.remove_prefix(host.size() + 1);
    is_page = true;
  }
  ModelName name;
  const std::string_view owner = take_until(rest, "/");
  if (!rest.starts_with('/')) return no_name(text);
  rest.remove_prefix(1);
  const std::string_view repo = take_until(rest, "/:@?#");
  const bool is_host = std::ranges::find(kHubHosts, owner) != kHubHosts.end();  // twice
  if (is_host || !is_repo_part(owner) || !is_repo_part(repo)) return no_name(text);
  name.repo = fmt::format("{}/{}", owner, repo);
  return is_page ? parse_page(text, rest, std::move(name)) : parse_rest(text, rest, std::move(name));
}

}  // namespace parlance
