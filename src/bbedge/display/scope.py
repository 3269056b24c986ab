"""What is measured, and what is promised: in the same words in every display."""

from __future__ import annotations

import numpy as np
from msgspec import UNSET

from bbedge.certificate.certificate import Certificate
from bbedge.certificate.numbers import has_partial, n_items, rank
from bbedge.text import counted, display_names, listed, shown

MOST_NAMED = 5
"""Models whose missing scores, or reasons for being withdrawn, are listed one by one."""
VIEW_HEADS = ("view", "share of alpha", "items", "certified", "leader so far")
"""What :func:`view_rows` says of each view."""

_EQUAL = 1e-9


def is_inside_first_run(certificate: Certificate) -> bool:
    """Whether a part of the first run is in the evidence, and the run is not complete."""
    return bool(first_run_progress(certificate))


def has_evidence(certificate: Certificate) -> bool:
    """Whether there is anything to conclude from: a look after a complete run, or at a part of the first.

    Where items were added, what is certified of new items stands before the next look.
    """
    content = certificate.content
    return bool(content.looks or content.counts.edges) or is_inside_first_run(certificate)


def run_count(certificate: Certificate) -> str:
    """How many runs are in the evidence, or how far the first one has come."""
    inside = first_run_progress(certificate)
    return f"first run: {inside}" if inside else counted(certificate.replicates, "run")


def first_run_progress(certificate: Certificate) -> str:
    """How far the first run has come; empty unless a part of it is in the evidence, and it is not complete."""
    first = certificate.content.first_pass
    if not first or not first.checkpoint or first.complete or certificate.is_about_new_items:
        return ""
    done = 100 * first.blocks / first.of_blocks
    return f"{done:.3g} % of blocks, checkpoint {first.checkpoint} of {first.checkpoints}"


NEW_ITEMS = "new items of the same kind"
"""What a claim is about that is not about the items of the benchmark alone."""


def about_items(certificate: Certificate) -> str:
    """Which items its claims are about: these ones, or new ones."""
    return NEW_ITEMS if certificate.is_about_new_items else _these(n_items(certificate))


def _these(count: int) -> str:
    return "this item" if count == 1 else f"these {count:,} items"


def states_target(certificate: Certificate) -> bool:
    """Whether the design says that the claims are about new items, or about both."""
    return (certificate.headline or certificate).content.design.target is not UNSET


def headline_name(certificate: Certificate) -> str:
    """What the headline is called among views: where each view is there for both, it is about these items."""
    return "these items" if certificate.on_new_items else "Headline"


def awaited(certificate: Certificate) -> str:
    """Why there is nothing to conclude from yet."""
    design, runs = certificate.content.design, certificate.replicates
    there = f", and there {'is' if runs == 1 else 'are'} {runs:,}"
    if certificate.is_about_new_items:
        first = counted(min(design.schedule), "run")
        return f"the first look is after {first}{there if runs else ''}"
    return f"a score is made of {design.runs_of_score} runs{there}" if runs else "there is no complete run"


def next_look(certificate: Certificate) -> str:
    """When new items are looked at next; empty if it is about these items, which every run is a look at."""
    if not certificate.is_about_new_items:
        return ""
    done = max((look.replicate for look in certificate.content.looks), default=0)
    board = (certificate.headline or certificate).content.board
    coming = certificate.content.design.next_looks(done, earlier_runs(certificate)).get("new-items")
    if coming is None:
        by_own_runs = board and board.design.pairing == "first"
        return f"There is no further look{', except at models that joined with fewer runs' if by_own_runs else ''}."
    return f"The {'next' if done or has_evidence(certificate) else 'first'} look is after {counted(coming, 'run')}."


def earlier_runs(certificate: Certificate) -> tuple[int, ...]:
    """How many runs each earlier batch of items had had before this version of a board that has grown."""
    board = certificate.content.board
    return (board.earlier_runs or ()) if board else ()


def batches_of_items(certificate: Certificate) -> str:
    """Which items evidence about new items is from, where some were added; else empty."""
    board = certificate.content.board
    if not board or not earlier_runs(certificate):
        return ""
    first, *added = (step.items or 0 for step in board.timeline if step.items and step.epoch <= board.epoch)
    of_added = " and ".join(f"of {count:,} added {'one' if count == 1 else 'ones'}" for count in added)
    return f"Evidence about new items is that of {counted(first, 'item')} and {of_added}, multiplied."


def looks_at_new_items(certificate: Certificate) -> str:
    """When new items were looked at, what the last look certified, and when the next one is; may be empty."""
    if not certificate.is_about_new_items:
        return ""
    if not has_evidence(certificate):
        return f"New items were not looked at yet. {next_look(certificate)}"
    design, looks, earlier = certificate.content.design, certificate.content.looks, earlier_runs(certificate)
    batches = f" {batches_of_items(certificate)}" if earlier else ""
    found = f"{certified_pairs(certificate)} certified. {next_look(certificate)}{batches}"
    if not looks:
        return f"New items were not looked at since items were added: {found}"
    # A model that joins a board has the looks up to there at once, and between two looks there is one for it alone.
    *before, last = (run for run in range(1, looks[-1].replicate + 1) if design.is_new_items_look(run, earlier))
    runs = f"{', '.join(f'{run:,}' for run in before)} and {last:,} runs" if before else counted(last, "run")
    return f"New items were looked at after {runs}: {found}"


def score_of_runs(certificate: Certificate) -> str:
    """How many runs make a score, and which wait until there are as many; empty where every run is a score."""
    design = certificate.content.design
    k, word = design.runs_of_score, "succeed" if (design.of_runs or "").startswith("all") else "succeeds"
    if k == 1:
        return ""
    which = f"that all {word} (pass^{k})" if word == "succeed" else f"of which one {word} (pass@{k})"
    waiting = 0 if certificate.is_about_new_items else certificate.replicates % k
    waits = f" {counted(waiting, 'run')} {'waits' if waiting == 1 else 'wait'} until the next score is complete."
    return f"A score is {k} runs {which}.{waits if waiting else ''}"


def equal_within(certificate: Certificate, *, points: bool = True) -> str:
    """What is said of two models whose difference is bounded by the margin of the design, in score units.

    Where scores are between 0 and 1, in ``points`` of a hundred, too.
    """
    limit = certificate.content.design.equal_limit or 0.0
    of_100 = f" ({100 * limit:.4g} points of 100)" if points and certificate.score_range == (0.0, 1.0) else ""
    return f"equal within {limit:.4g}{of_100}"


def equal_pairs(certificate: Certificate) -> str:
    """How many pairs are about equal, certified or not; empty if the design does not ask, or pairs are not known."""
    if certificate.equal is None or certificate.is_contradicted or not has_evidence(certificate):
        return ""
    count = int(np.count_nonzero(np.triu(certificate.equal)))
    above = certificate.by_pair(known=True).graph.above
    certified = int(np.count_nonzero(certificate.equal & above))
    one = "in each of them" if certified == count else f"in {certified:,} of them"
    also = f"; {one} a model is also certified better, by no more than that" if certified else ""
    verb = "is" if count == 1 else "are"
    return f"{count:,} of {counted(certificate.n_pairs, 'pair')} {verb} known to be {equal_within(certificate)}{also}."


def item_count(certificate: Certificate) -> str:
    """The items that the means are of, their blocks, and whether some of them weigh more than others."""
    content, design = certificate.content, certificate.content.design
    count, weights = n_items(certificate), design.weights
    words = counted(count, "item")
    if count < content.items:
        words = f"{count:,} of {counted(content.items, 'item')}"
    if design.blocks.count < count:
        words += f" in {counted(design.blocks.count, 'block')}"
    is_weighted = weights is not UNSET and weights.largest * weights.items > 1.0 + _EQUAL
    return f"{words}, weighted" if is_weighted else words


def missing_scores(certificate: Certificate) -> str:
    """How many scores are missing, of which models, and what that costs; empty if none is."""
    gaps = certificate.content.gaps
    if not gaps:
        return ""
    by_count = sorted(gaps.models, key=lambda name: (-gaps.models[name], name))
    labels = dict(zip(certificate.names, certificate.labels, strict=True))
    named = [f"{labels[name]}: {gaps.models[name]:,}" for name in by_count[:MOST_NAMED]]
    if len(by_count) > MOST_NAMED:
        named.append(f"{counted(len(by_count) - MOST_NAMED, 'more model')}")
    is_worst_case = certificate.content.design.gaps == "worst-case"
    rule = "; each counts against whichever model it could help" if is_worst_case else ""
    verb = "is" if gaps.cells == 1 else "are"
    words = f"{counted(gaps.cells, 'score')} {verb} missing ({', '.join(named)}){rule}."
    if gaps.resolved_if_means is None:
        return words
    pairs, certified = counted(gaps.resolved_if_means, "pair"), certificate.ranks.n_resolved
    instead = f", not {certified:,}" if gaps.resolved_if_means != certified else ", as many as now"
    return (
        f"{words} If the missing scores had been their models' means, {pairs} would be certified{instead}: a hint, "
        "not a claim."
    )


def announced_runs(certificate: Certificate) -> str:
    """Of each model, how many runs were announced before they were made, and delivered; empty if it is of no board."""
    board = (certificate.headline or certificate).content.board
    if not board:
        return ""
    known = board.announcements or ()
    said = [
        f"{shown(each.model)}: {each.announced:,} announced, {each.delivered:,} delivered" + ", open" * each.open
        for each in known
    ]
    others = [name for name in certificate.names if name not in {each.model for each in known}]
    if not known:
        return "None were announced before they were made."
    rest = f"; not announced: {listed(others, limit=10)}" if others else ""
    return f"{'; '.join(said[:10])}{f' and {len(said) - 10:,} more' if len(said) > 10 else ''}{rest}."


def hidden_rows(certificate: Certificate) -> str:
    """How many rows tables do not show, without the reasons; empty if none is hidden."""
    count = len(certificate.withdrawn)
    if not count:
        return ""
    is_one = count == 1
    return (
        f"{counted(count, 'withdrawn model')} {'is' if is_one else 'are'} not in the table, and still "
        f"{'counts' if is_one else 'count'} in every rank and comparison."
    )


def withdrawn_models(certificate: Certificate) -> str:
    """The same with the reasons of the first ones; empty if none is hidden."""
    said = [
        f"{shown(each.model)}, event {each.event}: {shown(each.reason, 200)}"
        for each in certificate.withdrawn[:MOST_NAMED]
    ]
    if len(certificate.withdrawn) > MOST_NAMED:
        said.append(f"{counted(len(certificate.withdrawn) - MOST_NAMED, 'more model')}, in the certificate")
    return f"{hidden_rows(certificate)} {'; '.join(said)}" if said else ""


def view_rows(certificate: Certificate) -> list[tuple[str, ...]]:
    """The other views of a certificate, each with what ``VIEW_HEADS`` names."""
    names = display_names(str(view.name) for view in certificate.views)
    return [
        (name, view_share(view), f"{n_items(view):,}", certified_pairs(view), view_leader(view))
        for view, name in zip(certificate.views, names, strict=True)
    ]


def view_share(certificate: Certificate) -> str:
    """The part of alpha that a view has."""
    design = (certificate.headline or certificate).content.design
    return f"{100 * (certificate.content.design.share or 1.0) * design.target_alpha / design.alpha:.3g} %"


def certified_pairs(certificate: Certificate) -> str:
    """How many pairs are certified."""
    return f"{certificate.ranks.n_resolved:,} of {counted(certificate.n_pairs, 'pair')}"


def view_leader(certificate: Certificate) -> str:
    """The first model with its possible ranks; empty before the first replicate, and beside an alarm."""
    ranks = certificate.ranks
    if not has_evidence(certificate) or certificate.is_contradicted:
        return ""
    # Of several models that could be best, their means choose the first one, if they can be compared.
    by_mean = has_partial(certificate, [i for i, better in enumerate(ranks.n_better) if not better])
    if by_mean and 1 not in ranks.cuts:
        return "means over different items"
    return f"{certificate.labels[0]}, rank {rank(ranks.rank_intervals[0])}"


def title_with_view(certificate: Certificate, text: str) -> str:
    """A title that names the view, if it is not the headline's, or says that the headline is about new items."""
    name = shown(certificate.name) if certificate.name else "New items" if certificate.is_about_new_items else ""
    return f"{name}: {text}" if name else text


def error_level(certificate: Certificate) -> float:
    """The largest probability of an error: of a board, that of all its claims together, and of both targets."""
    content = (certificate.headline or certificate).content
    return content.board.design.alpha if content.board else content.design.alpha


def _percent(certificate: Certificate) -> str:
    return f"{100 * error_level(certificate):.6g} %"


def error_risk(certificate: Certificate) -> str:
    """The risk that what is shown is wrong, in one sentence."""
    percent = _percent(certificate)
    if certificate.content.design.is_joint:
        return f"At most {percent} risk that anything here is wrong."
    return f"At most {percent} risk that any certified comparison is wrong, and {percent} that any margin is."


def ledger_head(certificate: Certificate) -> str:
    """The last event of the board, by its number and the beginning of its hash; empty without a board."""
    board = (certificate.headline or certificate).content.board
    return f"event {board.events:,}, {board.head[:8]}" if board else ""


def promise(certificate: Certificate) -> str:
    """What is guaranteed, for all pairs, all looks and all views together."""
    whole = certificate.headline or certificate
    if whole.flaw is not None:
        return "Nothing is guaranteed: this is not the certificate that was written."
    # Of the procedure, before the data: not the probability that this one certificate is true.
    percent, above = _percent(certificate), f" (certified: above {certificate.step:.4g})" if certificate.step else ""
    if certificate.content.design.is_joint:
        wrong = f"the probability that anything shown is ever wrong{above} is at most {percent}"
    else:
        wrong = (
            f"the probability that any comparison is ever wrong{above} is at most {percent}, and so is the probability "
            "that any margin is"
        )
    if certificate.is_contradicted:
        return f"If the assumptions hold, {wrong}; the contradiction shows that something here is wrong."
    return f"For {_promised(whole)}, {wrong}, however often you look{_together(certificate)}."


def _promised(whole: Certificate) -> str:
    """The items that everything shown is about."""
    if whole.is_about_new_items:
        return NEW_ITEMS
    these = _these(whole.content.items)
    both = f" and, where new items are named, for {NEW_ITEMS}, both together"
    return these + both if whole.content.design.target == "both" else these


def needs_of_new_items(certificate: Certificate) -> tuple[str, ...]:
    """What claims about new items need besides a design fixed beforehand; empty where there are no such claims."""
    if not states_target(certificate):
        return ()
    runs = "Runs are independent of each other given the item, and made alike."
    added = "Items were added as draws of the same kinds, and models have not changed since."
    return (
        f"{block_noun(certificate).capitalize()} are independent draws from all those of their kind.",
        f"Nothing passes between {block_noun(certificate)}, in a run or from run to run: no shared seed, cache, judge "
        "state or memory.",
        "No model or prompt was chosen or tuned on these items, and no item was kept or left out for its scores.",
        runs if certificate.content.design.of_runs else "Every run was made alike.",
        *([added] if earlier_runs(certificate) else []),
    )


def not_claimed(certificate: Certificate) -> str:
    """What nothing is claimed about."""
    return (
        "items of another kind, other prompts or settings"
        if states_target(certificate)
        else "other items, prompts or settings"
    )


def block_noun(certificate: Certificate) -> str:
    """What is independent of each other: items, or blocks of them."""
    return "blocks of items" if max(certificate.content.design.blocks.sizes) > 1 else "items"


def alpha_shares(certificate: Certificate) -> str:
    """How alpha is shared between certificates, margins and intervals of means, and between views."""
    design = certificate.content.design
    comparisons, margins = f"{100 * design.certificate_share:.4g} %", f"{100 * (design.margin_share or 0.0):.4g} %"
    words = "Comparisons use all of alpha, and margins use it once more: both hold together at twice alpha."
    if design.mean_share:
        words = (
            f"Comparisons use {comparisons} of alpha, margins {margins} and intervals of means "
            f"{100 * design.mean_share:.4g} %, so all hold together."
        )
    elif design.is_joint:
        words = f"Comparisons use {comparisons} of alpha and margins {margins}, so both hold together."
    if (certificate.headline or certificate).content.design.target == "both":
        words += " Claims about these items have half of that, and claims about new items the other half."
    if not has_views(certificate):
        return words
    subject = "This view" if certificate.name else "The headline"
    rest = ", and the other views have the rest" if _others(certificate) else ""
    return f"{words} {subject} has {100 * (design.share or 1.0):.4g} % of that{rest}."


def has_views(certificate: Certificate) -> bool:
    """Whether several views share alpha, or what each target has of it."""
    return bool(_others(certificate) or (certificate.name and certificate.headline is None))


def _others(certificate: Certificate) -> int:
    """How many views there are besides the headline, of one target."""
    whole = certificate.headline or certificate
    return sum(view.is_about_new_items is whole.is_about_new_items for view in whole.views)


def _together(certificate: Certificate) -> str:
    if not has_views(certificate):
        return ""
    others = _others(certificate)
    if not others:
        return " and together with all other views of the design"
    return f", in the headline and {'the other view' if others == 1 else f'all {others} other views'} together"
