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

/// What is said of a stage whatever its size.
struct StageKind {
  const char* name;
  const char* operations;  // the exact count
  const char* growth;      // what it comes to
  const char* reason;      // and why, in a few words
};
inline constexpr StageKind stage_kinds[] = {
    {"1 one-hot", "comparisons + unique^2", "text_len log text_len + unique^2",
     "sorting compares words; each different word has a line with a 0 or 1 for every one"},
    {"2 projection", "3 n d^2", "n d^2", "every row meets the d x d matrices of q, k and v"},
    {"3 scores", "n (n+1) d / 2", "n^2 d", "every row meets every earlier key, over d components"},
    {"4 weights", "n (n+1) / 2", "n^2", "one exponential for each row and key that it sees; d is gone"},
    {"5 output", "n (n+1) d / 2", "n^2 d", "every row adds up every earlier value, over d components"},
    {"3-5 fused", "n (n+1) d", "n^2 d", "the same work in one pass that keeps no n x n array"},
    {"6 generation", "3 g d^2 + 2 g (n + (g+1)/2) d", "g d^2 + g (n+g) d",
     "a new token is projected once and meets every earlier key and value, which the cache holds"},
    {"6 without cache", "g (2n+g+4) d^2 + g (2n+g+1) d", "g (n+g) d^2",
     "every new token projects the keys and values of all earlier rows again"}};

/// A stage at one size: what it does exactly, what that touches, and a way to do it once.
struct ProfiledStage {
  std::string name;
  std::ptrdiff_t operations;
  std::ptrdiff_t bytes;  // read and written, each byte once
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
  const ProfiledStage& named(const std::string& name) const;

 private:
  struct Data;
  std::unique_ptr<Data> data_;
  std::vector<ProfiledStage> all_;
};

}  // namespace rapt::cli
