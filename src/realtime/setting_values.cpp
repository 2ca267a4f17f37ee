#include "realtime/setting_values.h"

#include <algorithm>
#include <array>

namespace parlance {

RealtimeResult<double> read_number(const Reading& r, const Json& value, double lowest, double highest) {
  const auto number = value.number();
  if (!number || *number < lowest || *number > highest)
    return r.refuse("must be a number from {} to {}, got {}", lowest, highest, value.line());
  return *number;
}

RealtimeResult<int64_t> read_integer(const Reading& r, const Json& value, int64_t lowest, int64_t highest) {
  const auto number = value.integer();
  if (!number || *number < lowest || *number > highest)
    return r.refuse("must be a whole number from {} to {}, got {}", lowest, highest, value.line());
  return *number;
}

RealtimeResult<bool> read_truth(const Reading& r, const Json& value) {
  if (const auto truth = value.truth()) return *truth;
  return r.refuse("must be true or false, got {}", value.line());
}

RealtimeResult<std::string> read_string(const Reading& r, const Json& value, size_t n_most) {
  auto text = value.text();
  if (!text) return r.refuse("must be a string, got {}", value.line().substr(0, 80));
  if (text->size() > n_most) return r.refuse("may have {} bytes, got {}", n_most, text->size());
  return *std::move(text);
}

RealtimeResult<std::string> read_word(const Reading& r, const Json& value, std::string_view words) {
  const std::string word = value.text().value_or("");
  for (size_t at = 0; at <= words.size();) {
    const size_t end = std::min(words.find('|', at), words.size());
    if (!word.empty() && words.substr(at, end - at) == word) return word;
    at = end + 1;
  }
  std::string listed(words);
  for (char& c : listed) {
    if (c == '|') c = ' ';
  }
  return r.refuse("must be one of: {}; got {}", listed, value.line().substr(0, 80));
}

Reading inside(const Reading& r, std::string_view member) {
  return {r.settings, r.now, r.offer, r.locks, fmt::format("{}.{}", r.where, member)};
}

RealtimeResult<SoundForm> read_form(const Reading& r, const Json& value) {
  using Coding = SoundForm::Coding;
  const bool is_word = value.kind() == JsonKind::text;
  const auto type = is_word                ? value.text()
                    : value.member("type") ? value.member("type")->text()
                                           : std::nullopt;
  if (type == "audio/pcmu" || type == "g711_ulaw") return SoundForm{.coding = Coding::ulaw, .rate_hz = 8000};
  if (type == "audio/pcma" || type == "g711_alaw") return SoundForm{.coding = Coding::alaw, .rate_hz = 8000};
  if (type != "audio/pcm" && type != "pcm16") {
    return r.refuse("must be {}, got {}",
                    is_word ? "pcm16, g711_ulaw or g711_alaw" : "of type audio/pcm, audio/pcmu or audio/pcma",
                    value.line().substr(0, 80));
  }
  const auto rate = value.member("rate");
  if (!rate || rate->is_null()) return SoundForm{};
  constexpr std::array<int64_t, 4> kRates = {24000, 8000, 16000, 48000};
  const auto hz = rate->integer();
  if (!hz || std::find(kRates.begin(), kRates.end(), *hz) == kRates.end())
    return r.refuse("has the rate {}; it must be 24000, 8000, 16000 or 48000", rate->line().substr(0, 40));
  return SoundForm{.coding = Coding::pcm, .rate_hz = static_cast<int>(*hz)};
}

Json shown_form(const SoundForm& form, Dialect dialect) {
  using Coding = SoundForm::Coding;
  if (dialect == Dialect::beta) {
    return form.coding == Coding::pcm ? "pcm16" : form.coding == Coding::ulaw ? "g711_ulaw" : "g711_alaw";
  }
  if (form.coding == Coding::pcm) return Json::object({{"type", "audio/pcm"}, {"rate", form.rate_hz}});
  return Json::object({{"type", form.coding == Coding::ulaw ? "audio/pcmu" : "audio/pcma"}});
}

}  // namespace parlance
