"""The conditional logit model of the table of evidence: likelihoods of choices, and the weights that fit them best."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize  # type: ignore[import-untyped]

from bench.fitting.examples import Example, Matrix
from replaywright.domain.locating.evidence import OF_GONE, SPEAKS_AGAINST, SPEAKS_FOR

RIDGE = 0.1
"""Penalty of half the sum of the squared weights: a signal that hardly any example has weighs little."""
_LEAST = 1e-300

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pick:
    """The likeliest element of a choice."""

    likelihood: float
    """0 if there was nothing to choose from."""
    is_right: bool
    is_there: bool


class Choices:
    """Examples as arrays: all their elements below each other."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self.examples = examples
        self.counts = np.array([len(one.elements) for one in examples])
        self.elements: Matrix = np.concatenate([one.elements for one in examples])
        self.gone: Matrix = np.stack([one.gone for one in examples])
        self.is_right = np.concatenate([one.is_right for one in examples])
        self.of = np.repeat(np.arange(len(examples)), self.counts)
        """The example that each element belongs to."""

    def likelihoods(self, weights: Vector) -> tuple[Vector, Vector]:
        """Likelihood of each element, and of none of each example's."""
        worths = self.elements @ weights[: self.elements.shape[1]]
        gone = self.gone @ weights[self.elements.shape[1] :]
        most = gone.copy()
        np.maximum.at(most, self.of, worths)
        shares, of_gone = np.exp(worths - most[self.of]), np.exp(gone - most)
        total = of_gone + self._summed(shares)
        return shares / total[self.of], of_gone / total

    def _summed(self, values: Vector) -> Vector:
        return np.bincount(self.of, values, len(self.examples)).astype(np.float64)

    def loss(self, weights: Vector) -> tuple[float, Vector]:
        """The negative log-likelihood with its penalty, and the gradient."""
        shares, gone = self.likelihoods(weights)
        right = self._summed(shares * self.is_right)
        is_gone = self._summed(self.is_right.astype(np.float64)) == 0
        likely = np.maximum(np.where(is_gone, gone, right), _LEAST)
        due = np.where(is_gone[self.of], 0.0, shares * self.is_right / np.maximum(right[self.of], _LEAST))
        slope = np.concatenate([self.elements.T @ (shares - due), self.gone.T @ (gone - is_gone)])
        penalty = RIDGE / 2 * float(weights @ weights)
        return float(-np.log(likely).sum()) + penalty, slope + RIDGE * weights

    def picks(self, weights: Vector) -> list[Pick]:
        """The likeliest element of each example."""
        shares, _ = self.likelihoods(weights)
        found: list[Pick] = []
        at = 0
        for example, count in zip(self.examples, self.counts, strict=True):
            own = shares[at : at + count]
            pooled: dict[object, float] = {}
            for link, one in zip(example.links, own, strict=True):
                pooled[link] = pooled.get(link, 0.0) + float(one)
            likeliest = max(pooled, key=lambda link: pooled[link], default=None)
            rights = {link for link, is_right in zip(example.links, example.is_right, strict=True) if is_right}
            found.append(Pick(pooled.get(likeliest, 0.0), likeliest in rights, example.is_there))
            at += count
        return found


def fitted(examples: Sequence[Example]) -> Vector:
    """The likeliest weights, in the order of the signals and of those of none; each keeps its sign."""
    choices = Choices([one for one in examples if not one.is_refused])
    bounds = [(0, None)] * len(SPEAKS_FOR) + [(None, 0)] * len(SPEAKS_AGAINST) + [(None, None)] * len(OF_GONE)
    found = minimize(choices.loss, np.zeros(len(bounds)), jac=True, bounds=bounds, method="L-BFGS-B")
    return np.asarray(found.x, dtype=np.float64)
