"""run_stages(): the arrays, the printed text, and where bad input is."""

import pathlib

import numpy as np
import pytest
import rapt
import recipe

N, D, G = 3, 2, 2


def text(words="b a b", mask="1 0 1"):
    rng = np.random.default_rng(4)
    rows = [" ".join(f"{value:.2f}" for value in row) for row in rng.uniform(-2, 2, (N + G + 3 * D, D))]
    return f"{N} {D} {G} {len(words.split())}\n{words}\n{mask}\n" + "\n".join(rows) + "\n"


def numbers():
    values = np.array(text().split()[4 + 3 + N:], float).reshape(-1, D)
    return np.split(values, np.cumsum([N, G, D, D]))


def test_every_stage_is_an_array():
    prompt, generated, wq, wk, wv = numbers()
    stages = rapt.run_stages(text())
    assert stages.words == ["a", "b"]
    assert stages.mask.tolist() == [True, False, True]
    for result, weight in ((stages.q, wq), (stages.k, wk), (stages.v, wv)):
        np.testing.assert_allclose(result, prompt @ weight, rtol=1e-7, atol=1e-12)
    visible = np.tril(np.outer(stages.mask, stages.mask))
    scores = np.where(visible, stages.q @ stages.k.T / np.sqrt(D), -np.inf)
    np.testing.assert_allclose(stages.scores, scores, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(stages.weights[[0, 2]], recipe.softmax(scores[[0, 2]]), rtol=1e-7, atol=1e-12)
    assert (stages.weights[1] == 0).all() and (stages.output[1] == 0).all()
    np.testing.assert_allclose(stages.output, stages.weights @ stages.v, rtol=1e-7, atol=1e-12)
    assert stages.generated.shape == (G, D)
    keys = np.concatenate([prompt[stages.mask], generated]) @ wk
    values = np.concatenate([prompt[stages.mask], generated]) @ wv
    for t in range(G):
        weights = recipe.softmax(keys[:2 + t + 1] @ (generated[t] @ wq) / np.sqrt(D))
        np.testing.assert_allclose(stages.generated[t], weights @ values[:2 + t + 1], rtol=1e-7, atol=1e-12)
    assert stages.dot_products.tolist() == [4 * D + 2 + t + 1 for t in range(G)]
    assert stages.text.startswith('Stage 1: Create Embeddings\n"a" -> (1 0)\n"b" -> (0 1)\nStage 2: Projections\n')
    assert stages.text.endswith(f"Dot products computed: {4 * D + 2 + G}\n")


def test_sources(tmp_path):
    expected = rapt.run_stages(text()).text
    path = tmp_path / "input.txt"
    path.write_text(text())
    assert rapt.run_stages(text().encode()).text == rapt.run_stages(path).text == expected
    assert "é" in rapt.run_stages(text(words="é a b")).words
    assert rapt.run_stages(text(words="é a b").replace("é", "\udce9")).words[-1] == "\udce9"  # not UTF-8: nothing is lost
    np.testing.assert_allclose(rapt.run_stages(text(), arithmetic="fused").output, rapt.run_stages(text()).output, rtol=1e-7, atol=1e-12)
    with pytest.raises(TypeError, match="source"):
        rapt.run_stages(5)
    with pytest.raises(OSError):
        rapt.run_stages(pathlib.Path(tmp_path / "nothing"))


def test_bad_input_names_its_place():
    with pytest.raises(ValueError, match="line 3, column 3"):
        rapt.run_stages(text(mask="1 2 1"))
    with pytest.raises(ValueError, match="arithmetic"):
        rapt.run_stages(text(), arithmetic="exact")
    large = text().replace("3 2 2 3", "65 2 2 3", 1)
    with pytest.raises(ValueError, match="64"):
        rapt.run_stages(large)
