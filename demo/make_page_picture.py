"""Draw the picture of the page in the README: what ``bbedge certify demo/scores.csv --html`` writes, in Chromium.

.venv/bin/python demo/make_page_picture.py
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "page.png"


def main() -> None:
    """Make the page, choose a model on it, and photograph the upper half."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        page_file = Path(folder) / "page.html"
        command = [sys.executable, "-m", "bbedge", "certify", HERE / "scores.csv"]
        subprocess.run([*command, "--html", page_file], check=True, capture_output=True)
        program = os.environ.get("BBEDGE_CHROMIUM") or shutil.which("chromium")
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1200, "height": 1360}, color_scheme="light")
        page.goto(page_file.as_uri())
        page.wait_for_selector("html.scripted")
        page.locator(".ranking tbody tr").nth(3).click()
        page.wait_for_timeout(400)
        page.screenshot(path=PICTURE)
        browser.close()
    with Image.open(PICTURE) as photograph:
        small = photograph.quantize(256)  # a page has few colours; the file is a third as large
    small.save(PICTURE, optimize=True)
    print(f"wrote {PICTURE}")


if __name__ == "__main__":
    main()
