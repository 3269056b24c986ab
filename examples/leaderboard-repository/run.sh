#!/bin/sh
# A leaderboard that takes submissions by pull request, played on this machine. Everything goes to the folder out.
set -eu
rm -rf out
python make_data.py out/data
export GIT_AUTHOR_NAME=me GIT_AUTHOR_EMAIL=me@example.org GIT_COMMITTER_NAME=me GIT_COMMITTER_EMAIL=me@example.org

# 1. The maintainers start: what to copy into a repository is in the folder repository.
git init --quiet --bare --initial-branch=main out/server.git
git clone --quiet out/server.git out/maintainers 2>/dev/null
cp -R repository/. out/maintainers
bbedge board init out/board --design repository/design.toml --items out/data/items.csv --models heron,plover,wren
bbedge board add out/board out/data/run-1.csv out/data/run-2.csv
bbedge publish out/board out/maintainers/docs
cd out/maintainers
git add --all
git commit --quiet --message "Start the board"
git push --quiet origin HEAD:main

# 2. Somebody hands in a model: one file, on a branch of a pull request.
cd ..
git clone --quiet server.git contributor
cd contributor
git switch --quiet --create kestrel
mkdir -p submissions
bbedge submit pack submissions/kestrel.zip ../data/kestrel --who "Kestrel team" --with-logs
git add submissions
git commit --quiet --message "Submit kestrel"
git push --quiet origin kestrel

# 3. The check of the pull request, as .github/workflows/check.yml runs it.
cd ../maintainers
git fetch --quiet origin
sh check.sh origin/main origin/kestrel ../verdict.md

# 4. It is merged, and .github/workflows/append.yml puts it on the board and publishes the folder docs.
git merge --quiet --no-ff --message "Merge kestrel" origin/kestrel
git push --quiet origin HEAD:main
sh append.sh

# 5. Anyone who has a clone from before can check that no history was rewritten.
cp docs/heads.jsonl ../heads-of-now.jsonl
bbedge board import docs/board.jsonl ../copy.bbedge
bbedge board verify ../copy.bbedge --heads ../heads-of-now.jsonl
