#include "cli/eval_tts_ways.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "audio/mel.h"
#include "audio/wav_writer.h"
#include "base/os/process.h"
#include "base/parse_number.h"
#include "cli/terminal/table.h"
#include "eval/second_judge.h"
#include "text/spoken_form.h"

namespace parlance {

namespace fs = std::filesystem;

namespace {

// A folder for what the second judge hears, which goes with it unless it is kept.
class SpokenFolder {
 public:
  static Result<SpokenFolder> make(const std::string& keep) {
    SpokenFolder folder;
    folder.is_kept_ = !keep.empty();
    std::error_code error;
    folder.path_ = folder.is_kept_
                       ? fs::path(keep)
                       : fs::temp_directory_path(error) / fmt::format("parlance-eval-{}", process_id());
    fs::create_directories(folder.path_, error);
    if (error) return fail(ErrorCode::io, "{}: {}", folder.path_.string(), error.message());
    return folder;
  }
  ~SpokenFolder() {
    std::error_code ignored;
    if (!path_.empty() && !is_kept_) fs::remove_all(path_, ignored);
  }
  SpokenFolder(SpokenFolder&& other) noexcept
      : path_(std::exchange(other.path_, {})), is_kept_(other.is_kept_) {}
  SpokenFolder& operator=(SpokenFolder&&) = delete;

  const fs::path& path() const { return path_; }

 private:
  SpokenFolder() = default;
  fs::path path_;
  bool is_kept_ = false;
};

std::string file_name(const SpeechWay& way, size_t text) {
  return fmt::format("{}-{:04}", way.name, text + 1);
}

std::string in_percent(std::optional<double> share) {
  return share ? fmt::format("{:.1f} %", 100 * *share) : "-";
}

std::string difference(const std::optional<MeasuredDifference>& d, int n_digits) {
  if (!d) return "-";
  return fmt::format("{:+.{}f} ({:+.{}f} to {:+.{}f})", d->value, n_digits, d->interval.low, n_digits,
                     d->interval.high, n_digits);
}

std::string number(std::optional<double> value, int n_digits) {
  return value ? fmt::format("{:.{}f}", *value, n_digits) : "-";
}

void print_ways(const Console& io, std::span<const SpeechWay> ways, std::span<const WayScores> scores) {
  Table words({{"quality", Table::Align::left},
               {"word errors"},
               {"points (95 %)"},
               {"second judge"},
               {"points (95 %)"},
               {"likeness"},
               {"less (95 %)"}});
  Table sound({{"quality", Table::Align::left},
               {"equal codes"},
               {"of the coarsest"},
               {"mel distance"},
               {"columns a second"},
               {"real-time factor"}});
  for (size_t i = 0; i < ways.size(); ++i) {
    const WayScores& s = scores[i];
    words.add({ways[i].name, in_percent(s.word_errors), difference(s.points, 2),
               in_percent(s.other_word_errors), difference(s.other_points, 2), number(s.likeness, 3),
               difference(s.likeness_lost, 3)});
    sound.add({ways[i].name, in_percent(s.alike_codes), in_percent(s.alike_coarse),
               s.mel_distance_db ? fmt::format("{:.1f} dB", *s.mel_distance_db) : "-",
               fmt::format("{:.0f}", s.columns_per_second), fmt::format("{:.3f}", s.real_time_factor)});
  }
  io.write(words.text(io));
  io.print("\n");
  io.write(sound.text(io));
}

void add(Json& json, const char* name, const std::optional<double>& value) {
  if (value) json.set(name, *value);
}

void add(Json& json, const char* name, const std::optional<MeasuredDifference>& d) {
  if (!d) return;
  json.set(name, Json::object({{"value", d->value}, {"low", d->interval.low}, {"high", d->interval.high}}));
}

Json to_json(const SpeechWay& way, const WayScores& s) {
  Json json = Json::object({{"quality", way.name},
                            {"word_error_rate", s.word_errors},
                            {"columns_per_second", s.columns_per_second},
                            {"synthesis_real_time_factor", s.real_time_factor}});
  add(json, "second_judge_word_error_rate", s.other_word_errors);
  add(json, "likeness", s.likeness);
  add(json, "equal_codes", s.alike_codes);
  add(json, "equal_coarse_codes", s.alike_coarse);
  add(json, "mel_distance_db", s.mel_distance_db);
  add(json, "points", s.points);
  add(json, "second_judge_points", s.other_points);
  add(json, "likeness_difference", s.likeness_lost);
  return json;
}

// Every way of every text, heard by our recogniser.
Result<std::vector<std::vector<SpokenOnce>>> speak_all(const WaysToCompare& options,
                                                       std::span<const SpeechLine> lines, SpeechJudge& judge,
                                                       const RequestOfWay& request_of, const EvalWatch& watch,
                                                       const SpokenFolder& folder) {
  std::vector<std::vector<SpokenOnce>> spoken(options.ways.size());
  for (size_t text = 0; text < lines.size(); ++text) {
    std::optional<JudgedWay> first;
    for (size_t i = 0; i < options.ways.size(); ++i) {
      const SpeechWay& way = options.ways[i];
      PARLANCE_TRY(const SpeechRequest request, request_of(lines[text], way));
      auto one = judge.judge_way(request, lines[text]);
      if (!one)
        return fail(one.error().code, "text {} in {} quality: {}", text + 1, way.name, one.error().message);
      PARLANCE_CHECK(write_wav(folder.path() / (file_name(way, text) + ".wav"), one->samples,
                               {.sample_rate_hz = kMelSampleRateHz}));
      if (first) {
        one->scores.alike_codes = share_of_equal_codes(first->codes, one->codes, one->codes.n_codebook);
        one->scores.alike_coarse = share_of_equal_codes(first->codes, one->codes, 1);
        one->scores.mel_distance_db = mel_distance_db(first->raw, one->raw);
      }
      spoken[i].push_back(one->scores);
      if (!first) first = *std::move(one);
    }
    watch.show([&] {
      return text + 1 == lines.size() ? std::string() : fmt::format("{}/{}", text + 1, lines.size());
    });
  }
  return spoken;
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

// "confidence=1", as --confidence 1.
Result<void> set_shortcut(QualityChoice& choice, std::string_view word) {
  std::vector<Option> options = quality_options(choice, "");
  OptionGroup group = shortcut_group(choice);
  options.erase(options.begin());  // the quality itself
  std::ranges::move(group.options, std::back_inserter(options));
  const size_t equals = std::min(word.find('='), word.size());
  const std::string name = fmt::format("--{}", word.substr(0, equals));
  const auto option = std::ranges::find(options, name, &Option::names);
  if (option == options.end() || equals == word.size()) {
    return fail(ErrorCode::invalid_argument,
                "--quality: '{}' is not NAME=VALUE with one of the names in 'parlance say --help'", word);
  }
  return option->set(std::string(word.substr(equals + 1)));
}

Result<SpeechWay> parse_way(std::string_view name) {
  const std::vector<std::string_view> parts = parts_of(name, ':');
  SpeechWay way{.name = std::string(name), .choice = {}, .seed = {}};
  const size_t at = parts.front().find('@');
  const auto quality = speech_quality_from_name(parts.front().substr(0, at));
  if (at != std::string_view::npos) way.seed = parse_number<uint64_t>(parts.front().substr(at + 1));
  if (!quality || (at != std::string_view::npos && !way.seed)) {
    return fail(ErrorCode::invalid_argument,
                "--quality: '{}' is not one of {}, with @ and a seed behind it or without", parts.front(),
                kSpeechQualities);
  }
  way.choice.quality = *quality;
  for (const std::string_view word : std::span(parts).subspan(1))
    PARLANCE_CHECK(set_shortcut(way.choice, word));
  SpeechRequest request;
  PARLANCE_CHECK(way.choice.apply(request));
  return way;
}

}  // namespace

Result<std::vector<SpeechWay>> parse_speech_ways(std::string_view list) {
  std::vector<SpeechWay> ways;
  for (const std::string_view name : parts_of(list, ',')) {
    PARLANCE_TRY(SpeechWay way, parse_way(name));
    ways.push_back(std::move(way));
  }
  return ways;
}

Result<void> compare_speech_ways(const Console& io, const WaysToCompare& options,
                                 std::span<const SpeechLine> lines, SpeechJudge& judge,
                                 const RequestOfWay& request_of, const EvalWatch& watch, Json& json) {
  PARLANCE_TRY(const SpokenFolder folder, SpokenFolder::make(options.keep));
  PARLANCE_TRY(auto texts_of_ways, speak_all(options, lines, judge, request_of, watch, folder));
  const bool has_second = has_second_judge();
  for (size_t i = 0; has_second && i < options.ways.size(); ++i) {
    std::vector<std::string> names;
    for (size_t text = 0; text < lines.size(); ++text) names.push_back(file_name(options.ways[i], text));
    watch.show([&] { return fmt::format("{} hears {}", kSecondJudge, options.ways[i].name); });
    PARLANCE_TRY(const auto heard, hear_with_second_judge(folder.path(), names, watch.cancellation));
    for (size_t text = 0; text < lines.size(); ++text)
      texts_of_ways[i][text].other_errors = count_word_errors(spoken(lines[text].text), spoken(heard[text]));
  }
  const std::vector<WayScores> scores = compare_ways(texts_of_ways);
  if (!options.wants_json) {
    print_ways(io, options.ways, scores);
    io.print("\n  {} texts; {}\n", lines.size(),
             has_second ? fmt::format("the second judge is {}", kSecondJudge)
                        : fmt::format("a second judge would be {}: install the packages pocketsphinx and "
                                      "pocketsphinx-en-us",
                                      kSecondJudge));
    return {};
  }
  Json list = Json::array();
  for (size_t i = 0; i < scores.size(); ++i) list.push(to_json(options.ways[i], scores[i]));
  json.set("texts", lines.size()).set("qualities", list);
  if (has_second) json.set("second_judge", kSecondJudge);
  return {};
}

}  // namespace parlance
