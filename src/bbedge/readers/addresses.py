"""Where the samples of logs are: the file and the place in it, for going back from an item to what a model answered."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence

from bbedge.readers.choices import Choices
from bbedge.readers.identity import harmless_names
from bbedge.readers.limits import Limits, limited


def sample_addresses(
    sources: Sequence[str | os.PathLike[str]],
    *,
    choices: Choices | None = None,
    columns: Mapping[str, str] | None = None,
    item_list: str | os.PathLike[str] | None = None,
    items: Collection[str],
    models: Collection[str],
    limits: Limits | None = None,
) -> dict[tuple[str, str], str]:
    """The file and the place of the first sample of each model on each item, as a text; tables have none.

    Reads the logs once more; ``choices``, ``columns`` and ``item_list`` are those that the scores were read with. Paths
    are shortened as in certificates, so that a page does not reveal the folders of a machine.
    """
    from bbedge.readers.logs.runs import PassBook, Watch
    from bbedge.readers.logs.table import LogTable
    from bbedge.readers.sources import find_sources
    from bbedge.readers.tables.roles import chosen_columns

    chosen = choices or Choices()
    found: dict[tuple[str, str], str] = {}
    wanted_items, wanted_models = set(items), set(models)
    with limited(limits):
        # Standard input cannot be read again; it holds a table.
        paths = [os.fspath(path) for path in sources if os.fspath(path) != "-"]
        apart = None if item_list is None else os.fspath(item_list)
        files = find_sources(paths, chosen, chosen_columns(columns, None), apart=apart).files if paths else ()
        logs = [(each.path, each.reader) for each in files if each.reader is not None]
        for (path, reader), name in zip(logs, harmless_names([path for path, _ in logs]), strict=True):
            table = LogTable(
                path,
                reader,
                choices=chosen,
                blocks=None,
                score_range=(0.0, 1.0),
                passes=PassBook(),
                watch=Watch(),
            )
            unit = ", line" if table.log.counts == "line" else ", sample"
            for asked in table.asked():
                key = asked.model, asked.sample.item
                if key not in found and key[0] in wanted_models and key[1] in wanted_items:
                    found[key] = f"{name}{unit} {asked.sample.place}"
    return found
