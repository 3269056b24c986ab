"""Public logs of many versions, which are not part of this project: read with the numbers that they state."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bbedge.errors import DataError
from bbedge.readers import read_scores

pytestmark = pytest.mark.skipif(
    "BBEDGE_LOGS" not in os.environ, reason="set BBEDGE_LOGS to the folder of public logs to try them"
)
LOGS = Path(os.environ.get("BBEDGE_LOGS", "."))


@pytest.mark.parametrize(
    ("case", "choices", "shape", "mean"),
    [
        ("lme-040", {}, (1, 3, 152), 0.6820),
        ("lme-filters", {"filter": ("strict-match",)}, (1, 1, 10), 0.1),
        ("lme-filters", {"filter": ("flexible-extract",)}, (1, 1, 10), 0.8),
        ("insp-v1", {}, (1, 1, 1), 1.0),
        ("helm-mmlu", {"metric": ("exact_match",)}, (1, 1, 9), 0.1111),
        ("helm-mmlu", {"metric": ("exact_match",), "filter": ("valid",)}, (1, 1, 1), 0.0),
        ("le-old-aime", {"metric": ("extractive_match",)}, (5, 1, 30), 0.0),
        ("pf-v2", {}, (1, 8, 2), 0.5),
        ("pf-voyage", {}, (1, 2, 39), 1.0),
        ("oe-2023", {}, (1, 1, 300), 0.56),
    ],
)
def test_a_log_is_read_with_the_numbers_that_it_states(case, choices, shape, mean):
    scores = read_scores(LOGS / case, **choices, least_models=1)
    assert scores.values.shape == shape
    assert scores.values.mean() == pytest.approx(mean, abs=5e-5)
    assert not any("states" in note.text for note in scores.notes)


def test_the_models_of_the_first_lm_eval():
    scores = read_scores(LOGS / "lme-040")
    model = scores.models.index("meta-llama/Llama-2-70b-chat-hf")
    assert scores.values[0, model].mean() == pytest.approx(0.7303, abs=5e-5)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("lme-filters", "several filters, 'strict-match', 'flexible-extract'"),
        ("lme-group", "3 samples under the filter 'custom-extract', but .* states 100"),
        ("lme-resultsonly", "run lm_eval again with --log_samples"),
        ("insp-unscored", "score the log with inspect score"),
    ],
)
def test_a_log_is_refused_with_the_remedy(case, message):
    with pytest.raises(DataError, match=message):
        read_scores(LOGS / case, least_models=1)


@pytest.mark.parametrize(
    "case", ["lme-040", "lme-filters", "insp-v1", "helm-mmlu", "le-old-aime", "pf-v2", "pf-voyage", "oe-2023"]
)
def test_the_last_line_of_inspect_scores_works_as_printed(case):
    def bbedge(*words):
        return subprocess.run([sys.executable, "-m", "bbedge", *words], capture_output=True, text=True, check=False)

    words = ["inspect-scores", str(LOGS / case)]
    for _ in range(3):
        if words[0] == "inspect-scores":
            words = shlex.split(bbedge(*words).stdout.splitlines()[-1])[1:]
    assert words[0] in ("certify", "diagnose")
    assert bbedge(*words).returncode == 0
