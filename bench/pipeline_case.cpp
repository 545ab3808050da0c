// The staged program whole, as rapt::pipeline::run computes it.
#include <rapt/pipeline.hpp>

#include "case.hpp"
#include "stage_head.hpp"
#include "textbook.hpp"

namespace rapt::bench {
namespace {

/// The whole staged program in memory, stages 1 to 6 without reading and printing.
class Pipeline final : public Case {
 public:
  explicit Pipeline(const Shape& shape) : shape_(shape), head_(shape) {
    const Size n = shape.n, d = shape.d, g = shape.g;
    input_ = {.n = n,
              .d = d,
              .g = g,
              .words = {"word"},
              .mask = std::vector<unsigned char>(static_cast<std::size_t>(n), 1),
              .prompt = {head_.x.begin(), head_.x.begin() + n * d},
              .generated = {head_.x.begin() + n * d, head_.x.end()},
              .wq = head_.wq,
              .wk = head_.wk,
              .wv = head_.wv};
    const pipeline::Operations counts = pipeline::operations(input_);
    flop = static_cast<double>(times()) *
           static_cast<double>(2 * (counts.projection + counts.scores + counts.output + counts.generation));
  }

  std::string check() override {
    const pipeline::Result result = pipeline::run(input_, shape_.arithmetic);
    const reference::StagedResult& reference = head_.result;
    const Bounds<double> bounds(reference, shape_);
    struct Stage {
      const std::vector<double>&is, &expected;
      double bound;
    };
    for (const Stage& stage : {Stage{result.q, reference.q, bounds.projection},
                               {result.k, reference.k, bounds.projection},
                               {result.v, reference.v, bounds.projection},
                               {result.scores, reference.scores, bounds.scores},
                               {result.weights, reference.weights, bounds.weights},
                               {result.output, reference.output, bounds.output},
                               {result.generated, reference.generated, bounds.output}}) {
      const std::string wrong = difference(shape_, stage.is, stage.expected, stage.bound);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }
  void run() override {
    for (Size i = 0; i < times(); ++i) {
      pipeline::run(input_, shape_.arithmetic, result_);
      asm volatile("" : : "r"(result_.generated.data()) : "memory");
    }
  }
  double textbook_seconds() override {
    const Size n = shape_.n, d = shape_.d, g = shape_.g;
    const auto rows = [&] { return std::vector<double>(static_cast<std::size_t>((n + g) * d)); };
    std::vector<double> q = rows(), k = rows(), v = rows(), out = rows(),
                        scores(static_cast<std::size_t>(n * n)), weights = scores;
    std::vector<double> row(static_cast<std::size_t>(n + g));
    return static_cast<double>(times()) * seconds_of([&] {
             textbook::project(head_.x.data(), head_.wq.data(), q.data(), n, d);
             textbook::project(head_.x.data(), head_.wk.data(), k.data(), n, d);
             textbook::project(head_.x.data(), head_.wv.data(), v.data(), n, d);
             textbook::scores(q.data(), k.data(), scores.data(), n, d);
             textbook::weights(scores.data(), weights.data(), n);
             textbook::output(weights.data(), v.data(), out.data(), n, d);
             textbook::generate(head_.x.data() + n * d, head_.wq.data(), head_.wk.data(), head_.wv.data(),
                                q.data(), k.data(), v.data(), row.data(), out.data() + n * d, n, g, d);
           });
  }

 private:
  Size times() const { return shape_.heads * shape_.batch; }

  Shape shape_;
  Head<double> head_;
  pipeline::Input input_;
  pipeline::Result result_;
};

}  // namespace

std::unique_ptr<Case> make_pipeline_case(const Shape& shape) { return std::make_unique<Pipeline>(shape); }

}  // namespace rapt::bench
