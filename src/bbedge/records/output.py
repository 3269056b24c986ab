"""What commands show and write: every option once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

from bbedge.errors import Argument, DomainError
from bbedge.records.values import Strict, option

STANDARD_OUTPUT = Path("-")


class Selection(Strict, frozen=True, kw_only=True):
    """Which part of a certificate or a board to show."""

    epoch: Annotated[int | None, option("The epoch of a board. Default: the last one that has runs.")] = None
    current: Annotated[bool, option("Show the certificates of the last look alone, not of all looks.")] = False
    view: Annotated[str | None, option("Show this view, such as a category, and not the headline.", metavar="NAME")] = (
        None
    )

    @property
    def shown(self) -> Literal["all", "current"]:
        """Which of the two graphs."""
        return "current" if self.current else "all"


class PageOptions(Strict, frozen=True, kw_only=True):
    """What pages say that is not in a certificate."""

    title: Annotated[str | None, option("The heading of what is shown.", metavar="TEXT")] = None
    model_info: Annotated[
        Path | None,
        option(
            "What you know of the models, for the page: a CSV file with a column model and any others, such as "
            "organisation, link, date, price or tokens.",
            metavar="FILE",
        ),
    ] = None
    base_url: Annotated[
        str | None,
        option(
            "The address of the folder that the page will be in. The page then states its address and its picture, "
            "which is drawn beside it as a PNG, for whoever links to it.",
            metavar="URL",
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.base_url is not None and not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", self.base_url):
            raise DomainError(
                Argument("base_url", self.base_url),
                " is not allowed; give an address such as https://example.org/boards",
            )


class Output(PageOptions, frozen=True, kw_only=True):
    """What a certificate is written as: JSON for programs, a page or Markdown for readers, lines on the terminal."""

    json: Annotated[Path | None, option("Write the result as JSON; - for standard output.", metavar="OUT")] = None
    html: Annotated[Path | None, option("Write a web page: one file that needs no network.", metavar="OUT")] = None
    markdown: Annotated[
        Path | None,
        option(
            "Write the answer and the table as Markdown, for a pull request or a job summary; - for standard output.",
            metavar="OUT",
        ),
    ] = None
    with_items: Annotated[
        bool,
        option(
            "With --html: write the mean scores of models on single items into the page, so that it shows on which "
            "items models differ, and what was asked and answered, where logs have the texts. At most 2,000 items and "
            "60 models."
        ),
    ] = False
    all_rows: Annotated[bool, option("Print all models, not only the first 60.", names="--all")] = False
    verbose: Annotated[
        bool, option("Print the full statement of the guarantee and its assumptions.", names="-v --verbose")
    ] = False

    def __post_init__(self) -> None:
        given = {"--model-info": self.model_info, "--with-items": self.with_items, "--base-url": self.base_url}
        for name, value in given.items():
            if value and self.html is None:
                raise DomainError(f"{name} adds to a page; add --html OUT to write the page")
        super().__post_init__()
        if self.json == self.markdown == STANDARD_OUTPUT:
            raise DomainError("--json - and --markdown - both write to standard output; give one of them a file name")

    @property
    def picture(self) -> Path | None:
        """The picture of the page, beside it; none if it is not stated where the page will be."""
        return self.html.with_suffix(".png") if self.html and self.base_url else None

    def address(self, file: Path | None) -> str | None:
        """Where a file beside the page will be, if that is known.

        >>> Output(html=Path("out/my page.html"), base_url="https://example.org/a/").address(Path("out/my page.html"))
        'https://example.org/a/my%20page.html'
        """
        return f"{self.base_url.rstrip('/')}/{quote(file.name)}" if self.base_url and file else None

    @property
    def has_document(self) -> bool:
        """Whether a document is written that states where its scores come from."""
        return self.json is not None or self.html is not None


_SIDES, _RESOLUTIONS = (1.0, 50.0), (20, 2400)


class Canvas(Strict, frozen=True, kw_only=True):
    """How large a figure is drawn, and how fine.

    >>> Canvas(width=3.3).is_exact, Canvas().is_exact
    (True, False)
    """

    width: Annotated[
        float | None,
        option("Width of the figure in inches, exactly. Default: what suits the content.", metavar="INCHES"),
    ] = None
    height: Annotated[
        float | None,
        option("Height of the figure in inches, exactly. Default: what suits the content.", metavar="INCHES"),
    ] = None
    dpi: Annotated[int, option("Dots per inch of a PNG.", metavar="DOTS")] = 150
    title: Annotated[str | None, option("Another title of the figure.", metavar="TEXT")] = None
    no_title: Annotated[bool, option("Leave out the title, for a figure with a caption.")] = False

    def __post_init__(self) -> None:
        if self.title is not None and self.no_title:
            raise DomainError(
                Argument("title"), " and ", Argument("no_title"), " exclude each other; leave one of them out"
            )
        for name, value, (least, most) in (
            ("width", self.width, _SIDES),
            ("height", self.height, _SIDES),
            ("dpi", self.dpi, _RESOLUTIONS),
        ):
            if value is not None and not least <= value <= most:
                unit = "dots per inch" if name == "dpi" else "inches"
                raise DomainError(Argument(name, value), f" is not allowed; choose {least:g} to {most:g} {unit}")

    @property
    def is_exact(self) -> bool:
        """Whether the file must have exactly the size that was asked for."""
        return self.width is not None or self.height is not None
