"""Numbers, texts and flags: another type is a TypeError, a number that does not fit a ValueError; both name the argument."""

import fractions
import re

import numpy as np
import pytest
import rapt

X3, X4, POSITIONS = np.ones((2, 3, 4)), np.ones((1, 2, 3, 4)), np.arange(3)
IDS = np.zeros(3, int)
W = np.ones((4, 4))


def cache():
    return rapt.KvCache(1, 2, 4, 8, dtype="f64")


def attention(**options):
    return rapt.attention(X4, X4, X4, **options)


KV = dict(batch=1, n_kv_heads=1, head_dim=1)
INTEGERS = {
    "attention window": lambda x: attention(window=x, causal=True),
    "alibi_slopes n_heads": rapt.alibi_slopes,
    "split_heads num_heads": lambda x: rapt.split_heads(X3, x),
    "project_qkv num_query_heads": lambda x: rapt.project_qkv(X3, W, W, W, x, 1),
    "project_qkv num_kv_heads": lambda x: rapt.project_qkv(X3, W, W, W, 1, x),
    "Projection num_heads": lambda x: rapt.Projection(W).forward(X3, num_heads=x),
    **{f"KvCache {name}": lambda x, name=name: rapt.KvCache(**{**KV, "capacity": 1, name: x})
       for name in ("batch", "n_kv_heads", "head_dim", "capacity", "v_dim", "window")},
    **{f"kv_capacity {name}": lambda x, name=name: rapt.kv_capacity(**{**KV, "tokens": 1, name: x})
       for name in ("batch", "n_kv_heads", "head_dim", "tokens", "v_dim", "layers")},
    "KvCache.positions b": lambda x: cache().positions(x),
    "KvCache.keys b": lambda x: cache().keys(x),
    "KvCache.values b": lambda x: cache().values(x),
    "KvCache.copy_sequence source": lambda x: cache().copy_sequence(x, 0),
    "KvCache.copy_sequence target": lambda x: cache().copy_sequence(0, x),
    "sinusoidal length": lambda x: rapt.sinusoidal(x, 4),
    "sinusoidal hidden_dim": lambda x: rapt.sinusoidal(4, x),
    **{f"Embedding {name}": lambda x, name=name: rapt.Embedding(**{name: x}) for name in ("vocab_size", "hidden_dim", "max_seq_len")},
    "Embedding.forward first_position": lambda x: rapt.Embedding().forward(IDS, first_position=x),
    "threads n": rapt.threads,
}
OPTIONAL = ("window", "v_dim", "Projection num_heads")
REALS = {
    "attention scale": lambda x: attention(scale=x), "attention softcap": lambda x: attention(softcap=x),
    "alibi_slopes max_bias": lambda x: rapt.alibi_slopes(2, max_bias=x),
    "append rope_base": lambda x: cache().append(X4, X4, rope_base=x),
    "attend scale": lambda x: cache().attend(X4, X4, X4, scale=x), "attend softcap": lambda x: cache().attend(X4, X4, X4, softcap=x),
    "attend rope_base": lambda x: cache().attend(X4, X4, X4, rope_base=x),
    "query scale": lambda x: cache().query(X4[:, :, :0], scale=x), "query softcap": lambda x: cache().query(X4[:, :, :0], softcap=x),
    "query rope_base": lambda x: cache().query(X4[:, :, :0], rope_base=x),
    "rope base": lambda x: rapt.rope(X4, POSITIONS, base=x), "Embedding std": lambda x: rapt.Embedding(std=x),
}
TEXTS = {
    "alibi_slopes dtype": lambda x: rapt.alibi_slopes(2, dtype=x),
    "KvCache dtype": lambda x: rapt.KvCache(1, 1, 1, 1, dtype=x), "kv_capacity dtype": lambda x: rapt.kv_capacity(1, 1, 1, 1, dtype=x),
    "Embedding position": lambda x: rapt.Embedding(position=x), "run_stages arithmetic": lambda x: rapt.run_stages("", arithmetic=x),
}
FLAGS = {
    **{f"attention {name}": lambda x, name=name: attention(**{name: x})
       for name in ("return_weights", "return_scores", "return_lse", "return_report")},
    "append rope_interleaved": lambda x: cache().append(X4, X4, rope_interleaved=x),
    "attend rope_interleaved": lambda x: cache().attend(X4, X4, X4, rope_interleaved=x),
    "query rope_interleaved": lambda x: cache().query(X4[:, :, :0], rope_interleaved=x),
    "rope interleaved": lambda x: rapt.rope(X4, POSITIONS, interleaved=x),
    "encode bos": lambda x: rapt.encode("a", bos=x), "encode eos": lambda x: rapt.encode("a", eos=x),
    "run_stages unbounded": lambda x: rapt.run_stages("", unbounded=x),
}


def refused(kind, message, call, *arguments):
    with pytest.raises(kind) as error:
        call(*arguments)
    assert str(error.value) == message


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    call, argument = INTEGERS[name], name.split()[-1]
    for wrong, kind in (("1", "str"), (1.5, "float"), (np.ones(2, int), "numpy.ndarray"), (None, "NoneType")):
        if wrong is not None or not name.endswith(OPTIONAL):
            refused(TypeError, f"{argument}: {kind} where an int was expected", call, wrong)
    for wrong in (2**63, -2**63 - 1, np.uint64(2**63), 2**70):
        refused(ValueError, f"{argument}: {wrong} does not fit in 64 bits", call, wrong)
    refused(ValueError, f"{argument}: 1{'0' * 39}... does not fit in 64 bits", call, 10**400)
    refused(ValueError, f"{argument}: this int does not fit in 64 bits", call, 1 << 10**6)
    if argument not in ("b", "source", "target"):
        call(np.int32(1))


@pytest.mark.parametrize("name", REALS)
def test_reals(name):
    call, argument = REALS[name], name.split()[-1]
    for wrong, kind in (("1", "str"), (1j, "complex"), (np.ones(2), "numpy.ndarray"), (None, "NoneType")):
        if wrong is not None or argument not in ("scale", "softcap", "rope_base"):
            refused(TypeError, f"{argument}: {kind} where a number was expected", call, wrong)
    refused(ValueError, f"{argument}: 1{'0' * 39}... does not fit in double precision", call, 10**400)
    for fine in (2, np.float32(2), np.int64(2), fractions.Fraction(2)):
        call(fine)


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name):
    for wrong, kind in ((1, "int"), (None, "NoneType"), (b"f32", "bytes")):
        refused(TypeError, f"{name.split()[-1]}: {kind} where a str was expected", TEXTS[name], wrong)
    for wrong in ("float32", "\ud800", "f32\0"):
        with pytest.raises(ValueError, match=re.escape(f"{name.split()[-1]}: {wrong!r}, expected \"")):
            TEXTS[name](wrong)


@pytest.mark.parametrize("name, call", [("text", rapt.encode), ("words", lambda x: rapt.one_hot([x])), ("source", rapt.run_stages)])
def test_a_text_that_has_no_bytes(name, call):
    refused(ValueError, f"{name}: a lone surrogate that stands for no byte, expected UTF-8", call, "a\ud800")


@pytest.mark.parametrize("name", FLAGS)
def test_flags(name):
    refused(TypeError, f"{name.split()[-1]}: str where a bool was expected", FLAGS[name], "yes")


def test_seeds_have_no_sign():
    for wrong in (-1, 2**64, -2**70):
        refused(ValueError, f"seed: {wrong}, expected 0 to 2**64 - 1", lambda: rapt.Embedding(seed=wrong))
    refused(TypeError, "seed: float where an int was expected", lambda: rapt.Embedding(seed=1.0))
    assert (rapt.Embedding(seed=2**64 - 1).token_table != rapt.Embedding(seed=np.uint8(1)).token_table).any()


def test_more_threads_than_an_int_holds():
    refused(ValueError, f"threads: n is {2**32 + 1}, expected 1 to 1024", rapt.threads, 2**32 + 1)


def test_causal_is_a_bool_of_numpy_too():
    for corner in (True, False):
        np.testing.assert_array_equal(attention(causal=np.bool_(corner)), attention(causal=corner))
    for wrong in (1, None, "corner", "\ud800"):
        refused(ValueError, f"causal: {wrong!r}, expected False, True, \"top_left\" or \"bottom_right\"", lambda: attention(causal=wrong))


def test_no_softcap():
    for none in (None, 0, -0.0):
        np.testing.assert_array_equal(attention(softcap=none), attention())
        np.testing.assert_array_equal(cache().attend(X4, X4, X4, softcap=none), cache().attend(X4, X4, X4))


def test_a_softcap_that_single_precision_does_not_hold():
    single = X4.astype(np.float32)
    for given, is_ in ((1e300, "infinite"), (-1e300, "infinite"), (1e-50, "0")):
        refused(ValueError, f"softcap: {given!r} is {is_} in single precision", lambda: rapt.attention(single, single, single, softcap=given))
    for array in (single, X4):
        with pytest.raises(ValueError, match="softcap: inf, expected a finite number"):
            rapt.attention(array, array, array, softcap=float("inf"))
        with pytest.raises(ValueError, match="softcap: nan, expected a finite number"):
            rapt.attention(array, array, array, softcap=float("nan"))


def test_types_come_before_numbers():
    with pytest.raises(TypeError, match="out"):
        attention(scale=10**400, window=2**64, out=[])
    with pytest.raises(TypeError, match="w_v"):
        rapt.project_qkv(X3, W, W, W.tolist(), 2**64, 0)


def test_slopes_of_no_head():
    for wrong in (0, -1):
        refused(ValueError, f"n_heads: {wrong}, expected at least 1", rapt.alibi_slopes, wrong)
