"""What names of columns and metrics say about them: rules as data, each with its reason in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from bbedge.errors import Argument, Blank
from bbedge.readers.choices import Candidate, OpenChoiceError
from bbedge.records.reading import Role
from bbedge.text import quoted, shown

_WORD_BREAK = re.compile(r"(?<=[a-z])(?=[A-Z])|[^a-zA-Z0-9@]+")
_ANYWHERE, _LAST = r"(?:^|_)(?:{})(?=_|$)", r"(?:^|_)(?:{})(?:_?[0-9]+)?$"
_FIRST = r"^(?:{})_"
GROUP = "a group of questions, or a setting"
"""The reason against items that questions may share."""
INDEX = "an index, which may count rows"
"""The reason against items that are only numbered."""
_LESS_IS_BETTER = (
    "errors?|err|loss(es)?|wer|cer|mae|mse|rmse|nll|ppl|perplexity|brier|ece|regret|penalty|jailb(roken|reaks?)|asr|attack|"
    "hallucinat.*|toxic.*|harm(ful.*)?|unsafe|violations?|violated|bias(ed)?|decept.*|deceiv.*|fail(ed|ures?|s)?|refus.*|"
    "leak.*|misinformation|contradictions?|distance|latency|latencies|duration|runtime|cost|stereotyp.*|discriminat.*|"
    "offensive.*|hate(ful)?|sycophan.*|insult.*|vulnerab.*|risks?|flag(s|ged)?|plagiari.*|contaminat.*|redundan.*|crash(es)?|"
    "ter|eer|fid|lpips|s?mape|deviation|divergence|disparity|gap"
)


Speaks = Literal["for", "against"]
SPEAKS: tuple[Speaks, ...] = get_args(Speaks)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a name says about a role."""

    role: Role
    """The role."""
    speaks: Speaks
    """Whether a column with such a name has the role rather than another, or never."""
    reason: str
    """Why."""
    where: str
    """Which words of the name must fit: any, the last or the first."""
    words: str
    """Expressions for words, with bars between them."""

    def fits(self, name: str) -> bool:
        """Whether a name in plain words fits."""
        return re.search(self.where.format(self.words), name) is not None


# The rules for a role that come first say more than those that come later.
RULES = (
    Rule(
        "score",
        "for",
        "it is called what scores are called",
        _LAST,
        "scores?|correct(ness)?|accuracy|acc|em|exact_match|match(ed)?|f1|reward|pass(ed|es)?|pass@1|success(ful)?|succeeded|"
        "solved|resolved|verified|win|won|right|hits?|grade|graded|rating|verdict|bleu|rouge_?[12l]?|meteor|chrf|bertscore|ndcg|mrr|"
        "recall|precision|relevanc[ey]|faithfulness|groundedness|similarity|helpfulness|quality|fluency|coherence|"
        "usefulness|completeness|factuality|follow_all_instructions|is_follow_instructions?",
    ),
    Rule("score", "for", "it is among other scores", _FIRST, "evaluations?|scores|metrics|grades"),
    Rule(
        "score",
        "against",
        "how sure somebody is",
        _ANYWHERE,
        "confiden(ce|t)|certain(ty)?|uncertainty|prob(s|ability|abilities)?|logprobs?|likelihood|entropy|std|stderr|stdev|"
        "variance|ci|lower|upper",
    ),
    Rule(
        "score",
        "against",
        "an index, a number or a count",
        _ANYWHERE,
        "index|idx|id|ids|num|n|no|nr|number|counts?|rank(ing)?|order|position|turns?|steps?|rounds?|attempts?|tries|retries|"
        "repeats?|runs?|trials?|epochs?|seed|rows?|lines?|version|page|tests|cases|calls|files|votes|unnamed|chunks?",
    ),
    Rule(
        "score",
        "against",
        "what an answer took, or when it was given",
        _ANYWHERE,
        "n?tokens?|price|usd|cost|time|latency|duration|runtime|elapsed|seconds?|secs?|ms|length|len|size|chars?|words?|date|"
        "timestamp|created|updated|at|year|month|day|memory|speed|throughput",
    ),
    Rule(
        "score",
        "against",
        "a property of the question, or a setting",
        _ANYWHERE,
        "difficulty|hardness|level|weights?|thresholds?|max|min|limits?|budget|temp(erature)?|top_[pk]|k|shots?|metadata|meta|"
        "configs?|settings|params|args|usage|has|uses?|needs|requires|contains|receipts?|multimodal|age|points_possible",
    ),
    Rule(
        "score",
        "against",
        "the form of an answer, or whether there is one",
        _ANYWHERE,
        "format(ted)?|syntax|pars(ed?|able|ing)|valid|extract(ed|ion)?|truncat(ed|ion)|attempted|answered|cached|skipped",
    ),
    Rule("score", "against", "a summary of several scores", _ANYWHERE, "mean|avg|average|median|sum|total|best|worst"),
    Rule(
        "score",
        "against",
        "an answer, not whether it is right",
        _LAST,
        "answers?|preds?|predict(ed|ions?)|gold|target|expected|reference|label|truth|choice|option|letter|response|output|"
        "baseline|value_expected",
    ),
    Rule(
        "item",
        "against",
        "free text that explains",
        _ANYWHERE,
        "reason(s|ing)?|explanations?|rationales?|comments?|feedback|critique|justification|analysis|thoughts?|cot|notes?|"
        "summary|description|errors?|messages?|log",
    ),
    Rule(
        "item",
        "against",
        "an answer",
        _LAST,
        "answers?|responses?|outputs?|completions?|preds?|predict(ed|ions?)|generat(ed|ions?)|repl(y|ies)|transcript|"
        "trajectory|trace|solutions?|code|patch|gold|target|expected|references?|labels?|truth|choices?|options?|contexts?|"
        "(answer|response|output|completion|model|generated)_(text|content|json)|content|result|retrieved.*",
    ),
    Rule(
        "item",
        "against",
        INDEX,
        _ANYWHERE,
        "index|idx|rows?|lines?|unnamed|position|rank|order|no|nr|number|num|counts?|timestamp|date|time|created|updated|at",
    ),
    Rule(
        "item",
        "against",
        "it names an answer, a run or a person",
        _ANYWHERE,
        "requests?|runs?|traces?|responses?|completions?|messages?|eval(uation)?|judg(e?ments?|es?)|graders?|annotators?|"
        "raters?|jobs?|user_?(id|name)|username|workers?|models?|experiments?|attempts?|trials?|seed|uuid|hash|generation",
    ),
    Rule(
        "item",
        "against",
        GROUP,
        _LAST,
        "datasets?|benchmarks?|categor(y|ies)|topics?|subjects?|domains?|splits?|subsets?|lang(uage)?s?|locale|types?|levels?|difficulty|"
        "conditions?|settings?|methods?|strateg(y|ies)|styles?|personas?|temperature|shots?",
    ),
    Rule("item", "against", "it names what is measured", _ANYWHERE, "metrics?|measures?|scorers?|evaluators?"),
    Rule("item", "for", "it is an identifier", _LAST, "id|uid|key"),
    Rule(
        "item",
        "for",
        "it is called what questions are called",
        _LAST,
        "questions?|problems?|tasks?|prompts?|instances?|samples?|examples?|cases?|items?|query|queries|instructions?|inputs?|"
        "exercise|puzzle|scenario|name|title|doc(ument)?|test|(question|problem|task|prompt|input)_text",
    ),
    Rule(
        "model",
        "against",
        "it names a judge or somebody else than the contestant",
        _ANYWHERE,
        "judg(e|es|ing)|graders?|evaluators?|scorers?|annotators?|raters?|critics?|references?|baselines?|users?|embedd.*|"
        "rewards?|reason(ing)?|answers?|responses?|outputs?|dataset|benchmark|category|topic|subject|split|verdict|status|"
        "difficulty|level|type|metrics?|results?|outcomes?|guess(ed)?|pred(icted)?|detected|identified|true",
    ),
    Rule("model", "for", "it is called what models are called", _LAST, "models?|llms?|agents?|engine|checkpoint"),
    Rule("model", "for", "it is called what models are called", _FIRST, "model|llm|agent"),
    Rule(
        "replicate",
        "for",
        "it counts runs",
        _LAST,
        "runs?|attempts?|iterations?|rep|repeats?|repetition|trials?|seed|rollouts?|epochs?|try|"
        "(run|attempt|trial|repeat|rollout|seed)_(id|idx|index|no|num|number)",
    ),
)
"""What names say. Shapes say the rest: :mod:`bbedge.readers.decisions`."""
PART_OF_ITEM = re.compile(_LAST.format("turns?|turn_(id|idx|index|no|number)|sub_?task|sub_?question|part"))
"""Names of columns that number parts of one item."""
_FAMILY = re.compile(
    r"(?<![a-z])(gpt|chatgpt|o[134]|claude|sonnet|opus|haiku|gemini|gemma|palm|(code)?llama|tulu|olmo|vicuna|alpaca|mi[sx]tral|"
    r"(code|mini|magi)stral|qwen|qwq|deepseek|phi|grok|command|cohere|aya|yi|falcon|pythia|zephyr|nova|jamba|dbrx|kimi|glm|"
    r"chatglm|minimax|nemotron|granite|intern(lm|vl)|baichuan|starcoder2?|wizard(lm|coder|math)|solar|smollm|stablelm|"
    r"hermes|exaone|hunyuan|ernie|doubao|bloomz?|opt|t5|bert|whisper|wav2vec)(?![a-z])|(?<![0-9a-z])[0-9.]+b(?![a-z])",
    re.IGNORECASE,
)
"""Families of models, and numbers of parameters."""
_SETTING = re.compile(_ANYWHERE.format("[0-9]*shots?|zero|few|cot|temp(erature)?|prompts?|seed|fold|split|baseline"))
VERDICT = re.compile(
    r"pass(ed)?|fail(ed|ure)?|success(ful)?|(in)?correct|wrong|yes|no|(un)?resolved|(un)?solved|[ci]", re.IGNORECASE
)
"""Words that say whether an answer is right."""
NO_SCORE = re.compile(
    _ANYWHERE.format("times?|latency|durations?|costs?|tokens?|lengths?|timestamps?|dates?|counts?|sizes?|index")
)
"""Names of columns of numbers that do not make a table one of scores."""
_LESS = re.compile(_ANYWHERE.format(_LESS_IS_BETTER))
_ATTACK = re.compile(_ANYWHERE.format("attack(er|s)?|jailbr(oken|eaks?)|adversarial|red_?team(ing)?|injections?"))
_BENCHMARK = re.compile(
    r"(mmlu|gsm|math|arc|hella_?swag|wino(grande)?|truthful_?qa|bbh|big_?bench|gpqa|ifeval|if_eval|musr|human_?eval|mbpp|piqa|siqa|"
    r"boolq|drop|trivia_?qa|agi_?eval|c_?eval|cmmlu|bfcl|swe_?bench|live_?code_?bench|aime|mt_?bench|alpaca_?eval|arena_?hard|mmmu|"
    r"math_?vista|doc_?vqa|chart_?qa|lambada|open_?book_?qa|squad|copa|mgsm|simple_?qa|hle|tau2?_?bench)(?![a-z]).*"
)
"""Names of benchmarks."""


def plain_name(name: str) -> str:
    """A name as its words, in lower case.

    >>> plain_name("AnswerRelevancy_score"), plain_name("metadata.turn no")
    ('answer_relevancy_score', 'metadata_turn_no')
    """
    return "_".join(word.lower() for word in _WORD_BREAK.split(name) if word)


def rules_for(name: str, role: Role, speaks: Speaks) -> list[tuple[int, str]]:
    """The reasons that a name gives, each with the position of its rule: the smaller one says more.

    >>> [reason for _, reason in rules_for("judge_confidence", "score", "against")]
    ['how sure somebody is']
    """
    rules = [(place, rule) for place, rule in enumerate(RULES) if (rule.role, rule.speaks) == (role, speaks)]
    return [(place, rule.reason) for place, rule in rules if rule.fits(plain_name(name))]


def is_called(name: str, role: Role, speaks: Speaks) -> bool:
    """Whether a name speaks for a role, or against it."""
    return bool(rules_for(name, role, speaks))


def are_models(names: Sequence[str]) -> bool:
    """Whether most of the names are names of models.

    >>> are_models(["gpt-4o", "Llama-3.1-8B"]), are_models(["plain", "cot"]), are_models(["judge_gpt4", "judge_claude"])
    (True, False, False)
    """
    named = [name for name in names if _FAMILY.search(name) and not is_called(name, "model", "against")]
    return 2 * len(named) > len(names) and not are_settings(names)


def are_settings(names: Sequence[str]) -> bool:
    """Whether names differ in words for prompts or settings.

    >>> are_settings(["baseline", "cot"]), are_settings(["seed 1", "seed 2"])
    (True, False)
    """
    return len({tuple(match[0] for match in _SETTING.finditer(plain_name(name))) for name in names}) > 1


def are_benchmarks(names: Sequence[str]) -> bool:
    """Whether most of the names are those of different benchmarks, so that their scores are means.

    >>> are_benchmarks(["MMLU-Pro", "gsm8k", "Overall"]), are_benchmarks(["math-1", "math-2", "math-3"])
    (True, False)
    """
    found = (_BENCHMARK.fullmatch(plain_name(name)) for name in names)
    return 2 * len({each[1] for each in found if each}) > len(names)


def may_be_less(name: str) -> bool:
    """Whether less may be better, by the name of a score or a metric.

    >>> may_be_less("word_error_rate"), may_be_less("jailbroken"), may_be_less("terror")
    (True, True, False)
    """
    return _LESS.search(plain_name(name)) is not None


def check_name(name: str, place: str, *, of: str, ranged: bool = False, beside: Sequence[str] = ()) -> None:
    """Raise if the name of a score leaves open whether more is better; ``of`` says what it names.

    Where metrics are ``ranged``, each has a range of its own, which says it. A success ``beside`` a column of attacks
    may be that of the attack.
    """
    attack = next((each for each in beside if _ATTACK.search(plain_name(each))), None)
    if may_be_less(name) or attack is not None:
        own = Argument("metric_range", {shown(name): (Blank("WORST"), Blank("BEST"))})
        less, more = own if ranged else Argument("less_is_better", True), Argument("less_is_better", False)
        raise OpenChoiceError.asking(
            f"Which values of {quoted(name)} are better?",
            (
                Candidate(argument=less, reasons=("if lower ones are",)),
                Candidate(argument=more, reasons=("if higher ones are",)),
            ),
            f"{place}: by its name, less may be better for the {of} {quoted(name)}"
            f"{'' if may_be_less(name) else f' beside {quoted(str(attack))}'}; pass ",
            less,
            " if so, or ",
            more,
            " if more is better",
        )
