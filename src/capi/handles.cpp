#include "capi/handles.h"

namespace parlance::capi {

namespace {

uintptr_t number_of(const void* handle) {
  return reinterpret_cast<uintptr_t>(handle);
}

}  // namespace

// What a program leaves open at its end stays as it is: other threads may be using it, and the system takes
// all of it.
Handles::~Handles() {
  if (!objects_.empty()) new std::unordered_map(std::move(objects_));
}

void* Handles::insert(Opened opened) {
  const std::lock_guard lock(mutex_);
  if (opened.context && !objects_.contains(number_of(opened.context))) return nullptr;
  last_ += 0x10;
  objects_.emplace(last_, std::move(opened));
  return reinterpret_cast<void*>(last_);
}

std::shared_ptr<void> Handles::look_up(const void* handle, HandleKind kind) const {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(number_of(handle));
  return found != objects_.end() && found->second.kind == kind ? found->second.object : nullptr;
}

std::shared_ptr<void> Handles::take(const void* handle, HandleKind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = objects_.find(number_of(handle));
  if (found == objects_.end() || found->second.kind != kind) return nullptr;
  auto object = std::move(found->second.object);
  objects_.erase(found);
  return object;
}

std::vector<Handles::Opened> Handles::remove_all_of(const void* context) {
  std::vector<Opened> opened;
  const std::lock_guard lock(mutex_);
  for (auto it = objects_.begin(); it != objects_.end();) {
    if (it->second.context == context) {
      opened.push_back(std::move(it->second));
      it = objects_.erase(it);
    } else {
      ++it;
    }
  }
  return opened;
}

Handles& handles() {
  static Handles handles;
  return handles;
}

}  // namespace parlance::capi
