"""What is no array of a supported dtype is a TypeError that names the argument, before anything else is looked at."""

import ctypes

import numpy as np
import pytest
import rapt

X2, X3, X4 = np.ones((3, 4)), np.ones((2, 3, 4)), np.ones((1, 2, 3, 4))
STEP = np.ones((1, 2, 1, 4))
W = np.ones((4, 4))
CALLS = {
    "attention": ([X4, X4, X4], ["q", "k", "v"]),
    "multi_head_causal_attention": ([X4, X4, X4], ["q", "k", "v"]),
    "grouped_query_causal_attention": ([X4, X4, X4], ["q", "k", "v"]),
    "cached_multi_head_attention": ([STEP, STEP, STEP, X4, X4], ["q", "k", "v", "k_cache", "v_cache"]),
    "cached_grouped_query_attention": ([STEP, STEP, STEP, X4, X4], ["q", "k", "v", "k_cache", "v_cache"]),
    "decode_without_cache": ([X2, W, W, W], ["x", "wq", "wk", "wv"]),
    "cached_attention": ([X2, W, W, W], ["x", "wq", "wk", "wv"]),
    "cached_attention_preallocated": ([X2, W, W, W], ["x", "wq", "wk", "wv"]),
    "batched_cached_attention": ([X3, W, W, W], ["x", "wq", "wk", "wv"]),
    "sequential_cached_attention": ([X3, W, W, W], ["x", "wq", "wk", "wv"]),
    "project_qkv": ([X3, W, W, W, 2, 2], ["x", "w_q", "w_k", "w_v"]),
    "split_heads": ([X3, 2], ["projected"]),
    "rope": ([X2, np.arange(3)], ["x"]),
    "merge": ([X4, X3[:1, :2, :3], X4, X3[:1, :2, :3]], ["out1", "lse1", "out2", "lse2"]),
}


class Float(float):
    pass


WRONG = {
    "list": lambda x: x.tolist(), "tuple": lambda x: tuple(x.tolist()), "number": lambda x: 1.0, "text": lambda x: "q",
    "buffer": lambda x: memoryview(x), "masked array": np.ma.masked_array, "objects": lambda x: x.astype(object),
    "int64": lambda x: x.astype(np.int64), "bool": lambda x: x.astype(bool), "complex": lambda x: x.astype(complex),
    "long double": lambda x: x.astype(np.longdouble), "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "structure": lambda x: x.astype([("value", float)]), "scalar": lambda x: np.float64(1),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", CALLS)
def test_type_errors_name_the_argument_and_come_first(name, wrong):
    good, names = CALLS[name]
    getattr(rapt, name)(*good)
    for place, argument in enumerate(names):
        # Another argument has an impossible shape: the type is still what is complained about.
        arguments = [np.ones((1,) * 7) if isinstance(each, np.ndarray) and each.dtype == float else each for each in good]
        arguments[place] = WRONG[wrong](good[place])
        with pytest.raises(TypeError, match=rf"\b{argument}\b"):
            getattr(rapt, name)(*arguments)


@pytest.mark.parametrize("name", CALLS)
def test_float32_and_float64_do_not_mix(name):
    good, names = CALLS[name]
    single = [each.astype(np.float32) if isinstance(each, np.ndarray) and each.dtype == float else each for each in good]
    results = getattr(rapt, name)(*single)
    for result in results if isinstance(results, tuple) else [results]:
        assert result.dtype == np.float32
    for place in range(1, len(names)):
        mixed = list(single)
        mixed[place] = good[place]
        with pytest.raises(TypeError, match=names[place]):
            getattr(rapt, name)(*mixed)


def test_none_is_not_an_array():
    for name, (good, names) in CALLS.items():
        for place, argument in enumerate(names):
            if argument.endswith("_cache"):
                continue
            with pytest.raises(TypeError, match=argument):
                getattr(rapt, name)(*[None if each == place else value for each, value in enumerate(good)])


def test_plain_subclasses_are_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "q", dtype=float, mode="w+", shape=X4.shape)
    mapped[:] = X4
    np.testing.assert_array_equal(rapt.attention(mapped, mapped, mapped), rapt.attention(X4, X4, X4))


def test_unaligned_elements_are_refused_not_copied():
    buffer = (ctypes.c_char * (8 * 24 + 1))()
    unaligned = np.frombuffer(buffer, dtype=np.uint8)[1:].view(np.float64).reshape(1, 2, 3, 4)
    with pytest.raises(ValueError, match="aligned"):
        rapt.attention(unaligned, unaligned, unaligned)
    packed = np.zeros(24, dtype=[("flag", "i4"), ("value", "f8")])["value"].reshape(1, 2, 3, 4)
    with pytest.raises(ValueError, match="aligned"):
        rapt.attention(packed, packed, packed)


@pytest.mark.parametrize("option, wrong", [
    ("key_mask", np.ones((1, 3))), ("key_mask", np.ones((1, 3), np.uint8)), ("key_lengths", np.ones(1, np.int32)),
    ("key_lengths", [3]), ("query_mask", [[True] * 3]), ("attend", np.ones((3, 3), int)), ("bias", np.ones((3, 3), np.float32)),
    ("alibi_slopes", [0.5, 0.25]), ("out", X4.tolist()),
])
def test_option_types(option, wrong):
    with pytest.raises(TypeError, match=option):
        rapt.attention(X4, X4, X4, scale=float("nan"), **{option: wrong})


def test_integers_beyond_64_bits_are_refused_by_name():
    cache = rapt.KvCache(1, 1, 1, 4)
    for name, call in (("ids", lambda: rapt.decode([2**70])), ("length", lambda: cache.rollback(-2**70))):
        with pytest.raises(ValueError, match=f"{name}: -?{2**70} does not fit in 64 bits"):
            call()


def test_no_memory_is_said_in_words():
    with pytest.raises(MemoryError, match="^rapt cannot allocate"):
        rapt.KvCache(1, 1, 1 << 50, 1 << 12)
