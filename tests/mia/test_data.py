"""What an audit takes, refuses and stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import softmax

from dynaserve.mia.data import AuditData, load, save

N, K, S, M = 6, 3, 4, 2


@pytest.fixture
def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    half = np.array([[1, 1, 0, 0]] * N).T
    return {
        "logits": rng.normal(size=(N, K)).astype(np.float32),
        "labels": np.arange(N) % K,
        "member": np.arange(N) < 3,
        "shadow_logits": rng.normal(size=(S, N, K)),
        "shadow_member": half,
        "queries": rng.integers(0, 2, (N, 5)),
        "neighbor_logits": {"1": rng.normal(size=(N, M, K)), "8": rng.normal(size=(N, M, K))},
        "shadow_neighbor_logits": {"8": rng.normal(size=(S, N, M, K))},
        "neighbor_queries": {"1": rng.integers(0, 2, (N, M, 5))},
    }


def equal(a: AuditData, b: AuditData) -> None:
    for name in ("logits", "labels", "member", "shadow_logits", "shadow_member", "queries"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.neighbors.keys() == b.neighbors.keys()
    for size, one in a.neighbors.items():
        for field in ("logits", "shadow_logits", "queries"):
            left, right = getattr(one, field), getattr(b.neighbors[size], field)
            assert (left is None) == (right is None)
            if left is not None:
                np.testing.assert_array_equal(left, right)


def test_a_file_gives_back_what_was_saved(arrays: dict[str, Any], tmp_path: Path) -> None:
    data = AuditData.checked(**arrays)
    save(tmp_path / "audit.npz", data)
    equal(load(tmp_path / "audit.npz"), data)


def test_one_unnamed_jitter_keeps_its_plain_names(arrays: dict[str, Any], tmp_path: Path) -> None:
    arrays |= {
        "neighbor_logits": arrays["neighbor_logits"]["8"],
        "shadow_neighbor_logits": arrays["shadow_neighbor_logits"]["8"],
        "neighbor_queries": None,
    }
    save(tmp_path / "audit.npz", AuditData.checked(**arrays))
    with np.load(tmp_path / "audit.npz") as archive:
        assert {"neighbor_logits", "shadow_neighbor_logits"} <= set(archive.files)
    assert list(load(tmp_path / "audit.npz").neighbors) == [""]


def test_zeros_and_ones_and_tensors_are_taken(arrays: dict[str, Any]) -> None:
    arrays["member"] = [1, 1, 1, 0, 0, 0]
    arrays["logits"] = torch.tensor(arrays["logits"], requires_grad=True)
    arrays["labels"] = torch.tensor(arrays["labels"])
    data = AuditData.checked(**arrays)
    assert data.member.dtype == np.bool_
    assert data.member.tolist() == [True] * 3 + [False] * 3
    assert data.shadows == S
    assert len(data.models) == S + 1


def nan_at(array: Any, *index: int) -> Any:
    changed = np.array(array, float)
    changed[index] = np.nan
    return changed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: {"logits": a["logits"][0]}, r"logits: needs shape \(n, k\), got \(3,\)"),
        (lambda a: {"logits": nan_at(a["logits"], 4, 0)}, "logits: row 4 holds NaN"),
        (lambda _: {"logits": np.zeros((N, K), int)}, "logits: dtype int64"),
        (lambda _: {"labels": np.zeros(N)}, "labels: needs integers, got dtype float64"),
        (lambda _: {"labels": np.array([0, 1, 2, 3, 0, 0])}, r"labels: row 3 is not in 0\.\.2"),
        (lambda _: {"labels": np.zeros(N + 1, int)}, r"labels: needs shape \(6,\)"),
        (lambda _: {"member": np.ones(N, bool)}, "all 6 rows are members"),
        (lambda _: {"member": np.zeros(N, bool)}, "all 6 rows are non-members"),
        (lambda _: {"member": np.full(N, 2)}, "member: needs booleans, or integers 0 and 1"),
        (lambda _: {"member": np.full(N, 0.5)}, "member: needs booleans"),
        (lambda _: {"shadow_member": None}, "shadow_logits: given without shadow_member"),
        (lambda _: {"shadow_logits": None}, "shadow_member: given without shadow_logits"),
        (lambda a: {"shadow_logits": a["shadow_logits"][:, :5]}, r"needs shape \(S, 6, 3\)"),
        (lambda a: {"shadow_logits": nan_at(a["shadow_logits"], 2, 1, 0)}, "row 2, 1 holds NaN"),
        (lambda a: {"shadow_member": a["shadow_member"][:3]}, r"needs shape \(4, 6\)"),
        (
            lambda a: {"shadow_member": a["shadow_member"] | (np.arange(N) == 3)},
            "4 of 4 shadows were trained on row 3 .1 rows like it.*half of the shadows, or in none",
        ),
        (
            lambda a: {"logits": softmax(a["logits"], axis=-1)},
            r"logits: every row lies in 0\.\.1 and sums to 1, .* numpy\.log",
        ),
        (
            lambda a: {"shadow_logits": softmax(a["shadow_logits"], axis=-1).round(2)},
            "shadow_logits: every row lies in",
        ),
        (
            lambda a: {"neighbor_logits": {"8": softmax(a["neighbor_logits"]["8"], axis=-1)}},
            "neighbor_logits_8: every row lies in",
        ),
        (lambda a: {"queries": a["queries"][:5]}, r"queries: shape \(5, 5\) must start with \(6,"),
        (lambda _: {"neighbor_logits": np.zeros((N, M, 4))}, r"needs shape \(6, M, 3\)"),
        (
            lambda a: {"shadow_neighbor_logits": {"8": a["shadow_logits"][:, :, None]}},
            r"shadow_neighbor_logits_8: needs shape \(4, 6, 2, 3\)",
        ),
        (lambda a: {"neighbor_logits": a["neighbor_logits"]["1"]}, "size '8' is not among"),
    ],
)
def test_wrong_arrays_are_named(arrays: dict[str, Any], change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AuditData.checked(**(arrays | change(arrays)))


def test_one_shadow_without_the_row_is_too_few(arrays: dict[str, Any]) -> None:
    member = np.ones((S, N), int)
    member[0] = 0
    with pytest.raises(ValueError, match=r"3 of 4 shadows were trained on row 0 \(6 rows"):
        AuditData.checked(**(arrays | {"shadow_member": member}))


def test_shadows_need_not_have_had_any_row(arrays: dict[str, Any]) -> None:
    data = AuditData.checked(**(arrays | {"shadow_member": np.zeros((S, N), bool)}))
    assert data.shadows == S


def test_logarithms_of_probabilities_are_logits(arrays: dict[str, Any]) -> None:
    p = softmax(arrays["logits"], axis=-1)
    AuditData.checked(**(arrays | {"logits": np.log(np.maximum(p, 1e-38))}))


def test_a_file_of_something_else_is_refused(arrays: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "audit.npz"
    with pytest.raises(ValueError, match="does not exist"):
        load(path)
    path.write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"not an \.npz file of plain arrays"):
        load(path)
    np.savez(path, **{name: arrays[name] for name in ("logits", "labels")})
    with pytest.raises(ValueError, match=r"no array 'member' \(found: logits, labels\)"):
        load(path)
    np.savez(path, membership=arrays["member"])
    with pytest.raises(ValueError, match="unknown array 'membership'; known: logits"):
        load(path)
    np.savez(path, logits=arrays["logits"], labels=arrays["labels"], member=np.ones(N))
    with pytest.raises(ValueError, match=r"audit\.npz: member: needs booleans"):
        load(path)


def test_pickled_objects_are_never_loaded(tmp_path: Path) -> None:
    np.savez(tmp_path / "evil.npz", logits=np.array([{"a": 1}], object))
    with pytest.raises(ValueError, match="of plain arrays"):
        load(tmp_path / "evil.npz")
