/** The time-skipping test server from Maven Central, for machines that cannot reach its official download. */
import { chmod, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { startChild } from '../stack/children.ts';
import { runCommand } from '../stack/commands.ts';
import { freePorts } from '../stack/ports.ts';
import { untilPortAnswers } from '../stack/readiness.ts';
import type { Source } from './catalogue.ts';
import { findOnPath, versionFlaw } from './version.ts';

/** Java 8 prints 1.8 as its version, so it counts as older than 11. */
const javaFlaw = versionFlaw({ pattern: /version "(\d+(?:\.\d+)?)/, oldest: '11', args: ['-version'] });
const pom = fileURLToPath(new URL('./temporal-test-server.pom.xml', import.meta.url));
/**
 * Long, because a start once took more than a minute while other builds used both cores. If the server exits, the wait ends immediately.
 */
const startTimeoutMs = 180_000;

const wrapper = `#!/bin/sh
# Temporal's time-skipping test server. Usage: temporal-test-server PORT
directory=$(cd "$(dirname "$0")" && pwd)
# The server lives only for seconds. So Java compiles as little as possible, to start fast.
exec "\${JAVA_HOME:+$JAVA_HOME/bin/}java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$directory/jars/*" io.temporal.testserver.TestServer "$@"
`;

/** A source that copies the server and its dependencies with Maven and writes a script that runs them with Java. */
export function mavenTestServer(version: string): Source {
  return {
    title: `Maven and Java, io.temporal:temporal-test-server:${version}`,
    async fetch(directory, report) {
      const home = process.env['JAVA_HOME'];
      await findOnPath(home ? path.join(home, 'bin', 'java') : 'java', javaFlaw);
      report('  copying the test server and its dependencies with Maven');
      const options = [`-DserverVersion=${version}`, `-DoutputDirectory=${path.join(directory, 'jars')}`];
      await runCommand(
        'mvn',
        ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', '-DincludeScope=runtime', ...options],
        {
          stillRunning: (seconds) => report(`  still copying (${seconds} s)`),
        },
      );
      const script = path.join(directory, 'temporal-test-server');
      await writeFile(script, wrapper);
      await chmod(script, 0o755);
    },
  };
}

/** Starts the server for a moment on a free port, because it has no option `--version`. */
export async function startsAsTestServer(executable: string): Promise<void> {
  const { port } = await freePorts(['port']);
  const server = startChild({ name: 'The test server', command: executable, args: [String(port)], logFile: undefined });
  try {
    await untilPortAnswers(port, { timeoutMs: startTimeoutMs, child: server });
  } finally {
    await server.stop();
  }
}
