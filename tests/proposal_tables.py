"""Tables as people have them, each with the one reading that is right; and traps, which only their owner can read."""

import csv
import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MODELS, ITEMS = ("gpt", "llama", "qwen"), 30
RIGHT: dict[str, "Case"] = {}
TRAPS: dict[str, "Case"] = {}


@dataclass(frozen=True)
class Case:
    """A folder or a file, and the options of its reading."""

    make: Callable[[Path], object]
    reading: Mapping[str, object] = field(default_factory=dict)
    """The options that read it; for a trap none is right by itself."""
    name: str = ""
    """The file to name; the folder if empty."""


def answers(*, models=MODELS, items=ITEMS, runs=1, seed=0):
    """One answer of each model to each question in each run, with everything that people write down of it."""
    rng = random.Random(seed)
    return [
        {
            "model": model,
            "run": run,
            "n": n,
            "id": f"q-{n:03}",
            "text": f"How many legs have {n} cats and {n + 1} dogs together?",
            "gold": str(8 * n + 4),
            "answer": f"{model} says {rng.randrange(10**6)} in run {run}",
            "reason": f"The answer {rng.randrange(10**6)} has a step that does not follow.",
            "right": rng.random() < 0.35 + 0.2 * models.index(model),
            "part": round(rng.random(), 3),
            "confidence": round(rng.random(), 2),
            "difficulty": round((n * 7 % 10) / 10, 1),
            "turns": rng.randrange(1, 9),
            "seconds": round(rng.random() * 9, 3),
            "flag": n % 3 == 0,
        }
        for run in range(runs)
        for model in models
        for n in range(items)
    ]


def rows(of=None, **columns):
    """Records with these columns, each of a key of an answer or made of it."""
    return [
        {name: made(each) if callable(made) else each[made] for name, made in columns.items()}
        for each in (answers() if of is None else of)
    ]


def as_csv(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)


def as_json(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(records, indent=1))


def as_lines(path, records):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in records))


WRITERS = {".csv": as_csv, ".json": as_json, ".jsonl": as_lines}


def one_file(records, name="results.csv"):
    return lambda folder: WRITERS[Path(name).suffix](folder / name, records)


def file_per_model(name, *, runs=1, **columns):
    """A file for every model, with its name in the path."""

    def make(folder):
        for model in MODELS:
            for run in range(runs):
                of = [each for each in answers(runs=runs) if (each["model"], each["run"]) == (model, run)]
                path = folder / name.format(m=model, r=run)
                WRITERS[path.suffix](path, rows(of, **columns))

    return make


def right(name, make, file="", /, **reading):
    RIGHT[name] = Case(make, reading, file)


def trap(name, make, file=""):
    TRAPS[name] = Case(make, name=file)


def at(**roles):
    return {"column": roles}


def renamed(values):
    return lambda each: values[MODELS.index(each["model"])]


RESULTS = "results.csv"
BENCHMARKS = ("ARC", "HellaSwag", "MMLU", "TruthfulQA", "Winogrande", "GSM8K", "IFEval", "BBH", "GPQA")


def yes(key):
    """What an answer or a question has under a key, in the words of answers to a question of yes or no."""
    return lambda each: "yes" if each[key] else "no"


# --- one reading ---
right(
    "answers of yes or no, and whether they are right, in one word",
    one_file(rows(model="model", id="id", answer=yes("flag"), correct=yes("right"))),
    **at(item="id"),
)
right(
    "answers of yes or no in a file per model, and whether they are right",
    file_per_model("{m}.jsonl", question_id="id", answer=yes("flag"), correct=yes("right")),
    model_from="file",
)
for score in ("is_success", "solved", "is_solved", "resolved", "verified", "pass", "follow_all_instructions"):
    table = rows(model="model", task_id="id", response="answer", **{score: "right"})
    right(f"score {score}", one_file(table, "results.jsonl"), **at(score=score))
for item in ("id", "problem", "name", "session_id", "user_input", "input", "question_text", "scenario"):
    table = rows(
        model="model", **{item: "text" if item not in ("id", "session_id") else "id"}, output="answer", correct="right"
    )
    right(f"item {item}", one_file(table), **at(item=item))
right(
    "an identifier rather than a text",
    one_file(rows(model="model", uid="id", exercise="text", passed="right"), "results.json"),
    **at(item="uid"),
)
right(
    "two identifiers of the same items",
    one_file(rows(model="model", problem_id="id", case_id=lambda each: f"c{each['n']}", passed="right")),
    **at(item="problem_id"),
)
right(
    "agents that are named as such",
    one_file(rows(agent="model", task_id="id", success="right", num_turns="turns", cost_usd="seconds")),
    **at(model="agent"),
)
right(
    "model_used, judge_model, judge_confidence",
    one_file(
        rows(
            id="id",
            question="text",
            model_used="model",
            judge_model=lambda _: "gpt-judge",
            response="answer",
            judge_reasoning="reason",
            judge_confidence="confidence",
            judge_score="part",
        )
    ),
    **at(model="model_used", score="judge_score"),
)
right(
    "nested score",
    one_file(
        [
            {
                "model": each["model"],
                "question_id": each["id"],
                "evaluation": {"strict": each["right"]},
                "metadata": {"difficulty": each["difficulty"]},
            }
            for each in answers()
        ],
        "results.json",
    ),
    **at(score="evaluation.strict"),
)
right(
    "nested record of the grader",
    one_file(
        [
            {
                "llm": each["model"],
                "case": {"id": each["id"], "difficulty": each["difficulty"], "prompt": each["text"]},
                "grader": {"score": each["part"], "confidence": each["confidence"], "reason": each["reason"]},
            }
            for each in answers()
        ],
        "results.jsonl",
    ),
    **at(item="case.id", score="grader.score"),
)
right(
    "a score beside what the answer took",
    one_file(
        rows(
            model="model",
            qid="id",
            prompt_text="text",
            answer_correctness="part",
            latency_s="seconds",
            total_tokens="turns",
            difficulty="difficulty",
        )
    ),
    **at(item="qid", score="answer_correctness"),
)
right(
    "a score beside a property of the question",
    one_file(rows(model="model", id="id", has_receipt="flag", level="difficulty", f1="part")),
    **at(score="f1"),
)
right(
    "reward of agents, turn numbers",
    one_file(rows(model="model", task_id="id", n_turns="turns", max_steps=lambda _: 30, final_reward="part")),
    **at(score="final_reward"),
)
right(
    "runs that are numbered",
    one_file(rows(answers(runs=3), model="model", id="id", attempt="run", passed="right")),
    **at(replicate="attempt"),
)
right(
    "rollouts",
    one_file(rows(answers(runs=2), model="model", id="id", rollout_idx="run", reward="part")),
    **at(replicate="rollout_idx"),
)
right(
    "turns of a dialogue",
    one_file(rows(answers(runs=2), model="model", question_id="id", turn=lambda each: each["run"] + 1, score="part")),
    blocks="question_id",
    **at(item="question_id+turn"),
)
right(
    "samples numbered within each task",
    one_file(
        rows(
            model="model",
            task=lambda each: "math" if each["n"] < 18 else "law",
            problem_id=lambda each: each["n"] % 18,
            correct="right",
        )
    ),
    **at(item="problem_id+task"),
)
right(
    "a file per model",
    file_per_model("{m}.csv", question_id="id", response="answer", correct="right"),
    model_from="file",
)
right(
    "a file per model, numbered questions",
    file_per_model("{m}.csv", id="n", question="text", correct="right"),
    model_from="file",
)
right("a folder per model", file_per_model("{m}/results.jsonl", task_id="id", passed="right"), model_from="folder")
right(
    "a folder of folders per model",
    file_per_model("{m}/out/results.jsonl", task_id="id", passed="right"),
    model_from="path:([^/]+)/[^/]+/[^/]+$",
)
right(
    "records by key in folders of folders",
    lambda folder: [
        as_json(
            folder / model / "instance_results" / "swe.json",
            {
                each["id"]: {"resolved": each["right"], "cost": each["part"]}
                for each in answers()
                if each["model"] == model
            },
        )
        for model in MODELS
    ],
    model_from="path:([^/]+)/[^/]+/[^/]+$",
    **at(item="key"),
)
right(
    "a rating of the problem beside a verdict",
    one_file(rows(model="model", problem_id="id", rating="difficulty", passed="right")),
    **at(score="passed"),
)
right("hits", one_file(rows(model="model", id="id", question="text", hit="right"), "hits.json"), **at(score="hit"))
right(
    "the name of a model beside a reason",
    one_file(
        rows(llm_name="model", user_input="text", response="answer", answer_relevancy="part", reason="reason"),
    ),
    **at(model="llm_name", item="user_input", score="answer_relevancy"),
)
right(
    "a file per model, other names",
    file_per_model("{m}.json", key="id", prompt="text", response="answer", follow_all_instructions="right"),
    model_from="file",
    **at(item="prompt"),
)
right(
    "a file per model, judged",
    file_per_model(
        "judged/{m}.jsonl", qid="id", query="text", explanation="reason", confidence="confidence", judge_score="part"
    ),
    model_from="file",
    **at(item="qid", score="judge_score"),
)
right(
    "a file per model and run",
    file_per_model("{m}_run{r}.csv", runs=2, item="id", score="part"),
    model_from="path:(llama|qwen|gpt)_run",
    replicate_from=r"path:run(\d+)",
)


def file_per_run(folder):
    for run in range(2):
        of = [each for each in answers(runs=2) if each["run"] == run]
        as_csv(folder / f"run {run + 1}.csv", rows(of, model="model", item="id", score="part"))


right("a file per run", file_per_run, replicate_from="file")
right(
    "one model alone",
    one_file(rows(answers()[:ITEMS], question_id="id", answer="answer", is_correct="right")),
    model_from="folder",
)
right(
    "score as text",
    one_file(rows(model="model", id="id", judge_score=lambda each: str(each["part"])), "results.csv"),
    **at(score="judge_score"),
)
right(
    "two copies of one score",
    one_file(rows(model="model", id="id", passed="right", success="right")),
    **at(score="passed"),
)
right(
    "a rating from 0 to 10",
    one_file(rows(model="model", id="id", helpfulness_rating="turns")),
    score_range=(0, 10),
    **at(score="helpfulness_rating"),
)
right(
    "a summary column of a wide table",
    one_file(
        [
            {"model": m, **{f"q{n}": (n * (k + 2)) % 3 // 2 for n in range(12)}, "Overall": 0.5}
            for k, m in enumerate(MODELS)
        ]
    ),
    drop_column="Overall",
)
right(
    "a summary column of a row per item",
    one_file([{"item": n, **{f"m{k}": (n * (k + 2)) % 3 / 2 for k in range(9)}, "avg": 0.5} for n in range(20)]),
    drop_column="avg",
)
right(
    "a file per model, with words that are no model",
    file_per_model("{m}.jsonl", task_id="id", result=lambda each: ["timeout", "ok"][each["right"]], passed="right"),
    model_from="file",
)
right(
    "agents and the model of the user",
    one_file(rows(user_model=lambda _: "gpt-user", agent_model="model", task_id="id", reward="part")),
    **at(model="agent_model"),
)
right(
    "a baseline that is the same for all",
    one_file(rows(model="model", task_id="id", baseline_score="difficulty", model_score="part")),
    **at(score="model_score"),
)
right(
    "metrics as rows of samples",
    one_file(rows(model="model", sample="id", metric_name=lambda _: "bleu", value="part")),
    **at(item="sample"),
)

# --- traps ---
trap(
    "right answers of yes or no",
    one_file(rows(model="model", question_id="id", answer=yes("right"), correct=yes("flag"))),
)
trap(
    "right answers that are true or false, and some answers that are neither",
    one_file(
        rows(
            model="model",
            question_id="id",
            predicted=lambda each: None if each["turns"] == 1 else each["right"],
            correct="flag",
        ),
        "results.jsonl",
    ),
)
trap(
    "right answers in a file per model",
    file_per_model("{m}.csv", model="model", question_id="id", output=yes("right"), correct=yes("flag")),
)
trap(
    "metrics of one answer, each with a reason",
    one_file(
        rows(
            model="model",
            user_input="text",
            response="answer",
            AnswerRelevancy_score="part",
            AnswerRelevancy_reason="reason",
            Faithfulness_score="confidence",
            Faithfulness_reason=lambda each: each["reason"] + "!",
        )
    ),
)
trap(
    "answers and reasons, no question", one_file(rows(model="model", response="answer", reason="reason", score="part"))
)
trap(
    "answers alone of one model",
    one_file(rows(answers()[:ITEMS], response="answer", reasoning="reason", passed="right")),
)
trap(
    "confidence alone", one_file(rows(model="model", question_id="id", answer="answer", judge_confidence="confidence"))
)
trap(
    "turn numbers alone",
    one_file(
        rows(model="model", task_id="id", response="answer", num_turns="turns", turn=lambda each: each["turns"] % 2)
    ),
)
trap("a receipt flag", one_file(rows(model="model", task_id="id", response="answer", receipt="flag"), "results.jsonl"))
trap(
    "a flag of the question by any name",
    one_file(rows(model="model", task_id="id", response="answer", animals="flag"), "results.jsonl"),
)
trap(
    "a flag of the answer by any name",
    one_file(rows(model="model", task_id="id", answer="answer", gold="gold", tool="right"), "results.jsonl"),
)
trap(
    "difficulty in the metadata",
    one_file(
        [
            {
                "model": each["model"],
                "id": each["id"],
                "prediction": each["answer"],
                "metadata": {"difficulty": each["difficulty"]},
            }
            for each in answers()
        ],
        "results.json",
    ),
)


def conditions(name, count=4, *, model=True, values=None):
    """Every question under several conditions."""
    of = [{**each, "model": "gpt"} for each in answers(models=("gpt",), runs=count)]
    names = values or ["plain", "polite", "rude", "expert"]
    label = {name: lambda each: names[each["run"]]}
    columns = {**({"model": "model"} if model else {}), "question_id": "id", **label, "is_correct": "right"}
    return one_file(rows(of, **columns))


trap("four prompts of one model", conditions("prompt_style"))
trap("four prompts, no model", conditions("condition", model=False))
trap("providers, no model", conditions("provider", model=False))
trap("a group that is a condition", conditions("group"))
trap("a run that is a prompt", conditions("run", 3, values=["baseline", "cot", "few_shot"]))
trap("settings as numbers", conditions("temperature", 3, values=[0, 1, 2]))
trap("shots", conditions("shots", 3, values=[0, 5, 10]))
trap("samples that may be runs or prompts", conditions("sample_idx", 3, values=[0, 1, 2]))
trap(
    "conditions of several models",
    one_file(
        rows(
            answers(runs=3),
            model="model",
            question_id="id",
            strategy=lambda each: ["zero", "cot", "few"][each["run"]],
            correct="right",
        )
    ),
)
trap(
    "models and prompts, neither called so",
    one_file(
        rows(
            answers(runs=2),
            backend="model",
            template=lambda each: ["a", "b"][each["run"]],
            question="text",
            correct="right",
        )
    ),
)
for bad in (
    "jailbroken",
    "toxicity_score",
    "hallucination_score",
    "attack_success",
    "word_error_rate",
    "loss",
    "latency",
    "is_error",
):
    trap(f"direction of {bad}", one_file(rows(model="model", question_id="id", response="answer", **{bad: "part"})))
trap(
    "a summary column beside what may be means",
    one_file(
        [
            {"model": m, **{f"q{n}": (n * (k + 2)) % 7 / 7 for n in range(12)}, "Overall": 0.25}
            for k, m in enumerate(MODELS)
        ]
    ),
)
for column in ("attack_method", "jailbreak_tactic", "adversarial_prompt"):
    table = rows(model="model", **{column: lambda each: "PAIR"}, behavior_id="id", success="right")
    trap(f"success beside {column}", one_file(table))
trap("two scores with usual names", one_file(rows(model="model", problem_id="id", rating="part", passed="right")))
trap(
    "means of well-known benchmarks",
    one_file(
        [
            {"model": model, **{name: 0.2 + 0.05 * (place + n) for n, name in enumerate(BENCHMARKS)}}
            for place, model in enumerate(MODELS)
        ]
    ),
)
trap(
    "direction in a file per model",
    file_per_model("{m}.jsonl", id="id", prompt="text", response="answer", jailbroken="right"),
)
trap("passed and reward differ", one_file(rows(model="model", id="id", passed="right", reward="part")))
trap("strict and loose", one_file(rows(model="model", id="id", strict="right", loose=lambda each: each["part"] > 0.2)))
trap(
    "rubric of three",
    one_file(rows(model="model", question_id="id", fluency="part", relevance="confidence", accuracy_rating="seconds")),
)
trap("an index as item", one_file(rows(model="model", index_in_file="n", response="answer", correct="right")))
trap("only an index and a question number", one_file(rows(model="model", row="n", answer="answer", passed="right")))
trap(
    "metrics as rows",
    one_file(
        [
            {"model": each["model"], "item": each["id"], "metric": metric, "score": each[key]}
            for each in answers()
            for metric, key in (("acc", "part"), ("calibration", "confidence"))
        ]
    ),
)


def parts_of_a_benchmark(folder):
    for number, subject in enumerate(("algebra", "law", "music")):
        of = [{**each, "id": f"{subject}-{each['n']}"} for each in answers(models=("gpt",), seed=number)]
        as_csv(folder / f"{subject}.csv", rows(of, question_id="id", answer="answer", correct="right"))


def subjects_with_the_same_numbers(text):
    def make(folder):
        for number, subject in enumerate(("algebra", "law", "music")):
            of = [{**each, "text": f"{subject}: {each['text']}"} for each in answers(models=("gpt",), seed=number)]
            columns = {"question": "text"} if text else {}
            as_csv(folder / f"{subject}.csv", rows(of, task_id="n", answer="answer", correct="right", **columns))

    return make


def prompts_by_file(folder):
    for number, prompt in enumerate(("zero_shot", "few_shot")):
        as_csv(folder / f"{prompt}.csv", rows(answers(seed=number), model="model", item="id", score="part"))


def dated_files(folder):
    for number, day in enumerate(("2025-05-01", "2025-05-02", "2025-05-09")):
        of = answers(models=("gpt",), seed=number)
        as_csv(folder / f"results_{day}.csv", rows(of, question_id="id", correct="right"))


trap("files that are parts of a benchmark", parts_of_a_benchmark)
trap("files that number their own questions", subjects_with_the_same_numbers(text=True))
trap("files with the same numbers", subjects_with_the_same_numbers(text=False))
trap(
    "files that are splits",
    lambda folder: [
        as_csv(folder / f"{part}.csv", rows(answers()[:30], id="id", score="part")) for part in ("dev", "test")
    ],
)
trap("files that are prompts", prompts_by_file)
trap("files that are days", dated_files)


def files_of_one_model(*names):
    """The same model in several files, named by something else."""
    return lambda folder: [
        WRITERS[".csv"](folder / f"{name}.csv", rows(answers(models=("gpt",), seed=n), id="id", score="part"))
        for n, name in enumerate(names)
    ]


trap("files that are judges", files_of_one_model("judge_gpt4", "judge_claude"))
trap("files that are languages", files_of_one_model("en", "de", "fr"))
trap("files that are settings of a model", files_of_one_model("gpt_0shot", "gpt_5shot"))
trap("files of strategies", files_of_one_model("baseline", "cot", "self_consistency"))
trap("folders that are providers", files_of_one_model("azure/gpt-4o", "openai/gpt-4o"))
trap("folders that are checkpoints", files_of_one_model("checkpoint-100/results", "checkpoint-200/results"))
trap(
    "folders of benchmarks with a file per model",
    files_of_one_model("gsm8k/gpt", "gsm8k/llama", "math/gpt", "math/llama", "arc/gpt", "arc/llama"),
)
trap(
    "folders of models with a file per benchmark",
    files_of_one_model("gpt/gsm8k", "gpt/math", "llama/gsm8k", "llama/math"),
)
trap(
    "an identifier of every answer",
    one_file(
        rows(
            model="model",
            id=lambda each: f"{each['model']}-{each['n']}-{each['turns']}",
            response="answer",
            correct="right",
        )
    ),
)
trap(
    "predictions and gold",
    one_file(
        rows(model="model", question_id="id", pred=lambda each: each["turns"] % 2, gold=lambda each: each["n"] % 2)
    ),
)
trap(
    "summaries of items",
    one_file(rows(model="model", question_id="id", mean_score="part", std_score="confidence", n_correct="turns")),
)
trap(
    "human and judge",
    one_file(rows(model="model", question_id="id", human_score="part", judge_score="confidence")),
)
trap(
    "pairs and their winner",
    one_file(
        [
            {
                "question_id": each["id"],
                "model_1": each["model"],
                "model_2": "base",
                "winner": ["model_1", "tie"][each["right"]],
                "score": each["part"],
            }
            for each in answers()
        ],
        "pairs.jsonl",
    ),
)
trap(
    "a rubric in an object",
    one_file(
        [
            {
                "model": each["model"],
                "item_id": each["id"],
                "rubric": {"accuracy": each["turns"], "clarity": each["n"] % 5 + each["turns"], "depth": each["run"]},
                "total": 2 * each["turns"],
            }
            for each in answers()
        ],
        "results.jsonl",
    ),
)
METRICS, GROUPS = ("em", "f1", "bleu", "faithfulness"), ("arc", "hellaswag", "mmlu", "winogrande")
trap(
    "metrics of whole benchmarks",
    one_file([{"llm": m, "metric": metric, "value": (k + 1) / 9} for k, m in enumerate(MODELS) for metric in METRICS]),
)
trap(
    "metrics by another name",
    one_file([{"llm": m, "aspect": metric, "value": (k + 1) / 9} for k, m in enumerate(MODELS) for metric in METRICS]),
)
trap("metrics of one system", one_file([{"metric": metric, "score": len(metric) / 20} for metric in METRICS]))


def keyed(document):
    return lambda folder: as_json(folder / "results.json", document)


trap("losses by key", keyed({f"{m}_{loss}": 2.5 + len(m) for m in MODELS for loss in ("loss", "ppl")}), "results.json")
trap(
    "a summary of each model by key",
    keyed({m: {"resolved": 30 + len(m), "total": 50} for m in MODELS}),
    "results.json",
)
trap(
    "results of one model or means of many, by key",
    keyed({f"case-{n}": {"success": n % 2 == 0, "language": "en"} for n in range(12)}),
    "results.json",
)
trap(
    "means of datasets",
    one_file(
        [
            {"model": m, "dataset": d, "accuracy": (k + len(d)) / 20, "n": 100}
            for k, m in enumerate(MODELS)
            for d in GROUPS
        ]
    ),
)
trap(
    "means of languages",
    one_file(
        [{"model": m, "language": d, "accuracy": (k + len(d)) / 20} for k, m in enumerate(MODELS) for d in GROUPS]
    ),
)
trap(
    "guesses who wrote an answer",
    one_file(
        rows(
            prompt_id="id",
            judge="model",
            guessed_model=lambda each: MODELS[each["turns"] % 3],
            correct="right",
            confidence="confidence",
        )
    ),
)
trap("the form of an answer", one_file(rows(model="model", question_id="id", answer="answer", format_correct="right")))
trap(
    "an index of questions",
    one_file(rows(answers(runs=2), model="model", problem_idx="n", seed="run", is_correct="right")),
)
trap(
    "conditions and samples together",
    one_file(
        rows(
            answers(runs=4),
            model="model",
            task_id="id",
            strategy=lambda each: ["zero_shot", "cot"][each["run"] // 2],
            sample=lambda each: each["run"] % 2,
            passed="right",
        )
    ),
)
for bad in ("stereotype_score", "policy_violation", "risk", "flagged"):
    trap(f"direction of {bad}", one_file(rows(model="model", question_id="id", response="answer", **{bad: "part"})))


def files_of_settings(folder):
    for number, setting in enumerate(("temp0", "temp1")):
        as_csv(
            folder / f"{setting}.csv", rows(answers(models=("gpt",), seed=number), question_id="id", correct="right")
        )


trap("files that are settings", files_of_settings)
trap(
    "two systems side by side",
    one_file(
        rows(
            question="text",
            base_answer="answer",
            ft_answer="reason",
            base_rouge1="part",
            ft_rouge1="confidence",
            improvement=lambda each: each["part"] - each["confidence"],
        )
    ),
)
for pair in (("left", "right"), ("baseline_model", "candidate_model"), ("assistant_a", "assistant_b")):
    trap(
        f"pairs of {pair[0]} and {pair[1]}",
        one_file(
            [
                {"prompt_id": n, pair[0]: MODELS[0], pair[1]: MODELS[1 + n % 2], "preference": n % 2, "score": n / 30}
                for n in range(ITEMS)
            ],
            "pairs.jsonl",
        ),
    )
