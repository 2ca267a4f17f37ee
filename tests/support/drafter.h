// The bundled drafter for the bundled language model, for tests.
#pragma once

#include <memory>

#include "gguf/reader.h"
#include "gtest/gtest.h"
#include "models/dflash.h"
#include "support/fixtures.h"

namespace parlance::test {

inline std::filesystem::path demo_text() {
  return source_root() / "models/demo/text/parlance-demo-text-q8_0.gguf";
}

inline std::filesystem::path demo_drafter() {
  return source_root() / "models/demo/dflash/parlance-demo-drafter-q8_0.gguf";
}

// With its file's mapping. Fails the running test and yields null when it does not load.
inline std::shared_ptr<const Dflash> load_demo_drafter(const Model& target) {
  struct Loaded {
    GgufFile file;
    std::unique_ptr<Dflash> model;
  };
  auto file = GgufFile::open(demo_drafter());
  EXPECT_TRUE(file) << file.error().message;
  if (!file) return nullptr;
  auto loaded = std::make_shared<Loaded>(Loaded{*std::move(file), nullptr});
  auto model = Dflash::load(loaded->file, target);
  EXPECT_TRUE(model) << model.error().message;
  if (!model) return nullptr;
  loaded->model = *std::move(model);
  return {loaded, loaded->model.get()};
}

}  // namespace parlance::test
