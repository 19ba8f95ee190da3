#!/bin/sh
# A calibration from a plan to a preset, with a twin in place of a board: sh demo.sh [PYTHON] [FOLDER]
set -e
python=${1:-python} folder=${2:-$(mktemp -d)}
here=$(dirname "$0")
run() { echo "\$ tessbed $*"; "$python" -m tessbed "$@"; echo; }

run calibrate plan --budget 60 -o "$folder/board"
"$python" "$here/twin.py" "$folder/board"
run calibrate check "$folder/board"
run calibrate fit "$folder/board" --starts 2
run calibrate validate "$folder/board"
run calibrate apply "$folder/board/fit.json" -o "$folder/twin.toml" --date 2026-12-01
run run luma --set "device.preset=$folder/twin.toml"
