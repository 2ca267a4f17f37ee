#include "server/conversations.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "base/parse_number.h"

namespace parlance {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

namespace {

std::string_view word_of(SnapshotRefusal reason) {
  switch (reason) {
    case SnapshotRefusal::not_a_snapshot:
      return "not_a_snapshot";
    case SnapshotRefusal::damaged:
      return "damaged";
    case SnapshotRefusal::other_version:
      return "other_version";
    case SnapshotRefusal::other_model:
      return "other_model";
    case SnapshotRefusal::other_layout:
      return "other_layout";
    case SnapshotRefusal::other_text:
      return "other_text";
  }
  return "";
}

constexpr std::array kRefusals = {SnapshotRefusal::not_a_snapshot, SnapshotRefusal::damaged,
                                  SnapshotRefusal::other_version,  SnapshotRefusal::other_model,
                                  SnapshotRefusal::other_layout,   SnapshotRefusal::other_text};

// System messages that are remembered.
constexpr size_t kSystemTexts = 256;

tl::unexpected<Error> no_folder() {
  return fail(ErrorCode::unsupported,
              "this server puts no conversations into files; start it with --state-dir or --slot-save-path");
}

}  // namespace

SweepInterval interval_from(std::string_view variable, const std::optional<std::string>& text,
                            milliseconds otherwise, milliseconds floor) {
  if (!text) return {otherwise, {}};
  const auto number = parse_number<int64_t>(*text);
  if (!number) {
    return {otherwise, fmt::format("{} must be a number of milliseconds, got '{}'; it is {} now", variable,
                                   *text, otherwise.count())};
  }
  if (*number >= floor.count()) return {milliseconds(*number), {}};
  return {floor, fmt::format("{} must be {} ms or more, got {}; it is {} now", variable, floor.count(),
                             *number, floor.count())};
}

Conversations::Conversations(std::shared_ptr<Context> context, fs::path folder,
                             const ConversationRules& rules, Metrics& metrics, EventLog& log)
    : context_(std::move(context)),
      folder_(std::move(folder)),
      rules_(rules),
      metrics_(metrics),
      log_(log),
      registry_(context_->options().n_seq),
      last_sweep_(Clock::now()),
      last_warming_(last_sweep_),
      watch_([this](const std::stop_token& is_over) { watch_restores(is_over); }),
      writer_("storage", 1, SIZE_MAX),
      reader_("restore", 1, SIZE_MAX) {
  if (has_files()) writer_.post([this] { sweep(); });
}

Conversations::~Conversations() {
  writer_.stop();
  reader_.stop();
}

// Where the server keeps its files is nobody's business but its own.
Error Conversations::without_folder(Error error) const {
  const std::string folder = folder_.string() + "/";
  for (size_t at = 0; (at = error.message.find(folder, at)) != std::string::npos;)
    error.message.erase(at, folder.size());
  return error;
}

Conversations::Open Conversations::open(const OpenConversation::Name& name, int slot, Lifetime lifetime) {
  const auto now = Clock::now();
  if (name.key.empty()) return registry_.open_nameless(-1, now);
  auto opened = registry_.open(name, slot, lifetime, now);
  if (opened.displaced) close(opened.displaced);
  return opened.conversation;
}

std::string Conversations::stem_of(const OpenConversation& conversation) const {
  return conversation_stem(conversation.name.owner, conversation.name.id);
}

std::optional<KeptFile> Conversations::find_file(std::string_view owner, std::string_view id) const {
  if (!has_files()) return std::nullopt;
  return find_kept(folder_, conversation_stem(owner, id), fs::file_time_type::clock::now());
}

Result<RestoredText> Conversations::read(const fs::path& path, const std::optional<PrefixKey>& text,
                                         const Sharing& sharing) {
  std::array<uint64_t, kRefusals.size()> before{};
  const SnapshotRefusals& refusals = context_->snapshot_refusals();
  for (size_t i = 0; i < before.size(); ++i) before[i] = refusals.count(kRefusals[i]);
  auto result = restore_known(*context_, path, text, sharing).map_error([this](Error error) {
    return without_folder(std::move(error));
  });
  bool is_refused = false;
  for (size_t i = 0; i < before.size(); ++i) {
    const auto n = static_cast<double>(refusals.count(kRefusals[i]) - before[i]);
    if (n > 0) metrics_.add("snapshot_refused_total", n, {{"reason", word_of(kRefusals[i])}});
    is_refused |= n > 0;
  }
  const char* const outcome = result ? "ok" : is_refused ? "refused" : "error";
  metrics_.add("snapshots_total", 1, {{"op", "restore"}, {"result", outcome}});
  LogFields fields = {{"op", std::string("restore")}, {"result", std::string(outcome)}};
  if (!result) fields.emplace_back("why", result.error().message);
  log_.write(result ? LogLevel::debug : LogLevel::info, "snapshot", fields);
  return result;
}

bool Conversations::restore(const Open& conversation, const Text& text, milliseconds most,
                            std::function<void(int64_t)> ready) {
  if (!has_files() || conversation->name.id.empty() || text->sharing.is_off) return false;
  if (!conversation->takes_first_look()) return false;
  const auto file = find_file(conversation->name.owner, conversation->name.id);
  if (!file) return false;
  const auto restore = std::make_shared<Restore>(Restore{Clock::now() + most, std::move(ready)});
  {
    const std::lock_guard lock(mutex_);
    restores_.push_back(restore);
  }
  has_restores_.notify_all();
  reader_.post([this, restore, text, path = file->path] {
    const auto read_text = read(path, text->key(), text->sharing);
    let_go_of(restore, read_text ? std::ssize(read_text->tokens) : 0);
  });
  return true;
}

// Whoever waits for it goes on.
void Conversations::let_go_of(const std::shared_ptr<Restore>& restore, int64_t n_read) {
  std::function<void(int64_t)> ready;
  {
    const std::lock_guard lock(mutex_);
    ready = std::exchange(restore->ready, nullptr);
    restores_.remove(restore);
  }
  if (ready) ready(n_read);
}

// A thread of its own: whoever reads may be held up by the very thing that makes others late.
void Conversations::watch_restores(const std::stop_token& is_over) {
  const auto deadline_of = [](const auto& restore) { return restore->deadline; };
  std::unique_lock lock(mutex_);
  while (has_restores_.wait(lock, is_over, [&] { return !restores_.empty(); })) {
    const auto first = *std::ranges::min_element(restores_, {}, deadline_of);
    if (Clock::now() >= first->deadline) {
      lock.unlock();
      let_go_of(first, 0);
      lock.lock();
      continue;
    }
    has_restores_.wait_until(lock, is_over, first->deadline, [&] {
      return std::ranges::any_of(restores_, [&](const auto& one) { return one->deadline < first->deadline; });
    });
  }
}

Result<StoredText> Conversations::write(const Open& conversation, const std::string& file_name) {
  const Text text = conversation->text();
  if (!text) return fail(ErrorCode::not_found, "nothing was computed for it; there is nothing to save");
  std::error_code error;
  if (fs::create_directories(folder_, error))
    fs::permissions(folder_, fs::perms::owner_all, error);  // what people said is theirs alone
  const fs::path path = folder_ / file_name;
  auto saved = save_known(*context_, text->key(), path).map_error([this](Error failed) {
    return without_folder(std::move(failed));
  });
  metrics_.add("snapshots_total", 1, {{"op", "save"}, {"result", saved ? "ok" : "error"}});
  if (!saved) {
    log_.write(
        LogLevel::info, "snapshot",
        {{"op", std::string("save")}, {"result", std::string("error")}, {"why", saved.error().message}});
    return saved;
  }
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
  log_.write(LogLevel::debug, "snapshot", {{"op", std::string("save")}, {"result", std::string("ok")}});
  return saved;
}

Result<StoredText> Conversations::write_own(const Open& conversation) {
  const Text text = conversation->text();
  const std::string stem = stem_of(*conversation), name = kept_file_name(stem, conversation->lifetime());
  auto saved = write(conversation, name);
  if (saved) {
    conversation->saved(text);
    remove_kept(folder_, stem, folder_ / name);
  }
  return saved;
}

void Conversations::save(const Open& conversation, OnSaved on_saved) {
  if (!has_files()) return on_saved(no_folder());
  writer_.post([this, conversation, on_saved = std::move(on_saved)] { on_saved(write_own(conversation)); });
}

void Conversations::save_as(const Open& conversation, const std::string& name, OnSaved on_saved) {
  if (!has_files()) return on_saved(no_folder());
  const std::string file = name.ends_with(".bin") ? name : kept_file_name(name, conversation->lifetime());
  writer_.post(
      [this, conversation, file, on_saved = std::move(on_saved)] { on_saved(write(conversation, file)); });
}

void Conversations::load(const Open& conversation, const std::string& name, OnLoaded on_loaded) {
  if (!has_files()) return on_loaded(no_folder());
  const auto file = find_named(folder_, name, fs::file_time_type::clock::now());
  if (!file) return on_loaded(fail(ErrorCode::not_found, "there is no file of that name; save it first"));
  reader_.post([this, conversation, path = file->path, on_loaded = std::move(on_loaded)] {
    const Text before = conversation->text();
    const Sharing sharing = before ? before->sharing : Sharing();
    auto restored = read(path, {}, sharing);
    if (restored) {
      conversation->set_text(std::make_shared<ConversationText>(ConversationText{restored->tokens, sharing}));
      conversation->use(Clock::now());
    }
    on_loaded(std::move(restored));
  });
}

void Conversations::note_system_text(std::string_view text) {
  const size_t hash = std::hash<std::string_view>()(text);
  const std::lock_guard lock(mutex_);
  std::erase(system_texts_, hash);
  system_texts_.push_back(hash);
  if (system_texts_.size() > kSystemTexts) system_texts_.pop_front();
}

bool Conversations::is_system_text(std::string_view text) const {
  const size_t hash = std::hash<std::string_view>()(text);
  const std::lock_guard lock(mutex_);
  return std::ranges::find(system_texts_, hash) != system_texts_.end();
}

void Conversations::close(const Open& conversation) {
  registry_.close(conversation);
  if (!has_files() || conversation->name.id.empty() || !conversation->is_unsaved()) return;
  save(conversation, [](const Result<StoredText>&) {});
}

int64_t Conversations::erase(const Open& conversation) {
  registry_.close(conversation);
  const int64_t n_tokens = conversation->erase();
  if (has_files() && !conversation->name.id.empty()) {
    // Behind what is being written of it.
    writer_.post([this, stem = stem_of(*conversation)] { (void)remove_kept(folder_, stem); });
  }
  return n_tokens;
}

void Conversations::sweep() {
  for (const Open& idle : registry_.close_idle(Clock::now())) close(idle);
  if (!has_files()) return;
  const Sweep done = sweep_kept(folder_, fs::file_time_type::clock::now(),
                                [](const fs::path& path) { return looks_like_snapshot(path); });
  if (done.n_removed > 0) {
    log_.write(LogLevel::info, "snapshot",
               {{"op", std::string("sweep")}, {"removed", static_cast<int64_t>(done.n_removed)}});
  }
  const std::lock_guard lock(mutex_);
  if (done.n_foreign > 0 && !std::exchange(has_told_of_foreign_, true)) {
    log_warning("{}: {} files there are no conversations' and are left alone", folder_.string(),
                done.n_foreign);
  }
}

void Conversations::keep_warm(const std::function<void(const Open&)>& rewarm) {
  for (const Open& conversation : registry_.all()) {
    const Text text = conversation->prefix();
    if (!text) continue;
    if (n_known(*text) < std::ssize(text->tokens)) {
      rewarm(conversation);
    } else {
      (void)count_known(*context_, text->key());  // a use: others are evicted before
    }
  }
}

void Conversations::tick(Clock::time_point now, const std::function<void(const Open&)>& rewarm) {
  const auto is_due = [&](Clock::time_point& last, milliseconds interval) {
    const std::lock_guard lock(mutex_);
    if (now - last < interval) return false;
    last = now;
    return true;
  };
  if (is_due(last_sweep_, rules_.eviction_interval)) writer_.post([this] { sweep(); });
  if (is_due(last_warming_, rules_.keepalive_interval)) keep_warm(rewarm);
}

size_t Conversations::save_all(milliseconds most) {
  if (!has_files()) return 0;
  struct Progress {
    std::mutex mutex;
    std::condition_variable changed;
    size_t n_left = 0, n_saved = 0;
    bool is_late = false;
  };
  const auto progress = std::make_shared<Progress>();
  for (const Open& conversation : registry_.all()) {
    if (conversation->name.id.empty() || !conversation->is_unsaved()) continue;
    ++progress->n_left;
    writer_.post([this, conversation, progress] {
      bool is_late = false;
      {
        const std::lock_guard lock(progress->mutex);
        is_late = progress->is_late;
      }
      const bool is_saved = !is_late && write_own(conversation).has_value();
      const std::lock_guard lock(progress->mutex);
      progress->n_saved += is_saved ? 1 : 0;
      --progress->n_left;
      progress->changed.notify_all();
    });
  }
  std::unique_lock lock(progress->mutex);
  progress->changed.wait_for(lock, most, [&] { return progress->n_left == 0; });
  progress->is_late = true;
  return progress->n_saved;
}

}  // namespace parlance
