"""A quiz of short answers for a very small model: an Inspect task. Questions of one family are one block."""

from __future__ import annotations

import re

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState, generate

FAMILIES: dict[str, tuple[str, dict[str, str]]] = {
    "capitals-europe": ("What is the capital of {}?", {"France": "Paris", "Italy": "Rome", "Spain": "Madrid"}),
    "capitals-asia": ("What is the capital of {}?", {"Japan": "Tokyo", "China": "Beijing", "Thailand": "Bangkok"}),
    "capitals-america": ("What is the capital of {}?", {"Peru": "Lima", "Cuba": "Havana", "Canada": "Ottawa"}),
    "capitals-africa": ("What is the capital of {}?", {"Egypt": "Cairo", "Kenya": "Nairobi", "Ghana": "Accra"}),
    "sums": ("What is {}?", {"2 + 3": "5", "4 + 4": "8", "3 + 6": "9"}),
    "differences": ("What is {}?", {"9 - 4": "5", "8 - 2": "6", "7 - 5": "2"}),
    "twos": ("What is {}?", {"2 x 3": "6", "2 x 4": "8", "2 x 7": "14"}),
    "fives": ("What is {}?", {"5 x 3": "15", "5 x 4": "20", "5 x 7": "35"}),
    "first-letters": ("What is the first letter of the word {}?", {"dog": "d", "milk": "m", "bread": "b"}),
    "opposites-size": ("What is the opposite of {}?", {"big": "small", "tall": "short", "wide": "narrow"}),
    "opposites-feel": ("What is the opposite of {}?", {"hot": "cold", "happy": "sad", "wet": "dry"}),
    "plurals": ("What is the plural of {}?", {"apple": "apples", "chair": "chairs", "box": "boxes"}),
    "odd-plurals": ("What is the plural of {}?", {"child": "children", "foot": "feet", "mouse": "mice"}),
    "days": ("Which day comes after {}?", {"Monday": "Tuesday", "Thursday": "Friday", "Saturday": "Sunday"}),
    "months": ("Which month comes after {}?", {"January": "February", "May": "June", "August": "September"}),
    "larger": ("Which is larger, {}?", {"3 or 8": "8", "9 or 2": "9", "15 or 40": "40"}),
    "continents": ("On which continent is {}?", {"Germany": "Europe", "India": "Asia", "Nigeria": "Africa"}),
    "languages": (
        "Which language is spoken in {}?",
        {"Brazil": "Portuguese", "Mexico": "Spanish", "Austria": "German"},
    ),
    "digits": ("Write the number {} in digits.", {"seven": "7", "twelve": "12", "thirty": "30"}),
    "sides": ("How many sides has a {}?", {"triangle": "3", "square": "4", "hexagon": "6"}),
    "series": ("Which number comes next: {}?", {"2, 4, 6": "8", "5, 10, 15": "20", "1, 2, 3": "4"}),
    "currencies": ("What is the currency of {}?", {"Japan": "yen", "India": "rupee", "Britain": "pound"}),
    "elements": ("Which element has the symbol {}?", {"O": "oxygen", "H": "hydrogen", "Fe": "iron"}),
    "senses": ("With which part of the body do you {}?", {"see": "eyes", "hear": "ears", "smell": "nose"}),
}


def right(answer: str, target: str) -> bool:
    """Whether the first sentence begins or ends with the target, as a whole word.

    >>> right("Paris.", "Paris"), right("The capital is Paris. It is", "Paris"), right("Parisian", "Paris")
    (True, True, False)
    """
    sentences = [re.findall(r"\w+", part) for part in re.split(r"[.!?](?=\s|$)|\n", answer.lower())]
    words = next((found for found in sentences if found), [""])
    return target.lower() in (words[0], words[-1])


@scorer(metrics=[mean()])
def short_answer() -> Scorer:
    """One for a right answer, zero for another."""

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        return Score(value=float(right(answer, target.text)), answer=answer)

    return score


@task
def quiz() -> Task:
    """All questions."""
    samples = [
        Sample(id=f"{family}-{place}", input=form.format(what), target=target, metadata={"block": family})
        for family, (form, answers) in FAMILIES.items()
        for place, (what, target) in enumerate(answers.items(), start=1)
    ]
    return Task(dataset=MemoryDataset(samples), solver=generate(), scorer=short_answer())
