#include "measure/text_loading.h"

#include <chrono>

#include "engine/session.h"

namespace parlance {

Result<LoadTimes> time_loading(const Choice& choice, const OnRemark& on_remark) {
  using Clock = std::chrono::steady_clock;
  const auto ms = [](Clock::time_point from, Clock::time_point to) {
    return std::chrono::duration<double, std::milli>(to - from).count();
  };
  const Clock::time_point start = Clock::now();
  DeviceShelf devices(choice.devices.n_threads, choice.devices.is_deterministic);
  PARLANCE_TRY(const TextWeights weights, load_text_weights(choice, devices, on_remark));
  const Clock::time_point loaded = Clock::now();
  PARLANCE_TRY(const auto session, Session::create(*weights.model, weights.options));
  const Clock::time_point created = Clock::now();
  const Token token = 0;
  PARLANCE_CHECK(session->append({&token, 1}));
  return LoadTimes{.load_ms = ms(start, loaded),
                   .session_ms = ms(loaded, created),
                   .first_token_ms = ms(created, Clock::now())};
}

}  // namespace parlance
