"""attention() with every option against the NumPy recipe; layouts, out=, read-only inputs, refusals that write nothing."""

import numpy as np
import pytest
import rapt
import recipe

ATOL = 1e-12
EVERYTHING = dict(return_weights=True, return_scores=True, return_lse=True)


def problem(batch=2, heads=4, kv_heads=2, q_len=7, kv_len=9, head_dim=5, v_dim=6, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((batch, heads, q_len, head_dim)), rng.standard_normal((batch, kv_heads, kv_len, head_dim)),
            rng.standard_normal((batch, kv_heads, kv_len, v_dim)))


def with_own_corner(causal):
    return {} if causal == "none" else dict(causal=causal)


RNG = np.random.default_rng(7)
OPTIONS = [
    {}, dict(causal="top_left"), dict(causal="bottom_right"), dict(causal="bottom_right", window=3), dict(scale=-0.5),
    dict(softcap=1.5), dict(key_lengths=np.array([4, 9])), dict(key_mask=RNG.random((2, 9)) < 0.6),
    dict(query_mask=RNG.random((2, 7)) < 0.5), dict(attend=RNG.random((2, 4, 7, 9)) < 0.5),
    dict(attend=RNG.random((7, 9)) < 0.5), dict(bias=RNG.standard_normal((4, 7, 9))), dict(bias=RNG.standard_normal(9)),
    dict(causal="top_left", alibi_slopes=rapt.alibi_slopes(4)),
    dict(causal="bottom_right", window=4, softcap=2.0, key_mask=RNG.random((2, 9)) < 0.7, key_lengths=np.array([8, 5]),
         attend=RNG.random((1, 1, 7, 9)) < 0.8, bias=RNG.standard_normal((2, 1, 7, 9)), alibi_slopes=rapt.alibi_slopes(4)),
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "+".join(options) or "plain")
def test_options_equal_the_recipe(options):
    q, k, v = problem()
    expected = recipe.attention(q, k, v, **options)
    results = rapt.attention(q, k, v, **options, **EVERYTHING)
    for result, exact in zip(results, expected):
        assert result.dtype == np.float64 and result.flags.owndata and result.flags.c_contiguous
        np.testing.assert_allclose(result, exact, rtol=1e-7, atol=ATOL)
    np.testing.assert_array_equal(results[1] == 0, expected[1] == 0)  # masked weights are exactly 0
    np.testing.assert_array_equal(results[0], rapt.attention(q, k, v, **options))
    single = {name: value.astype(np.float32) if getattr(value, "dtype", None) == np.float64 else value
              for name, value in options.items()}
    out = rapt.attention(*(each.astype(np.float32) for each in (q, k, v)), **single)
    assert out.dtype == np.float32
    # Float rounding of q, k, v, bias and of about 20 operations a score with |score| < 8: far below 1e-4 of max|v| < 4.
    np.testing.assert_allclose(out, expected[0], rtol=0, atol=4e-4)


def test_causal_true_needs_a_square():
    q, k, v = problem(kv_len=7)
    np.testing.assert_array_equal(rapt.attention(q, k, v, causal=True), rapt.attention(q, k, v, causal="top_left"))
    with pytest.raises(ValueError, match="causal.*q_len 7 and kv_len 9"):
        rapt.attention(*problem(), causal=True)
    for wrong in ("left", 1, None):
        with pytest.raises(ValueError, match="causal"):
            rapt.attention(q, k, v, causal=wrong)


def test_bottom_right_counts_from_the_keys_there_are():
    q, k, v = problem()
    rows, keys, lengths = np.arange(7)[:, None], np.arange(9), np.array([9, 5])
    attend = keys <= rows + lengths[:, None, None, None] - 7
    np.testing.assert_array_equal(rapt.attention(q, k, v, causal="bottom_right", key_lengths=lengths),
                                  rapt.attention(q, k, v, attend=attend, key_lengths=lengths))


def test_the_report_counts():
    q, k, v = problem(batch=1, heads=2, kv_heads=1, q_len=4, kv_len=4)
    out, report = rapt.attention(q, k, v, causal=True, return_report=True)
    assert report == dict(dot_products=2 * 10, visible_pairs=2 * 10, bytes_read=4 * (5 + 6) * 8)
    assert len(rapt.attention(q, k, v, return_lse=True, return_report=True)) == 3


def test_float16_keys_and_values():
    q, k, v = (each.astype(np.float32) for each in problem())
    half_k, half_v = k.astype(np.float16), v.astype(np.float16)
    np.testing.assert_array_equal(rapt.attention(q, half_k, half_v),
                                  rapt.attention(q, half_k.astype(np.float32), half_v.astype(np.float32)))
    for arguments in ((q, half_k, v), (q.astype(np.float64), half_k, half_v), (q.astype(np.float16), half_k, half_v)):
        with pytest.raises(TypeError, match="dtype"):
            rapt.attention(*arguments)


# Regression A8: layouts that a packed kernel reads wrongly.
BASE = np.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5) / 60
LAYOUTS = {
    "transposed": BASE.transpose(0, 2, 1, 3), "inner stride 2": BASE[..., ::2], "negative stride": BASE[:, ::-1, :, ::-1],
    "stride 0": np.broadcast_to(BASE[:, :1], BASE.shape), "Fortran order": np.asfortranarray(BASE),
    "offset": np.arange(241.0)[1:].reshape(4, 3, 4, 5)[1:3] / 60, "one row everywhere": np.broadcast_to(BASE[0, 0, 0], BASE.shape),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_give_the_bits_of_a_packed_copy(layout, dtype):
    x = LAYOUTS[layout] if dtype == np.float64 else LAYOUTS[layout].astype(dtype)
    if dtype == np.float32:  # astype packs; lay it out again
        packed = BASE.astype(dtype)
        x = {"transposed": packed.transpose(0, 2, 1, 3), "inner stride 2": packed[..., ::2],
             "negative stride": packed[:, ::-1, :, ::-1], "stride 0": np.broadcast_to(packed[:, :1], packed.shape),
             "Fortran order": np.asfortranarray(packed)}.get(layout, x)
    packed = np.ascontiguousarray(x)
    before = x.copy()
    for options in ({}, dict(causal=True)):
        for result, expected in zip(rapt.attention(x, x, x, **options, **EVERYTHING),
                                    rapt.attention(packed, packed, packed, **options, **EVERYTHING)):
            np.testing.assert_array_equal(result, expected)
    for result, expected in zip(rapt.multi_head_causal_attention(x, x, x), rapt.multi_head_causal_attention(packed, packed, packed)):
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(x, before)


def test_strided_masks_bias_and_slopes():
    q, k, v = problem()
    rng = np.random.default_rng(3)
    options = dict(key_mask=rng.random((9, 2)) < 0.8, attend=rng.random((9, 7)) < 0.8, bias=rng.standard_normal((9, 7)))
    strided = {name: value.T for name, value in options.items()}
    packed = {name: np.ascontiguousarray(value.T) for name, value in options.items()}
    np.testing.assert_array_equal(rapt.attention(q, k, v, **strided), rapt.attention(q, k, v, **packed))
    lengths, slopes = np.array([0, 5, 0, 7])[1::2], np.repeat(rapt.alibi_slopes(4), 3)[::3]
    np.testing.assert_array_equal(
        rapt.attention(q, k, v, causal="top_left", key_lengths=lengths, alibi_slopes=slopes),
        rapt.attention(q, k, v, causal="top_left", key_lengths=lengths.copy(), alibi_slopes=slopes.copy()))


def test_out_and_read_only_inputs():
    q, k, v = problem()
    expected = rapt.attention(q, k, v)
    for array in (q, k, v):
        array.flags.writeable = False
    np.testing.assert_array_equal(rapt.attention(q, k, v), expected)
    out = np.full((2, 4, 7, 12), 7.0)[..., ::2]
    assert rapt.attention(q, k, v, out=out) is out
    np.testing.assert_array_equal(out, expected)
    assert (out.base[..., 1::2] == 7).all()


def test_a_refused_call_leaves_out_alone():
    q, k, v = problem()
    out = np.full((2, 4, 7, 6), 7.0)

    def refused(word, kind=ValueError, *arrays, **options):
        with pytest.raises(kind, match=word):
            rapt.attention(*(arrays or (q, k, v)), **{**dict(out=out), **options})
        assert (out == 7).all()

    refused("scale", scale=float("nan"))
    refused("softcap", softcap=-1.0)
    refused("scale", scale=1.7e308)
    single = [each.astype(np.float32) for each in (q, k, v)]
    refused("scale", ValueError, *single, scale=3e38, out=None)
    refused("softcap", ValueError, *single, softcap=1e-50, out=None)
    refused("window", window=0, causal="top_left")
    refused("window", window=3)
    refused("key_lengths", key_lengths=np.array([4, 10]))
    refused("key_lengths", key_lengths=np.array([4]))
    refused("key_mask", key_mask=np.ones((2, 8), bool))
    refused("query_mask", query_mask=np.ones((2, 9), bool))
    refused("attend", attend=np.ones((3, 9), bool))
    refused("bias", bias=np.ones((1, 1, 1, 1, 9)))
    refused("alibi_slopes", alibi_slopes=rapt.alibi_slopes(4))
    refused("head_dim 4.*head_dim 5", ValueError, q, k[..., :4], v)
    refused("4D", ValueError, q[0], k, v)
    refused("n_kv_heads 2.*n_heads 3", ValueError, q[:, :3], k, v, out=np.empty((2, 3, 7, 6)))
    refused("out", out=np.empty((2, 4, 7, 5)))
    refused("out.*overlaps", ValueError, q, q[:, :2], q[:, :2], out=q)
    locked = np.full((2, 4, 7, 6), 7.0)
    locked.flags.writeable = False
    refused("read-only", out=locked)
    refused("out", TypeError, out=np.empty((2, 4, 7, 6), np.float32))
    refused("out", TypeError, out=[1.0])


def test_empty_problems():
    for shape in ((0, 2, 3, 4), (1, 2, 0, 4)):
        empty = np.ones(shape)
        assert rapt.attention(empty, empty, empty).shape == shape
    no_keys = rapt.attention(np.ones((1, 1, 3, 2)), np.ones((1, 1, 0, 2)), np.ones((1, 1, 0, 2)), return_lse=True)
    np.testing.assert_array_equal(no_keys[0], np.zeros((1, 1, 3, 2)))
    np.testing.assert_array_equal(no_keys[1], np.full((1, 1, 3), -np.inf))


def test_merge_of_two_halves_is_the_whole():
    q, k, v = problem(kv_len=30)
    whole, whole_lse = rapt.attention(q, k, v, return_lse=True)
    first = rapt.attention(q, k[:, :, :11], v[:, :, :11], return_lse=True)
    second = rapt.attention(q, k[:, :, 11:], v[:, :, 11:], return_lse=True)
    out, lse = rapt.merge(*first, *second)
    np.testing.assert_allclose(out, whole, rtol=0, atol=ATOL)
    np.testing.assert_allclose(lse, whole_lse, rtol=0, atol=ATOL)
    nothing = np.zeros_like(whole), np.full_like(whole_lse, -np.inf)
    for merged in (rapt.merge(*first, *nothing), rapt.merge(*nothing, *first)):
        np.testing.assert_array_equal(merged[0], first[0])
        np.testing.assert_array_equal(merged[1], first[1])
    with pytest.raises(TypeError, match="lse2"):
        rapt.merge(*first, second[0], second[1].astype(np.float32))


def test_alibi_slopes():
    np.testing.assert_array_equal(rapt.alibi_slopes(6), [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125])
    assert rapt.alibi_slopes(8, dtype="f32").dtype == np.float32
    assert rapt.alibi_slopes(4, max_bias=4.0)[0] == 0.5
    with pytest.raises(ValueError, match="dtype"):
        rapt.alibi_slopes(4, dtype="float32")
