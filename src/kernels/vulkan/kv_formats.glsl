// Formats of the KV cache, in the order of KvFormat (quant/kv_format.h), and where their constants lie in the
// buffer that kv_constants.cpp fills from quant/.
#ifndef PARLANCE_KV_FORMATS
#define PARLANCE_KV_FORMATS
const uint kF32 = 0, kF16 = 1, kBf16 = 2, kQ8_0 = 3, kQ4_0 = 4, kTbq3 = 5, kTbq4 = 6, kTcq = 7, kQjl = 8;
const uint kPolar = 9, kPolarResidual = 10;

// In floats:
const uint kLevels3At = 0, kLevels4At = 8, kPolarLevelsAt = 24, kPolarBoundsAt = 40, kSigns32At = 64;
const uint kSignsBefore128At = 96, kSignsAfter128At = 224, kResidualSignsAt = 352, kTrellisAt = 512;

const float kPolarResidualStep = 0.0441941738;

uint first_level(uint format) {
  switch (format) {
    case kTbq3: return kLevels3At;
    case kTbq4: return kLevels4At;
    case kTcq: return kTrellisAt;
  }
  return kPolarLevelsAt;
}

// Of stored values; 0: codes are numbers themselves.
uint n_levels(uint format) {
  switch (format) {
    case kTbq3: return 8;
    case kTbq4:
    case kPolar:
    case kPolarResidual: return 16;
    case kTcq: return 512;
  }
  return 0;
}

#endif
