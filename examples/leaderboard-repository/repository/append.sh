#!/bin/sh
# Put every merged submission on the board, publish the folder docs, and push: sh append.sh
# Runs in a checkout of its own, which it sets back to what is on the server. Another merge may be faster: then try again.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for try in 1 2 3 4 5; do
    git fetch --quiet origin main
    git reset --quiet --hard origin/main
    rm -rf "$work/board"* && cp docs/heads.jsonl "$work/board.heads.jsonl"
    # Importing computes every look again; the heads that were published must be those of the board.
    bbedge board import docs/board.jsonl "$work/board"
    refused=
    for path in $(git log --first-parent -m --reverse --diff-filter=A --format= --name-only -- submissions/); do
        [ -f "$path" ] || continue
        bbedge board add "$work/board" --submission "$path" || refused="$refused $path"
    done
    bbedge publish "$work/board" docs
    git add --all docs
    if ! git diff --quiet --cached; then
        git commit --quiet --message "Publish the board"
        git push --quiet origin HEAD:main || { sleep "$try"; continue; }
    fi
    [ -z "$refused" ] || { echo "not on the board:$refused" >&2; exit 3; }
    exit 0
done
echo "others pushed every time; run it again" >&2
exit 1
