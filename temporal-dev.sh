#!/bin/sh
# Runs the development stack in the foreground until Ctrl-C: Temporal with its UI, Postgres, the S3 server and the mailbox.
# The script needs Node and npm. It installs missing programs, and prints the addresses. `npm start` runs this script together with the API,
# the worker and the tour.
set -eu
cd "$(dirname "$0")"
command -v node >/dev/null || {
  echo 'node is not on the PATH: install Node 20 or newer with npm from https://nodejs.org, then try again.' >&2
  exit 1
}
node dev/bootstrap.mjs
exec node_modules/.bin/node --import ./platform/load.mjs dev/serve.ts
