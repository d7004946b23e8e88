#!/usr/bin/env bash
# Run a backend, write the report and the summary, and compare the results with earlier ones. Exit status: that of the
# run or of the comparison, the larger one. Environment: BACKEND, INTERPRETER, LEVEL, OUT, AGAINST (may be empty), FAIL_ON;
# GITHUB_OUTPUT and GITHUB_STEP_SUMMARY are the files of GitHub Actions.
set -uo pipefail

# A bare name would be searched in the environment of the suite, which has no framework.
interpreter=$(PATH="${PATH#*:}" command -v "$INTERPRETER") || { echo "no interpreter $INTERPRETER" >&2; exit 2; }
conformance run --backend "$BACKEND=$interpreter" --level "$LEVEL" --out "$OUT"
status=$?
results="$OUT/results/$BACKEND.jsonl"
[ -f "$results" ] || exit "$((status ? status : 3))"

against=()
if [ -z "$AGAINST" ]; then
  :
elif [ -d "$AGAINST" ]; then
  against=(--against "$AGAINST")
else
  echo "no earlier results in $AGAINST: nothing is compared"
fi

# The exit status of `report` repeats that of the run.
conformance report "$results" "${against[@]}" --out "$OUT/report.html"
conformance report "$results" "${against[@]}" --format markdown --out "$OUT/summary.md"
cat "$OUT/summary.md" >> "$GITHUB_STEP_SUMMARY"
printf '%s\n' "results=$results" "report=$OUT/report.html" "summary=$OUT/summary.md" >> "$GITHUB_OUTPUT"

if [ ${#against[@]} -gt 0 ]; then
  conformance diff "$AGAINST" "$results" --fail-on "$FAIL_ON"
  compared=$?
  status=$((compared > status ? compared : status))
fi
exit "$status"
