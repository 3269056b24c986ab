#!/bin/sh
# A public leaderboard from its design to its page. Everything goes to the folder out.
set -eu
rm -rf out
python make_data.py out/data

# 1. Freeze the design, and publish the registration that this prints, before the first run.
bbedge board init out/board.bbedge --design design.toml --items out/data/items.csv --models heron,osprey,plover,wren

# 2. Runs arrive. Each command prints what is new.
bbedge board add out/board.bbedge out/data/run-1.csv
bbedge board add out/board.bbedge out/data/run-2.csv out/data/run-3.csv

# 3. A model is submitted. It is tested against the others with a share of alpha of its own.
bbedge board add-model out/board.bbedge kestrel out/data/kestrel.csv
bbedge board add out/board.bbedge out/data/run-4.csv

# 4. Publish: the page, a badge for the README of the leader, and the whole board in one file.
bbedge report out/board.bbedge --html out/page.html --title "Reading comprehension"
bbedge figure badge out/board.bbedge out/kestrel.svg --model kestrel
bbedge board export out/board.bbedge out/board.jsonl

# 5. Anyone can check it: compute every look again from the published scores.
bbedge board import out/board.jsonl out/copy.bbedge
bbedge board show out/copy.bbedge
