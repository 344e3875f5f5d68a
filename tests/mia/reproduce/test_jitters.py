from __future__ import annotations

import numpy as np

from dynaserve.mia.reproduce.jitters import telling_size
from dynaserve.mia.shadows import ShadowRun


def test_the_size_at_which_shadows_tell_most_is_chosen():
    rng = np.random.default_rng(0)
    n, m, k, s = 200, 3, 3, 6
    labels = rng.integers(0, k, n)
    shadow_member = rng.random((s, n)).argsort(axis=0) < s // 2
    member = rng.random(n) < 0.5

    def answers(trained: np.ndarray, leak: float) -> np.ndarray:
        signal = (1 + leak * trained)[:, None, None] * np.eye(k)[labels][:, None]
        return (rng.normal(size=(n, m, k)) + signal).astype(np.float16)

    def run(sizes: dict[str, float]) -> ShadowRun:
        empty = np.empty((0, k), np.float32)
        return ShadowRun(
            logits=rng.normal(size=(n, k)).astype(np.float32),
            labels=labels,
            member=member,
            shadow_logits=rng.normal(size=(s, n, k)).astype(np.float32),
            shadow_member=shadow_member,
            held_out_logits=empty,
            held_out_labels=np.empty(0, np.int64),
            shadow_held_out_logits=np.empty((s, 0, k), np.float32),
            random_logits=empty,
            queries=labels,
            neighbor_logits={size: answers(member, 0.0) for size in sizes},
            shadow_neighbor_logits={
                size: np.stack([answers(one, leak) for one in shadow_member])
                for size, leak in sizes.items()
            },
        )

    assert telling_size(run({"4": 0.0, "16": 3.0, "32": 1.0}), seed=0) == "16"
    assert telling_size(run({"4": 3.0, "16": 0.0}), seed=0) == "4"
