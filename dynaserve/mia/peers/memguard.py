"""MemGuard: noise on the scores that turns a membership classifier around, within a budget.

Source: Jia et al., "MemGuard: Defending against Black-Box Membership Inference Attacks via
Adversarial Examples", CCS 2019. Written over all rows at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dynaserve.mia.architectures import Perceptron
from dynaserve.mia.peers.baseline import Baseline, one_time_uniforms, softmax
from dynaserve.mia.shadows.networks import NetworkTrainer, Schedule, one_thread

_LABEL_WEIGHT = 10.0
_DISTORTION_WEIGHTS = tuple(0.1 * 10.0**power for power in range(7))
"""c3: 0.1, 1, ... 1e5."""
_STEP = 0.1
_UNDECIDED = 1e-5
_FLOOR = -30.0
_CHUNK_ROWS = 50_000


class MemGuard(Baseline):
    """Keeps the label; spends at most ``epsilon`` of L1 distortion on each row in expectation.

    Phase I looks, by gradient steps on the logits, for the least noise that moves the defender's
    own membership classifier to the other side of 1/2. Phase II uses it with the probability
    that keeps the expected distortion within the budget, drawn once for each answer of the
    model, so that repeating a query tells no more.

    The classifier reads sorted log-probabilities: the paper's sorted logits in a form that does
    not depend on a shift.

    Parameters
    ----------
    member_logits, other_logits
        (m, k) and (o, k): the model's answers to its members and to rows it never saw, from
        which the defender's classifier learns.
    epsilon
        Budget, in 0..2.
    iterations
        Most gradient steps for each weight of the distortion.
    """

    def __init__(
        self,
        member_logits: NDArray[Any],
        other_logits: NDArray[Any],
        *,
        epsilon: float = 1.0,
        iterations: int = 300,
        seed: int = 0,
    ) -> None:
        if not 0 <= epsilon <= 2:
            raise ValueError(f"epsilon: an L1 distance lies in 0..2, got {epsilon}")
        self._epsilon, self._iterations, self._seed = epsilon, iterations, seed
        rows = torch.as_tensor(np.concatenate([member_logits, other_logits]), dtype=torch.float32)
        is_member = np.arange(len(rows)) < len(member_logits)
        trainer = NetworkTrainer(Perceptron(rows.shape[1], (64, 32), 2), Schedule(epochs=60))
        fitted = trainer.fit(_features(rows).numpy(), is_member.astype(np.int64), seed)
        self._classifier = fitted.network.requires_grad_(requires_grad=False).eval()

    def describe(self) -> str:
        """Return one line for people."""
        return f"MemGuard: noise against a membership classifier, L1 budget {self._epsilon:g}"

    def membership_score(self, logits: torch.Tensor) -> torch.Tensor:
        """Return what the defender's classifier says before the sigmoid, (n,); > 0 is member."""
        out, in_ = self._classifier(_features(logits)).unbind(dim=1)
        return torch.as_tensor(in_ - out)

    def _release(self, logits: NDArray[np.float32]) -> NDArray[Any]:
        chunks = range(0, len(logits), _CHUNK_ROWS)
        with one_thread():
            return np.concatenate(
                [self._defend(logits[i : i + _CHUNK_ROWS]) for i in chunks] or [logits]
            )

    def _defend(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        finite = torch.from_numpy(np.maximum(logits, logits.max(axis=1, keepdims=True) + _FLOOR))
        noisy = finite + self._noise(finite)
        before, after = softmax(finite.numpy()), softmax(noisy.numpy())
        distortion = np.abs(after - before).sum(axis=1)
        chance = np.minimum(self._epsilon / np.maximum(distortion, 1e-12), 1.0)
        doubt_before, doubt_after = (self._distance_from_half(z) for z in (finite, noisy))
        chance[doubt_before <= doubt_after] = 0
        use = one_time_uniforms(logits, self._seed) < chance
        return np.where(use[:, None], after, before)

    def _distance_from_half(self, logits: torch.Tensor) -> NDArray[np.float32]:
        return np.asarray((self.membership_score(logits).sigmoid() - 0.5).abs().numpy())

    def _noise(self, logits: torch.Tensor) -> torch.Tensor:
        """Phase I: return the noise of each row, zero where none was found; (n, k)."""
        noise = torch.zeros_like(logits)
        undecided = (self.membership_score(logits).sigmoid() - 0.5).abs() <= _UNDECIDED
        active = torch.nonzero(~undecided).squeeze(1)
        for weight in _DISTORTION_WEIGHTS:
            found, steps = self._search(logits[active], weight)
            active = active[found]
            if not len(active):
                break
            noise[active] = steps[found]
        return noise

    def _search(
        self, logits: torch.Tensor, distortion_weight: float
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return which rows (n,) were turned around with their label kept, and by what (n, k)."""
        found = torch.zeros(len(logits), dtype=torch.bool)
        noise = torch.zeros_like(logits)
        active = torch.arange(len(logits))
        before = self.membership_score(logits) > 0
        labels, scores = logits.argmax(dim=1), logits.softmax(dim=1)
        for _ in range(self._iterations):
            if not len(active):
                break
            z = (logits[active] + noise[active]).requires_grad_()
            score = self.membership_score(z)
            turned = ((score.detach() > 0) != before[active]) & (z.argmax(dim=1) == labels[active])
            loss = score.abs() + _LABEL_WEIGHT * _overtaken(z, labels[active])
            change = (z.softmax(dim=1) - scores[active]).abs().sum(dim=1)
            loss = loss + distortion_weight * change
            (gradient,) = torch.autograd.grad(loss.sum(), z)
            step = _STEP * torch.nn.functional.normalize(gradient, dim=1)
            found[active[turned]] = True
            active, step = active[~turned], step[~turned]
            noise[active] -= step
        return found, noise


def _features(logits: torch.Tensor) -> torch.Tensor:
    """Return sorted log-probabilities, (n, k)."""
    return logits.log_softmax(dim=1).clamp(min=_FLOOR).sort(dim=1, descending=True).values


def _overtaken(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return by how much another class lies above the label's, (n,)."""
    own = logits.gather(1, labels[:, None])
    others = logits.scatter(1, labels[:, None], float("-inf")).amax(dim=1)
    return (others - own.squeeze(1)).relu()
