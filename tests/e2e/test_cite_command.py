"""``bbedge cite``."""

from bbedge.citation import as_bibtex, as_text


def test_it_prints_text_or_bibtex(bbedge):
    assert bbedge("cite").out == as_text()
    assert bbedge("cite", "--bibtex").out == as_bibtex()
