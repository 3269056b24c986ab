"""Types of models: an API that takes seeds, one that takes none, one that needs a key, a model in this process.

An API answers documents without a server; only what it writes for one, and where it would send it, is as in the tool.
"""

import hashlib
import os
import sys
import time
from pathlib import Path


def chance(*parts: object) -> float:
    """A number from 0 to 1 that depends on every part."""
    return int(hashlib.sha256(repr(parts).encode()).hexdigest()[:12], 16) / 16**12


class TemplateAPI:
    """As the tool has it: one seed for all requests."""

    def __init__(
        self,
        model="",
        base_url=None,
        num_concurrent=1,
        max_retries=3,
        timeout=300,
        seed=1234,
        tokenizer_backend=None,
        **kwargs,
    ):
        self.model, self.seed, self.url, self.max_retries, self.calls = model, int(seed), base_url, max_retries, 0
        self.base_url, self._concurrent, self.verify_certificate = base_url, num_concurrent, True
        if tokenizer_backend == "huggingface":
            raise OSError(f"{model} is no tokenizer")

    @property
    def api_key(self):
        return os.environ.get("OPENAI_API_KEY", "")

    @property
    def header(self):
        return {"Authorization": f"Bearer {self.api_key}"}

    def _create_payload(self, messages, generate=True, gen_kwargs=None, seed=1234, **kwargs):
        return {"model": self.model, "messages": messages, "seed": seed, **(gen_kwargs or {})}

    @staticmethod
    def parse_generations(outputs, **kwargs):
        return [outputs["choices"][0]]

    @staticmethod
    def parse_logprobs(outputs, **kwargs):
        return []

    def model_call(self, text, word, gen_kwargs):
        """Ask the server that is not there."""
        self.calls += 1
        if self.url == "http://down":
            raise ConnectionError(f"Cannot connect to {self.url} with sk-or-v1-0123456789abcdef0123456789abcdef")
        if self.url == "http://moody":
            self.be_moody()
        payload = self._create_payload([text], generate=True, gen_kwargs=dict(gen_kwargs), seed=self.seed)
        right = chance(self.model, text, payload.get("seed")) < int(self.model[1:]) / 100
        if self.url == "http://error":
            return {"error": {"message": "out of credit"}}
        if self.url == "http://null":
            return {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": None}}]}
        if self.url == "http://echo":
            word = f"echo {os.environ['FAKE_LM_EVAL_ECHO']}"
            sys.stdout.write(f"{word}\n")
        return {"choices": [word if right else "wrong"], "usage": {"prompt_tokens": 12, "completion_tokens": 3}}

    def be_moody(self):
        """Fail at every first attempt, and go on once that was noticed."""
        if self.calls % 2:
            raise ConnectionResetError("Connection reset by peer")
        deadline = time.monotonic() + 30
        while not Path(os.environ["FAKE_LM_EVAL_NOTICED"]).exists():
            if time.monotonic() > deadline:
                raise RuntimeError("the failure was not noticed")
            time.sleep(0.01)

    def answer(self, text, word, gen_kwargs):
        """Ask, and ask again."""
        for _ in range(self.max_retries - 1):
            try:
                return self.parse_generations(outputs=self.model_call(text, word, gen_kwargs))[0]
            except OSError:
                continue
        return self.parse_generations(outputs=self.model_call(text, word, gen_kwargs))[0]


class Chat(TemplateAPI):
    """Takes seeds."""


class Completions(TemplateAPI):
    """Writes a prompt in place of messages."""

    def _create_payload(self, messages, generate=True, gen_kwargs=None, seed=1234, **kwargs):
        return {"model": self.model, "prompt": messages, "seed": seed, **(gen_kwargs or {})}

    @staticmethod
    def parse_generations(outputs, **kwargs):
        return [outputs["choices"][0]["text"]]


class Keyed(Chat):
    """Needs a key, and knows where to ask."""

    def __init__(self, base_url="https://api.openai.com/v1", **kwargs):
        super().__init__(base_url=base_url, **kwargs)

    @property
    def api_key(self):
        if "OPENAI_API_KEY" not in os.environ:
            raise ValueError("API key not found. Please set the `OPENAI_API_KEY` environment variable.")
        return os.environ["OPENAI_API_KEY"]


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
        if pretrained == "m0":
            raise OSError("m0 is not a local folder")

    def answer(self, text, word, gen_kwargs):
        return word if chance(self.model, text, self.torch_seed) < int(self.model[1:]) / 100 else "wrong"


class Dummy:
    """Answers anything."""

    def __init__(self, **kwargs):
        self.model = "dummy"

    def answer(self, text, word, gen_kwargs):
        return "lol"


TYPES = {
    "local-chat-completions": Chat,
    "local-completions": Completions,
    "openai-chat-completions": Keyed,
    "seedless": Seedless,
    "hf": Local,
    "dummy": Dummy,
}
