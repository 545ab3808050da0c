#include "reference/staged.hpp"

#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

namespace rapt::reference {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

double* row(std::vector<double>& matrix, int i, int columns) {
  return matrix.data() + static_cast<long>(i) * columns;
}
const double* row(const std::vector<double>& matrix, int i, int columns) {
  return matrix.data() + static_cast<long>(i) * columns;
}

// y[j] = sum over u of x[u] w[u][j], d components.
void project(const double* x, const std::vector<double>& w, double* y, int d) {
  for (int j = 0; j < d; ++j) {
    double sum = 0.0;
    for (int u = 0; u < d; ++u) sum += x[u] * row(w, u, d)[j];
    y[j] = sum;
  }
}

// The score of one query and one key.
double score(const double* q, const double* k, int d) {
  double sum = 0.0;
  for (int u = 0; u < d; ++u) sum += q[u] * k[u];
  return sum / std::sqrt(static_cast<double>(d));
}

// weights[j] from scores[j] for the live keys among the first count; the others stay as they are.
void softmax(const double* scores, const std::vector<unsigned char>& live, int count, double* weights) {
  double largest = minus_infinity;
  for (int j = 0; j < count; ++j) {
    if (live[static_cast<unsigned>(j)] && scores[j] > largest) largest = scores[j];
  }
  double sum = 0.0;
  for (int j = 0; j < count; ++j) {
    if (!live[static_cast<unsigned>(j)]) continue;
    weights[j] = std::exp(scores[j] - largest);
    sum += weights[j];
  }
  for (int j = 0; j < count; ++j) {
    if (live[static_cast<unsigned>(j)]) weights[j] /= sum;
  }
}

// out[j] = sum over the live keys u among the first count of weights[u] v[u][j].
void weigh(const double* weights, const std::vector<unsigned char>& live, int count,
           const std::vector<double>& v, double* out, int d) {
  for (int j = 0; j < d; ++j) {
    double sum = 0.0;
    for (int u = 0; u < count; ++u) {
      if (live[static_cast<unsigned>(u)]) sum += weights[u] * row(v, u, d)[j];
    }
    out[j] = sum;
  }
}

void prompt_stages(const StagedInput& in, StagedResult& out) {
  const int n = in.n, d = in.d;
  for (int i = 0; i < n; ++i) {
    project(row(in.prompt, i, d), in.wq, row(out.q, i, d), d);
    project(row(in.prompt, i, d), in.wk, row(out.k, i, d), d);
    project(row(in.prompt, i, d), in.wv, row(out.v, i, d), d);
  }
  for (int i = 0; i < n; ++i) {
    if (!in.mask[static_cast<unsigned>(i)]) continue;
    double* scores = row(out.scores, i, n);
    for (int j = 0; j <= i; ++j) {
      if (in.mask[static_cast<unsigned>(j)]) scores[j] = score(row(out.q, i, d), row(out.k, j, d), d);
    }
    softmax(scores, in.mask, i + 1, row(out.weights, i, n));
    weigh(row(out.weights, i, n), in.mask, i + 1, out.v, row(out.output, i, d), d);
  }
}

// One token at a time, with the keys and values of all former rows in a cache.
void generate(const StagedInput& in, StagedResult& out) {
  const int n = in.n, d = in.d;
  std::vector<double> k_cache = out.k, v_cache = out.v;
  std::vector<unsigned char> live = in.mask;
  for (int t = 0; t < in.g; ++t) {
    const double* x = row(in.generated, t, d);
    std::vector<double> q(static_cast<unsigned>(d)), k = q, v = q;
    project(x, in.wq, q.data(), d);
    project(x, in.wk, k.data(), d);
    project(x, in.wv, v.data(), d);
    long dot_products = 3L * d;
    k_cache.insert(k_cache.end(), k.begin(), k.end());
    v_cache.insert(v_cache.end(), v.begin(), v.end());
    live.push_back(1);

    const int count = n + t + 1;
    std::vector<double> scores(static_cast<unsigned>(count)), weights = scores;
    for (int j = 0; j < count; ++j) {
      if (!live[static_cast<unsigned>(j)]) continue;
      scores[static_cast<unsigned>(j)] = score(q.data(), row(k_cache, j, d), d);
      ++dot_products;
    }
    softmax(scores.data(), live, count, weights.data());
    weigh(weights.data(), live, count, v_cache, row(out.generated, t, d), d);
    dot_products += d;
    out.dot_products.push_back(dot_products);
  }
}

void print_number(std::string& text, double x) {
  if (std::isnan(x)) {
    text += "nan";
    return;
  }
  if (std::fabs(x) < 0.0005) x = 0.0;
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, "%.3f", x);
  text += buffer;
}

void print_rows(std::string& text, const std::vector<double>& matrix, int rows, int columns) {
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      if (j > 0) text += " ";
      print_number(text, row(matrix, i, columns)[j]);
    }
    text += "\n";
  }
}

}  // namespace

StagedResult staged(const StagedInput& input) {
  const auto cells = [](int rows, int columns) {
    return static_cast<unsigned long>(rows) * static_cast<unsigned long>(columns);
  };
  StagedResult out;
  const std::set<std::string> unique(input.words.begin(), input.words.end());
  out.vocabulary.assign(unique.begin(), unique.end());
  out.q.resize(cells(input.n, input.d));
  out.k = out.v = out.output = out.q;
  out.scores.assign(cells(input.n, input.n), minus_infinity);
  out.weights.assign(cells(input.n, input.n), 0.0);
  out.generated.resize(cells(input.g, input.d));
  prompt_stages(input, out);
  generate(input, out);
  return out;
}

std::string staged_text(const StagedInput& input, const StagedResult& result) {
  std::string text = "Stage 1: Create Embeddings\n";
  for (const std::string& word : result.vocabulary) {
    text += "\"" + word + "\" -> (";
    for (const std::string& column : result.vocabulary) {
      if (&column != &result.vocabulary.front()) text += " ";
      text += column == word ? "1" : "0";
    }
    text += ")\n";
  }
  text += "Stage 2: Projections\nQ Projection:\n";
  print_rows(text, result.q, input.n, input.d);
  text += "K Projection:\n";
  print_rows(text, result.k, input.n, input.d);
  text += "V Projection:\n";
  print_rows(text, result.v, input.n, input.d);
  text += "Stage 3: Attention Scores (Prompt)\n";
  print_rows(text, result.scores, input.n, input.n);
  text += "Stage 4: Attention Weights (Prompt)\n";
  print_rows(text, result.weights, input.n, input.n);
  text += "Stage 5: Attention Output (Prompt)\n";
  print_rows(text, result.output, input.n, input.d);
  text += "Stage 6: Generated Outputs\n";
  for (int t = 0; t < input.g; ++t) {
    text += "Gen " + std::to_string(t) + ": ";
    print_rows(text, {row(result.generated, t, input.d), row(result.generated, t, input.d) + input.d}, 1,
               input.d);
    text += "Dot products computed: " + std::to_string(result.dot_products[static_cast<unsigned>(t)]) + "\n";
  }
  return text;
}

}  // namespace rapt::reference
