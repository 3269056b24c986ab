"""The experiments, one module each; :data:`STUDIES` lists them."""

from bbedge.errors import DomainError
from bbedge.study.experiments import (
    evidence,
    growth,
    items,
    margins,
    more_models,
    one_block,
    power,
    rank_intervals,
    rivals,
    same_model,
    top_k,
    uneven_blocks,
)
from bbedge.study.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        power.STUDY,
        top_k.STUDY,
        rank_intervals.STUDY,
        growth.STUDY,
        more_models.STUDY,
        items.FEW_ITEMS,
        items.MANY_ITEMS,
        margins.SMALL_MARGIN,
        margins.LARGE_MARGIN,
        rivals.STUDY,
        uneven_blocks.STUDY,
        one_block.STUDY,
        same_model.STUDY,
        evidence.STUDY,
    )
}
"""All studies by name, in the order of the paper; ours last."""


def study(name: str) -> Study:
    """The study of this name."""
    if name not in STUDIES:
        raise DomainError(f"unknown study {name!r}; choose from {', '.join(STUDIES)}")
    return STUDIES[name]


__all__ = ["STUDIES", "study"]
