#include "textbook.hpp"

#include <cmath>

namespace rapt::bench::textbook {

using Size = std::ptrdiff_t;

template <class T>
void project(const T* x, const T* w, T* y, Size rows, Size d) {
  for (Size i = 0; i < rows; ++i) {
    for (Size j = 0; j < d; ++j) {
      T sum = 0;
      for (Size u = 0; u < d; ++u) sum += x[i * d + u] * w[u * d + j];
      y[i * d + j] = sum;
    }
  }
}

namespace {

template <class T>
void score_row(const T* q, const T* k, T* row, Size keys, Size d) {
  for (Size j = 0; j < keys; ++j) {
    T sum = 0;
    for (Size u = 0; u < d; ++u) sum += q[u] * k[j * d + u];
    row[j] = sum / std::sqrt(static_cast<T>(d));
  }
}

template <class T>
void weigh_row(const T* scores, T* weights, Size keys) {
  T largest = scores[0];
  for (Size j = 1; j < keys; ++j) largest = scores[j] > largest ? scores[j] : largest;
  T sum = 0;
  for (Size j = 0; j < keys; ++j) {
    weights[j] = std::exp(scores[j] - largest);
    sum += weights[j];
  }
  for (Size j = 0; j < keys; ++j) weights[j] /= sum;
}

template <class T>
void sum_row(const T* weights, const T* v, T* out, Size keys, Size d) {
  for (Size c = 0; c < d; ++c) {
    T sum = 0;
    for (Size j = 0; j < keys; ++j) sum += weights[j] * v[j * d + c];
    out[c] = sum;
  }
}

}  // namespace

template <class T>
void scores(const T* q, const T* k, T* scores, Size n, Size d) {
  for (Size i = 0; i < n; ++i) score_row(q + i * d, k, scores + i * n, i + 1, d);
}

template <class T>
void weights(const T* scores, T* weights, Size n) {
  for (Size i = 0; i < n; ++i) weigh_row(scores + i * n, weights + i * n, i + 1);
}

template <class T>
void output(const T* weights, const T* v, T* out, Size n, Size d) {
  for (Size i = 0; i < n; ++i) sum_row(weights + i * n, v, out + i * d, i + 1, d);
}

template <class T>
void attend(const T* q, const T* k, const T* v, T* row, T* out, Size keys, Size d) {
  score_row(q, k, row, keys, d);
  weigh_row(row, row, keys);
  sum_row(row, v, out, keys, d);
}

template <class T>
void generate(const T* x, const T* wq, const T* wk, const T* wv, T* q, T* k, T* v, T* row, T* out, Size n,
              Size g, Size d) {
  for (Size t = 0; t < g; ++t) {
    project(x + t * d, wq, q, 1, d);
    project(x + t * d, wk, k + (n + t) * d, 1, d);
    project(x + t * d, wv, v + (n + t) * d, 1, d);
    attend(q, k, v, row, out + t * d, n + t + 1, d);
  }
}

#define RAPT_INSTANTIATE(T)                                               \
  template void project(const T*, const T*, T*, Size, Size);              \
  template void scores(const T*, const T*, T*, Size, Size);               \
  template void weights(const T*, T*, Size);                              \
  template void output(const T*, const T*, T*, Size, Size);               \
  template void attend(const T*, const T*, const T*, T*, T*, Size, Size); \
  template void generate(const T*, const T*, const T*, const T*, T*, T*, T*, T*, T*, Size, Size, Size);
RAPT_INSTANTIATE(float)
RAPT_INSTANTIATE(double)

}  // namespace rapt::bench::textbook
