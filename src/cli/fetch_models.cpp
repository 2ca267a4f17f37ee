#include "cli/fetch_models.h"

#include <algorithm>

#include "base/os/environment.h"
#include "cli/pull_view.h"
#include "cli/terminal/interrupt.h"
#include "http/curl_transport.h"

namespace parlance {

namespace {

Result<void> fetch_one(const std::string& text, const Console& io) {
  PARLANCE_TRY(const HubSettings settings, hub_settings());
  PARLANCE_TRY(const ModelName name, parse_model_name(text, settings.endpoint));
  if (find_local_model(name, settings)) return {};
  const InterruptGuard guard;
  PullView view(io);
  view.say(fmt::format("fetching {}", name.text()));
  const auto transport = make_curl_transport({});
  PARLANCE_TRY(const Pulled pulled, pull(name, settings, view.options(), *transport, guard.ticket()));
  return {};
}

std::string named_by(const Option& option) {
  if (!option.model->empty()) return *option.model;
  const auto names = spellings(option);
  const bool is_the_model = std::ranges::find(names, "--model") != names.end();
  return is_the_model ? environment("PARLANCE_MODEL").value_or("") : "";
}

}  // namespace

Result<void> fetch_models(const Command& command, const Console& io) {
  std::vector<Option> options = command.positionals;
  for (const OptionGroup& group : command.groups) {
    options.insert(options.end(), group.options.begin(), group.options.end());
  }
  for (const Option& option : options) {
    if (!option.model) continue;
    const std::string name = named_by(option);
    if (is_remote_name(name)) PARLANCE_CHECK(fetch_one(name, io));
  }
  return {};
}

}  // namespace parlance
