#!/bin/sh
# Runs $TEMPORAL_TEST_SERVER_BINARY with the given arguments. Ends the server when the process that started this script has ended, even by
# SIGKILL. The SDK starts the time-skipping test server, but does not end it in this case.
parent=$PPID
server=$$
(
  while kill -0 "$parent" && kill -0 "$server"; do sleep 1; done
  kill -9 "$server"
) </dev/null >/dev/null 2>&1 &
exec "$TEMPORAL_TEST_SERVER_BINARY" "$@"
