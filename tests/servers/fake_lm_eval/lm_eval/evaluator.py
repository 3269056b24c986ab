"""Tasks and their evaluation, with the arguments and attributes of version 0.4.13."""

import hashlib
import json
import os
import random
from dataclasses import dataclass

WORDS = [{"word": f"w{place}", "topic": f"t{place // 3}"} for place in range(12)]
COLOURS = [{"word": f"c{place}", "topic": "t0", "said": "one\u2028two"} for place in range(6)]
TWINS = [{"word": f"x{place // 2}", "topic": "t0"} for place in range(6)]
DOCUMENTS = {"words": WORDS, "gsm8k": WORDS, "colours": COLOURS, "twins": TWINS}
FILTERS = {"gsm8k": ("strict-match", "flexible-extract")}
GROUPS = {"both": ("words", "colours")}


@dataclass
class Instance:
    """What is asked about a document."""

    doc_id: int
    doc: dict
    text: str


class Task:
    """One task; the examples of a document are drawn after those of the one before."""

    def __init__(self, name, num_fewshot, fewshot_seed):
        self.name, self.num_fewshot, self.rnd = name, num_fewshot, random.Random(fewshot_seed)
        self.filters = FILTERS.get(name, ("none",))

    def doc_iterator(self, *, rank=0, limit=None, world_size=1, samples=None):
        """Documents with their numbers."""
        return enumerate(DOCUMENTS[self.name][:limit])

    def build_all_requests(self, *, limit=None, samples=None, **kwargs):
        """Make the requests of all documents."""
        self._instances = []
        for doc_id, doc in self.doc_iterator(limit=limit, samples=samples):
            examples = self.rnd.sample([each["word"] for each in DOCUMENTS[self.name]], self.num_fewshot)
            text = f"{' '.join(examples)} Say one word. answer: {doc['word']}"
            self._instances.append(Instance(doc_id, doc, text))


def load(names, num_fewshot, fewshot_seed):
    """Tasks and groups by name, as the manager of tasks returns them."""
    unknown = [name for name in names if name not in DOCUMENTS and name not in GROUPS]
    if unknown:
        raise ValueError(f"Tasks not found: {unknown[0]}")
    leaves = [leaf for name in names for leaf in GROUPS.get(name, (name,))]
    tasks = {leaf: Task(leaf, num_fewshot, fewshot_seed) for leaf in leaves}
    if "FAKE_LM_EVAL_IS_OLD" in os.environ:
        return tasks
    return {"tasks": tasks, "groups": {name: GROUPS[name] for name in names if name in GROUPS}, "group_map": {}}


def evaluate(lm, task_dict, limit=None, samples=None, gen_kwargs=None):
    """Rows of samples by task, and the names of the groups that have means."""
    tasks, groups = task_dict.get("tasks", task_dict), task_dict.get("groups", {})
    for task in tasks.values():
        task.build_all_requests(limit=limit, samples=None)
    rows = {}
    for name, task in tasks.items():
        # As the tool, which fails without any request of a task.
        assert task._instances
        asked = {each.doc_id: each for each in task._instances}
        documents = list(task.doc_iterator(limit=limit))
        found = [row(number, doc, asked[number].text, lm, gen_kwargs or {}) for number, doc in documents]
        rows[name] = [{**each, "filter": chosen} for chosen in task.filters for each in found]
    return rows, list(groups)


def row(number, document, text, lm, gen_kwargs):
    """One document, asked and scored."""
    answer = lm.answer(text, document["word"], gen_kwargs)
    return {
        "doc_id": number,
        "doc": document,
        "target": document["word"],
        "arguments": {"gen_args_0": {"arg_0": text, "arg_1": {"until": ["\n"], **gen_kwargs}}},
        "resps": [[answer]],
        "filtered_resps": [answer],
        "filter": "none",
        "metrics": ["exact_match"],
        "doc_hash": hashlib.sha256(json.dumps(document).encode()).hexdigest(),
        "prompt_hash": hashlib.sha256(text.encode()).hexdigest(),
        "target_hash": hashlib.sha256(document["word"].encode()).hexdigest(),
        "exact_match": float(answer == document["word"]),
    }
