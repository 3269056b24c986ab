from dataclasses import replace

import numpy as np
import pytest

from bbedge.errors import DomainError, FormatError
from bbedge.study.contenders import DESIGN_STAKES, KINDS, LIMIT, PILOT, PLANNED, TWO_WAY, WHOLE_ALPHA, X_ONE_BLOCK
from bbedge.study.experiments import STUDIES, study
from bbedge.study.monte_carlo import CHUNK, StudyResults, fingerprint, run_study, summarised
from bbedge.study.study import Contest, Study, StudyColumn
from bbedge.study.synthetic import SyntheticBenchmark
from bbedge.workers import Crew

ONE, TWO = (Crew("joblib", workers=count) for count in (1, 2))
SMALL = Study(
    name="small",
    title="Small",
    question="?",
    source="ours",
    setup="",
    settings=tuple(
        Contest(
            name=f"H = {effect}",
            benchmark=SyntheticBenchmark(means=(0.3, 0.5, 0.7), n_items=20, heterogeneity=effect),
            contenders=("EMR", "t-Holm", "CBTL", "BB-EDGE"),
            looks=8,
            k=1,
            measured=("fwer", "power", "cr"),
        )
        for effect in (0.0, 0.1)
    ),
    figure=("fwer", "power"),
    table=(StudyColumn(metric="fwer"), StudyColumn(metric="cr")),
)


def test_any_number_of_workers_gives_the_same_bytes(tmp_path):
    one = run_study(SMALL, repetitions=25, seed=1, keep=tmp_path / "a", crew=ONE)
    two = run_study(SMALL, repetitions=25, seed=1, keep=tmp_path / "b", crew=TWO)
    other = run_study(SMALL, repetitions=25, seed=2, keep=tmp_path / "a", crew=ONE)
    assert one.to_csv() == two.to_csv() != other.to_csv()
    assert one.repetitions == 25


def test_what_is_kept_is_not_run_again_and_more_repetitions_go_on_from_it(tmp_path, monkeypatch):
    first = run_study(SMALL, repetitions=2 * CHUNK, seed=1, keep=tmp_path, crew=ONE)
    ran = []

    def counted(crew, work, tasks):
        for task in tasks:
            ran.append((task.place, task.seeds[0].repetition))
            yield work(task)

    monkeypatch.setattr(Crew, "map_unordered", counted)
    assert run_study(SMALL, repetitions=2 * CHUNK, seed=1, keep=tmp_path, crew=ONE).to_csv() == first.to_csv()
    assert ran == []
    run_study(SMALL, repetitions=3 * CHUNK, seed=1, keep=tmp_path, crew=ONE)
    assert ran == [(0, 2 * CHUNK), (1, 2 * CHUNK)]


@pytest.mark.parametrize("damage", ["empty", "cut", "other"])
def test_a_damaged_chunk_is_run_again(tmp_path, damage):
    first = run_study(SMALL, repetitions=2 * CHUNK, seed=1, keep=tmp_path, crew=ONE)
    chunk = sorted(tmp_path.rglob("*.npz"))[1]
    content = chunk.read_bytes()
    chunk.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "other": b"not a chunk"}[damage])
    assert run_study(SMALL, repetitions=2 * CHUNK, seed=1, keep=tmp_path, crew=ONE).to_csv() == first.to_csv()


def test_an_interruption_keeps_every_finished_chunk(tmp_path, monkeypatch):
    whole = run_study(SMALL, repetitions=3 * CHUNK, seed=1, keep=tmp_path / "whole", crew=ONE)

    def interrupted(crew, work, tasks):
        yield from map(work, tasks[:4])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Crew, "map_unordered", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run_study(SMALL, repetitions=3 * CHUNK, seed=1, keep=tmp_path / "cut", crew=ONE)
    assert len(list((tmp_path / "cut").rglob("*.npz"))) == 4
    told = []
    resumed = run_study(
        SMALL,
        repetitions=3 * CHUNK,
        seed=1,
        keep=tmp_path / "cut",
        crew=ONE,
        progress=lambda *at: told.append(at),
    )
    assert told[0] == (4 * CHUNK, 6 * CHUNK)
    assert told[-1] == (6 * CHUNK, 6 * CHUNK)
    assert resumed.to_csv() == whole.to_csv()


def test_only_sums_are_kept_so_that_memory_does_not_grow_with_repetitions(tmp_path):
    run_study(SMALL, repetitions=CHUNK, seed=1, keep=tmp_path / "one", crew=ONE)
    size = max(file.stat().st_size for file in (tmp_path / "one").rglob("*.npz"))
    run_study(
        replace(SMALL, settings=SMALL.settings[:1]),
        repetitions=3,
        seed=1,
        keep=tmp_path / "few",
        crew=ONE,
    )
    assert max(file.stat().st_size for file in (tmp_path / "few").rglob("*.npz")) == size


def test_means_and_errors_are_those_of_the_repetitions():
    values = np.random.default_rng(1).integers(1, 50, (40, 1)).astype(float)
    hits = (values > 25).astype(float)
    sums = {
        ("H = 0.0", "BB-EDGE", metric): np.stack([[40.0], x.sum(axis=0), (x**2).sum(axis=0)])
        for metric, x in (("cr", values), ("fcp", hits))
    }
    results = summarised(SMALL, sums)
    row = results.cell("H = 0.0", "BB-EDGE", StudyColumn(metric="cr"))
    assert row.value == pytest.approx(values.mean())
    assert row.deviation == pytest.approx(values.std(ddof=1))
    assert row.error == pytest.approx(values.std(ddof=1) / np.sqrt(40))
    from scipy.stats import binomtest

    share = results.cell("H = 0.0", "BB-EDGE", StudyColumn(metric="fcp"))
    exact = binomtest(int(hits.sum()), 40).proportion_ci(method="exact")
    assert (share.low, share.high) == pytest.approx((exact.low, exact.high))


def test_the_look_at_which_a_level_is_reached_has_the_band_as_its_interval(tmp_path):
    results = run_study(SMALL, repetitions=CHUNK, seed=1, keep=tmp_path, crew=ONE)
    curve = results.curve("H = 0.0", "EMR", "power")
    row = results.cell("H = 0.0", "EMR", StudyColumn(metric="power", reaches=0.99))
    assert curve[int(row.value) - 1].value >= 0.99
    assert all(each.value < 0.99 for each in curve[: int(row.value) - 1])
    assert row.low <= row.value <= row.high
    assert results.cell("H = 0.0", "BB-EDGE", StudyColumn(metric="power", reaches=1.1)) is None
    assert results.cell("H = 0.0", "nobody", StudyColumn(metric="power")) is None


def test_results_survive_the_way_through_csv(tmp_path):
    results = run_study(SMALL, repetitions=CHUNK, seed=1, keep=tmp_path, crew=ONE)
    back = StudyResults.from_csv(results.to_csv(), repetitions=CHUNK)
    assert back.to_csv() == results.to_csv()
    with pytest.raises(FormatError, match=r"line 2.*bbedge study run"):
        StudyResults.from_csv("setting,method\nx,y\n", repetitions=1)


def test_the_fingerprint_changes_with_the_settings_and_not_with_the_words():
    assert fingerprint(replace(SMALL, title="Other words")) == fingerprint(SMALL)
    assert fingerprint(replace(SMALL, settings=SMALL.settings[:1])) != fingerprint(SMALL)


def test_every_published_number_belongs_to_a_setting_and_a_contender():
    for each in STUDIES.values():
        settings = {setting.name: setting for setting in each.settings}
        assert len(settings) == len(each.settings)
        for number in each.published:
            assert number.setting in settings, (each.name, number)
            assert number.method in settings[number.setting].contenders, (each.name, number)


def test_unknown_names_and_impossible_numbers_are_refused(tmp_path):
    with pytest.raises(DomainError, match="choose from power"):
        study("pover")
    with pytest.raises(DomainError, match="at least 1"):
        run_study(SMALL, repetitions=0, seed=1, keep=tmp_path, crew=ONE)


CONTENDERS = (*KINDS, f"BB-EDGE-X{PLANNED}", WHOLE_ALPHA, TWO_WAY, DESIGN_STAKES, LIMIT, X_ONE_BLOCK, PILOT)


def test_repetitions_on_a_device_are_those_of_the_cores(tmp_path):
    # NumPy is a device too: the batches are what is tested here. Two settings are alike, one is not.
    first, alike = SMALL.settings
    design = STUDIES["evidence"].settings[4]
    other = replace(first, name="other", looks=4, contenders=CONTENDERS, measured=("power", "standing power"))
    study = replace(SMALL, settings=(first, replace(design, looks=2), alike, other))
    one_by_one = run_study(study, repetitions=12, seed=3, keep=tmp_path / "a", crew=ONE)
    together = run_study(study, repetitions=12, seed=3, keep=tmp_path / "b", crew=ONE, device="cpu")
    assert together.to_csv() == one_by_one.to_csv()
    again = run_study(study, repetitions=12, seed=3, keep=tmp_path / "b", crew=ONE, device="cpu")
    assert again.to_csv() == one_by_one.to_csv()
