"""Inspect tasks whose answers a judge grades with a number."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, get_model
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.scorer import score as score_now
from inspect_ai.solver import solver


def made(n, *, turns=1, between=False, scorers):
    return Task(
        dataset=MemoryDataset([Sample(id=f"q{i}", input=f"question {i}") for i in range(n)]),
        solver=talk(turns, between),
        scorer=scorers,
    )


@task
def once(n=2, turns=1):
    """One judge."""
    return made(n, turns=turns, scorers=[judge()])


@task
def twice(n=2):
    """Two scorers that have the same name and ask the same, and one that asks nothing."""
    return made(n, scorers=[judge(), judge(), plain()])


@task
def between(n=1):
    """The answer is also judged before it is finished."""
    return made(n, turns=2, between=True, scorers=[judge()])


@solver
def talk(turns, between):
    async def solve(state, generate):
        for turn in range(turns):
            if turn:
                if between:
                    await score_now(state)
                state.messages.append(ChatMessageUser(content=f"turn {turn + 1}"))
            state = await generate(state)
        return state

    return solve


@scorer(metrics=[mean()])
def judge():
    async def score(state, target):
        grade = await get_model(role="grader").generate(f"Grade: {state.output.completion}")
        return Score(
            value=float(grade.completion),
            answer=state.output.completion,
            explanation=grade.completion,
            metadata={"grading": [grade.message], "turns": (1, 2)},
        )

    return score


@scorer(metrics=[mean()])
def plain():
    async def score(state, target):
        return Score(value=0.5)

    return score
