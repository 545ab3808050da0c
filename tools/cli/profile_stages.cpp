#include "profile_stages.hpp"

#include <rapt/attention.hpp>
#include <rapt/embedding.hpp>
#include <rapt/kv_cache.hpp>
#include <rapt/projection.hpp>

#include <algorithm>

#include "stage_blocks.hpp"

namespace rapt::cli {
namespace {

std::vector<double> numbers(Size count) {
  std::vector<double> all(static_cast<std::size_t>(count));
  std::uint64_t state = 1;
  for (double& number : all) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    number = static_cast<double>(state >> 11) * 0x1p-53 - 0.5;
  }
  return all;
}

std::vector<double> zeros(Size count) { return std::vector<double>(static_cast<std::size_t>(count)); }

}  // namespace

/// One head. Stages 3 to 5 make the kernel calls of the pipeline, in its blocks of rows, but one stage over
/// all rows before the next.
struct ProfiledStages::Data {
  explicit Data(const ProfileSize& size)
      : n(size.n),
        d(size.d),
        g(size.g),
        x(numbers((n + g) * d)),
        q(zeros((n + g) * d)),
        k(q),
        v(q),
        out(q),
        scores(zeros(n * n)),
        weights(zeros(n * n)),
        blocks(Arithmetic::textbook, d, n),
        keys(blocks.key_panels()),
        values(blocks.value_panels()),
        cache({.batch = 1,
               .n_kv_heads = 1,
               .head_dim = d,
               .v_dim = std::nullopt,
               .capacity = n + g,
               .window = std::nullopt,
               .dtype = KvDtype::f64}) {
    input.n = n;
    input.d = d;
    for (Size i = 0; i < size.text_len; ++i) input.words.push_back("w" + std::to_string(i));
    const std::vector<double> weight = numbers(d * d);
    for (auto& one : projections) one.emplace_back(contiguous(weight.data(), {d, d}));
    project_rows(0, n, true);
    blocks.pack_keys(k.data(), keys);
    blocks.pack_values(v.data(), values);
    score();
    weigh();
    cache.append(rows(k, 0, n), rows(v, 0, n));
  }

  static View<double, 4> rows(std::vector<double>& all, Size first, Size count, Size d) {
    return contiguous(all.data() + first * d, {1, 1, count, d});
  }
  View<double, 4> rows(std::vector<double>& all, Size first, Size count) const {
    return rows(all, first, count, d);
  }

  void project_rows(Size first, Size count, bool with_query) {
    const auto to = [&](const Projection<double>& weights_of, std::vector<double>& y) {
      project(contiguous<const double>(x.data() + first * d, {1, count, d}), weights_of,
              contiguous(y.data() + first * d, {1, count, d}), Arithmetic::textbook);
    };
    if (with_query) to(projections[0][0], q);
    to(projections[1][0], k);
    to(projections[2][0], v);
  }

  void one_hot() {
    pipeline::Result result;
    result.vocabulary =
        OneHotTable(std::vector<std::string_view>(input.words.begin(), input.words.end())).words();
    const auto sink = [&](std::string_view chunk) { return printed += chunk.size(), true; };
    static_cast<void>(pipeline::print(input, result, sink, pipeline::Stages::none().with(1)));
  }

  void score() {
    blocks.each(0, n, serial, [&](Size first, Size count) {
      blocks.score(q.data() + first * d, first, count, keys, scores.data() + first * n, n);
    });
  }

  void weigh() {
    for (Size i = 0; i < n; ++i) blocks.weigh(scores.data() + i * n, weights.data() + i * n, i + 1);
  }

  void sum() {
    blocks.each(0, n, serial, [&](Size first, Size count) {
      blocks.sum(weights.data() + first * n, n, first, count, values, out.data() + first * d);
    });
  }

  void generate_with_cache() {
    cache.rollback(n);
    for (Size t = n; t < n + g; ++t) {
      project_rows(t, 1, true);
      cache.attend(rows(q, t, 1), rows(k, t, 1), rows(v, t, 1), rows(out, t, 1));
    }
  }

  /// Keys and values of all rows anew for every token.
  void generate_without_cache() {
    for (Size t = n; t < n + g; ++t) {
      project_rows(0, t + 1, false);
      project_rows(t, 1, true);
      attend(t, 1, t + 1, Causal::none);
    }
  }

  void attend(Size first, Size count, Size keys_seen, Causal causal) {
    AttentionOptions<double> options;
    options.causal = causal;
    attention(rows(q, first, count), rows(k, 0, keys_seen), rows(v, 0, keys_seen), rows(out, first, count),
              options);
  }

  static constexpr double serial = 0;
  Size n, d, g;
  pipeline::Input input;
  std::vector<double> x, q, k, v, out;  // [n + g, d]
  std::vector<double> scores, weights;  // [n, n]
  std::vector<Projection<double>> projections[3];
  measure::StageBlocks<double> blocks;
  AlignedArray<double> keys, values;
  KvCache cache;
  std::size_t printed = 0;
};

ProfiledStages::ProfiledStages(const ProfileSize& size) : data_(std::make_unique<Data>(size)) {
  Data* const data = data_.get();
  pipeline::Input counted = data->input;
  counted.g = size.g;
  counted.mask.assign(static_cast<std::size_t>(size.n), 1);
  const pipeline::Operations operations = pipeline::operations(counted);
  constexpr Size element = sizeof(double);
  const auto [n, d, g, text_len] = size;
  const Size projections = 3 * d * d * element, rows = n * d * element, all_rows = (n + g) * d * element;
  const Size seen_pairs = n * (n + 1) / 2 * element;
  // A word and the references to it that are sorted; what is printed leaves through a buffer of 64 KiB.
  const Size words =
      text_len * static_cast<Size>(2 * sizeof(std::string) + sizeof(std::string_view)) + (1 << 16);
  // Each of g tokens projects k and v of every row so far again, and q, k and v of its own row once more.
  const Size seen = g * n + g * (g + 1) / 2;
  const Size without_cache = (2 * seen + 3 * g) * d * d + 2 * seen * d;
  all_ = {
      {"1 one-hot", operations.comparisons + operations.one_hot_cells, words, [data] { data->one_hot(); }},
      {"2 projection", operations.projection, 4 * rows + projections,
       [data] { data->project_rows(0, data->n, true); }},
      {"3 scores", operations.scores, 2 * rows + seen_pairs, [data] { data->score(); }},
      {"4 weights", operations.exponentials, 2 * seen_pairs, [data] { data->weigh(); }},
      {"5 output", operations.output, 2 * rows + seen_pairs, [data] { data->sum(); }},
      {"6 generation", operations.generation, 2 * all_rows + projections,
       [data] { data->generate_with_cache(); }},
      {"6 without cache", without_cache, 3 * all_rows + projections,
       [data] { data->generate_without_cache(); }},
      {"3-5 fused", operations.scores + operations.output, 4 * rows,
       [data] { data->attend(0, data->n, data->n, Causal::top_left); }}};
}

ProfiledStages::~ProfiledStages() = default;

const ProfiledStage& ProfiledStages::named(const std::string& name) const {
  return *std::find_if(all_.begin(), all_.end(), [&](const ProfiledStage& one) { return one.name == name; });
}

}  // namespace rapt::cli
