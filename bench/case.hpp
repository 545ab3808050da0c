// One thing to time: its data, its check against the oracle, and the textbook loop beside it.
#pragma once

#include <memory>
#include <string>

#include "shapes.hpp"

namespace rapt::bench {

class Case {
 public:
  virtual ~Case() = default;

  /// Empty when one run gives what the oracle gives; else what differs. Called once, before anything is
  /// timed.
  virtual std::string check() = 0;

  /// What is timed.
  virtual void run() = 0;

  /// Seconds that the textbook loops take for the same work on one thread, measured now; 0 where there is no
  /// such loop.
  virtual double textbook_seconds() { return 0; }

  /// Seconds that the same call takes on one thread when its by-products are not asked for, measured now; 0
  /// where it has none.
  virtual double plain_seconds() { return 0; }

  double flop = 0;      // visible work of one run; 0 where it is not arithmetic
  double tokens = 0;    // decoded by one run; 0 for other cases
  double kv_bytes = 0;  // bytes of K and V that one run streams, for cases bound by memory; else 0
};

/// The stages of the staged program: "stage2/projection", "stage3/scores", "stage4/weights", "stage5/output",
/// "stage6/decode", and all of it, "pipeline". Whether the arithmetic and dtype of a shape have the path, and
/// its case where they do.
bool has_stage_case(const std::string& path, const Shape& shape);
std::unique_ptr<Case> make_stage_case(const std::string& path, const Shape& shape);
std::unique_ptr<Case> make_pipeline_case(const Shape& shape);

/// "step": a token of one head behind n that a KvCache holds, with its projections (one thread).
bool has_step_case(const std::string& path, const Shape& shape);
std::unique_ptr<Case> make_step_case(const std::string& path, const Shape& shape);

/// Fused attention: "fused", a causal prompt of n tokens, "fused_weights", the same with its weights stored
/// (one thread), and "decode", one token against n.
bool has_attention_case(const std::string& path, const Shape& shape);
std::unique_ptr<Case> make_attention_case(const std::string& path, const Shape& shape);

}  // namespace rapt::bench
