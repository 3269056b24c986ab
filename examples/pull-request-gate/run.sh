#!/bin/sh
# Two pull requests at the gate: one may ship, one may not. Everything goes to the folder out.
set -u
rm -rf out

# The first pull request shortens the prompt.
python evaluate.py shorter-prompt 2 out/shorter-prompt
bbedge gate policy.toml out/shorter-prompt --markdown out/shorter-prompt.md
echo "exit code $?"

# The second one calls a cheaper model. One run is not enough to say whether that hurts; two are.
python evaluate.py cheaper-model 2 out/cheaper-model
bbedge gate policy.toml out/cheaper-model/run-1.csv
echo "exit code $?"
bbedge gate policy.toml out/cheaper-model --markdown out/cheaper-model.md
echo "exit code $?"
