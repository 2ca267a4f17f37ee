#include "grammar/schema_text.h"

#include <algorithm>
#include <map>

#include "grammar/code_points.h"
#include "grammar/rules.h"
#include "text/unicode.h"

namespace parlance {

namespace {

void add_edges(Dfa& dfa, const CodePointSet& set, AutomatonState to) {
  for (const auto& [first, last] : set.ranges()) dfa.edges.push_back({first, last, to});
}

struct TextFormat {
  std::string_view name, expression;
};

// Dates are those of the Gregorian calendar; times are those of RFC 3339 without leap seconds; an address of
// mail is the usual form of RFC 5321; IPv6 is RFC 4291 without a dotted tail; a URI is RFC 3986's characters.
#define PARLANCE_LEAP_YEAR "(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
#define PARLANCE_DATE                                                                             \
  "(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|" \
  "02-(?:0[1-9]|1\\d|2[0-8]))|" PARLANCE_LEAP_YEAR "-02-29)"
#define PARLANCE_TIME "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)"
#define PARLANCE_LABEL "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
#define PARLANCE_ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
#define PARLANCE_BYTE "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define PARLANCE_H16 "[0-9A-Fa-f]{1,4}"

constexpr TextFormat kFormats[] = {
    {"date", PARLANCE_DATE},
    {"time", PARLANCE_TIME},
    {"date-time", PARLANCE_DATE "T" PARLANCE_TIME},
    {"uuid", "[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"},
    {"email", PARLANCE_ATOM "(?:\\." PARLANCE_ATOM ")*@" PARLANCE_LABEL "(?:\\." PARLANCE_LABEL ")+"},
    {"ipv4", PARLANCE_BYTE "(?:\\." PARLANCE_BYTE "){3}"},
    {"ipv6", "(?:" PARLANCE_H16 ":){7}" PARLANCE_H16 "|(?:" PARLANCE_H16 ":){1,7}:|(?:" PARLANCE_H16
             ":){1,6}(?::" PARLANCE_H16 ")|(?:" PARLANCE_H16 ":){1,5}(?::" PARLANCE_H16
             "){1,2}|(?:" PARLANCE_H16 ":){1,4}(?::" PARLANCE_H16 "){1,3}|(?:" PARLANCE_H16
             ":){1,3}(?::" PARLANCE_H16 "){1,4}|(?:" PARLANCE_H16 ":){1,2}(?::" PARLANCE_H16
             "){1,5}|" PARLANCE_H16 ":(?::" PARLANCE_H16 "){1,6}|:(?:(?::" PARLANCE_H16 "){1,7}|:)"},
    {"uri", "[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\\[\\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+"},
};

}  // namespace

Dfa texts_of_length(uint32_t least, uint32_t most) {
  Dfa dfa;
  const uint32_t n_counted = most == kNoLimit ? least : most;
  for (uint32_t n = 0; n <= n_counted; ++n) {
    if (n < n_counted) add_edges(dfa, CodePointSet::all(), n + 1);
    if (n == n_counted && most == kNoLimit) add_edges(dfa, CodePointSet::all(), n);
    dfa.close_state(n >= least);
  }
  return dfa;
}

Dfa texts_other_than(const std::vector<std::string>& texts) {
  struct Beginning {
    std::map<char32_t, AutomatonState> next;
    bool is_whole = false;
  };
  std::vector<Beginning> tree(1);
  for (const std::string& text : texts) {
    AutomatonState at = 0;
    for (size_t i = 0; i < text.size();) {
      const auto [found, is_new] =
          tree[at].next.try_emplace(next_code_point(text, i), static_cast<AutomatonState>(tree.size()));
      at = found->second;
      if (is_new) tree.emplace_back();
    }
    tree[at].is_whole = true;
  }
  const auto other = static_cast<AutomatonState>(tree.size());  // no longer the beginning of any
  Dfa dfa;
  for (const Beginning& beginning : tree) {
    CodePointSet rest = CodePointSet::all();
    const size_t begin = dfa.edges.size();
    for (const auto& [code_point, to] : beginning.next) {
      dfa.edges.push_back({code_point, code_point, to});
      rest = rest.without({{code_point, code_point}});
    }
    add_edges(dfa, rest, other);
    std::sort(dfa.edges.begin() + static_cast<ptrdiff_t>(begin), dfa.edges.end(),
              [](const Dfa::Edge& a, const Dfa::Edge& b) { return a.first < b.first; });
    dfa.close_state(!beginning.is_whole);
  }
  add_edges(dfa, CodePointSet::all(), other);
  dfa.close_state(true);
  return dfa;
}

bool accepts_text(const Dfa& dfa, std::string_view text) {
  AutomatonState state = 0;
  for (size_t i = 0; i < text.size();) {
    const Symbol symbol = next_code_point(text, i);
    const auto edges = dfa.of(state);
    const auto edge = std::ranges::find_if(
        edges, [&](const Dfa::Edge& e) { return e.first <= symbol && symbol <= e.last; });
    if (edge == edges.end()) return false;
    state = edge->to;
  }
  return dfa.accepts[state] != 0;
}

std::optional<std::string_view> expression_of_format(std::string_view format) {
  const auto found = std::ranges::find(kFormats, format, &TextFormat::name);
  return found == std::end(kFormats) ? std::nullopt : std::optional(found->expression);
}

}  // namespace parlance
