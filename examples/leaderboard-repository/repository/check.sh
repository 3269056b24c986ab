#!/bin/sh
# Check the submission that a branch adds: sh check.sh BASE HEAD VERDICT.md
# The branch is data. Nothing of it is checked out, run or believed; the board is that of BASE.
set -eu
base=$1 head=$2 verdict=$3
most=50000000 # bytes of a submission
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

refuse() {
    printf '**The branch is refused: %s**\n' "$1" | tee "$verdict"
    exit 3
}

git diff --no-renames --raw -z --no-abbrev "$(git merge-base "$base" "$head")" "$head" | tr '\0' '\n' >"$work/changes"
[ "$(wc -l <"$work/changes")" -eq 2 ] || refuse "it must add one file in submissions/ and change nothing else."
read -r _ mode _ blob what <"$work/changes"
path=$(sed -n 2p "$work/changes")
[ "$what" = A ] && [ "$mode" = 100644 ] || refuse "it must add one plain file in submissions/ and change nothing else."
printf '%s\n' "$path" | LC_ALL=C grep -Eqx 'submissions/[A-Za-z0-9][A-Za-z0-9._-]{0,80}\.zip' ||
    refuse "the file must be called submissions/NAME.zip, with letters, digits, dots and hyphens."
[ "$(git cat-file -s "$blob")" -le "$most" ] || refuse "the file has more than $most bytes."

git cat-file blob "$blob" >"$work/submission.zip"
git cat-file blob "$base:docs/board.jsonl" >"$work/board.jsonl"
bbedge submit check "$work/submission.zip" --board "$work/board.jsonl" --markdown "$verdict"
