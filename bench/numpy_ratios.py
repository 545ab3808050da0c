"""rapt under NumPy against the plain NumPy recipe, and the cost of the smallest call.

    PYTHONPATH=build/python python3 bench/numpy_ratios.py

Both sides run in this process, alternating, on all cores; a ratio is the median of the paired ratios. Results are
compared before anything is timed. Set no OPENBLAS_CORETYPE: the recipe then has OpenBLAS at its best.
"""

import statistics
import time

import numpy as np

import rapt

HEADS, TOKENS, DIM, STEPS = 8, 1024, 64, 64
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


def decode_problem(dtype, context):
    rng = np.random.default_rng(1)
    k, v, q = (rng.standard_normal((1, HEADS, context + STEPS, DIM)).astype(dtype) for _ in range(3))

    cache = rapt.KvCache(1, HEADS, DIM, context + STEPS, dtype="f32" if dtype == np.float32 else "f64")
    cache.append(k[:, :, :context], v[:, :, :context])

    def ours():
        cache.rollback(context)
        outputs = []
        for t in range(context, context + STEPS):
            outputs.append(cache.attend(q[:, :, t:t + 1], k[:, :, t:t + 1], v[:, :, t:t + 1]))
        return outputs

    def theirs():
        keys, values = k[:, :, :context], v[:, :, :context]
        outputs = []
        for t in range(context, context + STEPS):
            keys = np.concatenate([keys, k[:, :, t:t + 1]], axis=2)
            values = np.concatenate([values, v[:, :, t:t + 1]], axis=2)
            outputs.append(recipe(q[:, :, t:t + 1], keys, values)[0])
        return outputs

    np.testing.assert_allclose(np.array(ours()), np.array(theirs()), rtol=0, atol=1e-12 if dtype == np.float64 else 1e-5)
    return ours, theirs


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
    for context in (0, TOKENS):
        for dtype in (np.float64, np.float32):
            compare(f"{STEPS} steps of KvCache after {context} tokens, {dtype.__name__}", *decode_problem(dtype, context))


if __name__ == "__main__":
    main()
