/**
 * Makes a backup of a running Postgres as docs/how-to/back-up-and-restore.md describes: an archive of its log, a base backup, and a point
 * in time.
 */
import { appendFile, chown, mkdir, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { runCommand } from '../../../../dev/stack/commands.ts';
import { until } from '../../../../dev/stack/readiness.ts';
import type { Stack } from '../../../../dev/stack/stack.ts';
import { dataOf } from '../../../../dev/stack/postgres-place.ts';

export interface Backup {
  copy(): Promise<void>;
  /** @returns the time by the clock of the server, with microseconds; every transaction that has committed is before this time */
  point(): Promise<string>;
  /** Resolves when the archive contains everything that was written so far. */
  archived(): Promise<void>;
  /**
   * Moves the data to another directory, replaces the data by the copy, and replays the archive up to the point. The caller must kill the
   * server before this call.
   */
  restoreTo(point: string): Promise<void>;
}

const withinMs = 60_000;

/**
 * Configures the server to archive its log. The server restarts to use the setting.
 * @param directory the directory of the server, in the directory of the stack
 */
export async function backUp(stack: Stack, directory: string, pgBasebackup: string): Promise<Backup> {
  const url = stack.environment['DATABASE_URL'] ?? '';
  const data = await dataOf(directory);
  const { uid, gid } = await stat(data);
  const [archive, copied] = ['wal', 'base'].map((name) => path.join(path.dirname(data), name)) as [string, string];
  let restores = 0;

  await mkdir(archive, { mode: 0o700 });
  await chown(archive, uid, gid);
  await queryOnce(url, `ALTER SYSTEM SET archive_mode = 'on'`);
  await queryOnce(url, `ALTER SYSTEM SET archive_command = 'test ! -f "${archive}/%f" && cp "%p" "${archive}/%f"'`);
  await stack.kill('postgres');
  await stack.startAgain('postgres');

  return {
    async copy() {
      await runCommand(pgBasebackup, [`--dbname=${url}`, `--pgdata=${copied}`, '--checkpoint=fast']);
      await runCommand('chown', ['-R', `${uid}:${gid}`, copied]);
    },
    async point() {
      const [row] = await queryOnce<{ at: string }>(
        url,
        `SELECT (clock_timestamp() AT TIME ZONE 'UTC')::text || '+00' AS at`,
      );
      if (!row) throw new Error('Postgres returned no time');
      return row.at;
    },
    async archived() {
      const [row] = await queryOnce<{ file: string }>(url, 'SELECT pg_walfile_name(pg_switch_wal()) AS file');
      const file = path.join(archive, row?.file ?? '');
      await until('the archive', () => stat(file), { timeoutMs: withinMs });
    },
    async restoreTo(point) {
      await rename(data, `${data}.lost-${++restores}`);
      await runCommand('cp', ['-a', copied, data]);
      const settings = [
        `archive_mode = 'off'`,
        `restore_command = 'cp "${archive}/%f" "%p"'`,
        `recovery_target_time = '${point}'`,
        `recovery_target_action = 'promote'`,
      ];
      await appendFile(path.join(data, 'postgresql.auto.conf'), `${settings.join('\n')}\n`);
      const signal = path.join(data, 'recovery.signal');
      await writeFile(signal, '');
      await chown(signal, uid, gid);
      await stack.startAgain('postgres');
      await until('the end of the recovery', () => expectNoRecovery(url), { timeoutMs: withinMs });
    },
  };
}

async function expectNoRecovery(url: string): Promise<void> {
  const [row] = await queryOnce<{ recovers: boolean }>(url, 'SELECT pg_is_in_recovery() AS recovers');
  if (row?.recovers !== false) throw new Error('Postgres is still in recovery');
}

async function queryOnce<Row extends object>(connectionString: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
