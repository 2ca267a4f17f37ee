// What differs between the profiles of the library, beside what they export: profile.cpp is compiled for
// each.
#pragma once

namespace parlance::capi {

struct Profile {
  const char* abi_version;
  // The speech model's two files have the names of the published one, or those that a manifest gives them; no
  // others are looked for.
  bool wants_canonical_speech_files;
};

const Profile& profile();

}  // namespace parlance::capi
