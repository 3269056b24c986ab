"""The experiments, those of one kind in one module; :data:`STUDIES` lists them."""

from bbedge.errors import DomainError
from bbedge.study.experiments import ablations, comparison, early_looks, evidence, gates, growth, same_model, top_k
from bbedge.study.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        comparison.POWER,
        top_k.STUDY,
        comparison.RANK_INTERVALS,
        growth.STUDY,
        ablations.MANY_MODELS,
        ablations.FEW_ITEMS,
        ablations.MANY_ITEMS,
        ablations.SMALL_MARGIN,
        ablations.LARGE_MARGIN,
        ablations.MORE_RIVALS,
        ablations.UNEVEN_BLOCKS,
        evidence.ONE_BLOCK,
        same_model.STUDY,
        evidence.EVIDENCE,
        gates.STUDY,
        early_looks.STUDY,
    )
}
"""All studies by name, in the order of the paper; ours last."""


def study(name: str) -> Study:
    """The study of this name."""
    if name not in STUDIES:
        raise DomainError(f"unknown study {name!r}; choose from {', '.join(STUDIES)}")
    return STUDIES[name]


__all__ = ["STUDIES", "study"]
