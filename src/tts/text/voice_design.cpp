#include "tts/text/voice_design.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/ascii.h"
#include "text/unicode.h"

namespace parlance {

namespace {

enum Category : uint8_t { kGender, kAge, kPitch, kStyle, kAccent, kDialect, kCategoryCount };

struct Item {
  Category category;
  std::string_view english, chinese;  // accents and dialects have but one of them

  std::string_view in(bool is_chinese) const {
    if (english.empty()) return chinese;
    if (chinese.empty()) return english;
    return is_chinese ? chinese : english;
  }
};

constexpr Item kItems[] = {
    {kGender, "male", "男"},
    {kGender, "female", "女"},
    {kAge, "child", "儿童"},
    {kAge, "teenager", "少年"},
    {kAge, "young adult", "青年"},
    {kAge, "middle-aged", "中年"},
    {kAge, "elderly", "老年"},
    {kPitch, "very low pitch", "极低音调"},
    {kPitch, "low pitch", "低音调"},
    {kPitch, "moderate pitch", "中音调"},
    {kPitch, "high pitch", "高音调"},
    {kPitch, "very high pitch", "极高音调"},
    {kStyle, "whisper", "耳语"},
    {kAccent, "american accent", {}},
    {kAccent, "british accent", {}},
    {kAccent, "australian accent", {}},
    {kAccent, "chinese accent", {}},
    {kAccent, "canadian accent", {}},
    {kAccent, "indian accent", {}},
    {kAccent, "korean accent", {}},
    {kAccent, "portuguese accent", {}},
    {kAccent, "russian accent", {}},
    {kAccent, "japanese accent", {}},
    {kDialect, {}, "河南话"},
    {kDialect, {}, "陕西话"},
    {kDialect, {}, "四川话"},
    {kDialect, {}, "贵州话"},
    {kDialect, {}, "云南话"},
    {kDialect, {}, "桂林话"},
    {kDialect, {}, "济南话"},
    {kDialect, {}, "石家庄话"},
    {kDialect, {}, "甘肃话"},
    {kDialect, {}, "宁夏话"},
    {kDialect, {}, "青岛话"},
    {kDialect, {}, "东北话"},
};

constexpr std::string_view kChineseComma = "，";

// The items between commas, without blanks around them; empty ones are left out.
std::vector<std::string_view> split_items(std::string_view description) {
  std::vector<std::string_view> items;
  while (!description.empty()) {
    const size_t ascii = description.find(','), chinese = description.find(kChineseComma);
    const size_t end = std::min({ascii, chinese, description.size()});
    if (const std::string_view item = strip_blanks(description.substr(0, end)); !item.empty()) {
      items.push_back(item);
    }
    description.remove_prefix(end);
    if (!description.empty()) description.remove_prefix(end == ascii ? 1 : kChineseComma.size());
  }
  return items;
}

const Item* find_item(std::string_view name) {
  const auto* found = std::ranges::find_if(
      kItems, [&](const Item& item) { return name == item.english || name == item.chinese; });
  return found == std::end(kItems) ? nullptr : found;
}

// The names of one language in the order of their code points.
const std::vector<std::string_view>& sorted_names(bool is_chinese) {
  const auto collect = [](std::string_view Item::*name) {
    std::vector<std::string_view> names;
    for (const Item& item : kItems) {
      if (!(item.*name).empty()) names.push_back(item.*name);
    }
    std::ranges::sort(names);
    return names;
  };
  static const std::vector<std::string_view> english = collect(&Item::english),
                                             chinese = collect(&Item::chinese);
  return is_chinese ? chinese : english;
}

struct Match {
  size_t a = 0, b = 0, n_bytes = 0;
};

// The longest stretch that both texts have; the first of several in `a`, then in `b`.
Match longest_match(std::string_view a, std::string_view b) {
  Match longest;
  std::vector<size_t> ending(b.size() + 1), next(b.size() + 1);  // bytes of the match that ends before b[j]
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      next[j + 1] = a[i] == b[j] ? ending[j] + 1 : 0;
      if (next[j + 1] > longest.n_bytes) {
        longest = {i + 1 - next[j + 1], j + 1 - next[j + 1], next[j + 1]};
      }
    }
    std::swap(ending, next);
  }
  return longest;
}

// Bytes that match: the longest stretch, and likewise what is left of it and what is right of it.
size_t n_matching(std::string_view a, std::string_view b) {
  const Match match = longest_match(a, b);
  if (match.n_bytes == 0) return 0;
  return match.n_bytes + n_matching(a.substr(0, match.a), b.substr(0, match.b)) +
         n_matching(a.substr(match.a + match.n_bytes), b.substr(match.b + match.n_bytes));
}

// The known item that resembles the word most, or nothing when none does (Ratcliff and Metzener 1988,
// "Pattern Matching: The Gestalt Approach"; over bytes).
std::string_view most_similar(std::string_view word) {
  constexpr double kLeastRatio = 0.6;
  double best_ratio = 0;
  std::string_view best;
  for (const bool is_chinese : {false, true}) {
    for (const std::string_view name : sorted_names(is_chinese)) {
      const auto total = static_cast<double>(name.size() + word.size());
      const size_t most = std::min(name.size(), word.size());
      if (2 * static_cast<double>(most) / total < kLeastRatio) continue;  // which bounds the time, too
      const double ratio = 2 * static_cast<double>(n_matching(name, word)) / total;
      if (ratio < kLeastRatio || ratio < best_ratio) continue;
      best_ratio = ratio;
      best = name;
    }
  }
  return best;
}

tl::unexpected<Error> unknown_items(std::string_view description,
                                    const std::vector<std::string_view>& unknown) {
  std::string lines;
  for (const std::string_view unknown_item : unknown) {
    const std::string item = sanitise_utf8(unknown_item);
    const std::string name = ascii::lower(item);
    const std::string_view similar = most_similar(name);
    const std::string hint = similar.empty() ? std::string() : fmt::format("; did you mean '{}'?", similar);
    fmt::format_to(std::back_inserter(lines), "  '{}' -> '{}' (unsupported{})\n", item, name, hint);
  }
  return fail(ErrorCode::invalid_argument,
              "Unsupported instruct items found in {}:\n{}\n"
              "Valid English items: {}\nValid Chinese items: {}\n\n"
              "Tip: Use only English or only Chinese instructs. "
              "English instructs should use comma + space (e.g. 'male, indian accent'),\n"
              "Chinese instructs should use full-width comma (e.g. '男，河南话').",
              sanitise_utf8(strip_blanks(description)), lines, fmt::join(sorted_names(false), ", "),
              fmt::join(sorted_names(true), kChineseComma));
}

// Each category's items in a row when it has more than one: "'male' vs 'female'"; empty when none has.
std::string conflicts_of(const std::vector<const Item*>& items, bool in_chinese) {
  std::string conflicts;
  for (int category = 0; category < kCategoryCount; ++category) {
    std::vector<std::string> names;
    for (const Item* item : items) {
      if (item->category == category) names.push_back(fmt::format("'{}'", item->in(in_chinese)));
    }
    if (names.size() < 2) continue;
    fmt::format_to(std::back_inserter(conflicts), "{}{}", conflicts.empty() ? "" : "; ",
                   fmt::join(names, " vs "));
  }
  return conflicts;
}

}  // namespace

Result<std::string> resolve_voice_design(std::string_view description, bool speaks_chinese) {
  std::vector<const Item*> items;
  std::vector<std::string_view> unknown;
  std::array<bool, kCategoryCount> has{};
  for (const std::string_view name : split_items(description)) {
    if (const Item* item = find_item(ascii::lower(name))) {
      items.push_back(item);
      has[item->category] = true;
    } else {
      unknown.push_back(name);
    }
  }
  if (!unknown.empty()) return unknown_items(description, unknown);
  if (has[kDialect] && has[kAccent]) {
    return fail(
        ErrorCode::invalid_argument,
        "Cannot mix Chinese dialect and English accent in a single instruct. Dialects are for Chinese "
        "speech, accents for English speech.");
  }
  const bool in_chinese = has[kDialect] || (speaks_chinese && !has[kAccent]);
  if (const std::string conflicts = conflicts_of(items, in_chinese); !conflicts.empty()) {
    return fail(ErrorCode::invalid_argument,
                "Conflicting instruct items within the same category: {}. Each category (gender, age, pitch, "
                "style, accent, dialect) allows at most one item.",
                conflicts);
  }
  std::string resolved;
  for (const Item* item : items) {
    if (!resolved.empty()) resolved += in_chinese ? kChineseComma : ", ";
    resolved += item->in(in_chinese);
  }
  return resolved;
}

}  // namespace parlance
