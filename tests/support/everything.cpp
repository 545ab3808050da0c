#include "support/everything.hpp"

#include <rapt/rapt.hpp>

#include <cstring>
#include <vector>

namespace rapt::test {
namespace {

/// Numbers of both signs from whole numbers only, every seventh a subnormal: as bits, so that no mode can
/// touch them.
template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    const int whole = static_cast<int>(seed >> 16) - 32768;
    values[i] = static_cast<T>(whole) / T(32768);
    if (i % 7 == 3) {
      values[i] = T(0);
      std::memcpy(&values[i], &seed, 2);
    }
  }
  return values;
}

class Bytes {
 public:
  template <class T>
  void add(const std::vector<T>& values) {
    text_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  std::string text_;
};

template <class T>
void attend(Bytes& bytes) {
  constexpr std::ptrdiff_t heads = 2, len = 300, dim = 32;
  const auto q = numbers<T>(heads * len * dim, 1), k = numbers<T>(q.size(), 2), v = numbers<T>(q.size(), 3);
  const auto view = [](auto* x) { return contiguous(x, {1, heads, len, dim}); };
  std::vector<T> out(q.size()), step(q.size()), lse(heads * len), merged(q.size()), merged_lse(lse.size());
  const auto rows = contiguous(lse.data(), {1, heads, len});
  AttentionOptions<T> options;
  options.causal = Causal::bottom_right;
  options.softcap = T(5);
  options.lse = rows;
  attention(view(q.data()), view(k.data()), view(v.data()), view(out.data()), options);
  merge(view(out.data()), rows, view(v.data()), rows, view(merged.data()),
        contiguous(merged_lse.data(), {1, heads, len}));
  KvCache cache({.n_kv_heads = heads,
                 .head_dim = dim,
                 .capacity = len,
                 .dtype = sizeof(T) == 8 ? KvDtype::f64 : KvDtype::f16});
  cache.append(view(k.data()), view(v.data()), {.rope = RopeOptions{}});
  cache.query(view(q.data()), view(step.data()), {.rope = RopeOptions{}});
  for (const auto& part : {out, lse, merged, merged_lse, step}) bytes.add(part);
}

template <class T>
void project_and_rotate(Bytes& bytes) {
  constexpr std::ptrdiff_t len = 70, width = 200;
  const auto x = numbers<T>(len * width, 4), weight = numbers<T>(width * width, 5);
  std::vector<T> out(x.size()), slopes(12);
  std::vector<std::int64_t> positions(len);
  for (std::size_t t = 0; t < positions.size(); ++t) positions[t] = static_cast<std::int64_t>(t * t * t);
  const Projection<T> projection(contiguous(weight.data(), {width, width}));
  for (const Arithmetic arithmetic : {Arithmetic::fused, Arithmetic::textbook}) {
    project(contiguous(x.data(), {1, len, width}), projection, contiguous(out.data(), {1, len, width}),
            arithmetic);
    bytes.add(out);
  }
  rope(contiguous(x.data(), {1, 1, len, width}), contiguous<const std::int64_t>(positions.data(), {len}),
       contiguous(out.data(), {1, 1, len, width}));
  alibi_slopes(contiguous(slopes.data(), {12}));
  bytes.add(out);
  bytes.add(slopes);
}

void embed(Bytes& bytes) {
  const auto ids = encode("where it stands, and what it is");
  std::vector<float> out(ids.size() * 64), far(4 * 65);
  const Embedding embedding({.std = 1e-38});
  embedding.forward(contiguous(ids.data(), {std::ssize(ids)}), contiguous(out.data(), {std::ssize(ids), 64}),
                    120);
  sinusoidal(contiguous(far.data(), {4, 65}), 1000003);
  far[0] = sinusoidal(123456789, 3, 64);
  bytes.add(out);
  bytes.add(far);
}

void stages(Bytes& bytes) {
  std::string text = "6 8 3 6\nto be or not to be\n1 1 0 1 1 1\n";
  for (int i = 0; i < 6 * 8 + 3 * 8 + 3 * 64; ++i)
    text += (i % 3 == 0 ? "-0." : "1.") + std::to_string(100003 * (i + 7)) + (i % 11 == 0 ? "e-310 " : " ");
  for (const Arithmetic arithmetic : {Arithmetic::textbook, Arithmetic::fused}) {
    const pipeline::Input input = pipeline::parse(text);
    const pipeline::Result result = pipeline::run(input, arithmetic);
    bytes.add(input.wq);
    bytes.add(result.weights);
    bytes.add(result.generated);
    static_cast<void>(pipeline::print(input, result, [&](std::string_view chunk) {
      bytes.text_ += chunk;
      return true;
    }));
  }
}

}  // namespace

std::string everything() {
  Bytes bytes;
  attend<float>(bytes);
  attend<double>(bytes);
  project_and_rotate<float>(bytes);
  project_and_rotate<double>(bytes);
  embed(bytes);
  stages(bytes);
  return bytes.text_;
}

}  // namespace rapt::test
