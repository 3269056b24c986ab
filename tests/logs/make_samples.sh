#!/usr/bin/env bash
# Makes the sample logs in this folder with the real tools: tests/logs/make_samples.sh TOOLS
#
# TOOLS is a folder for the tools' own environments; what is missing there is installed from the package registries.
# The tools run with mock models and local questions, without a network, on Linux with Python 3.11 and Node 20.
# What a log says about the machine (paths, hardware) is taken out at the end, and nothing else is changed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
tools=$(mkdir -p "$1" && cd "$1" && pwd)
making=$here/making
python=${PYTHON:-python3.11}
export HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1 PROMPTFOO_DISABLE_TELEMETRY=1 PROMPTFOO_DISABLE_UPDATE=1
export OPENAI_API_KEY=none EVALS_SEQUENTIAL=1 PYTHONDONTWRITEBYTECODE=1
export HOME=$tools/home PROMPTFOO_CONFIG_DIR=$tools/home/promptfoo
mkdir -p "$HOME"

environment() { # NAME REQUIREMENT...
  local name=$1
  shift
  [ -e "$tools/$name/.installed" ] && return
  "$python" -m venv "$tools/$name"
  for wanted in "$@"; do "$tools/$name/bin/pip" install -q "$wanted"; done
  touch "$tools/$name/.installed"
}

# The CPU build of torch first: the other one is gigabytes.
environment inspect inspect_ai==0.3.285
environment lmeval torch==2.13.0 lm_eval==0.4.13
environment lighteval torch==2.13.0 lighteval==0.13.0 'xxhash<4'
environment helm crfm-helm==0.5.16
environment verifiers verifiers==0.1.14
environment evalscope evalscope==1.14.1
# Of its requirements those that an evaluation needs.
environment evalplus wget tempdir multipledispatch appdirs numpy tqdm termcolor fire psutil rich tree-sitter \
  tree-sitter-python datasets
"$tools/evalplus/bin/pip" install -q --no-deps evalplus==0.3.1
environment deepeval deepeval==4.3.1
environment mlflow mlflow==2.22.0
if [ ! -x "$tools/evals/bin/oaieval" ]; then
  # Some of its requirements do not build any more; these are the ones that a run needs.
  environment evals 'openai<2' backoff blobfile pyyaml tqdm pydantic zstandard lz4 filelock numpy pandas tiktoken \
    dacite mock requests termcolor anthropic google-generativeai sacrebleu langdetect evaluate beartype networkx \
    aiolimiter setuptools snowflake-connector-python langchain fire jiwer
  "$tools/evals/bin/pip" install -q --no-deps evals==3.0.1.post1
fi
if [ ! -x "$tools/promptfoo/node_modules/.bin/promptfoo" ]; then
  mkdir -p "$tools/promptfoo"
  (cd "$tools/promptfoo" && npm init -y >/dev/null && npm install --no-audit --no-fund promptfoo@0.121.20)
fi

cd "$here"
rm -rf inspect lm_eval lighteval helm promptfoo openai_evals evalplus evalscope verifiers

"$tools/inspect/bin/python" making/inspect_runs.py inspect

cd "$making/lm_eval"
lm_eval() { "$tools/lmeval/bin/python" run.py "$@" >/dev/null 2>&1; }
for run in 1 2; do
  lm_eval "$here/lm_eval/run$run" aster 0.9 "$run" --tasks capitals,choice
  lm_eval "$here/lm_eval/run$run" birch 0.4 "$((run + 10))" --tasks capitals,choice
  # The fourth seed draws the examples.
  lm_eval "$here/lm_eval_fewshot/run$run" aster 0.9 "$run" --tasks choice --num_fewshot 1 --seed "0,1234,1234,$run"
done
mv "$here/lm_eval_fewshot" "$here/lm_eval/fewshot"

cd "$making/lighteval"
for run in 1 2; do
  for model in aster:0.9 birch:0.4; do
    SEED=$run SKILL=${model#*:} "$tools/lighteval/bin/python" run.py custom "${model%:*}" model.py "capitals|0" \
      --custom-tasks questions.py --save-details --output-dir "$here/lighteval" >/dev/null 2>&1
  done
done
# A bar in a file name does not exist everywhere.
find "$here/lighteval" -name '*|*' | while read -r file; do mv "$file" "${file//|/-}"; done

cd "$making/helm"
for run in 1 2; do
  SEED=$run PYTHONPATH=. "$tools/helm/bin/helm-run" --run-entries simple_mcqa:model=mock/aster simple_mcqa:model=mock/birch \
    --suite "run$run" --max-eval-instances 6 --num-train-trials 1 --local-path prod_env --output-path "$tools/helm-out" \
    >/dev/null 2>&1
  for model in aster birch; do
    mkdir -p "$here/helm/run$run/$model"
    for file in per_instance_stats run_spec scenario; do
      cp "$tools/helm-out/runs/run$run/simple_mcqa:model=mock_$model/$file.json" "$here/helm/run$run/$model/"
    done
  done
done
rm -rf "$tools/helm-out"

cd "$making/promptfoo"
promptfoo() {
  # It leaves with 100 when an answer is wrong, which is what the mock is for.
  "$tools/promptfoo/node_modules/.bin/promptfoo" eval -j 1 --no-progress-bar --no-table --no-cache "$@" >/dev/null ||
    [ $? = 100 ]
}
mkdir -p "$here"/promptfoo/{json,jsonl,prompts,troubled}
promptfoo -c promptfooconfig.yaml --repeat 3 -o "$here/promptfoo/json/out.json" -o "$here/promptfoo/jsonl/out.jsonl"
promptfoo -c prompts.yaml -o "$here/promptfoo/prompts/out.json"
promptfoo -c troubled.yaml --repeat 2 -o "$here/promptfoo/troubled/out.json"

cd "$making/openai_evals"
mkdir -p "$here/openai_evals"
for run in 1 2; do
  for model in aster birch; do
    SEED=$run PYTHONPATH=. "$tools/evals/bin/oaieval" "$model" capitals --registry_path registry \
      --record_path "$here/openai_evals/${model}_$run.jsonl" >/dev/null 2>&1
  done
done

out=$(mkdir -p "$tools/evalplus-out" "$here/evalplus" && cd "$tools/evalplus-out" && pwd)
"$python" "$making/evalplus/make.py" "$out"
for model in aster birch; do
  HUMANEVAL_OVERRIDE_PATH=$out/benchmark.jsonl "$tools/evalplus/bin/python" -m evalplus.evaluate --dataset humaneval \
    --samples "$out/${model}_hf_temp_0.8.jsonl" --parallel 1 >/dev/null 2>&1
  cp "$out/${model}_hf_temp_0.8_eval_results.json" "$here/evalplus/"
done
rm -rf "$out"

port=18765
"$python" "$making/openai_api/serve.py" $port &
server=$!
trap 'kill $server' EXIT
sleep 1
for model in aster birch; do
  "$tools/verifiers/bin/python" "$making/verifiers/run.py" "$model" $port "$here/verifiers/$model" >/dev/null 2>&1
  "$tools/evalscope/bin/python" "$making/evalscope/run.py" "$model" $port "$tools/evalscope-out" >/dev/null 2>&1
done
mkdir -p "$here/evalscope"
cp -r "$tools/evalscope-out/reviews" "$tools/evalscope-out/reports" "$here/evalscope/"
rm -rf "$tools/evalscope-out" "$here/evalscope/reports/report.html"

"$tools/deepeval/bin/python" "$making/deepeval/run.py" "$here/deepeval/aster" aster >/dev/null 2>&1
"$tools/deepeval/bin/python" "$making/deepeval/run.py" "$here/deepeval/birch" birch 'Capital of Peru?' >/dev/null 2>&1
"$tools/mlflow/bin/python" "$making/mlflow/run.py" "$here/mlflow" >/dev/null 2>&1

"$python" "$making/strip.py" "$here" "$tools"
