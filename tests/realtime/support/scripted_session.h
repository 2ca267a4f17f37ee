// A session on a virtual clock, between a client, ears, a mind and a mouth that follow a script; the turn
// detector, the chunker and everything of the session are real. All that the client is told is checked.
#pragma once

#include <regex.h>

#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "audio/mel.h"
#include "realtime/session.h"
#include "realtime/support/checker.h"
#include "text/base64.h"
#include "tts/audio/speech_format.h"

namespace parlance::test {

struct RealtimeScript {
  Dialect dialect = Dialect::ga;
  SessionKind kind = SessionKind::conversation;
  std::vector<ReadPiece> answer = {{ReadPiece::Kind::words, "Well,"},
                                   {ReadPiece::Kind::words, " that was"},
                                   {ReadPiece::Kind::words, " said."},
                                   {ReadPiece::Kind::words, " It is fine"},
                                   {ReadPiece::Kind::words, " with me."}};
  bool is_complete = true;
  double first_token_ms = 20, token_ms = 5, asr_ms = 40, first_audio_ms = 90, audio_rate = 3;
  double ms_of_character = 40;  // of speech
  int n_ears = 100;             // streams that may be open at once
  int64_t n_ctx = 4096;
  std::optional<double> end_probability;
  std::string instructions;
  std::vector<Item> items;
  std::string conversation_id;
  bool has_unstable_ears = false;  // what they said was stable is taken back
};

// Hears a word for each 100 ms of loud sound, thinks what the script says, speaks tones.
class ScriptedSession final : public RealtimeSink, public RealtimeParts, public RealtimeObserver {
 public:
  explicit ScriptedSession(RealtimeScript given = {}) : script(std::move(given)), checker(script.dialect) {
    RealtimeTerms terms;
    terms.offer.model = "demo";
    terms.offer.asr_model = "demo-asr";
    terms.offer.instructions = script.instructions;
    terms.dialect = script.dialect;
    terms.kind = script.kind;
    terms.items = script.items;
    terms.conversation_id = script.conversation_id;
    session = std::make_unique<RealtimeSession>(terms, *this, *this, *this, [this] { is_woken_ = true; });
    session->open();
    if (script.kind == SessionKind::conversation) {
      update(R"({"audio":{"input":{"format":{"type":"audio/pcm","rate":16000}}}})",
             R"({"input_audio_transcription":{}})");
    }
  }
  ~ScriptedSession() override {
    session.reset();
    checker.finish();
    EXPECT_EQ(checker.breach(), "") << log();
  }

  // What the client does.
  void tell(const std::string& event) {
    session->take_text(event);
    name_wake();
    settle();
  }
  void update(const std::string& ga, const std::string& beta = "") {
    const std::string& settings = script.dialect == Dialect::ga || beta.empty() ? ga : beta;
    tell(R"({"type":"session.update","session":)" + settings + "}");
  }
  void create(const std::string& text) {
    tell(
        R"({"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":")" +
        text + "\"}]}}");
  }
  // 20 ms at a time, as it comes.
  void hear(int ms, bool is_loud) {
    for (int at = 0; at < ms; at += 20) {
      std::string bytes;
      const int rate =
          script.dialect == Dialect::ga && script.kind == SessionKind::conversation ? 16000 : 24000;
      for (int i = 0; i < rate / 50; ++i) {
        const int16_t sample = is_loud ? (i % 2 == 0 ? 9000 : 8000) : 0;
        bytes += static_cast<char>(sample & 0xff);
        bytes += static_cast<char>(sample >> 8);
      }
      tell(R"({"type":"input_audio_buffer.append","audio":")" + to_base64(bytes) + "\"}");
      run(20);
    }
  }
  void run(double ms) {
    for (const double end = now_ + ms; now_ < end;) {
      now_ += 1;
      settle();
    }
  }

  // What it was told.
  std::vector<json> events;
  std::vector<double> times;
  size_t n_of(const std::string& type) const {
    return static_cast<size_t>(std::count_if(events.begin(), events.end(),
                                             [&](const json& event) { return event["type"] == type; }));
  }
  // When the first of these came; none did: -1.
  double time_of(const std::string& type) const {
    const auto found =
        std::find_if(events.begin(), events.end(), [&](const json& event) { return event["type"] == type; });
    return found == events.end() ? -1 : times[static_cast<size_t>(found - events.begin())];
  }
  const json* last(const std::string& type) const {
    for (auto event = events.rbegin(); event != events.rend(); ++event) {
      if ((*event)["type"] == type) return &*event;
    }
    return nullptr;
  }
  std::string log() const {
    std::string all;
    for (size_t i = 0; i < events.size(); ++i) {
      json event = events[i];
      if (event.contains("delta") && event["delta"].is_string() &&
          event["delta"].get<std::string>().size() > 60)
        event["delta"] = "…";
      if (event.contains("session")) event["session"] = "…";
      all += fmt::format("{:.0f} ", times[i]) + event.dump().substr(0, 260) + "\n";
    }
    return all;
  }
  // By POSIX, whose matcher needs no more stack for longer texts.
  static bool found(const std::string& text, const std::string& pattern) {
    regex_t compiled;
    if (regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) != 0) return false;
    const bool is_found = regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
    regfree(&compiled);
    return is_found;
  }
  bool matches(const std::string& pattern, size_t from) const {
    const RealtimeShapes* shapes = realtime_shapes();
    if (!shapes) return true;
    std::string wanted = shapes->sequences["realtime"][pattern];
    std::string order = order_of(events, from);
    if (script.dialect == Dialect::beta) {
      for (const auto& [ga, beta] : shapes->beta["names"].items()) {
        const std::string to = beta.is_null() ? "" : "<" + beta.get<std::string>() + ">";
        for (size_t at; (at = wanted.find("<" + ga + ">")) != std::string::npos;)
          wanted.replace(at, ga.size() + 2, to);
      }
    }
    const bool is_match =
        found(order, "^(" + wanted + ")$") || (!wanted.ends_with("$") && found(order, wanted));
    if (!is_match) ADD_FAILURE() << pattern << ": " << order << "\n" << log();
    return is_match;
  }

  RealtimeScript script;
  RealtimeChecker checker;
  std::unique_ptr<RealtimeSession> session;
  std::vector<json> chats;  // that the mind was asked
  struct Warmed {
    json chat;
    WhenWarm when;
  };
  std::vector<Warmed> warmed;             // beginnings that it was to know
  std::vector<std::vector<float>> heard;  // what each of the ears was fed
  std::map<std::string, size_t> n_events_in, n_events_out;
  std::vector<double> silenced_after_ms;
  int n_cancelled = 0;  // answers that nobody waited for
  int n_open_ears = 0, n_said = 0;
  int closed_with = 0;
  size_t n_stuck = 0;  // bytes that the client has not taken

  // RealtimeSink
  void send_binary(std::string bytes) override { binary.push_back(std::move(bytes)); }
  void close(uint16_t code, std::string) override { closed_with = code; }
  size_t n_unsent() const override { return n_stuck; }
  void when_taken(std::function<void()> on_taken) override { on_taken_ = std::move(on_taken); }
  void hold(bool) override {}
  std::vector<std::string> binary;
  void let_go() {
    n_stuck = 0;
    if (on_taken_) std::exchange(on_taken_, {})();
    settle();
  }

  // RealtimeObserver
  void on_event(bool is_ours, std::string_view type) override {
    ++(is_ours ? n_events_out : n_events_in)[std::string(type)];
  }
  void on_interrupted(double ms) override { silenced_after_ms.push_back(ms); }

  // RealtimeParts
  double now_ms() override { return now_; }
  int64_t n_ctx() const override { return script.n_ctx; }
  RealtimeResult<int64_t> count(const Json& chat) override { return std::ssize(chat.line()) / 4; }
  RealtimeResult<std::unique_ptr<MindAnswer>> ask(const Json& chat, OnNews on_news) override {
    chats.push_back(json::parse(chat.line()));
    if (script.answer.empty()) return reject("internal_error", {}, "the mind is empty");
    return std::make_unique<Answer>(*this, std::move(on_news));
  }
  std::unique_ptr<MindWarming> warm(const Json& chat, WhenWarm when, OnNews) override {
    struct Ended final : MindWarming {
      bool has_ended() const override { return true; }
    };
    warmed.push_back({json::parse(chat.line()), when});
    return std::make_unique<Ended>();
  }
  std::unique_ptr<EndJudgement> judge_end(const Json&, OnNews) override {
    if (!script.end_probability) return nullptr;
    struct Known final : EndJudgement {
      explicit Known(double p) : p_(p) {}
      std::optional<double> probability() override { return p_; }
      double p_;
    };
    return std::make_unique<Known>(*script.end_probability);
  }
  Result<std::unique_ptr<EarStream>> listen(const AsrRequest&, OnNews on_news) override {
    if (n_open_ears >= script.n_ears) return fail(ErrorCode::busy, "all ears are taken");
    return std::make_unique<ScriptedEars>(*this, std::move(on_news));
  }
  Result<std::unique_ptr<Mouth>> open_mouth(const MouthTerms&, Inbox& inbox) override {
    return std::make_unique<ScriptedMouth>(*this, inbox);
  }
  std::string filler_text(const std::string&) override { return "one sec"; }
  Result<std::unique_ptr<SpeechFinder>> find_speech(const TurnOptions& options) override {
    return std::make_unique<Finder>(options);
  }

  static std::string words(size_t n) {
    std::string text;
    for (size_t i = 1; i <= n; ++i) text += (i == 1 ? "w" : " w") + std::to_string(i);
    return text;
  }

 private:
  void send(std::string text) override {
    if (closed_with != 0) ADD_FAILURE() << "something is sent behind the close";
    events.push_back(json::parse(text));
    times.push_back(now_);
    checker.take(events.back());
  }

  void later(double at_ms, std::function<void()> what) { later_.emplace(at_ms, std::move(what)); }

  void settle() {
    for (int i = 0; i < 20; ++i) {
      while (!later_.empty() && later_.begin()->first <= now_) {
        const auto what = std::move(later_.begin()->second);
        later_.erase(later_.begin());
        what();
      }
      // As its owner does: woken, or at the time that it named.
      if (!std::exchange(is_woken_, false) && now_ < wake_at_) break;
      session->advance();
      name_wake();
    }
  }
  void name_wake() { wake_at_ = now_ + std::max(0.001, session->wait_ms().value_or(INFINITY)); }

  struct Answer final : MindAnswer {
    Answer(ScriptedSession& o, OnNews news) : owner(o), on_news(std::move(news)) {
      double at = owner.now_ + owner.script.first_token_ms;
      for (const ReadPiece& piece : owner.script.answer) {
        owner.later(at, [this, piece, alive = std::weak_ptr<int>(alive)] {
          if (alive.expired()) return;
          pieces.push_back(piece);
          ++n_pieces;
          on_news();
        });
        at += owner.script.token_ms;
      }
      owner.later(at, [this, alive = std::weak_ptr<int>(alive)] {
        if (alive.expired()) return;
        is_over = true;
        on_news();
      });
    }
    ~Answer() override { owner.n_cancelled += is_over ? 0 : 1; }
    bool has_ended() const override { return is_over; }
    std::vector<ReadPiece> take() override { return std::exchange(pieces, {}); }
    MindUsage usage() const override { return {.n_input = 10, .n_cached = 4, .n_output = n_pieces}; }
    RealtimeResult<bool> is_complete() const override { return owner.script.is_complete; }

    ScriptedSession& owner;
    OnNews on_news;
    std::vector<ReadPiece> pieces;
    int64_t n_pieces = 0;
    bool is_over = false;
    std::shared_ptr<int> alive = std::make_shared<int>();
  };

  struct ScriptedEars final : EarStream {
    ScriptedEars(ScriptedSession& o, OnNews news)
        : owner(o), on_news(std::move(news)), index(o.heard.size()) {
      ++owner.n_open_ears;
      owner.heard.emplace_back();
    }
    ~ScriptedEars() override { --owner.n_open_ears; }
    Result<void> feed(std::span<const float> samples) override {
      owner.heard[index].insert(owner.heard[index].end(), samples.begin(), samples.end());
      for (const float sample : samples) n_loud += std::abs(sample) > 0.1f ? 1 : 0;
      ++revision;
      final_at = INFINITY;
      return {};
    }
    void pause() override {
      if (final_at < INFINITY) return;
      final_at = owner.now_ + owner.script.asr_ms;
      owner.later(final_at, [this, alive = std::weak_ptr<int>(alive)] {
        if (!alive.expired()) on_news();
      });
    }
    Result<Hearing> hearing() override {
      // Loud sound comes in windows of 32 ms: the count is rounded, but less than most of a word is none.
      const size_t n = static_cast<size_t>(static_cast<double>(n_loud) / 1600 + 0.35);
      const bool is_final = owner.now_ >= final_at;
      Hearing heard{.text = words(n),
                    .n_stable = 0,
                    .revision = revision + (is_final ? 1000000 : 0),
                    .is_final = is_final};
      heard.n_stable = n > 1 ? words(n - 1).size() : 0;
      if (owner.script.has_unstable_ears && is_final && n > 1) heard.text = "v" + heard.text.substr(1);
      return heard;
    }

    ScriptedSession& owner;
    OnNews on_news;
    const size_t index;  // in ScriptedSession::heard
    int64_t n_loud = 0;
    uint64_t revision = 0;
    double final_at = INFINITY;
    std::shared_ptr<int> alive = std::make_shared<int>();
  };

  struct ScriptedMouth final : Mouth {
    ScriptedMouth(ScriptedSession& o, Inbox& i) : owner(o), inbox(i) {}
    void say(uint64_t reply, int64_t phrase, const std::string& text) override {
      ++owner.n_said;
      const double begin = std::max(owner.now_, free_at);
      const auto post = [&](double at, TalkMessage message) {
        owner.later(at, [this, message, alive = std::weak_ptr<int>(alive)] {
          if (!alive.expired()) inbox.post(message);
        });
      };
      post(begin, SpeechBegun{reply, phrase, begin});
      const double length_ms = owner.script.ms_of_character * static_cast<double>(text.size());
      double at = begin + owner.script.first_audio_ms;
      constexpr double kPieceMs = 70;
      for (double made = 0; made < length_ms; made += kPieceMs) {
        const auto n = static_cast<size_t>(std::min(kPieceMs, length_ms - made) * kSpeechRateHz / 1000);
        post(at, Spoken{reply, phrase, std::vector<float>(n, 0.25f), at});
        at += kPieceMs / owner.script.audio_rate;
      }
      post(at, SpeechEnd{reply, phrase, at});
      free_at = at;
    }
    void cancel() override { alive = std::make_shared<int>(); }

    ScriptedSession& owner;
    Inbox& inbox;
    double free_at = 0;
    std::shared_ptr<int> alive = std::make_shared<int>();
  };

  struct Finder final : SpeechFinder {
    explicit Finder(const TurnOptions& o) : options(o), detector(o) {}
    void feed(std::span<const float> samples, OnEvent on_event, OnAudio on_audio) override {
      all.insert(all.end(), samples.begin(), samples.end());
      while (n_seen + kSileroWindow <= std::ssize(all)) window(kSileroWindow, on_event, on_audio);
    }
    void window(int64_t n, OnEvent on_event, OnAudio on_audio) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += std::abs(all[static_cast<size_t>(n_seen + i)]);
      const bool is_speech = sum / static_cast<double>(n) > 0.1;
      const bool was_idle = detector.phase() == TurnPhase::idle;
      n_seen += n;
      const auto event = detector.next(is_speech ? 0.9f : 0.02f, is_speech ? 0.25f : 0.001f, n);
      if (event && was_idle) {
        on_event(*event);
        give(event->first_sample, on_audio);
      } else if (!was_idle) {
        give(n_given, on_audio);
        if (event) on_event(*event);
      }
    }
    void give(int64_t from, OnAudio on_audio) {
      on_audio(std::span(all).subspan(static_cast<size_t>(from), static_cast<size_t>(n_seen - from)), from);
      n_given = n_seen;
    }
    void end(OnEvent on_event, OnAudio on_audio) override {
      if (n_seen < std::ssize(all)) window(std::ssize(all) - n_seen, on_event, on_audio);
      if (const auto event = detector.flush()) {
        TurnEvent shifted = *event;
        on_event(shifted);
      }
      forget_state();
    }
    void forget() override { forget_state(); }
    // The detector counts from 0 again: so it is replaced by one that is fed the silence before.
    void forget_state() {
      detector = TurnDetector(options);
      const int64_t n = n_seen;
      for (int64_t i = 0; i < n; i += kSileroWindow) detector.next(0.0f, 0.0f);
      n_seen = ((n + kSileroWindow - 1) / kSileroWindow) * kSileroWindow;
      all.resize(static_cast<size_t>(std::max<int64_t>(n_seen, std::ssize(all))));
      n_given = n_seen;
    }

    TurnOptions options;
    TurnDetector detector;
    std::vector<float> all;
    int64_t n_seen = 0, n_given = 0;
  };

  double now_ = 0, wake_at_ = 0;
  bool is_woken_ = false;
  std::function<void()> on_taken_;
  std::multimap<double, std::function<void()>> later_;
};

// What a response says, by its last event.
inline std::string said(const json& done) {
  return done["response"]["output"].at(0)["content"][0]["transcript"];
}

}  // namespace parlance::test
