// Scratch of a KV cache's calls: kept from call to call, one for each call that runs at the same time.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "rope.hpp"
#include "workspace.hpp"

namespace rapt {

template <class T>
class KvWorkspace {
 public:
  /// What make(Carver&) makes, in memory that is kept: allocates only where there never was as much. Too
  /// little of it gives make null, whose result is then dropped: make must only write to what it was given.
  template <class Make>
  auto carve(const Make& make) {
    Carver kept(memory_.get(), memory_.size());
    auto made = make(kept);
    if (kept.fits()) return made;
    memory_ = AlignedArray<std::byte>(kept.used());
    Carver enough(memory_.get(), memory_.size());
    return make(enough);
  }
  /// One rotation a slot; null when there is nothing to rotate. Throws invalid_input for options that are out
  /// of range.
  RowRotation<T>* rotations(Size slots, Size head_dim, const std::optional<RopeOptions>& options) {
    if (!options) return nullptr;
    for (RowRotation<T>& rotation : rotations_) rotation.set_options(*options);
    while (std::ssize(rotations_) < slots) rotations_.emplace_back(head_dim, *options);
    return rotations_.data();
  }

 private:
  AlignedArray<std::byte> memory_;
  std::vector<RowRotation<T>> rotations_;
};

/// Idle workspaces. Calls that run at the same time take different ones; past `kept` of them, each makes its
/// own and drops it.
template <class T>
class KvWorkspaces {
 public:
  /// A workspace for the life of this.
  class Lease {
   public:
    explicit Lease(const KvWorkspaces& from) : from_(from), workspace_(from.take()) {}
    ~Lease() { from_.give(std::move(workspace_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    KvWorkspace<T>* operator->() const noexcept { return workspace_.get(); }

   private:
    const KvWorkspaces& from_;
    std::unique_ptr<KvWorkspace<T>> workspace_;
  };

  KvWorkspaces() = default;
  KvWorkspaces(const KvWorkspaces&) = delete;
  KvWorkspaces& operator=(const KvWorkspaces&) = delete;
  ~KvWorkspaces() {
    for (auto& idle : idle_) delete idle.load();
  }

 private:
  static constexpr std::size_t kept = 16;

  std::unique_ptr<KvWorkspace<T>> take() const {
    for (auto& idle : idle_) {
      if (KvWorkspace<T>* workspace = idle.exchange(nullptr))
        return std::unique_ptr<KvWorkspace<T>>(workspace);
    }
    return std::make_unique<KvWorkspace<T>>();
  }
  void give(std::unique_ptr<KvWorkspace<T>> workspace) const noexcept {
    for (auto& idle : idle_) {
      KvWorkspace<T>* none = nullptr;
      if (idle.compare_exchange_strong(none, workspace.get())) {
        static_cast<void>(workspace.release());
        return;
      }
    }
  }

  mutable std::array<std::atomic<KvWorkspace<T>*>, kept> idle_{};
};

}  // namespace rapt
