"""A lighteval model that knows a share of the answers; SKILL and SEED come from the environment."""

import os
import random

from lighteval.models.abstract_model import LightevalModel
from lighteval.models.model_output import ModelResponse
from lighteval.utils.cache_management import SampleCache


class Mock(LightevalModel):
    def __init__(self, config):
        self.config = config
        self._cache = SampleCache(config)
        self.rng = random.Random(int(os.environ["SEED"]))
        self.skill = float(os.environ["SKILL"])

    @property
    def tokenizer(self):
        return None

    @property
    def add_special_tokens(self):
        return False

    @property
    def max_length(self):
        return 2048

    def greedy_until(self, docs):
        answers = [doc.choices[0] if self.rng.random() < self.skill else "Atlantis" for doc in docs]
        return [ModelResponse(input=doc.query, text=[answer]) for doc, answer in zip(docs, answers, strict=True)]

    def loglikelihood(self, docs):
        raise NotImplementedError

    def loglikelihood_rolling(self, docs):
        raise NotImplementedError
