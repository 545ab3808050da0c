"""Embedding, positions, tokens and words."""

import numpy as np
import pytest
import rapt
import recipe


def test_encode_and_decode():
    assert rapt.encode("Hello").tolist() == [76, 105, 112, 112, 115]
    assert rapt.encode("Hello").dtype == np.int64
    assert rapt.encode("A", bos=True, eos=True).tolist() == [2, 69, 3]
    assert rapt.decode(rapt.encode("größer, 大", bos=True, eos=True)) == "größer, 大"
    assert rapt.decode([76, 109]) == "Hi"
    assert rapt.decode(np.array([76, 0, 109], np.int32)[::-1]) == "iH"
    every_byte = bytes(range(256))
    assert rapt.decode(rapt.encode(every_byte)).encode("utf-8", "surrogateescape") == every_byte


def test_decode_refuses_what_is_no_id():
    with pytest.raises(ValueError, match=r"ids\[1\] is 260"):
        rapt.decode([76, 260])
    with pytest.raises(TypeError, match="ids"):
        rapt.decode(["a"])
    with pytest.raises(TypeError, match="text"):
        rapt.encode(5)


def test_one_hot_is_sorted_by_bytes_and_orthonormal():
    words, table = rapt.one_hot(["b", "é", "Z", "a", "10", "b", "9"])
    assert words == ["10", "9", "Z", "a", "b", "é"]
    np.testing.assert_array_equal(table, np.eye(6))
    assert table.dtype == np.float64
    assert rapt.one_hot([])[1].shape == (0, 0)
    for wrong in ("one text", [1], None):
        with pytest.raises(TypeError):
            rapt.one_hot(wrong)


def test_sinusoidal_constants():
    table = rapt.sinusoidal(128, 64)
    assert table.shape == (128, 64) and table.dtype == np.float32
    np.testing.assert_array_equal(table[0], np.tile([0, 1], 32))
    listed = {(1, 0): 0.841470957, (1, 1): 0.540302277, (1, 2): 0.681561351,
              (2, 1): -0.416146845, (5, 10): 0.926757276, (127, 63): 0.999856591}
    for (position, dim), value in listed.items():
        assert abs(table[position, dim] - np.float32(value)) <= np.spacing(np.float32(abs(value)))
    assert rapt.sinusoidal(0, 3).shape == (0, 3)
    with pytest.raises(ValueError, match="positive"):
        rapt.sinusoidal(4, 0)


@pytest.mark.parametrize("position", ["none", "sinusoidal", "learned"])
def test_forward_adds_two_rows(position):
    embedding = rapt.Embedding(50, 6, 8, position=position, seed=3)
    ids = np.array([[3, 49, 3, -1], [0, 50, 1, 2]])
    rows = np.where((ids < 0) | (ids >= 50), 1, ids)
    expected = embedding.token_table[rows]
    if position != "none":
        expected = expected + embedding.position_table[:4]
    np.testing.assert_array_equal(embedding.forward(ids), expected)
    np.testing.assert_array_equal(embedding.forward(ids.astype(np.int32)[:, ::-1]), embedding.forward(ids[:, ::-1].copy()))
    np.testing.assert_array_equal(embedding.forward(ids[1]), expected[1])
    out = np.empty((2, 4, 6), np.float32)
    assert embedding.forward(ids, out=out) is out
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(embedding.forward(ids[1, 2:], first_position=2), expected[1, 2:])


def test_tables_can_be_read_and_set():
    embedding = rapt.Embedding()
    assert embedding.token_table.size + embedding.position_table.size == 16640 + 8192
    assert abs(embedding.token_table.std() - 0.02) < 0.001
    np.testing.assert_array_equal(embedding.token_table, rapt.Embedding(seed=0).token_table)
    embedding.token_table = np.ones((260, 64), np.float32)
    embedding.position_table[2] = 5
    np.testing.assert_array_equal(embedding.forward(np.array([7, 7, 7]))[2], np.full(64, 6))
    table = embedding.token_table
    del embedding
    assert table[259, 63] == 1  # the array keeps its embedding alive
    with pytest.raises(ValueError, match="token_table"):
        rapt.Embedding().token_table = np.ones((2, 2), np.float32)
    with pytest.raises(TypeError, match="token_table"):
        rapt.Embedding().token_table = np.ones((260, 64))


def test_a_table_may_be_set_from_a_view_of_itself():
    embedding = rapt.Embedding(6, 1, 6, position="learned")
    for name in ("token_table", "position_table"):
        setattr(embedding, name, np.arange(6, dtype=np.float32)[:, None])
        setattr(embedding, name, getattr(embedding, name)[::-1])
        assert getattr(embedding, name).ravel().tolist() == [5, 4, 3, 2, 1, 0]


def test_length_limits():
    embedding = rapt.Embedding(max_seq_len=4)
    assert embedding.forward(np.zeros(4, np.int64)).shape == (4, 64)
    assert embedding.forward(np.zeros(0, np.int64)).shape == (0, 64)
    out = np.full((5, 64), 7, np.float32)
    with pytest.raises(ValueError, match="seq_len 5 .* max_seq_len 4"):
        embedding.forward(np.zeros(5, np.int64), out=out)
    assert (out == 7).all()
    with pytest.raises(ValueError, match="1D"):
        embedding.forward(np.zeros((1, 1, 1), np.int64))
    for wrong in ([1, 2], np.zeros(2), np.zeros(2, np.uint8)):
        with pytest.raises(TypeError, match="ids"):
            embedding.forward(wrong)


@pytest.mark.parametrize("arguments", [dict(vocab_size=0), dict(hidden_dim=0), dict(max_seq_len=-1), dict(std=-1.0),
                                       dict(std=float("nan")), dict(position="rotary"), dict(vocab_size=2**62)])
def test_embedding_refuses(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments)) + "|table"):
        rapt.Embedding(**arguments)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("shape", [(5, 8), (2, 5, 8), (2, 3, 5, 8), (2, 3, 4, 5, 8), (2, 2, 3, 4, 5, 8)])
def test_rope_equals_the_recipe(shape, interleaved):
    x = np.random.default_rng(1).standard_normal(shape)
    positions = np.array([0, 3, 4, 5, 100])
    # Two products and a sum, each rounded; cosine and sine within an ulp on both sides: 8 half-ulps of sqrt(2) max|x|.
    bound = 12 * 2.0**-53 * np.abs(x).max()
    got = rapt.rope(x, positions, interleaved=interleaved)
    assert np.abs(got - recipe.rope(x, positions, interleaved=interleaved)).max() <= bound
    np.testing.assert_array_equal(got[..., 0, :], x[..., 0, :])
    strided = np.asfortranarray(x)
    np.testing.assert_array_equal(rapt.rope(strided, positions, interleaved=interleaved), got)
    assert rapt.rope(strided, positions, interleaved=interleaved, out=strided) is strided  # in place
    np.testing.assert_array_equal(strided, got)
    single = rapt.rope(x.astype(np.float32), positions, interleaved=interleaved)
    assert single.dtype == np.float32 and np.abs(single - got).max() <= 12 * 2.0**-24 * np.abs(x).max()


def test_rope_takes_positions_of_each_sequence():
    x = np.random.default_rng(1).standard_normal((2, 3, 4, 6))
    positions = np.array([[1, 2, 3, 4], [9, 8, 7, 6]])
    got = rapt.rope(x, positions)
    for b in range(2):
        np.testing.assert_array_equal(got[b], rapt.rope(x[b], positions[b]))


def test_rope_refuses():
    x = np.ones((3, 4))
    with pytest.raises(ValueError, match="even"):
        rapt.rope(np.ones((3, 5)), np.arange(3))
    with pytest.raises(ValueError, match="positions"):
        rapt.rope(x, np.arange(4))
    with pytest.raises(ValueError, match="base"):
        rapt.rope(x, np.arange(3), base=0.0)
    with pytest.raises(TypeError, match="positions"):
        rapt.rope(x, np.arange(3.0))
    overlapping = np.ones(20)
    with pytest.raises(ValueError, match="overlaps"):
        rapt.rope(overlapping[:12].reshape(3, 4), np.arange(3), out=overlapping[4:16].reshape(3, 4))
    assert (overlapping == 1).all()


def test_kv_capacity_is_the_bytes_of_the_caches():
    k_cache = np.zeros((2, 3, 5, 7))
    assert rapt.kv_capacity(2, 3, 5, 7, dtype="f64") == 2 * k_cache.nbytes
    assert rapt.kv_capacity(1, 8, 4096, 128, layers=32, dtype="bf16") == 2 * 32 * 8 * 4096 * 128 * 2
    assert rapt.kv_capacity(1, 1, 1, 3, v_dim=5) == 32
    for wrong in (dict(n_kv_heads=0), dict(tokens=-1), dict(dtype="int8"), dict(batch=2**62)):
        with pytest.raises(ValueError, match="kv_capacity|dtype"):
            rapt.kv_capacity(**{**dict(batch=1, n_kv_heads=1, tokens=4, head_dim=4), **wrong})
