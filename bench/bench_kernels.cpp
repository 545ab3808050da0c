// bench_kernels: every kernel of every ISA that runs here, alone, on data that stays in the caches, and the
// matrix product that projections run on. Takes Google Benchmark's flags.
#include <benchmark/benchmark.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "case.hpp"
#include "dispatch.hpp"
#include "gemm.hpp"
#include "results.hpp"
#include "workspace.hpp"
#include "yardstick.hpp"

namespace rapt::bench {
namespace {

using kernels::block_keys;

/// One kernel with its operands, which the body holds.
class KernelCase final : public Case {
 public:
  KernelCase(double work, std::function<void()> body) : body_(std::move(body)) { flop = work; }
  std::string check() override { return ""; }  // the tests compare each kernel with its definition
  void run() override { body_(); }

 private:
  std::function<void()> body_;
};

template <class T>
AlignedArray<T> random_aligned(Size count, std::uint64_t stream) {
  AlignedArray<T> array(count);
  const std::vector<T> values = random_array<T>(count, stream);
  std::copy(values.begin(), values.end(), array.get());
  return array;
}

template <class T>
std::shared_ptr<AlignedArray<T>> shared_random(Size count, std::uint64_t stream) {
  return std::make_shared<AlignedArray<T>>(random_aligned<T>(count, stream));
}

template <class T>
std::unique_ptr<Case> pack_case(const kernels::Kernels<T>& table, Size steps, Size columns, bool transposed) {
  auto source = shared_random<T>(steps * columns, 1),
       panels = shared_random<T>(steps * round_up(columns, table.NR), 2);
  const kernels::PackArgs<T, T> args{.source = source->get(),
                                     .step_stride = transposed ? 1 : columns,
                                     .column_stride = transposed ? steps : 1,
                                     .step_index = nullptr,
                                     .column_index = nullptr,
                                     .steps = steps,
                                     .columns = columns,
                                     .panels = panels->get(),
                                     .panel_stride = steps * table.NR};
  return std::make_unique<KernelCase>(0, [args, source, panels, &table] { table.pack(args); });
}

template <class T>
std::unique_ptr<Case> multiply_case(const kernels::Kernels<T>& table, Arithmetic arithmetic, Size rows,
                                    Size columns, Size steps) {
  auto a = shared_random<T>(rows * steps, 1), b = shared_random<T>(round_up(columns, table.NR) * steps, 2),
       c = shared_random<T>(rows * columns, 3);
  const kernels::MultiplyArgs<T> args{.a = a->get(),
                                      .a_stride = steps,
                                      .b = b->get(),
                                      .b_stride = steps * table.NR,
                                      .b_far = false,
                                      .c = c->get(),
                                      .c_stride = columns,
                                      .rows = rows,
                                      .columns = columns,
                                      .steps = steps,
                                      .accumulate = false};
  return std::make_unique<KernelCase>(
      2.0 * static_cast<double>(rows * columns * steps),
      [args, a, b, c, arithmetic, &table] { table.multiply(arithmetic)(args); });
}

/// A product as projections make it, its right operand packed beforehand: [m, k] by [k, n].
template <class T>
std::unique_ptr<Case> gemm_case(Size m, Size n, Size k) {
  auto a = shared_random<T>(m * k, 1), c = shared_random<T>(m * n, 3);
  const std::vector<T> weights = random_array<T>(k * n, 2);
  auto b = std::make_shared<const PackedMatrix<T>>(contiguous(weights.data(), {k, n}));
  return std::make_unique<KernelCase>(2.0 * static_cast<double>(m * n * k), [=] {
    gemm<T>(Arithmetic::fused, contiguous<const T>(a->get(), {m, k}), *b, contiguous<T>(c->get(), {m, n}));
  });
}

/// Rows that carry their state from block to block.
template <class T>
struct Rows {
  Rows(const kernels::Kernels<T>& table, Size rows, Size v_dim)
      : row_max(random_aligned<T>(rows, 5)),
        row_sum(random_aligned<T>(rows, 6)),
        acc(random_aligned<T>(rows * round_up(v_dim, table.NR), 7)),
        seen(static_cast<std::size_t>(rows)),
        last_seen(static_cast<std::size_t>(rows)),
        state{row_max.get(), row_sum.get(),   acc.get(), round_up(v_dim, table.NR),
              seen.data(),   last_seen.data()} {}

  AlignedArray<T> row_max, row_sum, acc;
  std::vector<Size> seen, last_seen;
  kernels::RowState<T> state;
};

/// Scores, softmax and values of some rows and one block of keys: all of them, or those up to the diagonal.
template <class T>
class AttendCase final : public Case {
 public:
  AttendCase(const kernels::Kernels<T>& table, Size rows, Size head_dim, bool diagonal)
      : table_(table),
        q_(random_aligned<T>(rows * head_dim, 1)),
        k_(random_aligned<T>(block_keys * head_dim, 2)),
        v_(random_aligned<T>(block_keys * round_up(head_dim, table.NR), 3)),
        scratch_(table.attend_scratch),
        rows_(table, rows, head_dim) {
    Size pairs = 0;
    for (Size r = 0; r < rows; ++r) {
      const Size end = diagonal ? block_keys - rows + r + 1 : block_keys;
      row_.push_back({.begin = 0, .end = end});
      pairs += end;
    }
    const T scale = T(1) / static_cast<T>(8);
    args_ = {.rows = rows,
             .row = row_.data(),
             .options = nullptr,
             .q = q_.get(),
             .q_stride = head_dim,
             .k = k_.get(),
             .k_stride = head_dim * table.NR,
             .v = v_.get(),
             .v_stride = block_keys * table.NR,
             .v_key_stride = table.NR,
             .far = false,
             .head_dim = head_dim,
             .v_dim = head_dim,
             .block_start = 0,
             .keys = block_keys,
             .column = nullptr,
             .scale = scale,
             .c = scale * static_cast<T>(1.4426950408889634),
             .modifiers = &modifiers_,
             .state = rows_.state,
             .finishes = false,
             .counts = &counts_,
             .scratch = scratch_.get(),
             .ahead = &ahead_};
    flop = 4.0 * static_cast<double>(pairs * head_dim);
  }
  std::string check() override { return ""; }
  void run() override {
    std::fill(rows_.seen.begin(), rows_.seen.end(), Size{0});
    table_.attend(args_);
  }

 private:
  const kernels::Kernels<T>& table_;
  AlignedArray<T> q_, k_, v_, scratch_;
  Rows<T> rows_;
  std::vector<kernels::AttendRow> row_;
  kernels::Modifiers<T> modifiers_{};
  kernels::PairCounts counts_{};
  kernels::Ahead ahead_;
  kernels::AttendArgs<T> args_{};
};

template <class T>
std::unique_ptr<Case> fold_case(const kernels::Kernels<T>& table, Size rows, Size v_dim) {
  auto into = std::make_shared<Rows<T>>(table, rows, v_dim),
       block = std::make_shared<Rows<T>>(table, rows, v_dim);
  for (const auto& each : {into, block}) {
    std::fill(each->seen.begin(), each->seen.end(), Size{2});
    std::fill_n(each->row_max.get(), rows, T(0));
  }
  std::fill_n(block->acc.get(), rows * block->state.acc_stride,
              T(0));  // so that a million folds do not overflow
  std::fill_n(block->row_sum.get(), rows, T(0));
  const kernels::FoldArgs<T> args{.rows = rows, .v_dim = v_dim, .into = into->state, .block = block->state};
  return std::make_unique<KernelCase>(3.0 * static_cast<double>(rows * v_dim),
                                      [args, into, block, &table] { table.fold(args); });
}

template <class T>
std::unique_ptr<Case> divide_case(const kernels::Kernels<T>& table, Size v_dim) {
  auto acc = shared_random<T>(v_dim, 1), out = shared_random<T>(v_dim, 2);
  return std::make_unique<KernelCase>(static_cast<double>(v_dim), [acc, out, v_dim, &table] {
    table.divide(acc->get(), T(3), out->get(), v_dim);
  });
}

void add(const Isa& isa, Dtype dtype, const std::string& name, std::function<std::unique_ptr<Case>()> make) {
  const std::string full = name + "/isa:" + isa.table->name + "/dtype:" + name_of(dtype);
  benchmark::RegisterBenchmark(full.c_str(), [&isa, dtype, make](benchmark::State& state) {
    const ScopedIsa scope(*isa.table);
    time_case(state, *make(), Shape{.dtype = dtype});
  });
}

template <class T>
void add_all(const Isa& isa, Dtype dtype) {
  const kernels::Kernels<T>& table = isa.table->of<T>();
  const auto sized = [](std::string name, Size d) { return name + "/d:" + std::to_string(d); };
  for (const Size d : {64, 128}) {
    add(isa, dtype, sized("pack_keys", d), [&table, d] { return pack_case(table, d, block_keys, true); });
    add(isa, dtype, sized("pack_values", d), [&table, d] { return pack_case(table, block_keys, d, false); });
    for (const Arithmetic arithmetic : {Arithmetic::textbook, Arithmetic::fused}) {
      add(isa, dtype, sized(std::string("multiply_") + name_of(arithmetic), d),
          [&table, d, arithmetic] { return multiply_case(table, arithmetic, 96, block_keys, d); });
    }
    add(isa, dtype, sized("attend/rows:96/keys:all", d),
        [&table, d] { return std::make_unique<AttendCase<T>>(table, 96, d, false); });
    add(isa, dtype, sized("attend/rows:96/keys:diagonal", d),
        [&table, d] { return std::make_unique<AttendCase<T>>(table, 96, d, true); });
    add(isa, dtype, sized("attend/rows:1/keys:all", d),
        [&table, d] { return std::make_unique<AttendCase<T>>(table, 1, d, false); });
    add(isa, dtype, sized("fold/rows:96", d), [&table, d] { return fold_case(table, 96, d); });
    add(isa, dtype, sized("divide", d), [&table, d] { return divide_case(table, d); });
  }
  for (const auto& [m, n, k] : std::initializer_list<std::array<Size, 3>>{{1, 1024, 1024},
                                                                          {8, 1024, 1024},
                                                                          {64, 64, 64},
                                                                          {512, 512, 512},
                                                                          {2048, 768, 768},
                                                                          {2048, 1024, 1024}}) {
    add(isa, dtype, "gemm/" + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k),
        [m = m, n = n, k = k] { return gemm_case<T>(m, n, k); });
  }
}

}  // namespace
}  // namespace rapt::bench

int main(int argc, char** argv) {
  rapt::bench::take_flags(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  for (const rapt::Isa& isa : rapt::compiled_isas()) {
    if (!isa.runnable) continue;
    rapt::bench::add_all<float>(isa, rapt::bench::Dtype::f32);
    rapt::bench::add_all<double>(isa, rapt::bench::Dtype::f64);
  }
  return rapt::bench::run_benchmarks("bench_kernels");
}
