#include "assistant/conversation_files.h"

#include <algorithm>
#include <array>
#include <span>
#include <system_error>

#include "base/ascii.h"
#include "bundle/sha256.h"

namespace parlance {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

constexpr std::string_view kEnding = ".bin", kHalfWritten = ".part";
constexpr size_t kMostStemBytes = 128;
constexpr std::array kLifetimes = {Lifetime::brief, Lifetime::lasting, Lifetime::extended};

std::string hex_digits(std::string_view text, size_t n) {
  return sha256(std::as_bytes(std::span(text))).substr(0, n);
}

bool is_plain(char c) {
  return ascii::is_letter(c) || ascii::is_digit(c) || c == '.' || c == '_' || c == '-';
}

// What lies in a folder itself and is a file.
template <class Visit>
void visit_files(const fs::path& folder, const Visit& visit) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code of_entry;
    if (!entry->is_regular_file(of_entry) || of_entry) continue;
    const auto written = entry->last_write_time(of_entry);
    const uint64_t n_bytes = of_entry ? 0 : entry->file_size(of_entry);
    if (!of_entry) visit(entry->path(), written, n_bytes);
  }
}

milliseconds age_of(fs::file_time_type written, fs::file_time_type now) {
  return std::max(milliseconds(0), std::chrono::duration_cast<milliseconds>(now - written));
}

std::optional<KeptFile> file_at(const fs::path& path, fs::file_time_type now) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || error) return std::nullopt;
  const auto written = fs::last_write_time(path, error);
  const uint64_t n_bytes = error ? 0 : fs::file_size(path, error);
  if (error) return std::nullopt;
  return KeptFile{path, n_bytes, written, age_of(written, now)};
}

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostStemBytes &&
         (ascii::is_letter(name.front()) || ascii::is_digit(name.front())) &&
         std::ranges::all_of(name, is_plain);
}

// What the files of a conversation may be called. The name without a lifetime is another conversation's where
// it has one: "kitchen.long.bin" is of "kitchen", not of "kitchen.long".
std::vector<std::string> names_of(std::string_view stem) {
  std::vector<std::string> names;
  for (const Lifetime lifetime : kLifetimes) names.push_back(kept_file_name(stem, lifetime));
  if (!lifetime_of_file(stem)) names.push_back(std::string(stem) + std::string(kEnding));
  return names;
}

bool remove_file(const fs::path& path) {
  std::error_code error;
  return fs::remove(path, error) && !error;
}

}  // namespace

std::string_view name_of(Lifetime lifetime) {
  switch (lifetime) {
    case Lifetime::brief:
      return "short";
    case Lifetime::lasting:
      return "long";
    case Lifetime::extended:
      return "extended";
  }
  return "";
}

std::optional<Lifetime> lifetime_from_name(std::string_view name) {
  const auto found = std::ranges::find(kLifetimes, name, [](Lifetime one) { return name_of(one); });
  return found == kLifetimes.end() ? std::nullopt : std::optional(*found);
}

milliseconds horizon_of(Lifetime lifetime) {
  switch (lifetime) {
    case Lifetime::brief:
      return std::chrono::minutes(5);
    case Lifetime::lasting:
      return std::chrono::hours(1);
    case Lifetime::extended:
      return std::chrono::hours(24);
  }
  return {};
}

std::string conversation_stem(std::string_view id) {
  return is_plain_name(id) && !id.ends_with(kEnding) ? std::string(id) : "x" + hex_digits(id, 32);
}

std::string conversation_stem(std::string_view owner, std::string_view id) {
  if (owner.empty()) return conversation_stem(id);
  std::string whole(owner);
  whole += '\0';
  whole += id;
  return "x" + hex_digits(whole, 32);
}

std::string kept_file_name(std::string_view stem, Lifetime lifetime) {
  return std::string(stem) + "." + std::string(name_of(lifetime)) + std::string(kEnding);
}

std::optional<Lifetime> lifetime_of_file(std::string_view name) {
  if (name.ends_with(kEnding)) name.remove_suffix(kEnding.size());
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos ? std::nullopt : lifetime_from_name(name.substr(dot + 1));
}

Result<void> check_file_name(std::string_view name) {
  if (is_plain_name(name)) return {};
  return fail(
      ErrorCode::invalid_argument,
      "the name of a file must have 1 to {} letters, digits, '.', '_' or '-' and begin with a letter or "
      "digit; it names a file of the server's folder, and no path",
      kMostStemBytes);
}

std::string folder_name(const ModelFolder& folder) {
  std::string whole = folder.model;
  for (const std::string* part : {&folder.drafter, &folder.k_format, &folder.v_format, &folder.extra})
    whole += '\x01' + *part;
  return hex_digits(whole, 16);
}

std::vector<KeptFile> kept_files(const fs::path& folder, fs::file_time_type now) {
  std::vector<KeptFile> found;
  visit_files(folder, [&](const fs::path& path, fs::file_time_type written, uint64_t n_bytes) {
    if (path.extension() == kEnding) found.push_back({path, n_bytes, written, age_of(written, now)});
  });
  std::ranges::sort(found, {}, [](const KeptFile& file) { return file.path.filename().string(); });
  return found;
}

std::optional<KeptFile> find_kept(const fs::path& folder, std::string_view stem, fs::file_time_type now) {
  std::optional<KeptFile> youngest;
  for (const std::string& name : names_of(stem)) {
    const auto file = file_at(folder / name, now);
    if (file && (!youngest || youngest->written < file->written)) youngest = file;
  }
  return youngest;
}

std::optional<KeptFile> find_named(const fs::path& folder, std::string_view name, fs::file_time_type now) {
  return name.ends_with(kEnding) ? file_at(folder / name, now) : find_kept(folder, name, now);
}

size_t remove_kept(const fs::path& folder, std::string_view stem, const fs::path& but) {
  size_t n = 0;
  for (const std::string& name : names_of(stem)) {
    const fs::path path = folder / name;
    if (path != but && remove_file(path)) ++n;
  }
  return n;
}

Sweep sweep_kept(const fs::path& folder, fs::file_time_type now, IsOurs is_ours) {
  Sweep sweep;
  visit_files(folder, [&](const fs::path& path, fs::file_time_type written, uint64_t) {
    const std::string name = path.filename().string();
    const bool is_kept = path.extension() == kEnding;
    const bool is_half_written =
        path.extension() == kHalfWritten && name.find(std::string(kEnding) + ".") != std::string::npos;
    const Lifetime lifetime =
        is_kept ? lifetime_of_file(name).value_or(Lifetime::lasting) : Lifetime::lasting;
    const bool is_old = now - written > horizon_of(lifetime);
    if ((!is_kept && !is_half_written) || (is_kept && is_old && !is_ours(path))) {
      ++sweep.n_foreign;
    } else if (is_old && remove_file(path)) {
      ++sweep.n_removed;
    }
  });
  return sweep;
}

}  // namespace parlance
