#include "tts/text/non_verbal.h"

namespace parlance {

namespace {

constexpr std::string_view kTags[] = {
    "[laughter]",    "[sigh]",        "[confirmation-en]",     "[question-en]", "[question-ah]",
    "[question-oh]", "[question-ei]", "[question-yi]",         "[surprise-ah]", "[surprise-oh]",
    "[surprise-wa]", "[surprise-yo]", "[dissatisfaction-hnn]",
};

}  // namespace

size_t non_verbal_tag(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  for (const std::string_view tag : kTags) {
    if (rest.starts_with(tag)) return tag.size();
  }
  return 0;
}

void split_non_verbal(std::string_view text, FunctionRef<void(std::string_view)> take) {
  size_t from = 0;
  for (size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at)) {
    const size_t n_bytes = non_verbal_tag(text, at);
    if (n_bytes == 0) {
      ++at;
      continue;
    }
    if (at > from) take(text.substr(from, at - from));
    take(text.substr(at, n_bytes));
    from = at += n_bytes;
  }
  if (text.size() > from) take(text.substr(from));
}

}  // namespace parlance
