// The files that a manifest names, on the disk.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bundle/manifest.h"

namespace parlance {

// A manifest and where it was found.
struct ManifestOnDisk {
  std::filesystem::path folder;  // of the bundle
  std::string name;              // of the manifest's file, for messages
  Manifest manifest;
};

Result<ManifestOnDisk> read_manifest(const std::filesystem::path& folder);

// The place of a file: it is there, is a regular file, and no link in its path leads out of the bundle.
Result<std::filesystem::path> find_file(const std::filesystem::path& folder, const ManifestFile& file);

// Whether each file is what the manifest says; an error names the first that is not.
Result<void> check_checksums(const std::filesystem::path& folder, std::span<const ManifestFile> files);
Result<void> check_checksum(const std::filesystem::path& path, const ManifestFile& file,
                            const std::string& found);

// Two files of one model, told apart by what is in them, not by their names.
struct FilePair {
  std::filesystem::path model;   // language model
  std::filesystem::path second;  // audio encoder, or codec
};

// The group asr may have two such pairs: that of the aligner has this word in its files' names.
std::vector<ManifestFile> asr_files(const Manifest& manifest);
std::vector<ManifestFile> aligner_files(const Manifest& manifest);

// The error says what is there instead. Files are opened, so their checksums should have been checked.
Result<FilePair> find_asr_pair(const ManifestOnDisk& bundle);
Result<FilePair> find_aligner_pair(const ManifestOnDisk& bundle);
Result<FilePair> find_voice_pair(const ManifestOnDisk& bundle);

// Whether a path is that of a voice: cache/voice-preset-<id>.bin.
bool is_voice_preset(std::string_view path);

}  // namespace parlance
