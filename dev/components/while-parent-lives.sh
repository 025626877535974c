#!/bin/sh
# Runs $TEMPORAL_TEST_SERVER_BINARY with the given arguments, and ends it when the parent of this script has ended, even by
# SIGKILL. The SDK, which starts the test server, does not end it in this case.
parent=$PPID
server=$$
(
  while kill -0 "$parent" && kill -0 "$server"; do sleep 1; done
  kill -9 "$server"
) </dev/null >/dev/null 2>&1 &
exec "$TEMPORAL_TEST_SERVER_BINARY" "$@"
