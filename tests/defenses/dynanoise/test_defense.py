from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import softmax

from dynaserve import DynaNoise, DynaNoiseConfig
from dynaserve.defenses import Defense, NoiseKey
from dynaserve.defenses.dynanoise.query_keys import QueryKeys
from dynaserve.defenses.dynanoise.reference import dynanoise_reference, sensitivity_reference

SECRET = bytes(range(32))
MAKERS: list[Callable[[], DynaNoise]] = [DynaNoise.paper, lambda: DynaNoise.keyed(key=SECRET)]


def logits_like(*shape: int, seed: int = 0, spread: float = 3.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape) * spread


def test_the_paper_defense_has_the_papers_parameters() -> None:
    assert DynaNoise.paper().config == DynaNoiseConfig(
        base_variance=0.3,
        sensitivity_scale=2.0,
        temperature=10.0,
        noise="fresh",
        preserve_top1=False,
        model_version="",
    )


def test_the_keyed_defense_keeps_the_label_at_temperature_one() -> None:
    config = DynaNoise.keyed(key=SECRET, model_version="3").config
    assert (config.base_variance, config.sensitivity_scale, config.temperature) == (1.0, 2.0, 1.0)
    assert (config.noise, config.preserve_top1, config.model_version) == ("keyed", True, "3")


@pytest.mark.parametrize("make", MAKERS)
def test_it_is_a_defense(make: Callable[[], DynaNoise]) -> None:
    assert isinstance(make(), Defense)


def test_keyed_output_is_the_references_for_the_querys_key() -> None:
    defense = DynaNoise.keyed(key=SECRET, base_variance=0.7, model_version="v")
    x, queries = logits_like(50, 10), logits_like(50, 4, seed=1)
    row_keys = QueryKeys(NoiseKey(SECRET), defense.config).row_keys(queries, (50,))
    expected = dynanoise_reference(x, row_keys, 0.7, 2.0, 1.0, preserve_top1=True)
    np.testing.assert_allclose(defense(x, queries=queries), expected, atol=2e-6)


def test_fresh_output_uses_all_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    row_keys = np.random.default_rng(0).integers(0, 2**32, (20, 4), dtype=np.uint32)
    monkeypatch.setattr("os.urandom", lambda size: row_keys.astype("<u4").tobytes()[:size])
    x = logits_like(20, 6)
    expected = dynanoise_reference(x, row_keys, 0.4, 1.5, 3.0)
    np.testing.assert_allclose(DynaNoise.paper(0.4, 1.5, 3.0)(x), expected, atol=2e-6)


def test_the_same_query_gets_the_same_answer_wherever_it_stands() -> None:
    x, queries = logits_like(64, 10), logits_like(64, 8, seed=1)
    together = DynaNoise.keyed(key=SECRET)(x, queries=queries)
    other_process = DynaNoise.keyed(key=SECRET)
    for row in (0, 31, 63):
        alone = other_process(x[row : row + 1], queries=queries[row : row + 1])
        assert alone.tobytes() == together[row].tobytes()
    order = np.random.default_rng(2).permutation(64)
    shuffled = other_process(x[order], queries=queries[order])
    assert shuffled.tobytes() == together[order].tobytes()


def test_the_same_query_twice_in_a_batch_gets_one_answer_and_others_get_other_noise() -> None:
    x = np.zeros((3, 10))
    p = DynaNoise.keyed(key=SECRET)(x, queries=[b"a", b"b", b"a"])
    assert p[0].tobytes() == p[2].tobytes()
    assert p[0].tobytes() != p[1].tobytes()


def test_fresh_noise_differs_between_calls_and_rows_whatever_the_seed() -> None:
    defense, x = DynaNoise.paper(), np.zeros((100, 10))
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)
    first = defense(x)
    np.random.seed(0)  # noqa: NPY002
    torch.manual_seed(0)
    second = defense(x)
    assert len(np.unique(np.concatenate([first, second]), axis=0)) == 200


@pytest.mark.parametrize("change", [{"key": bytes(range(1, 33))}, {"model_version": "2"}])
def test_another_key_or_model_version_gives_other_noise(change: dict[str, Any]) -> None:
    x, queries = np.zeros((5, 10)), np.eye(5)
    first = DynaNoise.keyed(key=SECRET)(x, queries=queries)
    second = DynaNoise.keyed(**{"key": SECRET} | change)(x, queries=queries)
    assert (first != second).any(axis=1).all()


def test_binding_a_model_version_changes_nothing_else() -> None:
    bound = DynaNoise.keyed(key=SECRET, base_variance=0.5).with_model_version("v9")
    built = DynaNoise.keyed(key=SECRET, base_variance=0.5, model_version="v9")
    x, queries = logits_like(4, 5), np.eye(4)
    assert bound.config == built.config
    assert bound(x, queries=queries).tobytes() == built(x, queries=queries).tobytes()
    assert DynaNoise.paper().with_model_version("v9").config.model_version == "v9"


@given(
    hnp.arrays(
        st.sampled_from([np.float16, np.float32, np.float64]),
        hnp.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=12),
        elements=st.one_of(st.just(-np.inf), st.integers(-4, 4), st.floats(-1e4, 1e4, width=16)),
    )
)
def test_the_label_is_kept_with_a_strict_lead_and_masks_stay_zero(x: np.ndarray) -> None:
    x[..., -1] = np.where(np.isneginf(x).all(axis=-1), 0, x[..., -1])
    queries = np.arange(x[..., 0].size).reshape(x.shape[:-1])
    p = DynaNoise.keyed(key=SECRET, base_variance=4.0)(x, queries=queries)
    assert (p.argmax(axis=-1) == x.argmax(axis=-1)).all()
    ordered = np.sort(p, axis=-1)
    assert (ordered[..., -1] > ordered[..., -2]).all()
    assert (p[np.isneginf(x)] == 0).all()
    np.testing.assert_allclose(p.sum(axis=-1, dtype=np.float64), 1, atol=1e-6)


def test_the_papers_noise_does_move_labels() -> None:
    x = logits_like(1000, 10, spread=0.5)
    assert (DynaNoise.paper()(x).argmax(axis=1) != x.argmax(axis=1)).any()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5), (0, 5), (2, 0, 5)])
def test_numpy_comes_back_as_float32_of_the_same_shape(
    make: Callable[[], DynaNoise], shape: tuple[int, ...]
) -> None:
    p = make()(np.zeros(shape), queries=np.zeros((*shape[:-1], 2)))
    assert (type(p), p.dtype, p.shape) == (np.ndarray, np.float32, shape)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_torch_comes_back_as_torch_and_equals_numpy(dtype: torch.dtype) -> None:
    defense = DynaNoise.keyed(key=SECRET)
    tensor = torch.from_numpy(logits_like(6, 4)).to(dtype).requires_grad_()
    queries = torch.eye(6)
    p = defense(tensor, queries=queries)
    assert (p.dtype, p.shape, p.device) == (torch.float32, tensor.shape, tensor.device)
    assert not p.requires_grad
    as_numpy = tensor.detach().double().numpy()
    assert p.numpy().tobytes() == defense(as_numpy, queries=queries.numpy()).tobytes()
    assert torch.equal(defense(tensor.t().contiguous().t(), queries=queries), p)


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1].copy()[::-1],
        lambda x: x.astype(">f8"),
        lambda x: x.tolist(),
        lambda x: np.lib.stride_tricks.as_strided(x, writeable=False),
    ],
)
def test_the_layout_of_the_logits_does_not_matter(convert: Callable[[np.ndarray], Any]) -> None:
    defense, x, queries = DynaNoise.keyed(key=SECRET), logits_like(7, 6), np.eye(7)
    expected = defense(x, queries=queries).tobytes()
    assert defense(convert(x), queries=queries).tobytes() == expected


def test_bfloat16_numpy_equals_its_float32_values() -> None:
    x = logits_like(5, 6).astype(ml_dtypes.bfloat16)
    defense, queries = DynaNoise.keyed(key=SECRET), np.eye(5)
    expected = defense(x.astype(np.float32), queries=queries)
    np.testing.assert_array_equal(defense(x, queries=queries), expected)


def test_threads_do_not_change_a_bit() -> None:
    x, queries = logits_like(2000, 100), np.arange(2000)
    one = DynaNoise.keyed(key=SECRET)(x, queries=queries)
    four = DynaNoise.keyed(key=SECRET, threads=4)(x, queries=queries)
    assert one.tobytes() == four.tobytes()


def test_the_inputs_are_not_changed() -> None:
    x, queries = logits_like(5, 6), np.array([[-0.0]] * 5)
    before = x.tobytes(), queries.tobytes()
    DynaNoise.keyed(key=SECRET)(x, queries=queries)
    assert (x.tobytes(), queries.tobytes()) == before


def test_probabilities_are_defended_as_their_logarithms() -> None:
    defense, queries = DynaNoise.keyed(key=SECRET), np.eye(50)
    x = logits_like(50, 8)
    from_logits = defense(x, queries=queries)
    from_softmax = defense.from_probabilities(softmax(x, axis=1), queries=queries)
    np.testing.assert_allclose(from_softmax, from_logits, atol=2e-6)


def test_a_zero_probability_is_a_small_number_and_no_mask() -> None:
    q = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], np.float16)
    p = DynaNoise.paper(base_variance=1e-9).from_probabilities(q)
    expected = softmax(np.log(np.maximum(q.astype(float), 2.0**-126)) / 10, axis=1)
    np.testing.assert_allclose(p, expected, atol=1e-5)
    assert (p > 1e-5).all()


def test_float16_probabilities_that_nearly_vanish_make_no_nan() -> None:
    q = np.array([[1.0, 6e-8, 0.0]], np.float16)
    p = DynaNoise.keyed(key=SECRET).from_probabilities(torch.from_numpy(q), queries=[b"q"])
    assert torch.isfinite(p).all()


def test_sensitivity_is_the_references_in_the_callers_kind() -> None:
    defense, x = DynaNoise.paper(), logits_like(2, 9, 5)
    np.testing.assert_allclose(defense.sensitivity(x), sensitivity_reference(x), atol=1e-6)
    from_torch = defense.sensitivity(torch.from_numpy(x))
    assert (from_torch.shape, from_torch.dtype) == ((2, 9), torch.float32)
    assert float(defense.sensitivity(np.array([0.0, 0.0]))) == pytest.approx(0, abs=1e-6)
    assert defense.sensitivity(torch.zeros(3)).shape == ()


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("logits", "message"),
    [
        (np.array([[0.0, 1.0], [0.0, np.nan], [np.nan, 0.0]]), "row 1 holds NaN"),
        (np.array([[0.0, 1.0], [0.0, np.inf]]), r"row 1 holds \+inf"),
        (np.array([[-np.inf, -np.inf], [0.0, 1.0]]), "row 0"),
        (np.zeros((2, 1)), "at least 2"),
        (np.zeros((2, 0)), "no classes"),
        (np.zeros((2, 3), int), "int64"),
        (np.zeros((2, 3), object), "object"),
        (np.float32(1), "no classes"),
    ],
)
def test_logits_without_a_softmax_are_refused(
    make: Callable[[], DynaNoise], logits: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        make()(logits, queries=np.eye(len(np.atleast_1d(logits))))


def test_keyed_noise_without_queries_says_what_to_pass() -> None:
    with pytest.raises(ValueError, match="keyed noise needs queries=, the model's input for each"):
        DynaNoise.keyed(key=SECRET)(np.zeros((2, 3)))


def test_fresh_noise_takes_no_key() -> None:
    with pytest.raises(ValueError, match="fresh noise takes no key"):
        DynaNoise(DynaNoise.paper().config, key=SECRET)


def test_threads_must_be_positive() -> None:
    with pytest.raises(ValueError, match="threads is 0; it must be at least 1"):
        DynaNoise.paper(threads=0)(np.zeros((2, 3)))


def test_without_a_key_it_uses_the_environment_then_the_key_file(
    monkeypatch: pytest.MonkeyPatch, state_directory: Path
) -> None:
    x, queries = np.zeros((2, 5)), np.eye(2)
    monkeypatch.setenv("DYNASERVE_NOISE_KEY", SECRET.hex())
    expected = DynaNoise.keyed(key=SECRET)(x, queries=queries)
    assert (DynaNoise.keyed()(x, queries=queries) == expected).all()
    assert not state_directory.exists()
    monkeypatch.delenv("DYNASERVE_NOISE_KEY")
    filed = DynaNoise.keyed()(x, queries=queries)
    assert (filed != expected).any()
    assert (DynaNoise.keyed()(x, queries=queries) == filed).all()


def test_nothing_shows_the_key() -> None:
    secret = b"do-not-show-me-to-anyone-please!"
    defense = DynaNoise.keyed(key=secret)
    shown = repr(defense) + str(defense) + defense.describe() + repr(vars(defense))
    assert "do-not-show" not in shown
    assert secret.hex() not in shown


def test_a_keyed_defense_is_never_pickled() -> None:
    with pytest.raises(TypeError, match="a noise key cannot be pickled"):
        pickle.dumps(DynaNoise.keyed(key=SECRET))


def test_a_fresh_defense_may_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(DynaNoise.paper())).config == DynaNoise.paper().config


def test_the_description_is_one_line() -> None:
    assert DynaNoise.paper().describe() == (
        "DynaNoise, fresh noise: base variance 0.3, sensitivity scale 2, temperature 10, "
        "label may change"
    )
    assert DynaNoise.keyed(key=SECRET, model_version="a\nb").describe() == (
        "DynaNoise, keyed noise: base variance 1, sensitivity scale 2, temperature 1, "
        r"label kept, model version 'a\nb'"
    )


def test_who_watches_sees_the_keys_of_each_call_and_changes_nothing() -> None:
    defense = DynaNoise.keyed(key=bytes(range(32)))
    logits = np.random.default_rng(0).normal(size=(3, 4))
    queries = np.array([[1.0], [2.0], [1.0]])
    seen: list[Any] = []
    released = defense.watched(seen.append)(logits, queries=queries)
    np.testing.assert_array_equal(released, defense(logits, queries=queries))
    (keys,) = seen
    assert (keys.shape, keys.dtype) == ((3, 4), np.uint32)
    assert (keys[0] == keys[2]).all()
    assert (keys[0] != keys[1]).any()
