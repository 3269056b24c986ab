"""The experiments, those of one kind in one module; :data:`STUDIES` lists them."""

from bbedge.errors import DomainError
from bbedge.study.experiments import comparison, early_looks, gates, new_items, quiet, variants
from bbedge.study.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        comparison.POWER,
        variants.TOP_4,
        comparison.RANK_INTERVALS,
        comparison.GROWING_BENCHMARK,
        *variants.ABLATIONS,
        variants.MORE_RIVALS,
        variants.UNEVEN_BLOCKS,
        variants.ONE_BLOCK,
        comparison.SAME_MODEL,
        variants.EVIDENCE,
        quiet.QUIET,
        gates.STUDY,
        early_looks.STUDY,
        new_items.STUDY,
    )
}
"""All studies by name, in the order of the paper; ours last."""


def study(name: str) -> Study:
    """The study of this name."""
    if name not in STUDIES:
        raise DomainError(f"unknown study {name!r}; choose from {', '.join(STUDIES)}")
    return STUDIES[name]


__all__ = ["STUDIES", "study"]
