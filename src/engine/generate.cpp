#include "engine/generate.h"

namespace parlance {

Result<GenerateResult> generate(Session& session, std::span<const Token> prompt,
                                const GenerateOptions& options, const OnText& on_text) {
  PARLANCE_TRY(const auto request, Request::start(session, {prompt.begin(), prompt.end()}, options));
  while (const auto piece = request->next()) {
    if (on_text && !piece->text.empty()) on_text(piece->text);
  }
  return request->result();
}

}  // namespace parlance
