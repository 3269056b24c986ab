"""Calls that are refused: ``frozen/refusals.jsonl`` has each with its exit code, error and what the message names.

The wording is not kept. To add a call, add a line with ``call`` alone, and its files to :data:`BROKEN` or
:func:`prepare`; ``make goldens`` fills in the rest.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from golden.freezing import call, error_name, same_world
from golden.frozen_makers import gate_rows, items_table, rows

TABLE = Path(__file__).parent / "frozen" / "refusals.jsonl"
REFUSALS: list[dict[str, Any]] = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]
ITEMS = [f"q{i}" for i in range(8)]
MODELS = {"a": 0.9, "b": 0.5, "c": 0.1}
TOPIC = {item: f"t{i % 2}" for i, item in enumerate(ITEMS)}
GOOD = rows(MODELS, ITEMS, (1, 2, 3), seed=1, columns={"topic": TOPIC})
HEAD = "model,item,replicate,score\n"
PARTS = "[checkpoints]\nfractions = [0.25, 0.5]\n"
POLICY = 'candidate = "new"\nbaseline = "old"\nspending = "ledger"\nshares = 3\n'
CLAIM = "[[claims]]\nnot_worse_by = 0.1\n"
STUDY = 'engine = "command"\nbudget = 3\nmodels = ["m1", "m2"]\ncommand = ["true", "{model}", "{seed}", "{out}"]\n'
BENCHMARK = '[benchmark]\nitems = "items.csv"\n'


def with_line(number: int, line: str, text: str = GOOD) -> str:
    """The text with another line, counted from 1."""
    lines = text.splitlines()
    return "\n".join([*lines[: number - 1], line, *lines[number:]]) + "\n"


def without_line(number: int, text: str = GOOD) -> str:
    """The text without a line, counted from 1."""
    lines = text.splitlines()
    return "\n".join(lines[: number - 1] + lines[number:]) + "\n"


def turned(first: int, text: str) -> str:
    """The text in which a line, counted from 1, and the one after it have changed places."""
    lines = text.splitlines()
    return with_line(first, lines[first], with_line(first + 1, lines[first - 1], text))


def in_line(number: int, old: str, new: str, text: str) -> str:
    """The text in which the first ``old`` in a line, counted from 1, is ``new``."""
    return with_line(number, text.splitlines()[number - 1].replace(old, new, 1), text)


BROKEN = {
    "items.csv": items_table(ITEMS, block=lambda i: f"b{i // 2}", topic=lambda i: f"t{i % 2}"),
    "more.csv": items_table(["n0", "n1"], block=lambda i: "c", topic=lambda i: "t0"),
    "design.toml": "alpha = 0.2\n",
    "parts-design.toml": "alpha = 0.2\n" + PARTS,
    "policy.toml": POLICY + CLAIM,
    "each.toml": 'candidate = "new"\nbaseline = "old"\n' + CLAIM,
    "gate.csv": gate_rows(0.95, 0.3, seed=1),
    "gate2.csv": gate_rows(0.9, 0.4, seed=2),
    "gate3.csv": gate_rows(0.9, 0.4, seed=3),
    "run4.csv": rows(MODELS, ITEMS, (4,), seed=2),
    # Tables that cannot be read.
    "empty.csv": "",
    "head-only.csv": HEAD,
    "no-score.csv": "model,item,replicate\na,q1,1\n",
    "no-model.csv": "item,replicate,score\nq1,1,1\n",
    "one-model.csv": HEAD + "a,q1,1,1\na,q2,1,0\n",
    "text-score.csv": with_line(5, "a,q3,1,t1,good"),
    "above-one.csv": with_line(6, "a,q4,1,t0,1.5"),
    "negative.csv": with_line(7, "a,q5,1,t1,-0.5"),
    "nan-score.csv": with_line(8, "a,q6,1,t0,nan"),
    "infinite.csv": with_line(8, "a,q6,1,t0,inf"),
    "missing-row.csv": without_line(10),
    "twice.csv": GOOD + "a,q0,1,t0,0.5\n",
    "same-twice.csv": GOOD + GOOD.splitlines()[1] + "\n",
    "few-fields.csv": with_line(4, "a,q2"),
    "many-fields.csv": with_line(4, "a,q2,1,t0,1,2,3"),
    "open-quote.csv": with_line(4, 'a,"q2,1,t0,1'),
    "no-name.csv": with_line(4, ",q2,1,t0,1"),
    "copies.csv": GOOD + "".join(f"{line}\n".replace(",1,t", ",9,t") for line in GOOD.splitlines() if ",1,t" in line),
    "alike.csv": GOOD.replace("b,", "A,"),
    "two-topics.csv": in_line(10, "t0", "t1", GOOD),
    "two-columns.csv": "model,item,score,score\na,q1,1,1\nb,q1,1,0\n",
    "two-scores.csv": "model,item,accuracy,f1\na,q1,1,1\nb,q1,0,1\n",
    "wide.csv": "item,a,b\nq1,1,0\nq2,0,1\n",
    "apart.csv": HEAD + "a,q1,1,1\na,q2,1,0\nb,q1,2,1\nb,q2,2,0\n",
    "weights.csv": GOOD.replace("topic", "weight").replace("t0", "1").replace("t1", "-2"),
    "bad.json": '{"models": [',
    "list.json": "[1, 2, 3]",
    "bad.jsonl": '{"model": "a", "item": "q1", "score": 1}\n{"model": \n',
    "number.jsonl": '{"model": "a", "item": "q1", "score": 1}\n5\n',
    "not.parquet": "PAR1 and no more",
    "notes.txt": "nothing that could be scores\n",
    "info.csv": "name,price\na,3\n",
    "list.csv": "name\nq1\n",
    "items-twice.csv": "item,block\nq1,b1\nq1,b2\n",
    "items-empty.csv": "item,block\n",
    "items-few.csv": "item,topic\nq1,t0\n",
    # Designs, policies and studies.
    "broken.toml": "alpha = \n",
    "alpha-high.toml": "alpha = 1.5\n",
    "alpha-text.toml": 'alpha = "0.05"\n',
    "unknown-key.toml": "alpah = 0.05\n",
    "tau-low.toml": "tau = -0.1\n",
    "bad-method.toml": 'method = "bb-egde"\n',
    "bad-share.toml": "margin_share = 1.0\n",
    "edge-share.toml": 'method = "bb-edge"\nmargin_share = 0.1\n',
    "no-shares.toml": 'spending = "equal"\n',
    "pilot-alone.toml": "pilot = 2\n",
    "bad-range.toml": "score_range = [1, 0]\n",
    "bad-parts.toml": "[checkpoints]\nfractions = [0.5, 0.2]\n",
    "edge-parts.toml": 'method = "bb-edge"\n' + PARTS,
    "no-column.toml": '[views]\ncolumn = "subject"\n',
    "views-shares.toml": '[views]\ncolumn = "topic"\n[views.shares]\nt0 = 0.7\nt1 = 0.7\n',
    "views-unknown.toml": '[views]\ncolumn = "topic"\n[views.shares]\nt9 = 0.1\n',
    "views.toml": '[views]\ncolumn = "topic"\n',
    "planned-zero.toml": "planned = 0\n",
    "policy-no-claims.toml": 'candidate = "new"\nbaseline = "old"\n',
    "policy-no-baseline.toml": 'candidate = "new"\n' + CLAIM,
    "policy-unknown-model.toml": 'candidate = "newer"\nbaseline = "old"\n' + CLAIM,
    "policy-same.toml": 'candidate = "old"\nbaseline = "old"\n' + CLAIM,
    "policy-two-kinds.toml": 'candidate = "new"\nbaseline = "old"\n' + CLAIM + "better_by = 0.1\n",
    "policy-no-kind.toml": 'candidate = "new"\nbaseline = "old"\n[[claims]]\ntier = "warn"\n',
    "policy-key.toml": 'candidate = "new"\nbaseline = "old"\nalhpa = 0.1\n' + CLAIM,
    "policy-large.toml": 'candidate = "new"\nbaseline = "old"\n[[claims]]\nnot_worse_by = 1\n',
    "policy-twice.toml": 'candidate = "new"\nbaseline = "old"\n' + CLAIM + CLAIM,
    "policy-view.toml": 'candidate = "new"\nbaseline = "old"\nviews = "topic"\n' + CLAIM + 'view = "art"\n',
    "policy-tier.toml": 'candidate = "new"\nbaseline = "old"\n' + CLAIM + 'tier = "loud"\n',
    "policy-cheaper.toml": 'candidate = "new"\nbaseline = "old"\n[[claims]]\ncheaper_by = 0.1\n',
    "policy-shares.toml": 'candidate = "new"\nbaseline = "old"\nshares = 3\n' + CLAIM,
    "policy-other.toml": POLICY + "[[claims]]\nnot_worse_by = 0.2\n",
    "study-ok.toml": STUDY + BENCHMARK,
    "study-engine.toml": STUDY.replace('"command"', '"comand"') + BENCHMARK,
    "study-no-models.toml": STUDY.replace('models = ["m1", "m2"]\n', "") + BENCHMARK,
    "study-same-models.toml": STUDY.replace('"m2"', '"m1"') + BENCHMARK,
    "study-no-budget.toml": STUDY.replace("budget = 3\n", "") + BENCHMARK,
    "study-key.toml": STUDY + 'quesiton = "best"\n' + BENCHMARK,
    "study-question.toml": STUDY + 'question = "worst"\n' + BENCHMARK,
    "study-question-model.toml": STUDY + 'question = "m1 > m9"\n' + BENCHMARK,
    "study-no-items.toml": STUDY + '[benchmark]\nitems = "none.csv"\n',
    "study-no-benchmark.toml": STUDY,
    "study-secret.toml": STUDY.replace('"true"', '"true", "--api-key=sk-abcdefghijklmnopqrstuvwxyz123456"') + BENCHMARK,
    "study-field.toml": STUDY.replace("{seed}", "{sede}") + BENCHMARK,
    "study-program.toml": STUDY.replace('"true"', '"no-such-program"') + BENCHMARK,
    "study-silent.toml": STUDY + BENCHMARK + "[run]\nretries = 0\npause = 0.01\n",
    "study-checkpoints.toml": STUDY + "checkpoints = [2.0]\n" + BENCHMARK,
    "study-price.toml": STUDY + "max_cost = 3\n" + BENCHMARK,
}


def prepare(folder: Path) -> None:
    """Write everything that the calls need: tables, a certificate, boards, an archive, a ledger, and forgeries."""
    with same_world(folder):
        for name, text in {"good.csv": GOOD, **BROKEN}.items():
            Path(name).write_text(text, encoding="utf-8")
        for command in (
            "certify good.csv --json c.json",
            "certify good.csv --views topic --json views.json",
            "board init b.db --design design.toml --items items.csv --models a,b,c",
            "board add b.db good.csv",
            "board init parts.db --design parts-design.toml --items items.csv --models a,b,c",
            "board init views.db --design views.toml --items items.csv --models a,b,c",
            "board export b.db all.jsonl",
            "gate policy.toml gate.csv --ledger ledger.bbedge --label one",
            "gate policy.toml gate2.csv --ledger ledger.bbedge --label two",
            "board export ledger.bbedge ledger.jsonl",
        ):
            code, _, err, _ = call(shlex.split(command))
            assert code in (0, 1, 3), (command, err)
        for make in (_forge_certificates, _forge_archives, _forge_ledgers):
            for name, text in make().items():
                Path(name).write_text(text, encoding="utf-8")
        data = Path("b.db").read_bytes()
        Path("cut.db").write_bytes(data[: len(data) // 2])
        Path("folder").mkdir()
        Path("latin.csv").write_bytes(GOOD.encode().replace(b"a,q1", b"\xe4,q1"))


def _forge_certificates() -> dict[str, str]:
    text = Path("c.json").read_text(encoding="utf-8")
    whole = json.loads(text)

    def changed(change: Callable[[dict[str, Any]], object]) -> str:
        values = json.loads(text)
        change(values)
        return json.dumps(values, indent=1)

    return {
        "cut.json": text[: len(text) // 2],
        "c-digit.json": text.replace('"replicates": 3', '"replicates": 4', 1),
        "c-edge.json": changed(lambda values: values["edges"].clear()),
        "c-rank.json": changed(lambda values: values["models"][0].update(rank_interval=[3, 3])),
        "c-mean.json": changed(lambda values: values["models"][0].update(mean=0.123)),
        "c-key.json": changed(lambda values: values.update(extra=1)),
        "c-no-key.json": changed(lambda values: values.pop("models")),
        "c-version.json": changed(lambda values: values.update(version=99)),
        "c-type.json": changed(lambda values: values.update(models="none")),
        "c-twice.json": text.replace("{", '{"models": [],', 1),
        "c-list.json": json.dumps([whole]),
        "c-nan.json": text.replace(json.dumps(whole["models"][0]["mean"]), "NaN", 1),
    }


def _forge_archives() -> dict[str, str]:
    text = Path("all.jsonl").read_text(encoding="utf-8")
    lines = text.splitlines()
    return {
        "cut.jsonl": "\n".join(lines[:3]) + "\n",
        "archive-half-line.jsonl": text[: -len(lines[-1]) // 2],
        "archive-moved.jsonl": turned(3, text),
        "archive-left-out.jsonl": without_line(3, text),
        "archive-edited.jsonl": in_line(3, "replicate", "replicant", text),
        "archive-time.jsonl": in_line(3, "2026-", "2025-", text),
        "archive-head.jsonl": in_line(1, '"version":1', '"version":9', text),
        "archive-kind.jsonl": in_line(1, "bbedge-board", "board", text),
        "archive-twice.jsonl": in_line(1, "{", '{"kind":"x",', text),
        "archive-no-head.jsonl": without_line(1, text),
        "archive-vectors.jsonl": with_line(3, re.sub(r'"vectors":.*', '"vectors":[]}', lines[2]), text),
    }


def _forge_ledgers() -> dict[str, str]:
    text = Path("ledger.jsonl").read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    return {
        "ledger-edited.jsonl": text.replace('\\"one\\"', '\\"two\\"', 1),
        "ledger-moved.jsonl": turned(3, text),
        "ledger-left-out.jsonl": without_line(3, text),
        "ledger-no-policy.jsonl": without_line(2, text),
        "ledger-twice.jsonl": "".join([*lines[:-1], lines[-2], lines[-1]]),
        "ledger-text.jsonl": "nothing\n" + text,
        "ledger-version.jsonl": text.replace('"version":1', '"version":9', 1),
        "ledger-board.jsonl": text.replace("bbedge-gate", "bbedge-board", 1),
    }


_NAMED = re.compile(
    r"(?<![\w-])--[a-z][a-z-]*|[\w./@-]+\.(?:csv|jsonl|json|toml|db|bbedge|parquet|txt|html|svg|dot|tex|npz|png)\b(?::\d+)?"
)


def refused(line: dict[str, Any], folder: Path) -> dict[str, Any]:
    """What a call gives now: its exit code, the class of its error, and the options and places that it names."""
    with same_world(folder, width=2000):
        before = set(Path().iterdir())
        code, _, err, error = call(shlex.split(line["call"]))
        for path in set(Path().iterdir()) - before:  # what one call leaves behind must not change another one
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert "Traceback" not in err, err
    named = {name for name in _NAMED.findall(err.replace(str(folder), "FOLDER")) if name != "--help"}
    return {"call": line["call"], "exit": code, "error": error_name(error), "names": sorted(named)}
