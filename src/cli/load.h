// From options to a model that is ready to run.
#pragma once

#include <memory>

#include "base/result.h"
#include "cli/terminal/options.h"
#include "devices/devices.h"
#include "engine/session.h"
#include "engine/text_model.h"
#include "kernels/device.h"

namespace parlance {

struct LoadedModel {
  std::unique_ptr<Device> device;
  std::unique_ptr<Device>
      host;  // the CPU, for layers that are not on the device; null when that is the CPU itself
  std::unique_ptr<TextModel> text;
  std::unique_ptr<Session> session;
};

// Device and model as chosen, without a session; `options` gets the length of the context.
Result<LoadedModel> load_weights(const ModelChoice& choice, const Console& io, int64_t n_ctx_wanted,
                                 SessionOptions& options);

// Device, model and session as chosen. `n_ctx_wanted` stands in for --ctx-size when that was not given, and
// is lowered to what the model was trained for.
Result<LoadedModel> load(const ModelChoice& choice, const Console& io, int64_t n_ctx_wanted);
Result<LoadedModel> load(const ModelChoice& choice, const Console& io);

// A name for people: general.name of the file, else the file's own name.
std::string display_name(const TextModel& text);

}  // namespace parlance
