// The contract says what the tables of the program, the checks and the fixtures say.
#include "verify/kernel_contract.h"

#include <algorithm>
#include <set>
#include <span>

#include "support/fixtures.h"
#include "verify/kernels.h"

namespace parlance::verify {
namespace {

using Names = std::set<std::string_view>;

template <class List>
Names names_in(const List& list) {
  Names names(list.begin(), list.end());
  names.erase("");
  return names;
}

TEST(KernelContract, FormatsAreThoseOfTheCache) {
  ASSERT_EQ(kContractFormats.size(), kKvFormatCount);
  for (size_t id = 0; id < kKvFormatCount; ++id) {
    const KvFormatTraits& format = traits(static_cast<KvFormat>(id));
    EXPECT_EQ(kContractFormats[id].name, format.name);
    EXPECT_EQ(kContractFormats[id].block_elements, format.block_elements) << format.name;
    EXPECT_EQ(kContractFormats[id].block_bytes, format.block_bytes) << format.name;
  }
}

TEST(KernelContract, EveryInstructionSetHasEveryOperationOnEveryFormat) {
  const Names sets = names_in(kContractInstructionSets);
  for (int isa = 0; isa <= static_cast<int>(Isa::neon_i8mm); ++isa) {
    EXPECT_TRUE(sets.contains(name_of(static_cast<Isa>(isa))));
  }
  EXPECT_EQ(sets.size(), static_cast<size_t>(Isa::neon_i8mm) + 1);
  const auto devices = cpu_devices(1);
  ASSERT_TRUE(devices) << devices.error().message;
  for (const TestedDevice& tested : *devices) {
    const OpTable& ops = tested.device->ops();
    const PackedOps packed = tested.packed();
    EXPECT_TRUE(packed.get_rows.run && packed.scores.run && packed.attention.run) << tested.label;
    for (size_t k = 0; k < kKvFormatCount; ++k) {
      SCOPED_TRACE(tested.label + " " + std::string(kContractFormats[k].name));
      for (size_t v = 0; v < kKvFormatCount; ++v) {
        EXPECT_TRUE(ops.attention[k][v].run && ops.kv_write[k][v].run);
      }
    }
  }
}

TEST(KernelContract, NamesAreThoseOfManifestsAndRuntimes) {
  Names manifest, capabilities, formats;
  for (const FormatEntry& format : kContractFormats) formats.insert(format.name);
  const Names operations = names_in(kContractOperations);
  for (const KernelEntry& entry : kContractKernels) {
    manifest.insert(entry.manifest);
    capabilities.insert(entry.capability);
    for (const auto& name : names_in(entry.formats)) EXPECT_TRUE(formats.contains(name)) << name;
    for (const auto& name : names_in(entry.operations)) EXPECT_TRUE(operations.contains(name)) << name;
  }
  EXPECT_EQ(manifest, (Names{"turboquant_q3", "turboquant_q4", "turbo3_tcq", "qjl", "polarquant"}));
  EXPECT_EQ(capabilities, (Names{"turbo3", "turbo4", "turbo3_tcq", "qjl_full", "polarquant"}));
}

TEST(KernelContract, OperationsAreThoseThatAreChecked) {
  const auto devices = cpu_devices(1);
  ASSERT_TRUE(devices) << devices.error().message;
  std::set<std::string> checked;
  const std::vector<Check> checks = check_against_definition(std::span(*devices).last(1), devices->front());
  for (const Check& check : checks) checked.insert(check.subject.operation);
  checked.insert("attn_score_stored");  // the harness's turbo4 alone, from its fixture
  EXPECT_EQ(checked, std::set<std::string>(kContractOperations.begin(), kContractOperations.end()));
}

TEST(KernelContract, FixturesExistAndStandForTheirKernel) {
  PARLANCE_REQUIRE_FIXTURES("kv");
  const auto fixtures = read_fixtures(test::fixtures_root() / "kv");
  const auto devices = cpu_devices(1);
  ASSERT_TRUE(fixtures && devices);
  for (const KernelEntry& entry : kContractKernels) {
    for (const std::string_view name : names_in(entry.fixtures)) {
      SCOPED_TRACE(name);
      const auto found =
          std::find_if(fixtures->begin(), fixtures->end(), [&](const Fixture& f) { return f.name == name; });
      ASSERT_NE(found, fixtures->end());
      const std::vector<Check> checks = check_against_fixture(devices->front(), *found);
      EXPECT_TRUE(std::any_of(checks.begin(), checks.end(), [&](const Check& check) {
        return names_in(entry.formats).contains(check.subject.format);
      }));
    }
  }
}

}  // namespace
}  // namespace parlance::verify
