// What people and programs see of a conversation by voice.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal/console.h"
#include "cli/terminal/live_line.h"
#include "json/json.h"
#include "voice/talk.h"

namespace parlance {

// Lines for people; at a terminal also what is being heard and written, as it comes.
class TalkView final : public TalkObserver {
 public:
  // `devices`: where each part runs, for programs.
  TalkView(const Console& io, bool wants_json, Json devices)
      : io_(io), wants_json_(wants_json), devices_(std::move(devices)), line_(io) {}

  void on_state(TalkState state) override;
  void on_hearing(const Hearing& hearing) override;
  void on_question(std::string_view question) override;
  void on_answer(std::string_view text) override;
  void on_turn(const TurnReport& report) override;

  // At the end: several turns in one line.
  void finish();

  const std::vector<TurnReport>& turns() const { return turns_; }

 private:
  bool is_live() const { return io_.out_is_terminal && !wants_json_; }
  void show_line();

  const Console& io_;
  const bool wants_json_;
  const Json devices_;
  LiveLine line_;
  TalkState state_ = TalkState::idle;
  LiveText heard_;
  bool is_answering_ = false;  // and the line of the answer is open
  std::vector<TurnReport> turns_;
};

// "heard 31 ms, thought 24 ms, spoke 110 ms; first audio 353 ms after you stopped"
std::string times_of(const TurnReport& report);

// All turns with their checkpoints, and the percentiles of what matters.
Json trace_json(const std::vector<TurnReport>& turns, const Json& devices);

}  // namespace parlance
