// Token and position embeddings. Which row is added to which is decided by forward(); everything else is a
// table.
#include <rapt/embedding.hpp>
#include <rapt/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "checked.hpp"
#include "float_mode.hpp"
#include "normal.hpp"
#include "run.hpp"
#include "shape_text.hpp"
#include "view_checks.hpp"

namespace rapt {
namespace {

double sinusoidal_divisor(std::ptrdiff_t dim, std::ptrdiff_t hidden_dim) {
  return std::pow(10000.0, static_cast<double>(2 * (dim / 2)) / static_cast<double>(hidden_dim));
}

float sinusoidal_element(std::int64_t position, double divisor, bool odd) {
  const double angle = static_cast<float>(static_cast<double>(position) / divisor);
  return static_cast<float>(odd ? std::cos(angle) : std::sin(angle));
}

constexpr std::uint64_t token_stream = 0;
constexpr std::uint64_t position_stream = 1;

constexpr std::ptrdiff_t position_block_floats = 8192;  // 32 KiB

std::vector<float> random_table(const EmbeddingOptions& options, std::ptrdiff_t rows, std::uint64_t stream) {
  const StandardFloatMode mode;
  std::vector<float> table(static_cast<std::size_t>(rows * options.hidden_dim));
  std::uint64_t index = 0;
  for (float& value : table) value = static_cast<float>(options.std * normal(options.seed, stream, index++));
  return table;
}

const EmbeddingOptions& validated(const EmbeddingOptions& options) {
  const auto require_positive = [](const char* name, std::ptrdiff_t value) {
    if (value >= 1) return;
    throw invalid_input("Embedding: " + std::string(name) + " is " + std::to_string(value) +
                        ", expected at least 1");
  };
  require_positive("vocab_size", options.vocab_size);
  require_positive("hidden_dim", options.hidden_dim);
  require_positive("max_seq_len", options.max_seq_len);
  for (const std::ptrdiff_t rows : {options.vocab_size, options.max_seq_len}) {
    if (checked_product({rows, options.hidden_dim, sizeof(float)})) continue;
    throw invalid_input("Embedding: a table of " + std::to_string(rows) + " rows of " +
                        std::to_string(options.hidden_dim) + " floats does not fit the address space");
  }
  if (options.position < Position::none || options.position > Position::learned) {
    throw invalid_input("Embedding: position is " + std::to_string(static_cast<int>(options.position)) +
                        ", expected none, sinusoidal or learned");
  }
  if (!(options.std >= 0.0 && std::isfinite(options.std))) {
    throw invalid_input("Embedding: std is " + number_text(options.std) +
                        ", expected finite and not negative");
  }
  return options;
}

template <class T>
View<T, 2> table_view(T* data, std::ptrdiff_t size, std::ptrdiff_t hidden_dim) noexcept {
  return contiguous(data, {size / hidden_dim, hidden_dim});
}

// out = token + position; position may be nullptr (none). The unit-stride loop is the one that runs at memory
// speed.
void write_row(const float* token, const float* position, float* out, std::ptrdiff_t out_stride,
               std::ptrdiff_t hidden_dim) noexcept {
  if (out_stride == 1 && position == nullptr) {
    std::copy_n(token, hidden_dim, out);
  } else if (out_stride == 1) {
    for (std::ptrdiff_t u = 0; u < hidden_dim; ++u) out[u] = token[u] + position[u];
  } else {
    for (std::ptrdiff_t u = 0; u < hidden_dim; ++u) {
      out[u * out_stride] = position == nullptr ? token[u] : token[u] + position[u];
    }
  }
}

template <class T>
View<T, 3> with_batch_of_one(View<T, 2> view) noexcept {
  return {view.data, {1, view.extents[0], view.extents[1]}, {0, view.strides[0], view.strides[1]}};
}

template <class T>
View<T, 2> with_batch_of_one(View<T, 1> view) noexcept {
  return {view.data, {1, view.extents[0]}, {0, view.strides[0]}};
}

}  // namespace

float sinusoidal(std::int64_t position, std::ptrdiff_t dim, std::ptrdiff_t hidden_dim) {
  const StandardFloatMode mode;
  if (dim < 0 || dim >= hidden_dim) {
    throw invalid_input("sinusoidal: dim is " + std::to_string(dim) +
                        ", expected at least 0 and below hidden_dim " + std::to_string(hidden_dim));
  }
  return sinusoidal_element(position, sinusoidal_divisor(dim, hidden_dim), dim % 2 != 0);
}

void sinusoidal(View<float, 2> out, std::int64_t first_position) {
  const StandardFloatMode mode;
  require_apart({}, std::array{footprint("sinusoidal: out", {"len", "hidden_dim"}, out)});
  const auto [len, hidden_dim] = out.extents;
  if (len > 0 && first_position > std::numeric_limits<std::int64_t>::max() - (len - 1)) {
    throw invalid_input("sinusoidal: first_position " + std::to_string(first_position) + " and " +
                        std::to_string(len) + " rows go beyond 64-bit positions");
  }
  std::vector<double> divisors(static_cast<std::size_t>(hidden_dim));
  for (std::ptrdiff_t dim = 0; dim < hidden_dim; ++dim) {
    divisors[static_cast<std::size_t>(dim)] = sinusoidal_divisor(dim, hidden_dim);
  }
  for (std::ptrdiff_t t = 0; t < len; ++t) {
    for (std::ptrdiff_t dim = 0; dim < hidden_dim; ++dim) {
      out(t, dim) =
          sinusoidal_element(first_position + t, divisors[static_cast<std::size_t>(dim)], dim % 2 != 0);
    }
  }
}

Embedding::Embedding(const EmbeddingOptions& options)
    : options_(validated(options)), token_table_(random_table(options, options.vocab_size, token_stream)) {
  if (options.position == Position::learned) {
    position_table_ = random_table(options, options.max_seq_len, position_stream);
  } else if (options.position == Position::sinusoidal) {
    position_table_.resize(static_cast<std::size_t>(options.max_seq_len * options.hidden_dim));
    sinusoidal(position_table());
  }
}

View<float, 2> Embedding::token_table() noexcept {
  return table_view(token_table_.data(), std::ssize(token_table_), options_.hidden_dim);
}
View<const float, 2> Embedding::token_table() const noexcept {
  return table_view(token_table_.data(), std::ssize(token_table_), options_.hidden_dim);
}
View<float, 2> Embedding::position_table() noexcept {
  return table_view(position_table_.data(), std::ssize(position_table_), options_.hidden_dim);
}
View<const float, 2> Embedding::position_table() const noexcept {
  return table_view(position_table_.data(), std::ssize(position_table_), options_.hidden_dim);
}

void Embedding::forward(View<const std::int64_t, 1> ids, View<float, 2> out,
                        std::int64_t first_position) const {
  write_rows(with_batch_of_one(ids), with_batch_of_one(out), first_position);
}
void Embedding::forward(View<const std::int32_t, 1> ids, View<float, 2> out,
                        std::int64_t first_position) const {
  write_rows(with_batch_of_one(ids), with_batch_of_one(out), first_position);
}
void Embedding::forward(View<const std::int64_t, 2> ids, View<float, 3> out,
                        std::int64_t first_position) const {
  write_rows(ids, out, first_position);
}
void Embedding::forward(View<const std::int32_t, 2> ids, View<float, 3> out,
                        std::int64_t first_position) const {
  write_rows(ids, out, first_position);
}

void Embedding::require_forward(std::array<std::ptrdiff_t, 2> ids, View<float, 3> out,
                                std::int64_t first_position) const {
  const auto [batch, seq_len] = ids;
  const std::ptrdiff_t hidden_dim = options_.hidden_dim;
  if (seq_len > options_.max_seq_len) {
    throw invalid_input("forward: ids: seq_len " + std::to_string(seq_len) + " is more than max_seq_len " +
                        std::to_string(options_.max_seq_len));
  }
  const std::array expected{batch, seq_len, hidden_dim};
  if (out.extents != expected) {
    throw invalid_input("forward: out is " + shape_text(out) + ", expected " +
                        shape_text(View<float, 3>{nullptr, expected, {}}) + " for these ids");
  }
  const std::int64_t further = std::max<std::int64_t>(seq_len - 1, 0);
  if (first_position < 0 || first_position > std::numeric_limits<std::int64_t>::max() - further) {
    throw invalid_input("forward: first_position is " + std::to_string(first_position) +
                        ", expected 64-bit positions from 0 on");
  }
  if (options_.position == Position::learned && first_position > options_.max_seq_len - seq_len) {
    throw invalid_input("forward: positions up to " + std::to_string(first_position + further) +
                        " are beyond the learned table of max_seq_len " +
                        std::to_string(options_.max_seq_len));
  }
}

template <class Id>
void Embedding::write_rows(View<const Id, 2> ids, View<float, 3> out, std::int64_t first_position) const {
  const StandardFloatMode mode;
  constexpr const char* table = "a table of the embedding";
  const std::array from{footprint("forward: ids", {"batch", "seq_len"}, ids),
                        footprint(table, {"vocab_size", "hidden_dim"}, token_table()),
                        footprint(table, {"max_seq_len", "hidden_dim"}, position_table())};
  require_forward(ids.extents, out, first_position);
  require_apart(from, std::array{footprint("forward: out", {"batch", "seq_len", "hidden_dim"}, out)});
  const std::ptrdiff_t batch = ids.extents[0];
  const std::ptrdiff_t seq_len = ids.extents[1];
  const std::ptrdiff_t hidden_dim = options_.hidden_dim;
  const std::ptrdiff_t unk_row = std::min<std::ptrdiff_t>(unk_id, options_.vocab_size - 1);

  // The rows of the position table that this call adds: a part of the table, or the closed form beyond it.
  std::vector<float> closed_form;
  const float* positions = nullptr;
  if (options_.position != Position::none && first_position <= options_.max_seq_len - seq_len) {
    positions = position_table_.data() + first_position * hidden_dim;
  } else if (options_.position != Position::none) {
    closed_form.resize(static_cast<std::size_t>(seq_len * hidden_dim));
    sinusoidal(contiguous(closed_form.data(), {seq_len, hidden_dim}), first_position);
    if (first_position < options_.max_seq_len) {
      std::copy(position_table_.begin() + first_position * hidden_dim, position_table_.end(),
                closed_form.begin());
    }
    positions = closed_form.data();
  }

  // An item is a block of positions of one sequence; sequences that share a block follow each other, so that
  // its position rows stay in cache.
  const std::ptrdiff_t block = std::max<std::ptrdiff_t>(1, position_block_floats / hidden_dim);
  const std::ptrdiff_t items = (seq_len + block - 1) / block * batch;
  const double moved =
      moved_element_flop * static_cast<double>(batch * seq_len) * static_cast<double>(hidden_dim);
  run_items(items, worker_slots(items, moved), [&](std::ptrdiff_t, std::ptrdiff_t item) {
    const std::ptrdiff_t b = item % batch;
    const std::ptrdiff_t first = item / batch * block;
    for (std::ptrdiff_t t = first; t < std::min(first + block, seq_len); ++t) {
      const std::int64_t id = ids(b, t);
      const std::ptrdiff_t row = id < 0 || id >= options_.vocab_size ? unk_row : id;
      write_row(token_table_.data() + row * hidden_dim,
                positions == nullptr ? nullptr : positions + t * hidden_dim, &out(b, t, 0), out.strides[2],
                hidden_dim);
    }
  });
}

}  // namespace rapt
