"""A client of HELM that knows a share of the answers of simple_mcqa; SEED comes from the environment."""

import os
import random
import re

from helm.clients.client import Client
from helm.common.request import GeneratedOutput, RequestResult, Token

RNG = random.Random(int(os.environ["SEED"]))


class Mock(Client):
    def __init__(self, skill, **_):
        self.skill = skill

    def make_request(self, request):
        number = int(re.findall(r"Is (\d+) even", request.prompt)[-1])
        right, wrong = ("A", "B") if number % 2 == 0 else ("B", "A")
        answer = f" {right if RNG.random() < self.skill else wrong}"
        output = GeneratedOutput(text=answer, logprob=0.0, tokens=[Token(text=answer, logprob=0.0)])
        return RequestResult(success=True, cached=False, request_time=0.1, completions=[output], embedding=[])
