"""An HTTP server with the chat completions of OpenAI, and two mock models: python serve.py PORT.

aster is right nine times of ten, birch four times; the answer depends on the question and on how often it was asked.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer

ANSWERS = {"France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Norway": "Oslo", "Peru": "Lima", "Kenya": "Nairobi"}
SKILL = {"aster": 0.9, "birch": 0.4}
asked: Counter[tuple[str, str]] = Counter()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        model, question = request["model"], str(request["messages"][-1]["content"])
        asked[model, question] += 1
        drawn = hashlib.sha256(f"{model} {question} {asked[model, question]}".encode()).digest()[0] / 256
        right = next((city for country, city in ANSWERS.items() if country in question), "?")
        given = right if drawn < SKILL[model] else "Atlantis"
        choice = re.search(rf"([A-D])\) {given}", question)
        message = {"role": "assistant", "content": f"ANSWER: {choice[1]}" if choice else given}
        usage = {"prompt_tokens": 8, "completion_tokens": 1, "total_tokens": 9}
        first = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"id": "x", "object": "chat.completion", "created": 0, "model": model, "choices": [first]}
        content = json.dumps(answer | {"usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
