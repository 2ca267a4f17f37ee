// Any bytes as a manifest: refused with one line, or read in memory in proportion to their number, with every
// path below the folder and every checksum whole. As a description they give a manifest that can be read.
#include "bundle/manifest.h"

#include <cstdint>
#include <string_view>

#include "allocations.h"

namespace {

using namespace parlance;
using fuzz::require;

void check(const Manifest& manifest) {
  require(manifest.id.starts_with("eliza-1-"), "ids begin with the product's name");
  size_t n_files = 0;
  for (const FileGroup& group : manifest.files) {
    n_files += group.files.size();
    for (const ManifestFile& file : group.files) {
      require(is_path_inside(file.path), "paths stay in the folder");
      require(file.sha256.size() == 64, "checksums are whole");
      require(file.ctx >= 0, "contexts are not negative");
    }
  }
  require(n_files <= kMostManifestFiles, "there are not too many files");
  require(!manifest.files_of("text").empty(), "there is a language model");
  require(manifest.ram_min_mb > 0 && manifest.ram_min_mb <= manifest.ram_recommended_mb, "memory is ordered");
}

void check_message(const Error& error) {
  require(error.message.size() < 2000, "messages are short");
  for (const char c : error.message)
    require(c >= ' ' || static_cast<unsigned char>(c) >= 0x80, "messages are one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const fuzz::AllocationLimit limit((size_t{1} << 20) + 1000 * size);
  const auto manifest = parse_manifest("input", text);
  if (manifest) {
    check(*manifest);
  } else {
    check_message(manifest.error());
  }
  ManifestHead head;
  if (manifest) head.files = manifest->files;
  const auto made = make_manifest_text("made", head, "input", text);
  require(!made || parse_manifest("made", *made).has_value(), "what is written can be read");
  require(made.has_value() == manifest.has_value() || !manifest, "a good manifest describes itself");
  if (!made) check_message(made.error());
  return 0;
}
