"""Training runs and checkpoints: repeatable, resumable to the byte, safe to load."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

import causaldq.learn.train as training
from causaldq.discovery.effects import propagation_effects
from causaldq.discovery.graph import Graph
from causaldq.errors import CausalDQError, CheckpointError
from causaldq.files import sha256
from causaldq.learn.checkpoint import (
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from causaldq.learn.environment import Environment
from causaldq.learn.learner import q_network
from causaldq.learn.settings import TrainingSettings
from causaldq.learn.train import Trained, train
from causaldq.learn.weights import facts_path
from causaldq.models.streams import StreamModel
from causaldq.worlds.simulation import SimulationSource, simulate

MakeSettings = Callable[..., TrainingSettings]
MakeModel = Callable[[int], StreamModel]
P = 5
EFFECTS = np.eye(P) + 0.4 * np.eye(P, k=1)


def weights_of(trained: Trained) -> bytes:
    return b"".join(tensor.tobytes() for tensor in trained.online.tensors().values())


def log_of(trained: Trained) -> str:
    # as text: NaN stands for "not measured" and is not equal to itself
    return json.dumps(trained.log)


class Killed(BaseException):
    """Ends a run as a signal would: nothing on the way may catch it."""


def run_until(
    epoch: int,
    resume: Path,
    settings: TrainingSettings,
    model: StreamModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Train, and die at the end of the given epoch, before anything of it is saved."""
    whole = training._epoch

    def dying(number: int, *rest: Any) -> dict[str, Any]:
        row = whole(number, *rest)
        if number == epoch:
            raise Killed
        return row

    with monkeypatch.context() as patch:
        patch.setattr(training, "_epoch", dying)
        with pytest.raises(Killed):
            train(model, EFFECTS, settings, resume)


# --- repeatable ------------------------------------------------------------------------


def test_a_seed_fixes_the_run_and_nothing_else_does(
    training_settings: MakeSettings, chain_model: MakeModel
) -> None:
    model, settings = chain_model(P), training_settings()
    first = train(model, EFFECTS, settings)
    torch.manual_seed(99)
    torch.rand(3)
    np.random.seed(5)
    again = train(model, EFFECTS, settings)
    assert weights_of(first) == weights_of(again)
    assert log_of(first) == log_of(again)
    for other in (training_settings(seed=8), training_settings(network="another")):
        different = train(model, EFFECTS, other)
        assert weights_of(different) != weights_of(first)
        assert log_of(different) != log_of(first)


def test_checks_of_the_frozen_policy_do_not_touch_the_training(
    training_settings: MakeSettings, chain_model: MakeModel
) -> None:
    often, once = (
        train(chain_model(P), EFFECTS, training_settings(agent={"frozen_check_every": every}))
        for every in (1, 6)
    )
    assert weights_of(often) == weights_of(once)
    assert often.log[-1] == once.log[-1]


def test_what_the_log_says(training_settings: MakeSettings, chain_model: MakeModel) -> None:
    settings = training_settings(agent={"updates_per_step": 2})
    log = train(chain_model(P), EFFECTS, settings).log
    assert [row["epoch"] for row in log] == [1, 2, 3, 4, 5, 6]
    # 2 transitions a step, 20 steps an epoch: the 40th comes with the last step of the first
    assert [row["updates"] for row in log] == [2, 42, 82, 122, 162, 202]
    measured = [row["epoch"] for row in log if row["frozen_hit_share"] == row["frozen_hit_share"]]
    assert measured == [3, 6]
    assert [row["temperature"] for row in log] == pytest.approx(
        [1, 0.65, 0.4225, 0.274625, 0.17850625, 0.1160290625]
    )
    for row in log:
        assert 0 <= row["hit_share"] <= row["any_hit"] <= 1


def test_the_log_counts_what_was_earned(
    training_settings: MakeSettings, chain_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums over the steps of an epoch, taken down as they happen."""
    settings = training_settings(agent={"epochs": 2, "frozen_check_every": 2})
    whole, seen = Environment.step, []

    def watched(env: Environment, selected: Any) -> Any:
        running = env.time >= env.episodes.change
        result = whole(env, selected)
        seen.append((result[1], running))
        return result

    monkeypatch.setattr(Environment, "step", watched)
    log = train(chain_model(P), EFFECTS, settings).log
    steps, episodes = settings.agent.episode_steps, settings.agent.episodes
    for epoch, row in enumerate(log):
        # What comes after the last epoch is the check of the frozen policy.
        part = seen[epoch * steps : (epoch + 1) * steps]
        under = sum(int(running.sum()) for _, running in part)
        hits = [int(hit) for step, running in part for hit in step.hits[running]]
        assert len(hits) == under > 0
        earned = sum(float(step.shares.sum()) for step, _ in part)
        assert row["reward"] == pytest.approx(earned / episodes)
        paper = sum(float(step.paper_reward.sum()) for step, _ in part)
        assert row["paper_reward"] == pytest.approx(paper / episodes)
        most = min(settings.plan.k, settings.m)
        assert row["hit_share"] == pytest.approx(sum(hits) / (under * most))
        assert row["any_hit"] == pytest.approx(sum(hit > 0 for hit in hits) / under)
    check = seen[len(log) * steps :]
    hits = [int(hit) for step, running in check for hit in step.hits[running]]
    assert sum(hits) > 0
    assert log[-1]["frozen_hit_share"] == pytest.approx(sum(hits) / (len(hits) * most))


def test_the_agent_without_causal_parts_needs_no_effects(
    training_settings: MakeSettings, chain_model: MakeModel
) -> None:
    parts = {"causal_state": False, "causal_reward": False, "causal_entropy": False}
    settings = training_settings(method=parts)
    model = chain_model(P)
    alone = train(model, None, settings)
    assert len(alone.online.layers[0][0]) == 2 * P
    assert weights_of(alone) == weights_of(train(model, EFFECTS, settings))
    assert {row["causal_entropy"] for row in alone.log if row["updates"]} == {0.0}
    causal = train(model, EFFECTS, training_settings())
    assert len(causal.online.layers[0][0]) == 3 * P


# --- resumed ---------------------------------------------------------------------------


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("death", [2, 3, 5])
def test_a_resumed_run_is_the_uninterrupted_one(
    training_settings: MakeSettings,
    chain_model: MakeModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    optimiser: str,
    death: int,
) -> None:
    """The ring of 150 transitions overflows in the fourth of six epochs of 40."""
    settings = training_settings(agent={"optimiser": optimiser})
    model = chain_model(P)
    whole = train(model, EFFECTS, settings)
    resume = tmp_path / "net.partial.safetensors"
    run_until(death, resume, settings, model, monkeypatch)
    assert resume.exists()
    epochs: list[int] = []
    one_epoch = training._epoch

    def counting(number: int, *rest: Any) -> dict[str, Any]:
        epochs.append(number)
        return one_epoch(number, *rest)

    monkeypatch.setattr(training, "_epoch", counting)
    resumed = train(model, EFFECTS, settings, resume)
    assert epochs[0] == death // 2 * 2
    assert weights_of(resumed) == weights_of(whole)
    assert log_of(resumed) == log_of(whole)


def test_a_run_killed_twice_is_still_the_same(
    training_settings: MakeSettings,
    chain_model: MakeModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings, model = training_settings(agent={"optimiser": "adam"}), chain_model(P)
    resume = tmp_path / "r.safetensors"
    run_until(2, resume, settings, model, monkeypatch)
    run_until(4, resume, settings, model, monkeypatch)
    assert weights_of(train(model, EFFECTS, settings, resume)) == weights_of(
        train(model, EFFECTS, settings)
    )


@pytest.mark.parametrize("harm", ["truncated", "empty", "garbage", "pickle"])
def test_a_damaged_resume_file_is_ignored(
    training_settings: MakeSettings,
    chain_model: MakeModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    harm: str,
) -> None:
    settings, model = training_settings(agent={"epochs": 3}), chain_model(P)
    resume = tmp_path / "r.safetensors"
    run_until(2, resume, settings, model, monkeypatch)
    content = resume.read_bytes()
    resume.write_bytes(
        {
            "truncated": content[: len(content) // 2],
            "empty": b"",
            "garbage": b"\x07" * 500,
            "pickle": pickle.dumps({"facts": 1}),
        }[harm]
    )
    assert weights_of(train(model, EFFECTS, settings, resume)) == weights_of(
        train(model, EFFECTS, settings)
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 8},
        {"hyperparameters": {"learning_rate": 0.1}},
        {"agent": {"hidden": [13]}},
        {"plan": {"delta": 2.0}},
    ],
)
def test_a_resume_file_of_other_settings_is_ignored(
    training_settings: MakeSettings,
    chain_model: MakeModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    changed: dict[str, Any],
) -> None:
    model, resume = chain_model(P), tmp_path / "r.safetensors"
    run_until(3, resume, training_settings(), model, monkeypatch)
    other = training_settings(**changed)
    assert weights_of(train(model, EFFECTS, other, resume)) == weights_of(
        train(model, EFFECTS, other)
    )


@pytest.mark.parametrize("what", ["streams", "effects", "p"])
def test_a_resume_file_of_other_data_is_ignored(
    training_settings: MakeSettings,
    chain_model: MakeModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    """Killed, then the streams or the graph are made anew, then run again."""
    settings, resume = training_settings(), tmp_path / "r.safetensors"
    run_until(3, resume, settings, chain_model(P), monkeypatch)
    model, effects = chain_model(P + 1 if what == "p" else P), EFFECTS
    if what == "streams":
        model = StreamModel(model.names, model.rows, np.eye(P), model.effects)
    elif what == "effects":
        effects = np.eye(P)
    else:
        effects = np.eye(P + 1)
    assert weights_of(train(model, effects, settings, resume)) == weights_of(
        train(model, effects, settings)
    )


# --- checkpoints -----------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path, training_settings: MakeSettings) -> tuple[Path, Checkpoint]:
    torch.manual_seed(0)
    settings = training_settings()
    checkpoint = Checkpoint(q_network(3 * P, settings.agent.hidden, P), EFFECTS, settings, P)
    path = tmp_path / "net.safetensors"
    save_checkpoint(path, checkpoint, graph_hash="g", data_hash="d", code="c")
    return path, checkpoint


def test_a_checkpoint_comes_back_as_it_was(saved: tuple[Path, Checkpoint]) -> None:
    path, checkpoint = saved
    again = load_checkpoint(path)
    assert again.settings == checkpoint.settings
    assert again.p == P
    assert again.effects is not None
    assert np.array_equal(again.effects, EFFECTS)
    assert again.effects.dtype == np.float64
    inputs = np.random.default_rng(0).standard_normal((20, 3 * P)).astype(np.float32)
    assert np.array_equal(again.online(inputs), checkpoint.online(inputs))
    facts = json.loads(facts_path(path).read_text())
    assert facts["weights_sha256"] == sha256(path)
    assert (facts["graph_sha256"], facts["data_sha256"], facts["code"]) == ("g", "d", "c")


def test_equal_checkpoints_have_equal_bytes(saved: tuple[Path, Checkpoint], tmp_path: Path) -> None:
    path, checkpoint = saved
    other = tmp_path / "other" / "net.safetensors"
    save_checkpoint(other, checkpoint, graph_hash="g", data_hash="d", code="c")
    assert other.read_bytes() == path.read_bytes()
    assert facts_path(other).read_bytes() == facts_path(path).read_bytes()


def test_a_checkpoint_without_causal_state_comes_back(
    tmp_path: Path, training_settings: MakeSettings
) -> None:
    settings = training_settings(method={"causal_state": False})
    network = q_network(2 * P, settings.agent.hidden, P)
    path = tmp_path / "net.safetensors"
    save_checkpoint(
        path, Checkpoint(network, None, settings, P), graph_hash="g", data_hash="d", code="c"
    )
    again = load_checkpoint(path)
    assert again.effects is None
    assert np.array_equal(again.online.layers[0][0], network.layers[0][0])


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ({"p": 6}, ["p is 5", "6"]),
        ({"m": 3}, ["m is 2", "3"]),
        ({"settings": {"plan": {"protocol": "paper"}}}, ["settings.plan.protocol", "'paper'"]),
        ({"settings": {"statistic": {"decay": 0.5}}}, ["settings.statistic.decay", "0.02", "0.5"]),
        ({"settings": {"agent": {"hidden": [9]}}}, ["settings.agent.hidden", "[12]", "[9]"]),
    ],
)  # fmt: skip
def test_a_checkpoint_of_another_problem_is_refused(
    saved: tuple[Path, Checkpoint], expected: dict[str, Any], words: list[str]
) -> None:
    path, _ = saved
    with pytest.raises(CheckpointError) as caught:
        load_checkpoint(path, expected)
    for word in [str(path), *words]:
        assert word in str(caught.value)


def test_a_checkpoint_of_this_problem_is_taken(saved: tuple[Path, Checkpoint]) -> None:
    path, checkpoint = saved
    facts = {"p": P, "m": 2, "settings": checkpoint.settings.model_dump()}
    assert load_checkpoint(path, facts).settings == checkpoint.settings


@pytest.mark.parametrize("place", [0, 9, 100, -1])
def test_a_flipped_byte_is_noticed(saved: tuple[Path, Checkpoint], place: int) -> None:
    path, _ = saved
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(CheckpointError, match=r"net\.safetensors"):
        load_checkpoint(path)


@pytest.mark.parametrize("kept", [0, 7, 50, 0.5])
def test_a_truncated_checkpoint_is_noticed(saved: tuple[Path, Checkpoint], kept: float) -> None:
    """Even if its facts were written for the truncated file."""
    path, _ = saved
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content) if kept == 0.5 else kept)])
    with pytest.raises(CheckpointError, match=r"net\.safetensors"):
        load_checkpoint(path)
    verify_record(path)
    with pytest.raises(CheckpointError, match=r"net\.safetensors"):
        load_checkpoint(path)


def verify_record(path: Path, **changed: Any) -> None:
    """Make the facts say that the file is right."""
    facts = json.loads(facts_path(path).read_text())
    facts_path(path).write_text(json.dumps(facts | {"weights_sha256": sha256(path)} | changed))


@pytest.mark.parametrize("gone", ["weights", "facts", "both"])
def test_a_missing_checkpoint_is_named(saved: tuple[Path, Checkpoint], gone: str) -> None:
    path, _ = saved
    if gone != "facts":
        path.unlink()
    if gone != "weights":
        facts_path(path).unlink()
    with pytest.raises(CausalDQError, match=r"net\.(safetensors|json)"):
        load_checkpoint(path)


@pytest.mark.parametrize("harm", ["truncated", "no_hash", "no_settings", "other_settings", "list"])
def test_damaged_facts_are_noticed(saved: tuple[Path, Checkpoint], harm: str) -> None:
    path, _ = saved
    text = facts_path(path).read_text()
    facts = json.loads(text)
    if harm == "truncated":
        facts_path(path).write_text(text[:100])
    elif harm == "list":
        facts_path(path).write_text("[]")
    else:
        if harm == "no_hash":
            del facts["weights_sha256"]
        elif harm == "no_settings":
            del facts["settings"]
        else:
            facts["settings"]["agent"]["hidden"] = "many"
        facts_path(path).write_text(json.dumps(facts))
    with pytest.raises(CausalDQError, match=r"net\.(safetensors|json)"):
        load_checkpoint(path)


@pytest.mark.parametrize("harm", ["shape", "missing"])
def test_weights_that_do_not_fit_their_settings_are_refused(
    saved: tuple[Path, Checkpoint], harm: str
) -> None:
    path, checkpoint = saved
    tensors = {f"online.{key}": t for key, t in checkpoint.online.tensors().items()}
    tensors["effects"] = np.eye(P)
    if harm == "shape":
        tensors["online.0.weight"] = np.zeros((3, 3), np.float32)
    else:
        del tensors["online.0.weight"]
    save_file(tensors, path)
    verify_record(path)
    with pytest.raises(CheckpointError, match=r"net\.safetensors"):
        load_checkpoint(path)


class Trap:
    """Executed by an unpickler, it leaves a file behind."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("verified", [False, True])
def test_a_pickle_is_refused_and_not_executed(
    saved: tuple[Path, Checkpoint], tmp_path: Path, verified: bool
) -> None:
    path, _ = saved
    trace = tmp_path / "executed"
    content = pickle.dumps(Trap(trace))
    pickle.loads(content)
    assert trace.exists()  # the trap works
    trace.unlink()
    path.write_bytes(content)
    if verified:
        verify_record(path)
    with pytest.raises(CheckpointError, match=r"net\.safetensors"):
        load_checkpoint(path)
    torch_file = tmp_path / "torch.bin"
    torch.save({"online": Trap(trace)}, torch_file)
    path.write_bytes(torch_file.read_bytes())
    if verified:
        verify_record(path)
    with pytest.raises(CheckpointError, match=r"net\.safetensors"):
        load_checkpoint(path)
    assert not trace.exists()


def test_nothing_saved_is_a_pickle(
    saved: tuple[Path, Checkpoint],
    chain_model: MakeModel,
    training_settings: MakeSettings,
    tmp_path: Path,
) -> None:
    """A safetensors file starts with the length of its JSON header."""
    resume = tmp_path / "r.safetensors"
    train(chain_model(P), EFFECTS, training_settings(agent={"epochs": 2}), resume)
    for path in (saved[0], resume):
        content = path.read_bytes()
        length = int.from_bytes(content[:8], "little")
        header = json.loads(content[8 : 8 + length])
        ends = [entry["data_offsets"][1] for key, entry in header.items() if key != "__metadata__"]
        assert max(ends) == len(content) - 8 - length


# --- learning --------------------------------------------------------------------------


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_the_agent_learns_where_the_shifts_are(
    training_settings: MakeSettings, optimiser: str
) -> None:
    """Paper protocol, 10 streams, 3 shifted, 3 sensors: chance would hit .3.

    The settings are the paper's own but for a smaller network and fewer epochs.
    """
    source = SimulationSource(
        kind="simulation", p=10, expected_degree=6.0, weight_low=0.5, weight_high=1.0, rows=50
    )
    rng = np.random.default_rng(1)
    model = simulate(source, rng)
    effects = propagation_effects(Graph.from_effects(model.effects), model.covariance, 1, rng)
    settings = training_settings(
        m=3,
        agent={
            "optimiser": optimiser,
            "hidden": [64, 64],
            "replay": 10000,
            "warmup": 400,
            "target_every": 100,
            "episodes": 8,
            "episode_steps": 100,
            "latest_change": 50,
            "epochs": 10,
            "frozen_check_every": 10,
        },
        hyperparameters={"batch": 32},
        plan={
            "protocol": "paper",
            "k": 3,
            "cases": ["case_a"],
            "sigmas": [0.0],
            "latest_change": 50,
        },
    )
    last = train(model, effects, settings).log[-1]
    assert last["frozen_hit_share"] > 0.9
    assert last["hit_share"] > 0.8
