#include "hub/pull.h"

#include <algorithm>
#include <span>

#include "base/os/disk.h"
#include "base/os/file_lock.h"
#include "base/os/folder.h"
#include "bundle/sha256.h"
#include "hub/cache.h"
#include "hub/download.h"
#include "hub/listing.h"
#include "hub/try_again.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

constexpr size_t kMostPages = 1000;
constexpr std::chrono::milliseconds kLockPause{200};

std::string gibibytes(uint64_t n_bytes) {
  return fmt::format("{:.2f} GiB", static_cast<double>(n_bytes) / (1 << 30));
}

uint64_t bytes_of(const fs::path& path) {
  std::error_code error;
  const uintmax_t n_bytes = fs::file_size(path, error);
  return error ? 0 : n_bytes;
}

Result<void> check_room(const std::string& name, const fs::path& folder, uint64_t needed,
                        const PullOptions& options) {
  const auto free = options.free_bytes ? options.free_bytes(folder) : free_disk_bytes(folder);
  if (!free || needed <= *free) return {};
  return fail(ErrorCode::io,
              "{}: {} are to come, {} are free in {}; free some disk space, choose a smaller file, or name "
              "a folder on another disk with HF_HOME",
              name, gibibytes(needed), gibibytes(*free), folder.string());
}

// Waits until nobody else fetches the same file.
Result<FileLock> lock(const fs::path& path, const std::string& name, const PullOptions& options,
                      const Cancellation& cancellation) {
  bool is_told = false;
  while (true) {
    PARLANCE_TRY(auto held, FileLock::try_lock(path));
    if (held) return *std::move(held);
    if (!std::exchange(is_told, true) && options.on_news) {
      options.on_news(fmt::format("{}: another program is fetching it; waiting", name));
    }
    if (!wait_for(kLockPause, cancellation)) {
      return fail(ErrorCode::cancelled, "{}: stopped while another program fetches it", name);
    }
  }
}

class Hub {
 public:
  Hub(const ModelName& name, const HubSettings& settings, const PullOptions& options, Transport& transport,
      const Cancellation& cancellation)
      : name_(name),
        settings_(settings),
        options_(options),
        transport_(transport),
        cancellation_(cancellation),
        cache_(settings.cache, name.repo) {}

  Result<Pulled> pull() {
    PARLANCE_TRY(const std::string commit, find_commit());
    PARLANCE_TRY(const std::vector<HubFile> listed, list_files(commit));
    std::vector<std::string> paths;
    for (const HubFile& file : listed) paths.push_back(file.path);
    PARLANCE_TRY(const ChosenFiles chosen, choose_files(name_, paths));
    std::vector<HubFile> wanted;
    for (const std::string& path : chosen.paths) {
      wanted.push_back(*std::ranges::find(listed, path, &HubFile::path));
    }
    PARLANCE_CHECK(check_disk(commit, wanted));
    Pulled pulled{.name = name_, .commit = commit, .model = {}, .files = {}};
    for (const HubFile& file : wanted) {
      PARLANCE_TRY(pulled.files.emplace_back(), fetch(commit, file));
      done_.bytes_done += file.n_bytes;
      ++done_.n_done;
    }
    // The branch moves on when all is there: until then its old files are what it has.
    PARLANCE_CHECK(cache_.set_commit(name_.revision, commit));
    pulled.model = local_model(cache_.snapshot(commit), chosen);
    return pulled;
  }

 private:
  std::string bearer_for(const std::string& url) const {
    return may_know_token(settings_, url) ? settings_.token : std::string();
  }

  Result<FetchedText> ask(const std::string& path) const {
    const std::string url = settings_.endpoint + path;
    PARLANCE_TRY(FetchedText answer, get_text(transport_, {.url = url, .bearer = bearer_for(url)},
                                              kMostAnswerBytes, options_.patience, cancellation_));
    if (answer.status == kHttpOk) return answer;
    return tl::unexpected(status_error(answer.status, answer.head, name_.repo, !bearer_for(url).empty()));
  }

  Result<std::string> find_commit() const {
    PARLANCE_TRY(const FetchedText answer,
                 ask(fmt::format("/api/models/{}/revision/{}", name_.repo, name_.escaped_revision())));
    return parse_commit(answer.body);
  }

  Result<std::vector<HubFile>> list_files(const std::string& commit) const {
    std::vector<HubFile> files;
    std::string page = fmt::format("/api/models/{}/tree/{}?recursive=true", name_.repo, commit);
    for (size_t n_pages = 0; !page.empty(); ++n_pages) {
      PARLANCE_TRY(const FetchedText answer, ask(page));
      PARLANCE_TRY(const std::vector<HubFile> more, parse_tree(answer.body));
      files.insert(files.end(), more.begin(), more.end());
      if (files.size() > kMostListedFiles || n_pages > kMostPages) {
        return fail(ErrorCode::too_complex, "{}: more than {} files; name one of them: ORG/NAME/FILE",
                    name_.repo, kMostListedFiles);
      }
      page = next_page(answer.head.field("link"));
    }
    return files;
  }

  bool is_here(const std::string& commit, const HubFile& file) const {
    return cache_.has(commit, file.path, file.n_bytes) ||
           (is_file(cache_.blob(file.digest)) && bytes_of(cache_.blob(file.digest)) == file.n_bytes);
  }

  Result<void> check_disk(const std::string& commit, const std::vector<HubFile>& wanted) {
    uint64_t needed = 0;
    done_.bytes_total = 0;
    done_.n_files = wanted.size();
    for (const HubFile& file : wanted) {
      *done_.bytes_total += file.n_bytes;
      if (is_here(commit, file)) continue;
      const uint64_t begun = bytes_of(cache_.incomplete(file.digest));
      needed += file.n_bytes - std::min(file.n_bytes, begun);
    }
    return check_room(name_.text(), settings_.cache, needed, options_);
  }

  Result<PulledFile> fetch(const std::string& commit, const HubFile& file) {
    const std::string name = fmt::format("{}: {}", name_.repo, file.path);
    PulledFile pulled{.path = file.path,
                      .place = cache_.snapshot(commit) / file.path,
                      .n_bytes = file.n_bytes,
                      .digest = file.digest};
    done_.path = file.path;
    tell(0);
    if (cache_.has(commit, file.path, file.n_bytes)) return pulled;
    PARLANCE_TRY(const FileLock held, lock(cache_.lock(file.digest), name, options_, cancellation_));
    if (!is_here(commit, file)) {
      const std::string url =
          fmt::format("{}/{}/resolve/{}/{}", settings_.endpoint, name_.repo, commit, escaped_path(file.path));
      const DownloadOrder order{.name = name,
                                .url = url,
                                .bearer = bearer_for(url),
                                .n_bytes = file.n_bytes,
                                .digest = file.digest,
                                .incomplete = cache_.incomplete(file.digest),
                                .place = cache_.blob(file.digest),
                                .check_room = {},
                                .on_progress = [this](uint64_t n, std::optional<uint64_t>) { tell(n); }};
      PARLANCE_TRY(const Downloaded downloaded,
                   download(transport_, order, options_.patience, cancellation_));
      pulled.n_fetched = downloaded.n_fetched;
    }
    if (!cache_.has(commit, file.path, file.n_bytes)) {
      PARLANCE_CHECK(cache_.link(commit, file.path, file.digest));
    }
    return pulled;
  }

  void tell(uint64_t n_bytes) const {
    if (!options_.on_progress) return;
    PullProgress now = done_;
    now.bytes_done += n_bytes;
    options_.on_progress(now);
  }

  const ModelName& name_;
  const HubSettings& settings_;
  const PullOptions& options_;
  Transport& transport_;
  const Cancellation& cancellation_;
  const HubCache cache_;
  PullProgress done_;
};

Result<Pulled> pull_address(const ModelName& name, const HubSettings& settings, const PullOptions& options,
                            Transport& transport, const Cancellation& cancellation) {
  fs::path place = options.target;
  if (place.empty()) {
    PARLANCE_TRY(place, place_of_address(name.url, settings));
  }
  place = fs::absolute(place);
  const fs::path folder = place.parent_path();
  const std::string file = place.filename().string();
  PulledFile pulled{.path = file, .place = place, .digest = options.sha256};
  const fs::path hidden = folder / ("." + file);
  const std::string whole = place.string();
  const std::string key = sha256(std::as_bytes(std::span(whole.data(), whole.size())));
  const fs::path lock_file = settings.own_cache / "locks" / (key + ".lock");
  PARLANCE_TRY(const FileLock held, lock(lock_file, name.url, options, cancellation));
  if (!is_file(place)) {
    const auto tell = [&](uint64_t n_bytes, std::optional<uint64_t> n_total) {
      if (options.on_progress)
        options.on_progress({.path = file, .bytes_done = n_bytes, .bytes_total = n_total});
    };
    const DownloadOrder order{
        .name = name.url,
        .url = name.url,
        .bearer = may_know_token(settings, name.url) ? settings.token : std::string(),
        .n_bytes = std::nullopt,
        .digest = options.sha256,
        .incomplete = hidden.string() + ".incomplete",
        .place = place,
        .check_room = [&](uint64_t needed) { return check_room(name.url, folder, needed, options); },
        .on_progress = tell};
    PARLANCE_TRY(const Downloaded downloaded, download(transport, order, options.patience, cancellation));
    pulled.n_fetched = downloaded.n_fetched;
  }
  pulled.n_bytes = bytes_of(place);
  return Pulled{.name = name,
                .commit = {},
                .model = {.folder = folder, .model = place, .mmproj = {}, .codec = {}},
                .files = {pulled}};
}

}  // namespace

Result<Pulled> pull(const ModelName& name, const HubSettings& settings, const PullOptions& options,
                    Transport& transport, const Cancellation& cancellation) {
  if (settings.is_offline) {
    PARLANCE_TRY(LocalModel model, find_local_model(name, settings));
    return Pulled{.name = name, .commit = {}, .model = std::move(model), .files = {}};
  }
  if (name.repo.empty()) return pull_address(name, settings, options, transport, cancellation);
  return Hub(name, settings, options, transport, cancellation).pull();
}

}  // namespace parlance
