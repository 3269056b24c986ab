"""Who runs the models: Inspect AI, lm-evaluation-harness, or any program that writes a score file.

``inspect`` and its hook, judgements and models are the only modules of the engines that import Inspect.
``process`` starts programs and ends them with all that they have started; ``command`` runs any program through it, and
``lm_eval`` the harness, whose own Python runs ``lm_eval_driver`` and ``lm_eval_requests``: these two import nothing of
bbedge. An engine scores a sample completely or reports that it failed, and keeps nothing between two samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bbedge.errors import EvaluationError

if TYPE_CHECKING:
    from bbedge.evaluate.engine import Engine
    from bbedge.evaluate.specification import EvaluationSpec


def engine_for(study: EvaluationSpec) -> Engine:
    """The engine that a study names."""
    if study.file.engine == "command":
        from bbedge.evaluate.engines.command import CommandEngine

        return CommandEngine(study)
    if study.file.engine == "lm_eval":
        from bbedge.evaluate.engines.lm_eval import LmEvalEngine

        return LmEvalEngine(study)
    try:
        from bbedge.evaluate.engines.inspect import InspectEngine
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "inspect_ai":
            raise
        raise EvaluationError(
            'the inspect engine needs Inspect AI: pip install inspect_ai openai; or use engine = "command"'
        ) from error
    return InspectEngine(study)
