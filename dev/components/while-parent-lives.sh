#!/bin/sh
# Runs $TEMPORAL_TEST_SERVER_BINARY with the arguments given, and ends it once the process that started this has gone,
# even if that was killed: the SDK, which starts the time-skipping test server, does not see to that.
parent=$PPID
server=$$
(
  while kill -0 "$parent" && kill -0 "$server"; do sleep 1; done
  kill -9 "$server"
) </dev/null >/dev/null 2>&1 &
exec "$TEMPORAL_TEST_SERVER_BINARY" "$@"
