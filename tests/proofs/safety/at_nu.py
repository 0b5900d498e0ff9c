"""Gaps, offsets and decisions of machines at a nu, judged by code that shares nothing with them.

    python -m tests.proofs.safety.at_nu [--problems 200] [--first 0]

Samples are those of `gaps`, of 20 to 400 rows, with weights. From what a fit returns the duality
gap of its problem is computed in extended precision: none may be above `dual_gap_` times the primal
value. Of a one-class SVM no more than a share nu of the weight may be outside. Decisions about
samples, of the same nu and of others, and what is `certain`, must hold in the optimum that Clarabel
finds, where its own gap shows that it is one. Everything follows from the seed.
"""

import argparse
import sys
import warnings
from collections import Counter

import clarabel
import numpy as np
from scipy import sparse

from skscreen import ScreenedNuSVC, ScreenedNuSVR, ScreenedOneClassSVM, screen_samples
from tests.proofs.safety.gaps import KINDS, kernel_rows, samples

FITS = ("one class", "sphere", "classes", "regression")
TOLS = (1e-1, 1e-3, 1e-6, 1e-9)
# What rounding errors of sums may add, relative to the gap and to the sum of absolute terms.
_SHARE, _ROUNDING = 1e-9, 2e-12
# Clarabel's relative gap up to which its solution is one to judge by.
_OPTIMAL = 1e-10


def optimum(K, target, low, high, groups, totals) -> np.ndarray:
    """Return the best beta, by Clarabel."""
    n = target.size
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    sums = np.stack([groups == k for k in range(len(totals))]).astype(float)
    A = sparse.vstack([sparse.csc_matrix(sums), sparse.eye(n), -sparse.eye(n)]).tocsc()
    cones = [clarabel.ZeroConeT(len(totals)), clarabel.NonnegativeConeT(2 * n)]
    P = sparse.csc_matrix(np.triu(K))
    b = np.concatenate([totals, high, -low])
    return np.array(clarabel.DefaultSolver(P, -target, A, b, cones, settings).solve().x)


def is_optimal(wide, target, low, high, groups, totals, beta) -> bool:
    """Whether the gap of beta is a small share of its objective, in extended precision."""
    f = wide @ beta
    slopes = target - f
    primal = 0.5 * float(beta @ f)
    dual = float(target @ beta) - primal
    for k, total in enumerate(totals):
        mine = groups == k
        # The sum of losses and of b times the total is least where one of the slopes is b.
        left = slopes[mine][None, :] - slopes[mine][:, None]
        lost = np.maximum(high[mine] * left, low[mine] * left).sum(axis=1)
        primal += float((lost + slopes[mine] * total).min())
    return primal - dual <= _OPTIMAL * abs(primal)


def drawn(seed: int):
    """Draw samples, labels, weights and the parameters of a fit."""
    rng = np.random.default_rng(seed)
    fit, n = FITS[seed % len(FITS)], round(20.0 * 20.0 ** rng.random())
    X = samples(KINDS[seed // len(FITS) % len(KINDS)], rng, n)
    size = float(np.median(((X - np.median(X, axis=0)) ** 2).sum(axis=1))) + 1e-300
    options = {"kernel": "rbf", "gamma": float(rng.choice([0.3, 1.0, 10.0]) / size)}
    if rng.random() < 0.25:
        options = {"kernel": "poly", "coef0": 1.0, "degree": 2}
        options["gamma"] = 1.0 / max(float((X**2).sum(axis=1).max()), 1e-300)
    weights = rng.choice([0.3, 1.0, 2.5] if rng.random() < 0.5 else [1.0], n)
    spread = np.median(np.abs(X - np.median(X, axis=0)), axis=0) + 1e-300
    score = np.clip(((X - np.median(X, axis=0)) / spread)[:, 0], -1e3, 1e3) + rng.normal(size=n)
    y = np.where(score > np.median(score), 1.0, -1.0) if fit == "classes" else score
    nu = float(rng.uniform(0.02, 0.9))
    if fit == "classes":
        # A small one has w = 0, or takes long.
        ends = weights[y > 0.0].sum(), weights[y < 0.0].sum()
        nu = float(rng.uniform(0.6, 0.99)) * 2.0 * min(ends) / sum(ends)
    return fit, X, y, weights, nu, options, float(rng.choice(TOLS)), rng


def dual_of(fit: str, K, y, weights, nu: float):
    """Return targets, bounds, groups and sums in signed variables."""
    n, S = weights.size, weights.sum()
    zero = np.zeros(n)
    if fit in ("one class", "sphere"):
        target = 0.5 * nu * S * np.diag(K).astype(float) if fit == "sphere" else zero
        return target, zero, weights, np.zeros(n, int), np.array([nu * S])
    half = 0.5 * nu * S
    if fit == "classes":
        groups = (y < 0.0).astype(int)
        return zero, np.minimum(y, 0) * weights, np.maximum(y, 0) * weights, groups, [half, -half]
    groups = np.repeat([0, 1], n)
    low, high = np.concatenate([zero, -weights]), np.concatenate([weights, zero])
    return np.tile(y, 2), low, high, groups, np.array([half, -half])


def held(fit: str, model, y, weights, nu: float):
    """Return signed dual variables in the scale of the bounds, and intercepts of the groups."""
    alpha = np.zeros(weights.size)
    alpha[model.support_] = model.dual_coef_[0]
    if fit == "one class":
        return alpha, np.array([-model.offset_])
    if fit == "sphere":
        return alpha * nu * weights.sum(), None
    b = float(model.intercept_[0])
    if fit == "classes":
        rho = 1.0 / model.C_
        return rho * alpha, np.array([rho * b - rho, rho * b + rho])
    # Which of both sides, of samples with both, is not told: what is left of the sums is shared.
    above, below = np.maximum(alpha, 0.0), np.minimum(alpha, 0.0)
    rest = 0.5 * nu * weights.sum() - above.sum()
    room = weights - np.abs(alpha)
    extra = room * rest / max(room.sum(), 1e-300)
    both = np.concatenate([above + extra, below - extra])
    return both, np.array([b + model.epsilon_, b - model.epsilon_])


def misjudged(found, fit: str, best: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[str]:
    """Return which decisions are not those of an optimum."""
    # Where Clarabel's numbers are at a bound, and where not.
    size, wrong = high - low, []
    inside = (best - low > 1e-4 * size) & (high - best > 1e-4 * size)
    share = np.abs(best) / size
    if fit == "regression":
        inside, share = inside.reshape(2, -1).any(axis=0), share.reshape(2, -1).max(axis=0)
    codes = found.codes_
    if (inside & (codes != 0)).any() or (share[codes == 1] > 1e-4).any():
        wrong.append("decisions are not those of the optimum")
    if (share[codes == 2] < 1.0 - 1e-4).any():
        wrong.append("bounds are not those of the optimum")
    return wrong


def one(seed: int) -> tuple[str, list[str]]:
    """Draw, fit and judge a problem; return what is wrong."""
    fit, X, y, weights, nu, options, tol, rng = drawn(seed)
    kind = {"classes": ScreenedNuSVC, "regression": ScreenedNuSVR}.get(fit, ScreenedOneClassSVM)
    more = {"shape": "sphere"} if fit == "sphere" else {}
    given = (X, y) if fit in ("classes", "regression") else (X,)
    wrong: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = kind(nu, tol=tol, **options, **more).fit(*given, sample_weight=weights)
        except ValueError as error:
            return fit, [] if "too small" in str(error) else [str(error)]
        wide = kernel_rows(X.astype(np.longdouble), slice(0, len(X)), options)
        K = wide.astype(np.float64)
        target, low, high, groups, totals = dual_of(fit, K, y, weights, nu)
        if fit == "regression":
            wide, K = np.tile(wide, (2, 2)), np.tile(K, (2, 2))
        if fit in ("one class", "sphere"):
            outside = float(weights @ (model.predict(X) < 0)) / weights.sum()
            if outside > nu * (1.0 + 1e-12):
                wrong.append(f"{outside} of the weight is outside")
        beta, b = held(fit, model, y, weights, nu)
        f = wide @ beta
        square = float(beta @ f)
        if b is not None:
            slopes = target - f - b[groups]
            lost = np.maximum(high * slopes, low * slopes).sum()
            primal = 0.5 * square + lost
            gap = primal + b @ np.asarray(totals) - (target @ beta - 0.5 * square)
            terms = 0.5 * square + np.abs(b) @ np.abs(totals) + np.abs(target) @ np.abs(beta)
            # The dual variables of a regression with rows on both sides are not all known.
            said = model.dual_gap_ * primal
            if not gap <= said * (1.0 + _SHARE) + _ROUNDING * terms and fit != "regression":
                wrong.append(f"gap {float(gap):.3g} is above {said:.3g}")
        for other in (nu, nu * float(rng.uniform(0.95, 1.05))):
            if other > 1.0:
                continue
            try:
                found = screen_samples(X, y, nu=other, reference=model, sample_weight=weights)
            except ValueError as error:
                if "infeasible" not in str(error):
                    wrong.append(str(error))
                continue
            target, low, high, groups, totals = dual_of(
                fit, K[: len(X), : len(X)], y, weights, other
            )
            best = optimum(K, target, low, high, groups, totals)
            if not is_optimal(wide, target, low, high, groups, totals, best):
                continue
            wrong += [f"at nu={other:g} {each}" for each in misjudged(found, fit, best, low, high)]
    return fit, [
        f"seed {seed}, {fit}, n={len(X)}, {options}, tol={tol:g}: {each}" for each in wrong
    ]


def main(argv: list[str] | None = None) -> int:
    """Judge all problems."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    args = parser.parse_args(argv)
    found = [one(seed) for seed in range(args.first, args.first + args.problems)]
    for _, wrong in found:
        for each in wrong:
            print(each, flush=True)
    count = Counter(fit for fit, _ in found)
    bad = sum(bool(wrong) for _, wrong in found)
    print(f"{dict(count)}: {bad} problems with something wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
