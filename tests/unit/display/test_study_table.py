from dataclasses import replace

from bbedge.display.study import setting_tables, study_page
from bbedge.study.contenders import LIMIT
from bbedge.study.experiments import study
from bbedge.study.monte_carlo import Made, StudyNumber, StudyResults
from bbedge.study.study import StudyColumn

MADE = Made(repetitions=10, seed=1, version="1", fingerprint="0")
COLUMNS = (StudyColumn(metric="power"), StudyColumn(metric="standing power", reaches=0.9))
STUDY = replace(study("power"), table=COLUMNS, published=())


def results(*methods_and_metrics: tuple[str, str]) -> StudyResults:
    rows = tuple(
        StudyNumber(
            setting="s", method=method, metric=metric, replicate=look, value=0.5, deviation=0.1, low=0.4, high=0.6
        )
        for method, metric in methods_and_metrics
        for look in (1, 2)
    )
    return StudyResults(repetitions=10, rows=rows)


def test_what_was_not_measured_differs_from_what_was_not_reached():
    found = results(("BB-EDGE", "power"), ("BB-EDGE", "standing power"), (LIMIT, "power"))
    (table,) = setting_tables(STUDY, found)
    assert table.headings == ("power at 2", "standing power 90 % at replicate")
    assert [[cell.ours for cell in row] for row in table.cells] == [
        ["0.500 ± 0.100", "not by 2"],
        ["0.500 ± 0.100", "-"],
    ]


def test_the_legend_names_only_what_was_measured():
    assert "**standing power at r**" not in study_page(STUDY, results(("BB-EDGE", "power")), MADE)
    both = results(("BB-EDGE", "power"), ("BB-EDGE", "standing power"))
    assert "**standing power at r**" in study_page(STUDY, both, MADE)
