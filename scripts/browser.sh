#!/usr/bin/env bash
# Makes sure that there is a Chromium for the browser tests, or says in one line what is missing.
set -euo pipefail
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" >/dev/null; then
    exit 0
  fi
done
own='from playwright.sync_api import sync_playwright as s
import pathlib
with s() as p: raise SystemExit(not pathlib.Path(p.chromium.executable_path).exists())'
if python -c "$own" 2>/dev/null; then
  exit 0
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  if { apt-get update && apt-get install -y --no-install-recommends chromium; } >"$log" 2>&1; then
    exit 0
  fi
elif playwright install chromium >"$log" 2>&1; then
  exit 0
fi
tail -n 3 "$log" >&2
echo "Missing: a Chromium for the browser tests. Install one (Debian: apt-get install chromium; else: .venv/bin/playwright install chromium)." >&2
exit 1
