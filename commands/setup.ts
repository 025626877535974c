/**
 * The command `setup`. It creates what Temporal needs before workers start, and sets the time limits of the service's role in Postgres. It
 * is safe to
 * repeat the command, and to run it twice at the same time.
 */
import { readConfig } from '../config.ts';
import type { DatabaseSettings } from '../entities/data-source.ts';
import { StartProblem } from '../platform/core/start-problem.ts';
import { limitRole } from '../platform/infra/postgres/checks/role-limits.ts';
import { unusable } from '../platform/infra/postgres/checks/start-checks.ts';
import { runOnce } from '../platform/infra/process.ts';
import { connectCommand } from '../worker/temporal/connection.ts';
import { setUp, type Say } from '../worker/temporal/namespace.ts';

/** The exit code if an administrator of Temporal must run the printed commands. */
const refusedExitCode = 3;

/**
 * Runs the command `setup`, and prints what it created. If Temporal refuses, it prints the commands for an administrator of Temporal, and
 * the exit code is 3.
 */
export async function main(): Promise<void> {
  await runOnce('Setup failed', async () => {
    const { temporal, database } = readConfig();
    const say: Say = (line) => process.stdout.write(`${line}\n`);
    const connection = await connectCommand(temporal);
    try {
      const refused = await setUp(connection, temporal.namespace, say);
      await setLimits(database, say);
      if (refused.length === 0) return 0;
      process.stderr.write(
        `Temporal refuses this. An administrator of Temporal must run:\n${refused.map(indented).join('')}`,
      );
      return refusedExitCode;
    } finally {
      await connection.close();
    }
  });
}

/**
 * Sets the time limits of the role in DATABASE_URL, because the processes use this role. DATABASE_DIRECT_URL may name a different role.
 * @throws StartProblem
 */
async function setLimits({ url }: Pick<DatabaseSettings, 'url'>, say: Say): Promise<void> {
  await limitRole(url.reveal()).catch((error: unknown) => {
    throw new StartProblem(unusable(error));
  });
  say('The time limits of the role in Postgres are set. Open connections of a pooler get them only after RECONNECT.');
}

const indented = (command: string) => `  ${command}\n`;
