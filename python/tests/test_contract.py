"""The NumPy contract: single head (M0), multi-head with and without a cache (M2-B, M2-C), grouped heads (M2-D)."""

import numpy as np
import pytest
import rapt
import recipe

CLOSE = dict(rtol=1e-7, atol=1e-12)


def heads(batch=2, n=4, tokens=6, dim=5, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).standard_normal((batch, n, tokens, dim)).astype(dtype)


# M0

SINGLE = [rapt.cached_attention, rapt.cached_attention_preallocated]
BATCHED = [rapt.batched_cached_attention, rapt.sequential_cached_attention]


def single_head(batch=3, tokens=9, d_model=6, d_k=4, d_v=7):
    rng = np.random.default_rng(2)
    return (rng.standard_normal((batch, tokens, d_model)), rng.standard_normal((d_model, d_k)),
            rng.standard_normal((d_model, d_k)), rng.standard_normal((d_model, d_v)))


def test_single_head_equals_the_recipe():
    x, wq, wk, wv = single_head()
    expected = recipe.causal_attention((x @ wq)[:, None], (x @ wk)[:, None], (x @ wv)[:, None])[0][:, 0]
    for function in BATCHED:
        for result, exact in zip(function(x, wq, wk, wv), (expected, x @ wk, x @ wv)):
            np.testing.assert_allclose(result, exact, **CLOSE)
    for b in range(3):
        np.testing.assert_allclose(rapt.decode_without_cache(x[b], wq, wk, wv), expected[b], **CLOSE)
        for function in SINGLE:
            for result, exact in zip(function(x[b], wq, wk, wv), (expected[b], x[b] @ wk, x[b] @ wv)):
                np.testing.assert_allclose(result, exact, **CLOSE)


def test_single_head_paths_have_the_same_bits():
    x, wq, wk, wv = single_head()
    together = rapt.batched_cached_attention(x, wq, wk, wv)
    for result, other in zip(together, rapt.sequential_cached_attention(x, wq, wk, wv)):
        np.testing.assert_array_equal(result, other)
    for b in range(3):
        np.testing.assert_array_equal(rapt.decode_without_cache(x[b], wq, wk, wv), together[0][b])
        for t in range(1, 10):  # a decode that has only seen t tokens
            np.testing.assert_array_equal(rapt.cached_attention(x[b, :t], wq, wk, wv)[0], together[0][b, :t])
    single = rapt.cached_attention(*(each.astype(np.float32) for each in (x[0], wq, wk, wv)))
    assert all(each.dtype == np.float32 for each in single)


@pytest.mark.parametrize("function", SINGLE + BATCHED + [rapt.decode_without_cache])
def test_single_head_errors_in_order(function):
    x, wq, wk, wv = single_head()
    x = x if function in BATCHED else x[0]

    def refused(kind, word, *arguments):
        with pytest.raises(kind, match=word):
            function(*arguments)

    refused(TypeError, "wv", x[0], wq, wk, wv.tolist())
    refused(TypeError, "wk", x, wq, wk.astype(np.float32), wv)
    refused(ValueError, "3D" if function in BATCHED else "2D", x[0], wq, wk, wv)
    refused(ValueError, "wk.*2D", x, wq, wk[0], wv)
    refused(ValueError, "empty|positive", x[..., :0, :], wq, wk, wv)
    refused(ValueError, "input width", x, wq, wk[1:], wv)
    refused(ValueError, "d_k", x, wq, wk[:, 1:], wv)


# M2-B and M2-D

@pytest.mark.parametrize("batch, n, kv, tokens, dim", [(1, 1, 1, 1, 1), (2, 4, 4, 6, 5), (1, 2, 2, 130, 64), (2, 6, 2, 33, 8), (1, 4, 1, 7, 3)])
def test_causal_attention_equals_the_recipe(batch, n, kv, tokens, dim):
    q, k, v = heads(batch, n, tokens, dim, 1), heads(batch, kv, tokens, dim, 2), heads(batch, kv, tokens, dim, 3)
    functions = [rapt.grouped_query_causal_attention] + [rapt.multi_head_causal_attention] * (n == kv)
    for function in functions:
        output, weights = function(q, k, v)
        exact_output, exact_weights = recipe.causal_attention(q, k, v)
        np.testing.assert_allclose(output, exact_output, **CLOSE)
        np.testing.assert_allclose(weights, exact_weights, **CLOSE)
        assert (weights[..., np.triu_indices(tokens, 1)[0], np.triu_indices(tokens, 1)[1]] == 0).all()
        np.testing.assert_array_equal(output[:, :, 0], np.repeat(v, n // kv, axis=1)[:, :, 0])
    if n != kv:
        repeated = (np.repeat(each, n // kv, axis=1) for each in (k, v))
        np.testing.assert_array_equal(rapt.multi_head_causal_attention(q, *repeated)[0], output)


@pytest.mark.parametrize("function", [rapt.multi_head_causal_attention, rapt.grouped_query_causal_attention])
def test_causal_attention_errors_in_order(function):
    x = heads()

    def refused(kind, word, *arguments):
        with pytest.raises(kind, match=word):
            function(*arguments)

    refused(TypeError, "v", x[0], x[0], None)
    refused(TypeError, "k", x, x.astype(np.float32), x)
    refused(ValueError, "4D", x, x, x[0])
    refused(ValueError, "4D", x, x[0], x[:, :, :2])
    refused(ValueError, "same", x, x, x[:, :, :0])
    refused(ValueError, "same", x, x, x[:1])
    refused(ValueError, "same", x, x[:, :, :, :1], x[:, :, :, :1])
    for axis in range(4):
        empty = np.take(x, [], axis=axis)
        refused(ValueError, "positive", empty, empty, empty)


def test_grouped_heads_name_both_numbers():
    with pytest.raises(ValueError, match="4.*3"):
        rapt.grouped_query_causal_attention(heads(n=4), heads(n=3), heads(n=3))
    with pytest.raises(ValueError, match="same"):
        rapt.multi_head_causal_attention(heads(n=4), heads(n=2), heads(n=2))


# Regression A6: heads are grouped in blocks.
def test_query_heads_read_their_own_group():
    v = np.array([10.0, 20.0]).reshape(1, 2, 1, 1)
    output, _ = rapt.grouped_query_causal_attention(np.ones((1, 4, 1, 1)), np.ones((1, 2, 1, 1)), v)
    assert output.ravel().tolist() == [10, 10, 20, 20]


# M2-C and M2-D

CACHED = {rapt.cached_multi_head_attention: (rapt.multi_head_causal_attention, 4),
          rapt.cached_grouped_query_attention: (rapt.grouped_query_causal_attention, 2)}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", CACHED)
def test_cached_steps_are_the_rows_of_the_full_pass(function, dtype):
    full, kv = CACHED[function]
    q, k, v = heads(dtype=dtype), heads(n=kv, seed=1, dtype=dtype), heads(n=kv, seed=2, dtype=dtype)
    output, weights = full(q, k, v)
    k_cache = v_cache = None
    for t in range(6):
        old = k_cache, v_cache
        kept = [None if cache is None else cache.copy() for cache in old]
        step = np.s_[:, :, t:t + 1]
        row, row_weights, k_cache, v_cache = function(q[step], k[step], v[step], k_cache, v_cache)
        np.testing.assert_array_equal(row, output[step])
        np.testing.assert_array_equal(row_weights, weights[:, :, t:t + 1, :t + 1])
        np.testing.assert_array_equal(k_cache, k[:, :, :t + 1])
        np.testing.assert_array_equal(v_cache, v[:, :, :t + 1])
        for cache, copy in zip(old, kept):
            assert cache is None or not np.shares_memory(cache, k_cache)
            assert cache is None or np.array_equal(cache, copy)
    assert rapt.kv_capacity(2, kv, 6, 5, dtype="f64" if dtype == np.float64 else "f32") == k_cache.nbytes + v_cache.nbytes


def test_cached_steps_take_strided_read_only_caches():
    q, k, v = (heads(tokens=1, seed=seed) for seed in range(3))
    cache = heads(tokens=8, seed=4)
    cache.flags.writeable = False
    strided = cache[:, ::-1, ::2, ::-1]
    for result, expected in zip(rapt.cached_multi_head_attention(q, k, v, strided, strided),
                                rapt.cached_multi_head_attention(q, k, v, strided.copy(), strided.copy())):
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("function", CACHED)
def test_cached_errors_in_order(function):
    kv = CACHED[function][1]
    q, k, v = heads(tokens=1), heads(n=kv, tokens=1), heads(n=kv, tokens=1)
    cache = heads(n=kv)
    two_tokens = np.concatenate([k, k], axis=2)

    def refused(kind, word, *arguments):
        with pytest.raises(kind, match=word):
            function(*arguments)

    refused(TypeError, "v_cache", q[0], k, v, cache, [])
    refused(TypeError, "k_cache", q, k, v, cache.astype(np.float32), cache)
    refused(ValueError, "4D", q, k[0], v, cache, None)
    refused(ValueError, "same", q, k, v[:1], cache, None)
    refused(ValueError, "one token", np.concatenate([q, q], axis=2), two_tokens, two_tokens, cache, None)
    refused(ValueError, "positive", q[:0], k[:0], v[:0], cache, None)
    refused(ValueError, "v_cache is missing.*both", q, k, v, cache, None)
    refused(ValueError, "k_cache is missing.*both", q, k, v, None, cache)
    refused(ValueError, "4D", q, k, v, cache[0], cache)
    refused(ValueError, "same", q, k, v, cache, cache[:, :, :2])
    refused(ValueError, "batch 1 does not match", q, k, v, cache[:1], cache[:1])
    refused(ValueError, "heads 1 does not match", q, k, v, cache[:, :1], cache[:, :1])
    refused(ValueError, "head_dim 4 does not match", q, k, v, cache[..., :4], cache[..., :4])
    if kv == 2:
        refused(ValueError, "3.*2", heads(n=3, tokens=1), k, v, cache, cache)
