"""split_heads and project_qkv: contract M2-A; weights packed once: Projection."""

import numpy as np
import pytest
import rapt
import recipe


def test_split_heads_is_a_view():
    projected = np.arange(2 * 3 * 8, dtype=np.float64).reshape(2, 3, 8)
    heads = rapt.split_heads(projected, 4)
    assert np.shares_memory(heads, projected)
    np.testing.assert_array_equal(heads, recipe.split_heads(projected, 4))
    assert heads[1, 3, 2, 1] == projected[1, 2, 3 * 2 + 1]
    projected.flags.writeable = False
    assert not rapt.split_heads(projected, 4).flags.writeable
    strided = np.arange(2 * 3 * 16.0).reshape(2, 3, 16)[::-1, :, ::-2]
    np.testing.assert_array_equal(rapt.split_heads(strided, 2), recipe.split_heads(strided, 2))
    assert np.shares_memory(rapt.split_heads(strided, 2), strided)


def test_split_heads_errors_in_order():
    with pytest.raises(TypeError, match="projected"):
        rapt.split_heads([[[1.0]]], 0)
    with pytest.raises(ValueError, match="3D"):
        rapt.split_heads(np.ones((2, 3)), 0)
    for heads in (0, -1):
        with pytest.raises(ValueError, match="positive"):
            rapt.split_heads(np.ones((2, 3, 7)), heads)
    with pytest.raises(ValueError, match="divisible"):
        rapt.split_heads(np.ones((2, 3, 7)), 2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("batch, tokens, width, heads, kv_heads, head_dim",
                         [(1, 1, 1, 1, 1, 1), (2, 3, 5, 4, 2, 3), (3, 17, 33, 3, 2, 8), (1, 300, 64, 8, 8, 8)])
def test_project_qkv_equals_the_recipe(dtype, batch, tokens, width, heads, kv_heads, head_dim):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((batch, tokens, width)).astype(dtype)
    w_q = rng.standard_normal((width, heads * head_dim)).astype(dtype)
    w_k, w_v = (rng.standard_normal((width, kv_heads * head_dim)).astype(dtype) for _ in range(2))
    results = rapt.project_qkv(x, w_q, w_k, w_v, heads, kv_heads)
    for result, weight, count in zip(results, (w_q, w_k, w_v), (heads, kv_heads, kv_heads)):
        exact = x.astype(np.float64) @ weight.astype(np.float64)
        # A sum of `width` products: (width + 1) roundings of the sum of absolute products, on each side for float64.
        bound = 2 * (width + 1) * np.finfo(dtype).eps / 2 * (np.abs(x).astype(np.float64) @ np.abs(weight).astype(np.float64))
        assert result.dtype == dtype and result.shape == (batch, count, tokens, head_dim)
        assert (np.abs(result - recipe.split_heads(exact, count)) <= recipe.split_heads(bound, count)).all()
    for strided in (np.asfortranarray(x), np.repeat(x, 2, axis=2)[:, :, ::2], x[::-1, ::-1].copy()[::-1, ::-1]):
        again = rapt.project_qkv(strided, np.asfortranarray(w_q), w_k[::-1].copy()[::-1], w_v, heads, kv_heads)
        for result, other in zip(results, again):
            np.testing.assert_array_equal(result, other)


def test_project_qkv_errors_in_order():
    x = np.ones((2, 3, 4))
    good, narrow, wide = np.ones((4, 4)), np.ones((3, 4)), np.ones((4, 8))

    def refused(kind, word, *arguments):
        with pytest.raises(kind, match=word):
            rapt.project_qkv(*arguments)

    refused(TypeError, "w_v", np.ones(3), good, good, [[1.0]], 0, 0)
    refused(TypeError, "w_k", np.ones(3), good, good.astype(np.float32), good, 0, 0)
    refused(ValueError, "3D", np.ones((3, 4)), good, good, good, 0, 0)
    refused(ValueError, "positive", x, np.ones(4), good, good, 0, 1)
    refused(ValueError, "positive", x, np.ones(4), good, good, 1, -2)
    refused(ValueError, "2D", x, np.ones(4), good, good, 3, 3)
    refused(ValueError, "input width", x, narrow, good, good, 3, 3)
    refused(ValueError, "input width", x, good, good, narrow, 3, 3)
    refused(ValueError, "divisible", x, good, wide, good, 3, 3)
    refused(ValueError, "divisible", x, good, wide, good, 2, 3)
    refused(ValueError, "D_head", x, good, wide, good, 2, 2)
    assert rapt.project_qkv(x, np.ones((4, 6)), good, good, 3, 2)[0].shape == (2, 3, 3, 2)  # Hq % Hkv is not checked here


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_projection_is_packed_once_and_has_the_bits_of_its_weight(dtype):
    rng = np.random.default_rng(6)
    x = rng.standard_normal((2, 5, 33)).astype(dtype)
    w_q, w_k, w_v = (rng.standard_normal((33, width)).astype(dtype) for width in (24, 12, 12))
    kept = w_q.copy()
    packed = rapt.Projection(w_q)
    q, k, v = rapt.project_qkv(x, w_q, w_k, w_v, 4, 2)
    w_q[:] = np.nan  # it has a copy of its own
    assert (packed.in_dim, packed.out_dim) == (33, 24)
    for _ in range(2):
        for weights in ((packed, w_k, w_v), (packed, rapt.Projection(w_k), rapt.Projection(w_v))):
            for result, exact in zip(rapt.project_qkv(x, *weights, 4, 2), (q, k, v)):
                np.testing.assert_array_equal(result, exact)
    np.testing.assert_array_equal(packed.forward(x, num_heads=4), q)
    flat = packed.forward(x)
    np.testing.assert_array_equal(recipe.split_heads(flat, 4), q)
    out = np.full((2, 10, 24), -1, dtype)
    assert packed.forward(x, out=out[:, ::2]) is not None
    np.testing.assert_array_equal(out[:, ::2], flat)
    assert (out[:, 1::2] == -1).all()
    bias = rng.standard_normal(24).astype(dtype)
    np.testing.assert_array_equal(rapt.Projection(kept, bias).forward(x), flat + bias)
    with rapt.threads(3):
        np.testing.assert_array_equal(packed.forward(x), flat)


def test_projection_errors():
    x, weight = np.ones((2, 3, 4)), np.ones((4, 6))
    packed = rapt.Projection(weight)

    def refused(kind, word, call, *arguments, **options):
        with pytest.raises(kind, match=word):
            call(*arguments, **options)

    refused(TypeError, "weight", rapt.Projection, [[1.0]])
    refused(TypeError, "bias", rapt.Projection, weight, np.ones(6, np.float32))
    refused(ValueError, "2D", rapt.Projection, np.ones(4))
    refused(ValueError, "bias: length 5", rapt.Projection, weight, np.ones(5))
    refused(TypeError, "x", packed.forward, x.astype(np.float32))
    refused(ValueError, "3D", packed.forward, x[0])
    refused(ValueError, "positive", packed.forward, x, num_heads=0)
    refused(ValueError, "divisible", packed.forward, x, num_heads=4)
    refused(ValueError, "input width 5", packed.forward, np.ones((2, 3, 5)))
    refused(ValueError, "out: shape", packed.forward, x, out=np.ones((2, 3, 5)))
    refused(TypeError, "w_k", rapt.project_qkv, x, weight, rapt.Projection(weight.astype(np.float32)), weight, 2, 2)
    refused(ValueError, "w_k.*input width", rapt.project_qkv, x, weight, rapt.Projection(np.ones((5, 6))), weight, 2, 2)
