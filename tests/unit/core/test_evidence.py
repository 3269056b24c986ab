import io
import zipfile
from dataclasses import replace

import numpy as np
import pytest

import oracle
from bbedge.core import view_evidence as view_evidence_module
from bbedge.core.design import Design
from bbedge.core.evidence import Evidence
from bbedge.errors import BbedgeError, DataError, DesignError

MODELS = ["a", "b", "c"]
ITEMS = ["q1", "q2", "q3"]
RNG = np.random.default_rng(9)


def fed(design, panels=2, seed=0):
    rng = np.random.default_rng(seed)
    evidence = Evidence(design)
    for _ in range(panels):
        evidence.update(rng.random((len(design.models), len(design.items))))
    return evidence


def test_one_stake_one_item_by_hand():
    # a scores 1 and b scores 0, so Y = 1 and p = 1/2: 0.4 * 0.5 - (-log 0.6 - 0.4) / 4.
    evidence = Evidence(Design.make(["a", "b"], ["q"], grid=[0.4], method="bb-edge"))
    evidence.update([[1.0], [0.0]])
    psi = -np.log(0.6) - 0.4
    assert evidence.log_e()[0, 1] == pytest.approx(0.2 - psi / 4, abs=1e-12)
    assert evidence.log_e()[1, 0] == pytest.approx(-0.2 - psi / 4, abs=1e-12)
    # Second replicate: p = (1/2 + 1) / 2 for a -> b and 1/4 for b -> a.
    evidence.update([[1.0], [0.0]])
    assert evidence.log_e()[0, 1] == pytest.approx(0.4 - psi * (1 / 4 + 1 / 16), abs=1e-12)
    assert evidence.log_e()[1, 0] == pytest.approx(-0.4 - psi * (1 / 4 + 1 / 16), abs=1e-12)


def test_a_wide_stake_predicts_the_null_value_by_hand():
    evidence = Evidence(Design.make(["a", "b"], ["q"], tau=0.2, evidence="betting", grid=[1.5], method="bb-edge"))
    for _ in range(2):
        evidence.update([[1.0], [0.0]])
    assert evidence.log_e()[0, 1] == pytest.approx(2 * np.log(1 + 1.5 * 0.4), abs=1e-11)
    assert evidence.log_e()[1, 0] == pytest.approx(2 * np.log(1 - 1.5 * 0.6), abs=1e-11)


def test_means_and_counts():
    evidence = Evidence(Design.make(MODELS, ITEMS, blocks=["x", "x", "y"], method="bb-edge"))
    assert evidence.replicates == 0
    evidence.update([[1, 0, 0], [1, 1, 1], [0, 0, 0]])
    evidence.update([[1, 1, 1], [1, 1, 1], [0, 0, 1]])
    assert evidence.replicates == 2
    assert evidence.means.tolist() == pytest.approx([4 / 6, 1.0, 1 / 6])


def test_a_bad_panel_leaves_the_evidence_as_it_was():
    evidence = fed(Design.make(MODELS, ITEMS, method="bb-edge"))
    before = evidence.to_bytes()
    for bad in (np.full((3, 3), np.nan), np.zeros((2, 3)), np.full((3, 3), 1.5)):
        with pytest.raises(DataError):
            evidence.update(bad)
    assert evidence.to_bytes() == before


def test_evidence_does_not_follow_or_change_the_panel():
    evidence, panel = Evidence(Design.make(MODELS, ITEMS, method="bb-edge")), np.full((3, 3), 0.25)
    evidence.update(panel)
    before = evidence.to_bytes()
    assert (panel == 0.25).all()
    panel[:] = 1.0
    assert evidence.to_bytes() == before


def test_results_are_copies():
    evidence = fed(Design.make(MODELS, ITEMS, method="bb-edge"))
    evidence.stop(["c"])
    before = evidence.to_bytes()
    evidence.log_e()[:] = 1e6
    evidence.lower_bounds()[:] = 1.0
    evidence.means[:] = 9.0
    assert evidence.to_bytes() == before


@pytest.mark.parametrize("kind", ["bernstein", "hoeffding", "sharp", "betting"])
def test_reading_in_tiles_changes_nothing(kind):
    evidence = fed(Design.make([f"m{i}" for i in range(7)], ITEMS, evidence=kind, method="bb-edge"))
    whole, bounds = evidence.log_e(), evidence.lower_bounds()
    evidence._mixture._space = replace(evidence.space, tile=41 * 7 * 2)
    np.testing.assert_allclose(evidence.log_e(), whole, rtol=0, atol=1e-13)
    np.testing.assert_allclose(evidence.lower_bounds(), bounds, rtol=0, atol=1e-11)


def test_evidence_that_overflows_outside_of_logarithms():
    design = Design.make(
        ["a", "b"], [f"i{k}" for k in range(4000)], evidence="betting", stakes="design", method="bb-edge"
    )
    evidence = Evidence(design)
    panel = np.array([np.ones(4000), np.zeros(4000)])
    for _ in range(2):
        evidence.update(panel)
    setting = oracle.Setting(
        blocks=(0,),
        tau=0.0,
        kind="betting",
        prediction="running-mean",
        stakes=design.grid.values,
        weights=design.grid.weights,
    )
    for a, b in ((0, 1), (1, 0)):
        # All blocks are alike, so one of them says what 4,000 of them give.
        logs = oracle.stake_logs(setting, [[[1.0], [0.0]]] * 2, a, b)
        want = oracle.mixture([4000 * log for log in logs], setting.weights)
        assert evidence.log_e()[a, b] == pytest.approx(want, abs=1e-7)
    assert evidence.log_e()[0, 1] > 1000


# Stopping --------------------------------------------------------------------------------------------------------


def test_stopping():
    evidence = fed(Design.make(MODELS, ITEMS, method="bb-edge"))
    evidence.stop(["b"])
    assert evidence.active == ("a", "c")
    with pytest.raises(DataError, match="expected 2 models"):
        evidence.update(np.zeros((3, 3)))
    evidence.update(np.zeros((2, 3)))
    assert evidence.replicates == 3
    evidence.stop([])
    assert evidence.active == ("a", "c")


@pytest.mark.parametrize("names", [["z"], ["a", "z"], ["c"]])
def test_only_an_active_model_can_be_stopped(names):
    evidence = fed(Design.make(MODELS, ITEMS, method="bb-edge"))
    evidence.stop(["c"])
    before = evidence.to_bytes()
    with pytest.raises(DesignError, match="cannot be stopped"):
        evidence.stop(names)
    assert evidence.to_bytes() == before


@pytest.mark.parametrize("prediction", ["running-mean", "two-way"])
def test_the_last_models_can_be_stopped(prediction):
    evidence = fed(Design.make(MODELS, ITEMS, prediction=prediction, method="bb-edge"))
    log_e, bounds = evidence.log_e(), evidence.lower_bounds()
    evidence.stop(["a", "b"])
    evidence.update(np.ones((1, 3)))
    np.testing.assert_array_equal(evidence.log_e(), log_e)
    np.testing.assert_array_equal(evidence.lower_bounds(), bounds)
    evidence.stop(["c"])
    assert evidence.active == ()
    np.testing.assert_array_equal(evidence.log_e(), log_e)


# Saved states ----------------------------------------------------------------------------------------------------


def test_a_state_of_another_design_is_refused():
    state = fed(Design.make(MODELS, ITEMS, method="bb-edge")).to_bytes()
    others = [
        Design.make(MODELS, ITEMS, alpha=0.1, method="bb-edge"),
        Design.make(MODELS, ITEMS, evidence="hoeffding", method="bb-edge"),
        Design.make(MODELS, ITEMS, blocks="one", method="bb-edge"),
        Design.make(["a", "b", "d"], ITEMS, method="bb-edge"),
        # Same content and hash, other rows: the arrays would be read for the wrong models.
        Design.make(["b", "a", "c"], ITEMS, method="bb-edge"),
        Design.make(MODELS, ["q2", "q1", "q3"], method="bb-edge"),
    ]
    assert (
        Design.make(["b", "a", "c"], ITEMS, method="bb-edge").hash == Design.make(MODELS, ITEMS, method="bb-edge").hash
    )
    for other in others:
        with pytest.raises(DesignError, match="another design"):
            Evidence.from_bytes(other, state)


def test_a_state_of_another_version_is_refused(monkeypatch):
    design = Design.make(MODELS, ITEMS, method="bb-edge")
    monkeypatch.setattr(view_evidence_module, "_VERSION", 99)
    state = fed(design).to_bytes()
    monkeypatch.undo()
    with pytest.raises(DataError, match="version 99"):
        Evidence.from_bytes(design, state)


@pytest.mark.parametrize("state", [b"", b"PK", b"not a state", b"\x93NUMPY", b"\x80\x04N.", bytes(1000)])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(DataError, match="damaged"):
        Evidence.from_bytes(Design.make(MODELS, ITEMS, method="bb-edge"), state)


def test_a_truncated_state_is_refused():
    design = Design.make(MODELS, ITEMS, method="bb-edge")
    state = fed(design).to_bytes()
    for length in range(0, len(state), 61):
        with pytest.raises(BbedgeError):
            Evidence.from_bytes(design, state[:length])


@pytest.mark.nightly
@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_a_flipped_byte_is_refused_or_harmless(flip):
    design = Design.make(MODELS, ITEMS, evidence="sharp", stakes="design", method="bb-edge")
    evidence = fed(design)
    state, log_e = evidence.to_bytes(), evidence.log_e()
    refused = 0
    for place in range(flip % 7, len(state), 7):
        damaged = bytearray(state)
        damaged[place] ^= flip
        try:
            resumed = Evidence.from_bytes(design, bytes(damaged))
        except BbedgeError:
            refused += 1
        else:
            # Some bytes of the container say nothing: dates, attributes.
            np.testing.assert_array_equal(resumed.log_e(), log_e)
    assert refused > len(state) / 7 / 2


@pytest.mark.parametrize("kind", ["bernstein", "hoeffding", "betting"])
def test_a_state_that_lacks_a_part_is_refused(kind):
    design = Design.make(MODELS, ITEMS, evidence=kind, prediction="two-way", method="bb-edge")
    state = fed(design).to_bytes()
    with zipfile.ZipFile(io.BytesIO(state)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    for missing in parts:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name, content in parts.items():
                if name != missing:
                    archive.writestr(name, content)
        with pytest.raises(BbedgeError):
            Evidence.from_bytes(design, buffer.getvalue())
