"""An OpenAI-compatible server whose success probabilities are known: ``scripted_openai.py [--port P] [switches]``.

A prompt ends in ``answer: TEXT``. The model ``m70`` answers TEXT with probability 0.70 and ``wrong`` otherwise,
decided by a hash of the model, the prompt and the request's seed: the same request always gets the same answer. Faults
are drawn anew for every request, so that one that failed succeeds when it is sent again. Prints its port as the first
line; GET tells what was asked, POST /faults changes the switches of a running server.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOCK = threading.Lock()


class State:
    """What the server is told to do, and what it has seen."""

    def __init__(self, faults: dict[str, float]) -> None:
        self.faults = faults
        self.random = random.Random(1)
        self.requests = 0
        self.answered: dict[str, int] = {}


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    state: State

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Tell what was asked."""
        with LOCK:
            seen = {"requests": self.state.requests, "answered": dict(self.state.answered)}
        self.send(200, seen)

    def do_POST(self) -> None:
        """Answer a chat completion, or fail as told."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/faults"):
            with LOCK:
                self.state.faults = {**self.state.faults, **body}
            self.send(200, {})
            return
        with LOCK:
            faults = self.state.faults
            self.state.requests += 1
            draw = self.state.random.random()
        for fault in ("error", "limit", "garbage", "hang"):
            if draw < faults.get(fault, 0.0):
                self.fail(fault)
                return
            draw -= faults.get(fault, 0.0)
        time.sleep(faults.get("delay", 0.0))
        self.answer(body)

    def fail(self, fault: str) -> None:
        """Be a bad server in one of four ways."""
        if fault == "error":
            self.send(500, {"error": {"message": "scripted failure"}})
        elif fault == "limit":
            self.send(429, {"error": {"message": "slow down"}}, {"Retry-After": "0"})
        elif fault == "garbage":
            self.raw(200, b'{"choices": [ <html>')
        else:
            time.sleep(30)
            self.close_connection = True

    def answer(self, body: dict) -> None:
        """Right with the probability in the model's name."""
        model, seed = body["model"], body.get("seed")
        prompt = "\n".join(str(message["content"]) for message in body["messages"])
        asked = f"{model}|{seed}|{prompt}"
        draw = int(hashlib.sha256(asked.encode()).hexdigest()[:12], 16) / 16**12
        right = draw < int("".join(c for c in model if c.isdigit())) / 100
        with LOCK:
            self.state.answered[asked] = self.state.answered.get(asked, 0) + 1
        text = prompt.rsplit("answer:", 1)[-1].strip() if right else "wrong"
        self.send(
            200,
            {
                "id": hashlib.sha256(asked.encode()).hexdigest()[:16],
                "object": "chat.completion",
                "created": 0,
                "model": model,
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}},
                ],
                "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
            },
        )

    def send(self, code: int, content: object, headers: dict[str, str] | None = None) -> None:
        """Send JSON."""
        self.raw(code, json.dumps(content).encode(), headers)

    def raw(self, code: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        """Send bytes; a client that has gone is not our problem."""
        try:
            self.send_response(code)
            for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:
            self.close_connection = True


def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    for fault in ("error", "limit", "garbage", "hang", "delay"):
        parser.add_argument(f"--{fault}", type=float, default=0.0)
    given = vars(parser.parse_args())
    port = given.pop("port")
    Handler.state = State(given)
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
