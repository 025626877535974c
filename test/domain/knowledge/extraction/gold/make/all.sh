#!/bin/bash
# Makes all files of the gold set again. Usage: make/all.sh [VENV], on Debian 12 as root, because it installs the writers.
# CHROMIUM names the program of a Chromium. The tests' Chromium is in ~/.cache/club-learning/chromium-…/program.
set -euo pipefail
cd "$(dirname "$0")"
venv=${1:-/tmp/gold}
export PYTHONDONTWRITEBYTECODE=1 PATH="$PWD/../../../../../../node_modules/.bin:$PATH"
apt-get install -y -q --no-install-recommends pandoc libreoffice-writer libreoffice-impress texlive-latex-base \
  fonts-dejavu-core fonts-noto-core fonts-noto-cjk
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet -r requirements.txt
# slides and documents first: LibreOffice opens some of them
for script in hand_docx docx_python slides_python texts pdf_reportlab writers programs; do "$venv/bin/python" "$script.py"; done
