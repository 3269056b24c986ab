"""One contract, run on every reader: those of this package, and by anyone on their own."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from bbedge.errors import DomainError, FormatError
from bbedge.readers import read_scores
from bbedge.readers import tools as registry
from bbedge.readers.checking import check_reader
from bbedge.readers.logs.contract import Log, LogRun, LogSample
from bbedge.readers.tools.lm_eval import LM_EVAL
from log_makers import LOGS, lm_eval_run
from shape_makers import SHAPES

SAMPLES = {
    "lm-eval": sorted((LOGS / "lm_eval").rglob("samples_*.jsonl")),
    "inspect": sorted((LOGS / "inspect").rglob("*.*")),
    "helm": sorted((LOGS / "helm").rglob("per_instance_stats.json")),
    "lighteval": sorted((LOGS / "lighteval").rglob("*.parquet")),
    "promptfoo": sorted((LOGS / "promptfoo").rglob("out.*")),
    "openai-evals": sorted((LOGS / "openai_evals").rglob("*.jsonl")),
    "tau-bench": sorted((LOGS / "tau_bench").rglob("*.json")),
    "tau2-bench": sorted((LOGS / "tau2_bench").rglob("results.json")),
    "terminal-bench": sorted((LOGS / "terminal_bench").rglob("results.json")),
    "harbor": [LOGS / "harbor" / "result.json"],
    "nemo-evaluator": sorted((LOGS / "nemo_evaluator").rglob("results.jsonl")),
    "every-eval-ever": sorted((LOGS / "every_eval_ever").rglob("*_samples.jsonl")),
    "evalplus": sorted((LOGS / "evalplus").rglob("*.json")),
    "evalscope": sorted((LOGS / "evalscope").rglob("*.jsonl")),
    "verifiers": sorted((LOGS / "verifiers").rglob("results.jsonl")),
    "deepeval": sorted((LOGS / "deepeval").rglob("*.json")),
    "mlflow": sorted((LOGS / "mlflow").rglob("*.json")),
}


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """Logs of every reader: those of the tools, and those that are written by hand in the shape of a tool."""
    made = {name: shape.files(tmp_path_factory.mktemp("shape")) for name, shape in SHAPES.items()}
    found = {name: list(paths) for name, paths in SAMPLES.items()}
    for name, paths in made.items():
        found.setdefault(name.split()[0], []).extend(paths)
    return found


@pytest.mark.parametrize("name", registry.readers())
def test_every_reader_keeps_the_contract(name, samples):
    others = [path for other, paths in samples.items() if other != name for path in paths[:2]]
    count = check_reader(registry.readers()[name], samples[name], others=others)
    assert count >= 12


def broken(ways):
    """A reader that is broken in one way."""

    def open_broken(path):
        log = LM_EVAL.open(path)
        return replace(log, samples=lambda: (replace(sample, **ways) for sample in log.samples()))

    return replace(LM_EVAL, name="broken", title="Broken", open=open_broken)


@pytest.mark.parametrize(
    ("ways", "problem"),
    [
        ({"item": ""}, "its item is ''"),
        ({"item": "same"}, "a second sample of the same item"),
        ({"place": 0}, "a place counts from 1"),
        ({"scores": {"acc": "right"}}, "metric 'acc' is 'right'"),
        ({"scores": {"acc": float("nan")}}, "is NaN"),
        ({"run": LogRun(model="m")}, "its run is not one of the log's"),
    ],
)
def test_a_broken_reader_is_caught(ways, problem, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "readers", lambda: {})
    monkeypatch.setattr("bbedge.readers.checking.readers", lambda: {})
    with pytest.raises(AssertionError, match=rf"reader 'broken': .*{problem}"):
        check_reader(broken(ways), [lm_eval_run(tmp_path)])


def test_a_reader_that_crashes_on_a_log_that_was_cut_off_is_caught(tmp_path, monkeypatch):
    def open_crashing(path):
        log = LM_EVAL.open(path)

        def samples():
            try:
                yield from log.samples()
            except FormatError:
                raise KeyError("doc") from None

        return replace(log, samples=samples)

    monkeypatch.setattr("bbedge.readers.checking.readers", lambda: {})
    with pytest.raises(KeyError):
        check_reader(replace(LM_EVAL, open=open_crashing), [lm_eval_run(tmp_path)])


def test_a_reader_without_a_proper_name_or_samples_is_caught(tmp_path):
    with pytest.raises(AssertionError, match="lower-case letters"):
        check_reader(replace(LM_EVAL, name="LM Eval"), [])
    with pytest.raises(AssertionError, match="no sample"):
        check_reader(LM_EVAL, [])
    with pytest.raises(AssertionError, match="does not recognise"):
        check_reader(LM_EVAL, [LOGS / "README.md"])


def test_a_reader_that_refuses_without_naming_the_file_is_caught(tmp_path, monkeypatch):
    monkeypatch.setattr("bbedge.readers.checking.readers", lambda: {})
    path = lm_eval_run(tmp_path)
    monkeypatch.setattr("bbedge.readers.tools.lm_eval.shown_path", lambda _: "it")
    monkeypatch.setattr("bbedge.readers.json_files.shown_path", lambda _: "it")
    monkeypatch.setattr("bbedge.readers.opening.shown_path", lambda _: "it")
    with pytest.raises(AssertionError, match="is refused without its name"):
        check_reader(LM_EVAL, [path])


class Lines:
    """A reader as another package would write it: lines of ``model item score``, begun by a word of its own."""

    name = "lines"
    title = "Lines"

    def recognises(self, glimpse):
        return "samples" if glimpse.head.startswith(b"LINES\n") else "no"

    def open(self, path):
        rows = [line.split() for line in Path(path).read_text().splitlines()[1:]]
        if not all(len(row) == 3 for row in rows):
            raise FormatError(f"{path}: a line is not made of a model, an item and a score")
        runs = {model: LogRun(model=model) for model, _, _ in rows}
        return Log(
            runs=tuple(runs.values()),
            samples=lambda: (
                LogSample(run=runs[model], item=item, scores={"score": float(score)}, place=place)
                for place, (model, item, score) in enumerate(rows, start=2)
            ),
            counts="line",
        )


@pytest.fixture
def with_entry_point(monkeypatch):
    def install(target):
        points = EntryPoints([EntryPoint("lines", f"{__name__}:{target}", registry.GROUP)])
        monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: points)
        monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[target])
        registry.readers.cache_clear()

    yield install
    registry.readers.cache_clear()


def test_another_package_adds_a_reader(with_entry_point, tmp_path):
    with_entry_point("Lines")
    path = tmp_path / "a.log"
    path.write_text("LINES\na q1 1\na q2 0\nb q1 0\nb q2 0\n")
    assert check_reader(registry.readers()["lines"], [path]) == 4
    assert read_scores(path).models == ("a", "b")
    assert read_scores(path, format="lines").values.shape == (1, 2, 2)


class Impostor(Lines):
    name = "inspect"


def test_another_package_may_not_take_a_name(with_entry_point):
    with_entry_point("Impostor")
    with pytest.raises(DomainError, match="a reader named 'inspect' exists already"):
        registry.readers()
