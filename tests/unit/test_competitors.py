"""Competitors that use the covariance or a modern index, against slow versions from their text."""

from dataclasses import replace
from itertools import product
from math import exp, log, sqrt

import numpy as np
import pytest
from made import Recorder, a_covariance, a_problem, assert_largest, made, paths_of
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from causaldq.models.state_space import StateSpace
from causaldq.run import statistics, step


def correlation_of(covariance: np.ndarray) -> list[list[float]]:
    p = len(covariance)
    deviation = [float(covariance[i, i]) ** 0.5 for i in range(p)]
    return [
        [float(covariance[i, j]) / deviation[i] / deviation[j] for j in range(p)] for i in range(p)
    ]


def standardised(covariance: np.ndarray, row: np.ndarray, streams: np.ndarray) -> dict[int, float]:
    return {int(i): float(row[i]) / float(covariance[i, i]) ** 0.5 for i in streams}


def inverse_of(matrix: list[list[float]], read: list[int]) -> list[list[float]]:
    return np.linalg.inv(np.array([[matrix[i][j] for j in read] for i in read])).tolist()


# --- BSSCD -----------------------------------------------------------------------------


class SlowBsscd:
    """One replication; the evidence is rebuilt at every step from the whole history."""

    def __init__(
        self, covariance: np.ndarray, share: float, slab: float, decay: float, sweeps: int
    ) -> None:
        self.p, self.correlation = len(covariance), correlation_of(covariance)
        self.share, self.slab, self.decay, self.sweeps = share, slab, decay, sweeps
        self.history: list[dict[int, float]] = []
        self.chance = [share] * self.p
        self.mean = [0.0] * self.p
        self.variance = [slab] * self.p
        self.h = [0.0] * self.p
        self.j = [[0.0] * self.p for _ in range(self.p)]

    def read(self, values: dict[int, float]) -> None:
        self.history.append(values)
        self.h = [0.0] * self.p
        self.j = [[0.0] * self.p for _ in range(self.p)]
        for age, seen in enumerate(reversed(self.history)):
            streams = list(seen)
            inverse = inverse_of(self.correlation, streams)
            for a, i in enumerate(streams):
                for b, k in enumerate(streams):
                    self.h[i] += (1 - self.decay) ** age * inverse[a][b] * seen[k]
                    self.j[i][k] += (1 - self.decay) ** age * inverse[a][b]
        for _ in range(self.sweeps):
            for i in range(self.p):
                self.variance[i] = 1 / (self.j[i][i] + 1 / self.slab)
                self.mean[i] = self.variance[i] * self.rest(i)
                odds = self.share / (1 - self.share) * sqrt(self.variance[i] / self.slab)
                odds *= exp(self.mean[i] ** 2 / (2 * self.variance[i]))
                self.chance[i] = odds / (1 + odds)

    def rest(self, i: int) -> float:
        others = [k for k in range(self.p) if k != i]
        return self.h[i] - sum(self.j[i][k] * self.chance[k] * self.mean[k] for k in others)

    def log_factor(self) -> float:
        total = 0.0
        for i in range(self.p):
            g, own, mean, variance = self.rest(i), self.j[i][i], self.mean[i], self.variance[i]
            # exp(g w - own w^2 / 2) times the density of w is normal, up to a factor
            precision = 1 / variance + own
            centre = (mean / variance + g) / precision
            ratio = exp(precision * centre**2 / 2 - mean**2 / (2 * variance))
            ratio /= sqrt(precision * variance)
            total += log(1 - self.chance[i] + self.chance[i] * ratio)
            for k in range(self.p):
                if k != i:
                    shifts = self.chance[i] * self.mean[i] * self.chance[k] * self.mean[k]
                    total += self.j[i][k] * shifts / 2
        return total


@pytest.mark.parametrize("independent", [True, False])
def test_bsscd_follows_its_definition(independent: bool) -> None:
    p, m, n, steps = 5, 2, 6, 25
    changed = {"share": 0.2, "slab": 0.7, "decay": 0.08, "sweeps": 2}
    covariance = np.diag([1.0, 0.5, 2.0, 1.5, 0.8]) if independent else a_covariance(p)
    method, rng = made("bsscd", a_problem(covariance, m), **changed), Recorder(1)
    paths = paths_of(covariance, n, steps, 2)
    state = method.start(n, None, rng)
    slow = [SlowBsscd(covariance, **changed) for _ in range(n)]  # type: ignore[arg-type]
    for t in range(steps):
        state, streams, value = step(method, state, paths[:, t], rng)
        uniforms, normals = rng.uniforms[2 * t], rng.normals[t]
        for row, one in enumerate(slow):
            drawn = [
                abs(one.mean[i] + sqrt(one.variance[i]) * float(normals[row, i]))
                if float(uniforms[row, i]) < one.chance[i]
                else 0.0
                for i in range(p)
            ]
            assert_largest(drawn, streams[row])
            one.read(standardised(covariance, paths[row, t], streams[row]))
            assert value[row] == pytest.approx(one.log_factor(), rel=1e-7, abs=1e-9)


def test_bsscd_is_exact_where_streams_are_independent() -> None:
    """Posterior and Bayes factor by quadrature, from the prior and the density of the values."""
    share, slab, keep = 0.15, 0.8, 0.9
    changed = {"share": share, "slab": slab, "decay": 1 - keep}
    method, rng = made("bsscd", a_problem(np.eye(2), 2), **changed), np.random.default_rng(0)
    values = np.array([[1.4, -0.2], [0.9, 0.3], [2.0, -1.0]])
    state = method.start(1, None, rng)
    for row in values:
        state = method.observe(state, np.array([[0, 1]]), row[None], rng)
    expected = 0.0
    for i in range(2):
        x = values[::-1, i]

        def ratio(w: float, x: np.ndarray = x) -> float:
            logs = norm.logpdf(x, w) - norm.logpdf(x)
            return exp(float(keep ** np.arange(3) @ logs))

        def over_slab(power: int, ratio=ratio) -> float:  # type: ignore[no-untyped-def]
            density = norm(0, sqrt(slab)).pdf
            return float(quad(lambda w: density(w) * ratio(w) ** power, -12, 12)[0])

        evidence = 1 - share + share * over_slab(1)
        chance = share * over_slab(1) / evidence
        assert 1 / (1 + exp(-state.logit[0, i])) == pytest.approx(chance, rel=1e-7)
        expected += log((1 - share + share * over_slab(2)) / evidence)
    assert method.statistic(state)[0] == pytest.approx(expected, rel=1e-6)


def exact_log_factor(
    h: np.ndarray, j: np.ndarray, chance: np.ndarray, mean: np.ndarray, variance: np.ndarray
) -> float:
    """The mean of exp(h'a - a'Ja/2) over spike and slab: a normal integral for each set shifted."""
    total = 0.0
    for shifted in product((False, True), repeat=len(h)):
        on = np.array(shifted)
        weight = float(np.where(on, chance, 1 - chance).prod())
        precision = np.diag(1 / variance[on]) + j[np.ix_(on, on)]
        pull = mean[on] / variance[on] + h[on]
        exponent = pull @ np.linalg.solve(precision, pull) - (mean[on] ** 2 / variance[on]).sum()
        scale = np.linalg.det(precision) * variance[on].prod()
        total += weight * exp(exponent / 2) / sqrt(scale)
    return log(total)


@pytest.mark.parametrize("correlation", [0.2, -0.3, 0.8])
def test_what_bsscd_leaves_out_of_the_bayes_factor_is_little(correlation: float) -> None:
    p = 4
    covariance = np.full((p, p), correlation) + (1 - correlation) * np.eye(p)
    method, rng = made("bsscd", a_problem(covariance, 3)), np.random.default_rng(0)
    paths = paths_of(covariance, 1, 40, 7)
    state, furthest = method.start(1, None, rng), 0.0
    for t in range(paths.shape[1]):
        state, _, value = step(method, state, paths[:, t], rng)
        known, j = state.evidence.known, np.zeros((p, p))
        j[np.ix_(known, known)] = state.evidence.j[0]
        chance = 1 / (1 + np.exp(-state.logit[0]))
        exact = exact_log_factor(state.evidence.h[0], j, chance, state.mean[0], state.variance[0])
        furthest = max(furthest, abs(exact))
        assert value[0] == pytest.approx(exact, abs=0.5)
    assert furthest > 30


# --- CDS -------------------------------------------------------------------------------


@pytest.mark.parametrize("summed", [None, 1])
def test_cds_follows_its_recursion(summed: int | None) -> None:
    p, m, n, steps, u, credit = 6, 2, 4, 40, 1.2, 0.07
    covariance = a_covariance(p)
    correlation = correlation_of(covariance)
    changed = {"shift": u, "compensation": credit, "summed_streams": summed}
    method, rng = made("cds", a_problem(covariance, m), **changed), np.random.default_rng(1)
    paths = paths_of(covariance, n, steps, 2)
    state = method.start(n, None, rng)
    up = [[0.0] * p for _ in range(n)]
    down = [[0.0] * p for _ in range(n)]
    for t in range(steps):
        before = [[max(a, b) for a, b in zip(*w, strict=True)] for w in zip(up, down, strict=True)]
        state, streams, value = step(method, state, paths[:, t], rng)
        for row in range(n):
            assert_largest(before[row], streams[row])
            read = standardised(covariance, paths[row, t], streams[row])
            names = list(read)
            inverse = inverse_of(correlation, names)
            for k in range(p):
                expected, known = 0.0, 0.0
                for a, i in enumerate(names):
                    for b, j in enumerate(names):
                        expected += correlation[k][i] * inverse[a][b] * read[j]
                        known += correlation[k][i] * inverse[a][b] * correlation[j][k]
                gain, allowance = u * expected, u * u * known / 2
                unknown = 0.0 if k in read else 1 - known
                up[row][k] = max(0.0, up[row][k] + gain - allowance) + credit * sqrt(unknown)
                down[row][k] = max(0.0, down[row][k] - gain - allowance) + credit * sqrt(unknown)
            larger = sorted(max(a, b) for a, b in zip(up[row], down[row], strict=True))
            assert value[row] == pytest.approx(sum(larger[-(summed or m) :]), abs=1e-6)


def test_cds_is_tras_where_streams_are_independent() -> None:
    covariance = np.diag([1.0, 0.5, 2.0, 1.5, 0.8])
    problem, paths = a_problem(covariance, 2), paths_of(covariance, 5, 60, 3)
    by_name = {
        name: statistics(made(name, problem), paths, None, np.random.default_rng(4))
        for name in ("cds", "tras")
    }
    np.testing.assert_allclose(by_name["cds"], by_name["tras"], rtol=1e-9)


def test_cds_infers_a_stream_that_another_repeats() -> None:
    """Two equal streams, of which one is read: both rise alike, and no credit is due."""
    covariance = np.eye(3)
    covariance[0, 1] = covariance[1, 0] = 1.0
    method, rng = made("cds", a_problem(covariance, 1)), np.random.default_rng(0)
    state = method.observe(method.start(1, None, rng), np.array([[0]]), np.array([[3.0]]), rng)
    assert state.upward[0, 1] == pytest.approx(state.upward[0, 0], abs=1e-4)
    assert state.upward[0, 0] == pytest.approx(1.5 * 3.0 - 1.5**2 / 2)
    assert state.upward[0, 2] == pytest.approx(0.05)


# --- epsilon-greedy GLR ----------------------------------------------------------------


def slow_ratio(readings: list[float], window: int) -> float:
    """Over all starts, from the two densities; the amount that fits best is the mean."""
    best = 0.0
    for j in range(1, min(len(readings), window) + 1):
        latest = readings[-j:]
        amount = sum(latest) / j
        best = max(best, sum((z**2 - (z - amount) ** 2) / 2 for z in latest))
    return best


@pytest.mark.parametrize(("window", "summed"), [(50, None), (4, 1), (1, 3)])
def test_eps_glr_follows_its_definition(window: int, summed: int | None) -> None:
    p, m, n, steps, epsilon = 6, 3, 4, 40, 0.3
    covariance = a_covariance(p)
    changed = {"exploration": epsilon, "window": window, "summed_streams": summed}
    method, rng = made("eps_glr", a_problem(covariance, m), **changed), Recorder(1)
    paths = paths_of(covariance, n, steps, 2)
    state = method.start(n, None, rng)
    readings: list[list[list[float]]] = [[[] for _ in range(p)] for _ in range(n)]
    explored = 0
    for t in range(steps):
        ratios = [[slow_ratio(stream, window) for stream in row] for row in readings]
        state, streams, value = step(method, state, paths[:, t], rng)
        sensors, _, chance = rng.uniforms[3 * t : 3 * t + 3]
        for row in range(n):
            exploring = sum(float(u) < epsilon for u in sensors[row])
            explored += exploring
            by_ratio = sorted(ratios[row], reverse=True)
            # without ties, which only the first steps have
            if exploring < m and by_ratio[m - exploring - 1] > by_ratio[m - exploring]:
                least = by_ratio[m - exploring - 1]
                exploited = {k for k in range(p) if ratios[row][k] >= least}
                rest = sorted(set(range(p)) - exploited, key=lambda k: -chance[row, k])
                assert set(streams[row].tolist()) == exploited | set(rest[:exploring])
            for k, z in standardised(covariance, paths[row, t], streams[row]).items():
                readings[row][k].append(z)
            largest = sorted(slow_ratio(stream, window) for stream in readings[row])
            assert value[row] == pytest.approx(sum(largest[-(summed or m) :]), abs=1e-9)
    # binomial: 480 sensors, mean 144, standard deviation 10
    assert 94 < explored < 194


# --- TSSRP told the covariance ---------------------------------------------------------


def test_tssrp_cov_weighs_a_shift_of_one_stream_by_the_density_of_all_read() -> None:
    p, m, n, steps, shift = 6, 3, 4, 40, 0.8
    covariance = a_covariance(p)
    method, rng = made("tssrp_cov", a_problem(covariance, m), shift=shift), np.random.default_rng(1)
    paths = paths_of(covariance, n, steps, 2)
    state = method.start(n, None, rng)
    sums = {
        sign: np.exp(start).tolist() for sign, start in ((1, state.upward), (-1, state.downward))
    }
    for t in range(steps):
        before = [
            [a + b for a, b in zip(*w, strict=True)] for w in zip(*sums.values(), strict=True)
        ]
        state, streams, value = step(method, state, paths[:, t], rng)
        for row in range(n):
            assert_largest(before[row], streams[row])
            read = streams[row].tolist()
            x, block = paths[row, t, read], covariance[np.ix_(read, read)]
            density = multivariate_normal(np.zeros(m), block).pdf(x)
            for sign, r in sums.items():
                for i in range(p):
                    r[row][i] += 1.0
                    if i in read:
                        mean = [
                            sign * shift * sqrt(block[a, a]) * (j == i) for a, j in enumerate(read)
                        ]
                        r[row][i] *= multivariate_normal(mean, block).pdf(x) / density
            logs = sorted(log(a + b) for a, b in zip(sums[1][row], sums[-1][row], strict=True))
            assert value[row] == pytest.approx(sum(logs[-m:]), rel=1e-6)


# --- AUCRSS ----------------------------------------------------------------------------


def test_aucrss_follows_its_definition_on_streams_with_memory() -> None:
    """What was not expected comes from the joint normal law of all rows, not from a filter."""
    p, m, n, steps, decay = 4, 2, 3, 14, 0.1
    rng = np.random.default_rng(4)
    a, block = np.array([0.9, 0.5, 0.0, 0.7]), a_covariance(p)
    model = replace(
        StateSpace.independent(0.3 * block, np.inf), a=a, q=block * (1 - np.outer(a, a))
    )
    problem = replace(a_problem(model.covariance, m), dynamics=model)
    method = made("aucrss", problem, decay=decay)
    ridge = method.problem.statistic.ridge
    gap = np.subtract.outer(np.arange(steps), np.arange(steps))
    memory = a ** np.abs(gap)[:, :, None]
    # rows (s, i) and (t, j): the later of the two has lost what its own memory loses
    law = np.where((gap > 0)[:, :, None, None], memory[..., :, None], memory[..., None, :]) * block
    law[np.arange(steps), np.arange(steps)] += 0.3 * block
    law = law.swapaxes(1, 2).reshape(steps * p, steps * p)
    paths = model.simulate(n, steps, rng)
    state = method.start(n, None, rng)
    past: list[list[int]] = [[] for _ in range(n)]
    h, j = np.zeros((n, p)), np.zeros((n, p, p))
    for t in range(steps):
        before = state
        state, streams, value = step(method, state, paths[:, t], rng)
        for row in range(n):
            now, known = t * p + np.arange(p), past[row]
            weights = np.linalg.solve(law[np.ix_(known, known)], law[np.ix_(known, now)])
            expected = paths[row].reshape(-1)[known] @ weights
            left = law[np.ix_(now, now)] - law[np.ix_(now, known)] @ weights
            if t:
                v = np.linalg.inv(j[row] + ridge * np.eye(p))
                gamma = 2 * log((1 - (1 - decay) ** t) / decay**2)
                bound = np.abs(v @ h[row]) + np.sqrt(gamma * np.diag(v))
                assert_largest((bound**2 / np.diag(left)).tolist(), streams[row])
            np.testing.assert_allclose(
                np.diagonal(before.covariance[row]) + np.diag(model.r), np.diag(left)
            )
            read = streams[row].tolist()
            precision = np.linalg.inv(left[np.ix_(read, read)])
            h[row] *= 1 - decay
            j[row] *= 1 - decay
            h[row, read] += precision @ (paths[row, t] - expected)[read]
            j[row][np.ix_(read, read)] += precision
            ratio = h[row] @ np.linalg.solve(j[row] + ridge * np.eye(p), h[row])
            assert value[row] == pytest.approx(ratio, rel=1e-6)
            past[row] += (t * p + streams[row]).tolist()


def test_aucrss_is_cmab_on_rows_without_memory() -> None:
    p, m, n, steps = 6, 3, 4, 30
    covariance = np.array(correlation_of(a_covariance(p)))
    np.fill_diagonal(covariance, 1.0)  # whatever rounding did, so that ties are ties
    paths = paths_of(covariance, n, steps, 2)
    found = [
        statistics(made(name, a_problem(covariance, m)), paths, None, np.random.default_rng(1))
        for name in ("aucrss", "cmab")
    ]
    np.testing.assert_allclose(*found, rtol=1e-6)
