// The conversations of a server: which are open, what of them is put away in files, when they are put away
// and forgotten, and what is kept warm.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "assistant/conversation_registry.h"
#include "base/result.h"
#include "engine/known_text.h"
#include "server/event_log.h"
#include "server/metrics.h"
#include "server/workers.h"

namespace parlance {

struct ConversationRules {
  std::filesystem::path state_folder;  // empty: nothing is put into files
  std::filesystem::path slot_folder;   // in place of the model's folder below it; empty: that
  std::chrono::milliseconds eviction_interval{300000};
  std::chrono::milliseconds keepalive_interval{240000};
  // How long an answer waits for what was put away of its conversation, also where it is spoken; then it is
  // computed again, and what is read is of use to the next one.
  std::chrono::milliseconds longest_restore{1500}, longest_voice_restore{200};
  bool shares_prefixes = false;  // between API keys too
  std::string prewarm_body;      // a chat whose beginning is computed at the start and stays; empty: none
};

// An interval as an environment variable gives it. Below the floor: the floor; what is no number:
// `otherwise`. Either way `remark` says so.
struct SweepInterval {
  std::chrono::milliseconds time;
  std::string remark;  // empty: none
};
SweepInterval interval_from(std::string_view variable, const std::optional<std::string>& text,
                            std::chrono::milliseconds otherwise, std::chrono::milliseconds floor);

class Conversations {
 public:
  using Clock = std::chrono::steady_clock;
  using Open = ConversationRegistry::Open;
  using Text = std::shared_ptr<const ConversationText>;

  // What it is given outlives it. `folder` is the model's; empty: nothing is put into files.
  Conversations(std::shared_ptr<Context> context, std::filesystem::path folder,
                const ConversationRules& rules, Metrics& metrics, EventLog& log);
  ~Conversations();

  const std::filesystem::path& folder() const { return folder_; }
  bool has_files() const { return !folder_.empty(); }
  const ConversationRegistry& registry() const { return registry_; }

  // The one that a request belongs to; of a request without a key, one that goes by its slot alone.
  Open open(const OpenConversation::Name& name, int slot, Lifetime lifetime);
  // One that goes by its slot alone.
  Open open_at(int slot) { return registry_.open_nameless(slot, Clock::now()); }
  void take_slot(const Open& conversation) { registry_.take_slot(conversation); }

  // Reads what was put away of a conversation that was just opened, as far as a text begins like it, and then
  // calls `ready`, with the tokens that were read, once; at the latest when the time is over, while it is
  // read on. False, and `ready` is not called: there is nothing to read.
  bool restore(const Open& conversation, const Text& text, std::chrono::milliseconds most,
               std::function<void(int64_t n_read)> ready);

  // Into the conversation's own file; `done` comes from the thread that writes. Errors: nothing to write, no
  // folder, the file.
  using OnSaved = std::function<void(Result<StoredText>)>;
  void save(const Open& conversation, OnSaved on_saved);
  // Into, or out of, a file of the folder under a name that check_file_name() let through.
  void save_as(const Open& conversation, const std::string& name, OnSaved on_saved);
  using OnLoaded = std::function<void(Result<RestoredText>)>;
  void load(const Open& conversation, const std::string& name, OnLoaded on_loaded);

  // No longer open: put away where there are files, or with all that is known of it.
  void close(const Open& conversation);
  // Its file goes too. How many tokens there were.
  int64_t erase(const Open& conversation);

  // System messages that were put to the model, as far as they are remembered.
  void note_system_text(std::string_view text);
  bool is_system_text(std::string_view text) const;

  // Whether a file has a conversation that is not open; when it was written.
  std::optional<KeptFile> find_file(std::string_view owner, std::string_view id) const;

  // From the server's clock: what is due of sweeping. `rewarm` is called with what was to be kept warm and is
  // not known any more.
  void tick(Clock::time_point now, const std::function<void(const Open&)>& rewarm);
  // The same at once, whatever the time.
  void sweep();
  void keep_warm(const std::function<void(const Open&)>& rewarm);

  // All that is open and not in a file yet, at most for so long. How many were.
  size_t save_all(std::chrono::milliseconds most);

  // How many tokens of a text are known, without a use of them.
  int64_t n_known(const ConversationText& text) const { return context_->tree().count(text.key()); }
  const std::shared_ptr<Context>& context() const { return context_; }

 private:
  struct Restore {
    Clock::time_point deadline;
    std::function<void(int64_t)> ready;  // empty: it was called
  };

  Error without_folder(Error error) const;
  std::string stem_of(const OpenConversation& conversation) const;
  Result<StoredText> write(const Open& conversation, const std::string& file_name);
  Result<StoredText> write_own(const Open& conversation);
  Result<RestoredText> read(const std::filesystem::path& path, const std::optional<PrefixKey>& text,
                            const Sharing& sharing);
  void let_go_of(const std::shared_ptr<Restore>& restore, int64_t n_read);
  void watch_restores(const std::stop_token& is_over);

  const std::shared_ptr<Context> context_;
  const std::filesystem::path folder_;
  const ConversationRules rules_;
  Metrics& metrics_;
  EventLog& log_;
  ConversationRegistry registry_;

  mutable std::mutex mutex_;  // of what follows
  std::list<std::shared_ptr<Restore>> restores_;
  std::condition_variable_any has_restores_;
  std::deque<size_t> system_texts_;  // hashes, the oldest first
  bool has_told_of_foreign_ = false;
  Clock::time_point last_sweep_, last_warming_;

  std::jthread watch_;       // lets those go on who have waited long enough
  Workers writer_, reader_;  // end first
};

}  // namespace parlance
