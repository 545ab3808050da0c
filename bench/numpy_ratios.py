"""rapt under NumPy against the plain NumPy recipe, and the cost of the smallest call.

    PYTHONPATH=build/python python3 bench/numpy_ratios.py

Both sides run in this process, alternating, on all cores; a ratio is the median of the paired ratios. Results are
compared before anything is timed. Set no OPENBLAS_CORETYPE: the recipe then has OpenBLAS at its best.
"""

import statistics
import time

import numpy as np

import rapt

HEADS, TOKENS, DIM = 8, 1024, 64
PAIRS = 15


def recipe(q, k, v):
    """Causal attention of the last q.shape[2] positions, every intermediate an array of its own."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(q.dtype)
    above = np.triu(np.ones(scores.shape[-2:], bool), k=1 + k.shape[2] - q.shape[2])
    scores = np.where(above, -np.inf, scores)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return weights @ v, weights


def seconds(function):
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def compare(name, ours, theirs):
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(PAIRS)]
    ratio = statistics.median(other / own for own, other in pairs)
    own, other = (statistics.median(times) * 1000 for times in zip(*pairs))
    print(f"{name:58} rapt {own:9.3f} ms   NumPy {other:9.3f} ms   {ratio:6.1f}x")


def overhead(name, function, calls=2000):
    def batch():
        for _ in range(calls):
            function()

    best = min(seconds(batch) for _ in range(20)) / calls * 1e6
    print(f"{name:58} {best:6.2f} us a call")


def main():
    one = np.ones((1, 1, 1, 1))
    overhead("attention, one element", lambda: rapt.attention(one, one, one))
    overhead("multi_head_causal_attention, one element", lambda: rapt.multi_head_causal_attention(one, one, one))
    overhead("split_heads", lambda: rapt.split_heads(one[0], 1))

    q, k, v = np.random.default_rng(0).standard_normal((3, 1, HEADS, TOKENS, DIM))
    for result, exact in zip(rapt.multi_head_causal_attention(q, k, v), recipe(q, k, v)):
        np.testing.assert_allclose(result, exact, rtol=0, atol=1e-12)
    shape = f"B=1 H={HEADS} T={TOKENS} D={DIM}"
    compare(f"multi_head_causal_attention f64, with weights, {shape}",
            lambda: rapt.multi_head_causal_attention(q, k, v), lambda: recipe(q, k, v))
    single = [x.astype(np.float32) for x in (q, k, v)]
    compare(f"attention f32, without weights, {shape}",
            lambda: rapt.attention(*single, causal=True), lambda: recipe(*single))


if __name__ == "__main__":
    main()
