// What callers hold of the library's objects: numbers that stand for them, never their addresses. A handle
// that was closed, or is of another kind, is known for what it is, and an object stays until the last call
// that uses it has returned.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace parlance::capi {

enum class HandleKind : uint8_t {
  context,
  detector,
  asr_stream,
  llm_stream,
  speaker,
  ov_context,
  llama_model,
  llama_context,
};

// Handles are small numbers, which languages without pointers hold exactly (2^53 is far), and no two objects
// ever have the same one.
class Handles {
 public:
  Handles() = default;
  ~Handles();
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  // T::kKind is what tells kinds apart. What is opened in a context goes with it; null: the context has gone
  // meanwhile.
  template <class T>
  void* add(std::shared_ptr<T> object, const void* context = nullptr) {
    return insert({T::kKind, std::move(object), context});
  }
  // Null: there is no such object.
  template <class T>
  std::shared_ptr<T> find(const void* handle) const {
    return std::static_pointer_cast<T>(look_up(handle, T::kKind));
  }
  // The same, and its handle is of no use from now on.
  template <class T>
  std::shared_ptr<T> remove(const void* handle) {
    return std::static_pointer_cast<T>(take(handle, T::kKind));
  }

  // Everything that was opened in a context, by kind.
  struct Opened {
    HandleKind kind;
    std::shared_ptr<void> object;
    const void* context;
  };
  std::vector<Opened> remove_all_of(const void* context);

 private:
  void* insert(Opened opened);
  std::shared_ptr<void> look_up(const void* handle, HandleKind kind) const;
  std::shared_ptr<void> take(const void* handle, HandleKind kind);

  mutable std::mutex mutex_;
  uintptr_t last_ = 0x1000;
  std::unordered_map<uintptr_t, Opened> objects_;
};

// Those of the library.
Handles& handles();

}  // namespace parlance::capi
