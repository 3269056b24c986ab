"""A server in this process that answers chat completions in the way that the path of its address names.

``http://127.0.0.1:PORT/WAY/v1``: ``fine``, an HTTP status such as ``401``, ``html``, ``garbage``, ``empty``, ``slow``
(answers after :meth:`Faulty.release`), ``hang`` (never answers), ``drop`` (closes the connection), ``busy`` (429 at
first, fine afterwards), ``null`` (an answer without content), ``null-once`` (the first of them), ``echo`` (repeats the
key in its answer), ``echo-400`` (repeats it in an error).
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "ok"}}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
}


def answer_of(content: str | None) -> dict:
    """An answer with this content."""
    message = {"role": "assistant", "content": content}
    return ANSWER | {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}


class Faulty:
    """The running server: a context manager."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        """Requests by way."""
        self.keys: list[str | None] = []
        """The keys that came with them."""
        self.bodies: list[dict] = []
        """What was asked."""
        self._gate = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                way = self.path.split("/")[1]
                server.asked[way] += 1
                server.keys.append(self.headers.get("Authorization"))
                server.answer(self, way)

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True

    def __enter__(self) -> Faulty:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
        self._http.shutdown()
        self._http.server_close()

    def release(self) -> None:
        """Let slow requests be answered, and those that hang end."""
        self._gate.set()

    def url(self, way: str) -> str:
        """An address whose server answers in this way."""
        return f"http://127.0.0.1:{self._http.server_port}/{way}/v1"

    def answer(self, request: BaseHTTPRequestHandler, way: str) -> None:
        """Answer one request."""
        if way == "busy":
            way = "429" if self.asked[way] == 1 else "fine"
        if way == "null-once":
            way = "null" if self.asked[way] == 1 else "fine"
        kind, code, body = "application/json", 200, json.dumps(ANSWER).encode()
        if way.isdigit():
            code, body = int(way), json.dumps({"error": {"message": f"scripted {way}"}}).encode()
        elif way == "html":
            kind, body = "text/html", b"<html><body>Welcome to the proxy</body></html>"
        elif way == "garbage":
            body = b'{"choices": [ <html>'
        elif way == "empty":
            body = b"{}"
        elif way == "null":
            body = json.dumps(answer_of(None)).encode()
        elif way in ("echo", "echo-400"):
            key = request.headers.get("Authorization")
            body = json.dumps(answer_of(f"you sent {key}") if way == "echo" else {"error": {"message": f"bad {key}"}})
            code, body = 200 if way == "echo" else 400, body.encode()
        elif way in ("slow", "hang"):
            self._gate.wait()
        if way == "hang":
            request.close_connection = True
            return
        if way == "drop":
            request.close_connection = True
            request.connection.shutdown(2)
            return
        request.send_response(code)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)


def unused_port() -> int:
    """A port that no server listens at."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        return server.server_port
