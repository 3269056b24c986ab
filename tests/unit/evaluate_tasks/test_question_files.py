import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import polars as pl
import pytest

from bbedge.errors import BbedgeError, DomainError, FormatError
from bbedge.evaluate.tasks import BENCHMARKS, benchmark
from bbedge.evaluate.tasks.question_files import beside, read_rows

ROWS = [{"question": "One\u2028line?", "n": 1}, {"question": "Two?", "n": 2}]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format, *args):  # noqa: A002
        pass


@pytest.fixture
def files(tmp_path):
    lines = "\n\n".join(json.dumps(row, ensure_ascii=False) for row in ROWS)
    (tmp_path / "lines.jsonl").write_text("\ufeff" + lines, encoding="utf-8")
    (tmp_path / "list.json").write_text(json.dumps(ROWS), encoding="utf-8")
    pl.DataFrame(ROWS).write_parquet(tmp_path / "table.parquet")
    return tmp_path


@pytest.mark.parametrize("name", ["lines.jsonl", "list.json", "table.parquet"])
def test_the_same_rows_from_every_kind_of_file(files, name):
    found = read_rows(str(files / name))
    assert [dict(row.fields) for row in found.rows] == ROWS
    assert len(found.sha256) == 64


def test_rows_from_the_web(files):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(files)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        folder = f"http://127.0.0.1:{server.server_port}"
        assert [dict(row.fields) for row in read_rows(beside(folder, "lines.jsonl")).rows] == ROWS
        with pytest.raises(FormatError, match="404"):
            read_rows(f"{folder}/nothing.jsonl")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    with pytest.raises(FormatError, match="download the file and give its path"):
        read_rows(f"{folder}/lines.jsonl")


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("sent", [0, 1, 2])
def test_a_download_that_ends_early_is_refused(chunked, sent):
    """Whole lines came, so nothing but their number shows that some are missing."""
    lines = [json.dumps(row).encode() + b"\n" for row in [*ROWS, {"question": "Three?", "n": 3}]]

    class ClosesEarly(Quiet):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            self.send_response(200)
            if chunked:
                self.send_header("Transfer-Encoding", "chunked")
            else:
                self.send_header("Content-Length", str(sum(map(len, lines))))
            self.end_headers()
            for line in lines[:sent]:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(line), line) if chunked else line)
            self.close_connection = True

    server = ThreadingHTTPServer(("127.0.0.1", 0), ClosesEarly)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with pytest.raises(FormatError, match=r"closed after [\d,]+ of 99 bytes|cannot be fetched") as caught:
            read_rows(f"http://127.0.0.1:{server.server_port}/rows.jsonl")
        assert "give its path" in str(caught.value)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_an_address_is_named_without_its_credentials():
    with pytest.raises(FormatError, match=r"token=\*\*\*: cannot be fetched") as caught:
        read_rows("http://127.0.0.1:9/rows.jsonl?token=hunter2")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no rows"),
        (b"\n \n", "no rows"),
        (b"[1]", ":1: not a JSON object"),
        (b'{"a": 1}\n3', ":2: not a JSON object"),
        (b'{"a": 1}\n{"a": ', ":2: not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe{", "not UTF-8"),
        (b"PAR1 and no more", "not a complete Parquet file"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path, content, message):
    path = tmp_path / "file.jsonl"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read_rows(str(path))


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(FormatError, match="No such file"):
        read_rows(str(tmp_path / "none.jsonl"))
    with pytest.raises(FormatError, match="cannot be read"):
        read_rows("nul\0.jsonl")


def test_fields_of_another_type_are_refused_by_line(jsonl):
    path = jsonl("rows.jsonl", [{"text": 3, "whole": True, "texts": "ab", "mappings": []}])
    (row,) = read_rows(path).rows
    for kind in ("text", "whole", "texts", "mappings"):
        with pytest.raises(FormatError, match=rf"rows.jsonl:1: '{kind}' should hold"):
            getattr(row, kind)(kind)


def test_every_benchmark_is_found_by_name():
    from inspect_ai.util import registry_create

    for name in BENCHMARKS:
        assert callable(benchmark(name))
        # Made as far as its arguments allow: the name is known to Inspect, the file is not there.
        with pytest.raises(BbedgeError):
            registry_create("task", f"bbedge/{name}", data="/no/such/file")
    with pytest.raises(DomainError, match="choose from"):
        benchmark("other")
