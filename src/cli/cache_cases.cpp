#include "cli/cache_cases.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace parlance {

namespace {

CacheCase both(KvFormat format, std::string more = {}) {
  CacheCase c{fmt::format("-ctk {0} -ctv {0}{1}", name_of(format), more), {}};
  c.policy.k.format = c.policy.v.format = format;
  return c;
}

CacheCase pair(KvFormat k, KvFormat v) {
  CacheCase c{fmt::format("-ctk {} -ctv {}", name_of(k), name_of(v)), {}};
  c.policy.k.format = k;
  c.policy.v.format = v;
  return c;
}

CacheCase rotated(KvFormat format) {
  CacheCase c = both(format, " --cache-rotation on");
  c.policy.k.rotated = c.policy.v.rotated = true;
  return c;
}

CacheCase compatible(KvFormat format) {
  CacheCase c = both(format, " --cache-encoder compatible");
  c.policy.k.encoder = c.policy.v.encoder = KvEncoder::compatible;
  c.policy.equalises = false;
  return c;
}

CacheCase as_they_are(KvFormat format) {
  CacheCase c = both(format, " --cache-equalise off");
  c.policy.equalises = false;
  return c;
}

CacheCase recent(KvFormat format) {
  CacheCase c = both(format, " --cache-sink 64 --cache-recent 64");
  c.policy.n_sink = c.policy.n_recent = 64;
  return c;
}

}  // namespace

std::vector<CacheCase> cache_cases(const KvLayout& layout) {
  using enum KvFormat;
  std::vector<CacheCase> cases = {both(f16),
                                  both(f32),
                                  both(bf16),
                                  both(q8_0),
                                  rotated(q8_0),
                                  both(q4_0),
                                  rotated(q4_0),
                                  compatible(q4_0),
                                  both(tbq4_0),
                                  compatible(tbq4_0),
                                  both(q4_polar),
                                  both(q4_polar_residual),
                                  both(tbq3_0),
                                  compatible(tbq3_0),
                                  both(tbq3_tcq),
                                  pair(q8_0, tbq4_0),
                                  pair(tbq4_0, tbq3_0),
                                  pair(tbq4_0, tbq3_tcq),
                                  pair(qjl1_256, tbq4_0),
                                  pair(qjl1_256, tbq3_0),
                                  as_they_are(q8_0),
                                  as_they_are(q4_0),
                                  as_they_are(tbq4_0),
                                  as_they_are(tbq3_0),
                                  recent(tbq4_0),
                                  recent(tbq3_0)};
  for (const std::string_view name : {"balanced", "small", "auto"}) {
    cases.push_back({fmt::format("--cache {}", name), *cache_preset(name)});
  }
  std::erase_if(cases, [&](const CacheCase& c) {
    KvLayout tried = layout;
    tried.policy = c.policy;
    return !validate(tried);
  });
  return cases;
}

}  // namespace parlance
