// Models of the fixtures and the bundled one, loaded on a device, for tests.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "engine/session.h"
#include "engine/text_model.h"
#include "gtest/gtest.h"
#include "kernels/cpu/cpu_device.h"
#include "support/fixtures.h"

namespace parlance::test {

struct LoadedModel {
  std::unique_ptr<Device> device;
  std::unique_ptr<TextModel> model;
};

// Fails the running test and yields null pointers when the device or the model does not load.
inline LoadedModel load_text_model(const std::filesystem::path& path,
                                   Result<std::unique_ptr<Device>> device) {
  LoadedModel loaded;
  EXPECT_TRUE(device) << device.error().message;
  if (!device) return loaded;
  loaded.device = *std::move(device);
  auto model = TextModel::load(path, *loaded.device);
  EXPECT_TRUE(model) << model.error().message;
  if (model) loaded.model = *std::move(model);
  return loaded;
}

inline LoadedModel load_text_model(const std::filesystem::path& path,
                                   const CpuOptions& options = {.n_threads = 2}) {
  return load_text_model(path, make_cpu_device(options));
}

inline std::unique_ptr<Session> make_session(const TextModel& model, const SessionOptions& options) {
  auto session = Session::create(model, options);
  EXPECT_TRUE(session) << session.error().message;
  return session ? *std::move(session) : nullptr;
}

}  // namespace parlance::test
