// The stages of the staged program one at a time, so that each can be timed alone.
#pragma once

#include <rapt/pipeline.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace rapt::cli {

struct ProfileSize {
  std::ptrdiff_t n, d, g, text_len;
};

/// A stage at one size: what it does exactly, and a way to do it once.
struct ProfiledStage {
  std::string name;
  std::ptrdiff_t operations;
  std::function<void()> run;
};

/// All of them at this size: the six stages (generation through a KvCache), generation without a cache, and
/// attention in one fused pass.
/// The input is random, without padding, every word another one.
class ProfiledStages {
 public:
  explicit ProfiledStages(const ProfileSize& size);
  ProfiledStages(const ProfiledStages&) = delete;
  ProfiledStages& operator=(const ProfiledStages&) = delete;
  ~ProfiledStages();
  const std::vector<ProfiledStage>& all() const noexcept { return all_; }

 private:
  struct Data;
  std::unique_ptr<Data> data_;
  std::vector<ProfiledStage> all_;
};

}  // namespace rapt::cli
