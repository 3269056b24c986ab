"""Three types: an API that takes seeds, one that takes none, and a model that lives in this process."""

import hashlib


def chance(*parts: object) -> float:
    """A number from 0 to 1 that depends on every part."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:12], 16) / 16**12


class TemplateAPI:
    """As the tool has it: one seed for all requests."""

    def __init__(self, model="", base_url=None, num_concurrent=1, max_retries=3, timeout=300, seed=1234, **kwargs):
        self.model, self.seed, self.url = model, int(seed), base_url

    def _create_payload(self, messages, generate=True, gen_kwargs=None, seed=1234, **kwargs):
        return {"model": self.model, "messages": messages, "seed": seed, **(gen_kwargs or {})}

    @staticmethod
    def parse_generations(outputs, **kwargs):
        return [outputs["choices"][0]]

    @staticmethod
    def parse_logprobs(outputs, **kwargs):
        return []

    def answer(self, text, word, gen_kwargs):
        """Ask the server that is not there."""
        if self.url == "http://down":
            raise ConnectionError(f"Cannot connect to {self.url} with sk-or-v1-0123456789abcdef0123456789abcdef")
        payload = self._create_payload([text], generate=True, gen_kwargs=dict(gen_kwargs), seed=self.seed)
        right = chance(self.model, text, payload.get("seed")) < int(self.model[1:]) / 100
        outputs = {"choices": [word if right else "wrong"], "usage": {"prompt_tokens": 12, "completion_tokens": 3}}
        if self.url == "http://error":
            outputs = {"error": {"message": "out of credit"}}
        return self.parse_generations(outputs=outputs)[0]


class Chat(TemplateAPI):
    """Takes seeds."""


class Seedless(TemplateAPI):
    """Takes none, as some providers do."""

    def _create_payload(self, messages, generate=True, gen_kwargs=None, **kwargs):
        return {"model": self.model, "messages": messages}


class Local:
    """Draws with the seed that torch has."""

    torch_seed = 0

    def __init__(self, pretrained="", **kwargs):
        if kwargs:
            raise TypeError(f"unexpected arguments {sorted(kwargs)}")
        self.model = pretrained

    def answer(self, text, word, gen_kwargs):
        return word if chance(self.model, text, self.torch_seed) < int(self.model[1:]) / 100 else "wrong"


class Dummy:
    """Answers anything."""

    def __init__(self, **kwargs):
        self.model = "dummy"

    def answer(self, text, word, gen_kwargs):
        return "lol"


TYPES = {"local-chat-completions": Chat, "seedless": Seedless, "hf": Local, "dummy": Dummy}
