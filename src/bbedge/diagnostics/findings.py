"""Diagnostics in plain words: what was found, what it does not show, what to do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, log
from typing import Literal

from bbedge.core.checkpoints import LEAST_PLACES, PositionTrend, strongest
from bbedge.core.forecast import PairAssumptions
from bbedge.core.scores import Scores
from bbedge.diagnostics.assumptions import (
    DEPENDENCE_LEVEL,
    LOOK_LEVEL,
    POSITION_LEVEL,
    REPETITION_LEVEL,
    SELF_LEVEL,
    BlockDependence,
    Diagnosis,
    Heterogeneity,
    RankStability,
    SplitNull,
    self_evidence,
)
from bbedge.diagnostics.repetition import CloseRuns
from bbedge.errors import Argument
from bbedge.records.options import Options
from bbedge.text import counted, listed, quoted

Verdict = Literal["no alarm", "look", "alarm", "not possible"]

FindingKind = Literal[
    "block-dependence",
    "copies",
    "near-copies",
    "seeds",
    "same-model",
    "position",
    "rank-stability",
    "item-heterogeneity",
    "item-variance",
    "constant-items",
    "judge-noise",
]
"""What a finding is about."""
_ONE_BLOCK = Argument("blocks", "one")
_OF_NEW_ITEMS = "or claim nothing about new items: what passes between blocks breaks that, however many runs there are."
_MOST = 3  # sentences about single repetitions
_QUESTIONS: dict[FindingKind, str] = {
    "block-dependence": "Do replicate means vary as independent blocks imply?",
    "copies": "Do replicates repeat each other exactly?",
    "near-copies": "Are two replicates nearly the same?",
    "seeds": "Do runs or items share a seed?",
    "same-model": "Is a model ever certified above itself?",
    "position": "Do scores depend on the place in the first run?",
    "rank-stability": "Would a single run have given this ranking?",
    "item-heterogeneity": "Do close models differ on the same items?",
    "item-variance": "Would more runs help, or more items?",
    "constant-items": "How many items still tell models apart?",
    "judge-noise": "Does the noise come from the answers or from the judge?",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one diagnostic, in words."""

    kind: FindingKind
    """Which diagnostic this is. Programs read this and the verdict, never the sentences."""
    question: str
    """What was asked of the scores."""
    verdict: Verdict
    """``alarm``: sound runs give any at all with a probability of at most 1 %. ``look``: worth a closer look, and
    common on sound runs too."""
    found: str
    """What was found."""
    not_shown: str
    """What it does not show."""
    to_do: str = ""
    """What to do about it; empty if nothing was found."""


def findings_of(
    diagnosis: Diagnosis, scores: Scores, *, options: Options | None = None, write: Callable[[Argument], str] = str
) -> tuple[Finding, ...]:
    """Every finding about the scores, in the order shown, given what is to be claimed by ``options``.

    ``write`` writes an argument that a sentence names.
    """
    options = options or Options()
    # Blocks must be independent whatever is claimed; about new items, one block would be a single draw.
    blocks = _OF_NEW_ITEMS if options.target else f"or {write(_ONE_BLOCK)}."
    repeats = _copies(diagnosis, scores, write), _near_copies(diagnosis.close, scores)
    found = [
        _dependence(diagnosis.dependence, scores, diagnosis.permutations, blocks),
        *(map(_harmless, repeats) if options.repeats_are_harmless else repeats),
        *_seeds(scores, blocks),
        _same_model(diagnosis.halves, len(scores.replicates)),
    ]
    if diagnosis.positions is not None:
        found.append(_position(diagnosis.positions, scores))
    if diagnosis.stability is not None:
        found.append(_stability(diagnosis.stability))
    if diagnosis.heterogeneity:
        found.append(_heterogeneity(diagnosis.heterogeneity[0]))
        found.append(_variance(diagnosis.variance, scores, is_claimed=bool(options.target)))
    return tuple(found)


def _harmless(repeats: Finding) -> Finding:
    """A finding about repeated runs, where the claim is about new items."""
    found = f"{repeats.found} Claims about new items stay valid: such runs only add nothing to them."
    return replace(repeats, verdict="no alarm", found=found, to_do="") if repeats.to_do else repeats


def finding(kind: FindingKind, *, verdict: Verdict, found: str, not_shown: str, to_do: str = "") -> Finding:
    """A finding; there is only something to do where something was found."""
    return Finding(kind, _QUESTIONS[kind], verdict, found, not_shown, to_do if verdict in ("look", "alarm") else "")


def _verdict(p_value: float, level: float) -> Verdict:
    return "alarm" if p_value <= level else "look" if p_value <= LOOK_LEVEL else "no alarm"


def _dependence(results: Sequence[BlockDependence], scores: Scores, permutations: int, blocks: str) -> Finding:
    if not results:
        return finding(
            "block-dependence",
            verdict="not possible",
            found=f"{_sizes(scores)}: at least 3 and 2 are needed.",
            not_shown="Anything about dependence. The blocks need a reason in how the runs were made.",
        )
    worst = min(results, key=lambda each: (each.adjusted, each.p_value))
    verdict = _verdict(worst.adjusted, DEPENDENCE_LEVEL)
    adjusted = [each.adjusted for each in results if each.model is not None]
    found = (
        f"The variance of replicate means is {worst.ratio:.2f} times what independent blocks imply for "
        f"{_whose(worst.model)} {_p_values(worst, len(adjusted))}"
    )
    if (striking := sum(each <= LOOK_LEVEL for each in adjusted)) > 1:
        found += f" {striking} of {len(adjusted)} models stand out."
    not_shown = "Dependence that is the same in every replicate, or too weak for this many replicates to show."
    if verdict != "no alarm":
        not_shown = (
            "Where it comes from: a shared cache, one seed for a whole run, a judge with memory, a change between "
            "runs, or blocks that are too small."
        )
    if 1.0 / (permutations + 1) > DEPENDENCE_LEVEL:
        not_shown += f" An alarm takes at least {ceil(1.0 / DEPENDENCE_LEVEL) - 1} permutations."
    return finding(
        "block-dependence",
        verdict=verdict,
        found=found,
        not_shown=not_shown,
        to_do=f"Find out what the answers of a run share. Use larger blocks, {blocks}",
    )


def _copies(diagnosis: Diagnosis, scores: Scores, write: Callable[[Argument], str]) -> Finding:
    if len(scores.replicates) < 2:
        found = "There is only one replicate."
        return finding("copies", verdict="not possible", found=found, not_shown="Anything about copies.")
    copied = [each for each in diagnosis.close if each.differing == 0 and each.adjusted <= REPETITION_LEVEL]
    in_copies = {(copy.replicate, model) for copy in scores.copies for model in copy.models}
    others = [
        each for each in diagnosis.repeated if not any((place, each.model) in in_copies for place in each.replicates)
    ]
    steady = [each.model for each in others if each.always]
    signs = scores.copies or any(each.always and each.varied for each in others)
    # Where nothing varies at all, certify stops, but honest runs of a deterministic system look the same: no alarm.
    verdict: Verdict = "alarm" if copied else "look" if signs else "no alarm"
    sentences = _copy_sentences(scores)
    if steady:
        sentences.append(
            f"{len(steady)} of {len(scores.models)} models have the same scores in all "
            f"{len(scores.replicates)} replicates: {listed(steady)}."
        )
    sentences += _first_few(
        [
            f"{quoted(each.model)} has the same scores in replicates "
            f"{listed(scores.replicates[place] for place in each.replicates)}."
            for each in others
            if not each.always
        ]
    )
    if copied:
        sentences.append(
            "The other runs differ so much that independent runs would repeat each other with a probability of at "
            f"most {min(each.adjusted for each in copied):.2g}."
        )
    elif scores.copies or others:
        sentences.append(
            "That is no proof of a copy: a deterministic system repeats itself, and runs that differ on few items are "
            "sometimes equal by chance."
        )
    return finding(
        "copies",
        verdict=verdict,
        found=" ".join(sentences) or "No model has the same scores in two replicates.",
        not_shown="Whether equal runs were copied, cached or really repeated: scores alone cannot show that.",
        to_do="Find out why from how the runs were made, and never choose between runs by their scores. Greedy "
        "decoding: the system is deterministic; state that before the runs and use "
        f"{write(Argument('copies', 'allow'))}, or one run. A cache: disable it and run again. A file that was copied: "
        "remove the copy.",
    )


def _copy_sentences(scores: Scores) -> list[str]:
    """The copies that stop other commands, with their replicates and models."""
    groups: dict[tuple[int, tuple[str, ...], bool], list[int]] = {}
    for copy in scores.copies:
        groups.setdefault((copy.of, copy.models, copy.whole), [copy.of]).append(copy.replicate)
    return _first_few(
        [
            f"Replicates {listed(scores.replicates[place] for place in places)} have the same scores for "
            + (f"every model ({listed(models)})." if whole else f"{listed(models)}.")
            for (_, models, whole), places in groups.items()
        ]
    )


def _first_few(sentences: list[str]) -> list[str]:
    more = len(sentences) - _MOST
    return sentences[:_MOST] + ([f"{more} more are like that."] if more > 0 else [])


def _near_copies(close: Sequence[CloseRuns], scores: Scores) -> Finding:
    if not close:
        return finding(
            "near-copies",
            verdict="not possible",
            found=f"{_sizes(scores)}: at least 3 and 2 are needed.",
            not_shown="Copies that were changed a little.",
        )
    changed = [each for each in close if each.differing > 0]  # the others are exact repetitions
    if not changed:
        return finding(
            "near-copies",
            verdict="no alarm",
            found="The closest replicates of every model are equal; see above.",
            not_shown="Copies of single answers.",
        )
    worst = min(changed, key=lambda each: (each.adjusted, each.differing / each.usual))
    verdict = _verdict(worst.adjusted, REPETITION_LEVEL)
    pairs = [worst] if verdict == "no alarm" else [each for each in changed if each.adjusted <= LOOK_LEVEL]
    sentences = _first_few(
        [
            f"Replicates {listed(scores.replicates[place] for place in each.replicates)} differ in "
            f"{counted(each.differing, 'score')} of {_whose(each.model)}; two replicates differ in "
            f"{each.usual:.1f} on average."
            for each in sorted(pairs, key=lambda each: each.adjusted)
        ]
    )
    if verdict != "no alarm":
        sentences.append(
            f"Independent runs would be as close as this with a probability of at most {worst.adjusted:.2g}."
        )
    return finding(
        "near-copies",
        verdict=verdict,
        found=" ".join(sentences),
        not_shown="Caches that answered only some items, and near-copies of models that hardly change anyway.",
        to_do="Compare how these runs were made. A cache that answered most items: disable it and run again. A copied "
        "file that was edited: remove the copy. Answers that were sorted between the runs: restore their order.",
    )


def _seeds(scores: Scores, blocks: str) -> list[Finding]:
    """What logs state about seeds; tables state nothing, and then there is no finding."""
    about = [note for note in scores.notes if note.kind == "seed"]
    if not about:
        return []
    return [
        finding(
            "seeds",
            verdict="look",
            found=" ".join(note.text for note in about),
            not_shown="Whether the tool used the seed, and whether the provider of the model respected it.",
            to_do=f"Run without a seed, or with one of its own for every run and item, {blocks}",
        )
    ]


def _same_model(results: Sequence[SplitNull], replicates: int) -> Finding:
    if not results:
        return finding(
            "same-model",
            verdict="not possible",
            found=f"{counted(replicates, 'replicate')}: at least 4 are needed to split them.",
            not_shown="Whether a model changed between its runs.",
        )
    log_e = self_evidence(results)
    verdict = _verdict(exp(min(0.0, -log_e)), SELF_LEVEL)
    worst = max(results, key=lambda each: each.log_e)
    certified, tried = sum(each.certified for each in results), sum(each.splits for each in results)
    found = (
        f"Halves of a model's own runs differ with an average evidence of {_number(log_e)}; an alarm takes "
        f"{1.0 / SELF_LEVEL:.0f}. {certified} of {tried} random splits gave a certificate."
    )
    if verdict != "no alarm":
        found += f" The evidence is largest for {quoted(worst.model)}."
    return finding(
        "same-model",
        verdict=verdict,
        found=found,
        not_shown="The error probability: all splits reuse the same runs, and some certificates among many splits "
        "are no surprise.",
        to_do="Look for a changed version, prompt or judge between the runs.",
    )


def _position(trends: Sequence[PositionTrend], scores: Scores) -> Finding:
    worst = strongest(trends)
    if worst is None:
        return finding(
            "position",
            verdict="not possible",
            found=f"{counted(len(set(scores.blocks)), 'block')}: at least {LEAST_PLACES} are needed.",
            not_shown="Whether scores depend on their place.",
        )
    return finding(
        "position",
        verdict=_verdict(worst.adjusted, POSITION_LEVEL),
        found=f"The scores of {_whose(worst.model)} have a correlation of {worst.correlation:+.2f} with their place in "
        f"the run order {_p_values(worst, len(trends) - 1)}",
        not_shown="Changes that come and go, and changes in later runs, which no look inside a run depends on.",
        to_do="Check for a server that degraded while it was used, limits on requests, or a judge that changed. Do not "
        "rely on what looks inside the first run certified until it is explained.",
    )


def _stability(result: RankStability) -> Finding:
    verdict: Verdict = "not possible" if result.replicates < 2 else "look" if result.differing else "no alarm"
    found = f"{result.differing} of {result.replicates} single replicates rank the models differently from all."
    if result.replicates < 2:
        found = "There is only one replicate."
    if result.reversals:
        a, b, times = result.reversals[0]
        found += f" Most often reversed: {quoted(a)} and {quoted(b)}, in {times}."
    return finding(
        "rank-stability",
        verdict=verdict,
        found=found,
        not_shown="Which of the models that change places is better.",
        to_do="Read rank intervals, not ranks.",
    )


def _heterogeneity(closest: Heterogeneity) -> Finding:
    return finding(
        "item-heterogeneity",
        verdict="look" if closest.for_first and closest.for_second else "no alarm",
        found=f"{quoted(closest.first)} and {quoted(closest.second)} are {closest.difference:.4f} apart on the [0, 1] "
        f"scale: the first is ahead on {closest.for_first} items, the second on {closest.for_second}.",
        not_shown="How much of this is noise; with few replicates, most of it.",
        to_do="Do not use methods that treat items as alike (SERPANT, pooled tests); bb-edge does not need that.",
    )


def _variance(parts: PairAssumptions | None, scores: Scores, *, is_claimed: bool) -> Finding:
    runs = len(scores.replicates)
    if parts is None:
        return finding(
            "item-variance",
            verdict="not possible",
            found=f"{_sizes(scores)}: at least 2 of each are needed.",
            not_shown="How much of a difference is the choice of items.",
        )
    between = parts.unevenness / (parts.drawn_variance(runs) or 1.0)
    helps = "More items would help most" if between >= 0.5 else "More runs would help as well as more items"
    return finding(
        "item-variance",
        verdict="look" if is_claimed and between >= 0.5 else "no alarm",
        found=f"Between items lies {parts.between_share:.0%} of the variance of a difference of neighbours in one run, "
        f"and {between:.0%} in the mean of {counted(runs, 'run')}. {helps} for a claim about new items: more runs can "
        f"remove at most {1.0 - between:.0%} of the variance that is left.",
        not_shown="Anything about claims on these items alone, for which more runs always help. It is an estimate.",
        to_do="Plan with these scores how many items and runs a difference needs: bbedge plan, with target new-items.",
    )


def _p_values(worst: BlockDependence | PositionTrend, n_models: int) -> str:
    among = f"; {worst.adjusted:.3g} as the most striking result for {n_models} models" if n_models > 1 else ""
    return f"(p {worst.p_value:.3g}{among})."


def _whose(model: str | None) -> str:
    return "all models together" if model is None else quoted(model)


def _sizes(scores: Scores) -> str:
    return f"{counted(len(scores.replicates), 'replicate')} and {counted(len(set(scores.blocks)), 'block')}"


def _number(log_e: float) -> str:
    """The evidence, however large."""
    return f"{exp(log_e):.3g}" if log_e < log(1e6) else f"10^{log_e / log(10.0):.0f}"
