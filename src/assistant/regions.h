// The models of a choice as regions of memory, which are loaded and let go one by one while the program runs.
// Whoever uses a region shares its ownership: what is evicted stays until its last user lets go, and gives
// its memory back then. Everything may be called from any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "assistant/choice.h"
#include "assistant/device_shelf.h"
#include "assistant/text_region.h"
#include "assistant/voice_regions.h"

namespace parlance {

template <class T>
class RegionSlot {
 public:
  using Load = std::function<Result<std::shared_ptr<T>>()>;
  explicit RegionSlot(Load load) : load_(std::move(load)) {}

  // The region, from now on acquired. It is loaded only where nobody has it; who comes meanwhile waits for
  // that and shares it.
  Result<std::shared_ptr<T>> acquire() {
    const std::lock_guard loading(loading_);
    if (auto known = take_known()) return known;
    PARLANCE_TRY(std::shared_ptr<T> loaded, load_());
    const std::lock_guard lock(mutex_);
    acquired_ = loaded;
    alive_ = loaded;
    return loaded;
  }

  // Null when it is not acquired.
  std::shared_ptr<T> acquired() const {
    const std::lock_guard lock(mutex_);
    return acquired_;
  }

  // Never waits for a load, which ends with the region acquired.
  void evict() {
    std::shared_ptr<T> region;  // goes when the lock is free
    const std::lock_guard lock(mutex_);
    region.swap(acquired_);
  }

 private:
  std::shared_ptr<T> take_known() {
    const std::lock_guard lock(mutex_);
    if (!acquired_) acquired_ = alive_.lock();
    return acquired_;
  }

  const Load load_;
  std::mutex loading_;
  mutable std::mutex mutex_;  // of what follows, held for moments
  std::shared_ptr<T> acquired_;
  std::weak_ptr<T> alive_;
};

class Regions {
 public:
  // Loads nothing. `on_remark` is called by whoever loads; without it, remarks are warnings in the log.
  explicit Regions(Choice choice, OnRemark on_remark = {});
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;

  const Choice& choice() const { return choice_; }

  // By name. acquire() loads several at the same time, and yields the first error in their order; those that
  // were loaded stay acquired.
  Result<void> acquire(Region region);
  Result<void> acquire(std::span<const Region> regions);
  void evict(Region region);
  bool is_acquired(Region region) const { return bytes(region).has_value(); }
  // None when it is not acquired.
  std::optional<RegionBytes> bytes(Region region) const;

 private:
  const Choice choice_;
  const OnRemark on_remark_;
  DeviceShelf devices_;

 public:
  RegionSlot<TextRegion> text;
  RegionSlot<AsrRegion> asr;
  RegionSlot<TtsRegion> tts;
  RegionSlot<VadRegion> vad;
  RegionSlot<AlignerRegion> aligner;
  RegionSlot<SpeakerRegion> speaker;
  RegionSlot<DrafterRegion> drafter;
  // A second language model, which embeds texts. Doors that name regions do not know it.
  RegionSlot<TextRegion> embedding;

 private:
  template <class Visit>
  static auto visit(auto& regions, Region region, Visit visit);
};

}  // namespace parlance
