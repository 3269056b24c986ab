"""Inspect tasks for the scripted server: it is asked for a word and knows how likely each model is to say it."""

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import Score, match, mean, model_graded_qa, scorer
from inspect_ai.solver import generate, solver


@task
def quiz(n: int = 12):
    """Samples in blocks of two, one item each."""
    samples = [
        Sample(id=f"q{i}", input=f"answer: word{i}", target=f"word{i}", metadata={"block": f"b{i // 2}"})
        for i in range(n)
    ]
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=match())


@task
def dialogues(n: int = 3):
    """Two turns each, a score for each, and a judge who is asked once per turn."""
    samples = [Sample(id=i, input=f"answer: first{i}", metadata={"items": ["one", "two"]}) for i in range(1, n + 1)]
    return Task(dataset=MemoryDataset(samples), solver=[generate(), second()], scorer=judged())


@task
def graded(judge: str, n: int = 1):
    """Answers that a judge grades whom the task itself makes, as the scorers of Inspect do."""
    samples = [Sample(id=f"q{i}", input=f"answer: word{i}", target=f"word{i}") for i in range(n)]
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=model_graded_qa(model=judge))


@solver
def second():
    async def solve(state, generate):
        from inspect_ai.model import ChatMessageUser

        state.messages.append(ChatMessageUser(content=f"and now. answer: second{state.sample_id}"))
        return await generate(state)

    return solve


@scorer(metrics={"*": [mean()]})
def judged():
    async def score(state, target):
        values = {}
        for part, answer in zip(("one", "two"), state.messages[1::2], strict=True):
            verdict = await get_model(role="grader").generate(f"Is {answer.text} right? answer: yes")
            values[part] = 1.0 if verdict.completion == "yes" and answer.text != "wrong" else 0.0
        return Score(value=values)

    return score
