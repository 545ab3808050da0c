"""KvCache: the bits of the uncached call for every schedule, its ring, its storage, and refusals that change nothing."""

import concurrent.futures

import numpy as np
import pytest
import rapt

B, HQ, HKV, D, DV, T = 2, 4, 2, 6, 5, 23


def tokens(dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((B, HQ, T, D)).astype(dtype), rng.standard_normal((B, HKV, T, D)).astype(dtype),
            rng.standard_normal((B, HKV, T, DV)).astype(dtype))


def cache(**options):
    return rapt.KvCache(B, HKV, D, **{**dict(capacity=T, v_dim=DV, dtype="f64"), **options})


SCHEDULES = [[T], [1] * T, [7, 1, 1, 9, 5], [16, 7]]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=str)
@pytest.mark.parametrize("window", [None, 4])
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_every_schedule_has_the_bits_of_the_uncached_call(schedule, window, dtype):
    q, k, v = tokens(np.float64 if dtype == "f64" else np.float32)
    expected = rapt.attention(q, k, v, causal=True, window=window)
    growing = cache(window=window, dtype=dtype, capacity=T if window is None else 8)
    first = 0
    for count in schedule:
        chunk = np.s_[:, :, first:first + count]
        np.testing.assert_array_equal(growing.attend(q[chunk], k[chunk], v[chunk]), expected[chunk])
        first += count
    assert growing.length.tolist() == [T, T] and growing.length.dtype == np.int64


def test_append_and_query_are_the_two_halves_of_attend():
    q, k, v = tokens()
    halves = cache()
    halves.append(k[:, :, :9], v[:, :, :9])
    halves.append(k[:, :, 9:], v[:, :, 9:])
    np.testing.assert_array_equal(halves.query(q), rapt.attention(q, k, v, causal=True))
    np.testing.assert_array_equal(halves.query(q[:, :, -2:]), rapt.attention(q, k, v, causal=True)[:, :, -2:])
    np.testing.assert_array_equal(halves.keys(1), k[1])
    np.testing.assert_array_equal(halves.values(0), v[0])
    assert halves.positions(0).tolist() == list(range(T))
    assert halves.nbytes >= rapt.kv_capacity(B, HKV, T, D, v_dim=DV, dtype="f64")
    out = np.empty((B, HQ, T, DV))
    assert halves.query(q, out=out, scale=0.5, softcap=2.0) is out
    np.testing.assert_array_equal(out, rapt.attention(q, k, v, causal=True, scale=0.5, softcap=2.0))


def test_padding_is_not_stored():
    q, k, v = tokens()
    mask = np.random.default_rng(1).random((B, T)) < 0.6
    padded = cache()
    out = padded.attend(q, k, v, key_mask=mask)
    assert padded.length.tolist() == mask.sum(axis=1).tolist()
    for b in range(B):
        np.testing.assert_array_equal(padded.keys(b), k[b][:, mask[b]])
        alone = rapt.attention(q[b:b + 1][:, :, mask[b]], k[b:b + 1][:, :, mask[b]], v[b:b + 1][:, :, mask[b]], causal=True)
        np.testing.assert_array_equal(out[b:b + 1][:, :, mask[b]], alone)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rope_is_that_of_rapt_rope(interleaved):
    q, k, v = tokens()
    at = np.arange(T)
    turned_q, turned_k = rapt.rope(q, at, interleaved=interleaved), rapt.rope(k, at, interleaved=interleaved)
    rotated = cache()
    out = rotated.attend(q, k, v, rope_base=10000.0, rope_interleaved=interleaved)
    np.testing.assert_array_equal(out, rapt.attention(turned_q, turned_k, v, causal=True))
    np.testing.assert_array_equal(rotated.keys(0), turned_k[0])


def test_reduced_storage():
    q, k, v = tokens(np.float32)
    half = cache(dtype="f16")
    out = half.attend(q, k, v)
    np.testing.assert_array_equal(out, rapt.attention(q, k.astype(np.float16), v.astype(np.float16), causal=True))
    same = cache(dtype="f16")
    np.testing.assert_array_equal(same.attend(q, k.astype(np.float16), v.astype(np.float16)), out)
    np.testing.assert_array_equal(half.keys(0), k[0].astype(np.float16).astype(np.float32))
    brain = cache(dtype="bf16")
    brain.append(k, v)
    bits = brain.keys(0).view(np.uint32)
    assert (bits & 0xFFFF == 0).all()
    assert (np.abs(brain.keys(0) - k[0]) <= 2.0**-8 * np.abs(k[0])).all()  # nearest of 8 bits: half an ulp
    assert half.nbytes < cache(dtype="f32").nbytes


def test_rollback_clear_and_copy():
    q, k, v = tokens()
    growing = cache(capacity=T)
    growing.append(k, v)
    growing.rollback(10)
    assert growing.length.tolist() == [10, 10]
    growing.rollback(np.array([7, 9]))
    assert growing.length.tolist() == [7, 9]
    growing.copy_sequence(1, 0)
    np.testing.assert_array_equal(growing.keys(0), k[1, :, :9])
    step = np.s_[:, :, 9:10]
    expected = rapt.attention(q[1:, :, 9:10], k[1:, :, :10], v[1:, :, :10])
    np.testing.assert_array_equal(growing.attend(q[step], k[step], v[step])[1:], expected)
    growing.clear()
    assert growing.length.tolist() == [0, 0] and growing.positions(0).size == 0


def test_refusals_change_nothing():
    q, k, v = tokens()
    full = cache()
    full.append(k, v)
    kept = full.keys(0)
    out = np.full((B, HQ, 1, DV), 7.0)
    step = np.s_[:, :, :1]
    with pytest.raises(ValueError, match="capacity"):
        full.attend(q[step], k[step], v[step], out=out)
    with pytest.raises(ValueError, match="4D"):
        full.append(k[0], v)
    for length in (T + 1, -1):
        with pytest.raises(ValueError):
            full.rollback(length)
    with pytest.raises(ValueError):
        full.rollback(np.array([1, T + 1]))
    with pytest.raises(ValueError):
        full.keys(B)
    with pytest.raises(TypeError, match="length"):
        full.rollback([1, 2])
    for wrong in (k.astype(np.float32), k.tolist(), np.ma.masked_array(k)):
        with pytest.raises(TypeError, match="k"):
            full.append(wrong, v)
    with pytest.raises(TypeError, match="float32"):
        cache(dtype="f32").query(q)
    assert (out == 7).all() and full.length.tolist() == [T, T]
    np.testing.assert_array_equal(full.keys(0), kept)
    wrapped = cache(window=4, capacity=6)
    wrapped.append(k, v)
    assert wrapped.positions(1).tolist() == list(range(T - 6, T))
    with pytest.raises(ValueError, match=str(T - 6 + 3)):
        wrapped.rollback(T - 5)


@pytest.mark.parametrize("wrong", [dict(capacity=0), dict(window=0), dict(window=T + 1), dict(v_dim=0), dict(dtype="int8")])
def test_constructor_refuses(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        cache(**wrong)


def test_python_threads_share_a_cache():
    q, k, v = tokens()
    shared = cache()
    shared.append(k, v)
    expected = rapt.attention(q, k, v, causal=True)

    def work(number):
        if number % 4 == 0:
            shared.copy_sequence(0, 0)
        return np.array_equal(shared.query(q), expected)

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(60)))

    growing = rapt.KvCache(1, HKV, D, capacity=64, v_dim=DV, dtype="f64")
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda _: growing.append(k[:1, :, :1], v[:1, :, :1]), range(64)))
    assert growing.length.tolist() == [64]
    np.testing.assert_array_equal(growing.keys(0), np.broadcast_to(k[0, :, :1], (HKV, 64, D)))
