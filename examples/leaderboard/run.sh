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

# 4. Publish: a folder with pages, badges, a feed, and the whole board in one file.
bbedge board show out/board.bbedge
bbedge publish out/board.bbedge out/public --title "Reading comprehension"

# 5. Anyone can check it: compute every look again from the published scores.
bbedge verify out/public/certificate.json out/public/board.jsonl
