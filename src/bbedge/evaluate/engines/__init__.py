"""Who runs the models: Inspect AI, lm-evaluation-harness, or any program that writes a score file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bbedge.evaluate.engine import Engine
    from bbedge.evaluate.spec import EvaluationSpec


def engine_for(study: EvaluationSpec) -> Engine:
    """The engine that a study names."""
    if study.engine == "command":
        from bbedge.evaluate.engines.command import CommandEngine

        return CommandEngine(study)
    if study.engine == "lm_eval":
        from bbedge.evaluate.engines.lm_eval import LmEvalEngine

        return LmEvalEngine(study)
    from bbedge.evaluate.engines.inspect import InspectEngine

    return InspectEngine(study)
