/**
 * `node dist/main.js reset-factors ADMINISTRATOR` removes all second factors of a person who has lost them (FAC-9). The command may run
 * while the service runs, and is safe to repeat.
 */
import { readConfig, type Config } from '../config.ts';
import { recordEntry } from '../domain/audit/entries.ts';
import { resetFactors } from '../domain/identity/factors/reset.ts';
import { newId, type Id } from '../platform/core/ids.ts';
import { StartProblem } from '../platform/core/start-problem.ts';
import { foldEmail } from '../platform/core/text/text.policy.ts';
import { readVault } from '../platform/infra/keys/open-vault.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { createNotifier } from '../platform/infra/postgres/notifications.ts';
import { sql } from '../platform/infra/postgres/sql.ts';
import { openDatabase, runOnce } from '../platform/infra/process.ts';

type Settings = Pick<Config, 'database' | 'masterKey' | 'formerMasterKeys'>;

/**
 * Removes the second factors and recovery codes of an account, and ends its sessions. The person gets a mail, and the audit log of each
 * club of the person gets an entry.
 * @param administrator the id or the e-mail address of the account
 * @throws StartProblem if there is no such account
 */
export async function resetFactorsOf(
  settings: Settings,
  administrator: string,
  print: (line: string) => void,
): Promise<number> {
  const source = await openDatabase(settings.database, 'club-reset-factors');
  try {
    const ignoreLostNotifications = () => {}; // the relay polls
    const db = new Database(source, createNotifier(source, ignoreLostNotifications));
    const vault = await readVault(db, settings);
    const account = await db.one<{ id: Id }>(sql`SELECT id FROM administrators
      WHERE removed_at IS NULL AND (id::text = ${administrator.toLowerCase()} OR email = ${foldEmail(administrator)})`);
    if (!account)
      throw new StartProblem('there is no such administrator; name the id or the e-mail address of the account');
    const [operationId, now] = [newId(), new Date()];
    const result = await db.transaction(async (tx) => {
      const count = await resetFactors(tx, vault, account.id, now);
      if (count === 0) return undefined;
      const rows = await tx.rows<{ clubId: Id }>(sql`SELECT club_id AS "clubId" FROM memberships
        WHERE administrator_id = ${account.id} ORDER BY club_id`);
      for (const { clubId } of rows)
        await recordEntry(
          tx,
          {
            clubId,
            actor: { kind: 'operator', id: operationId },
            operation: 'reset-factors',
            records: [{ kind: 'administrator', id: account.id }],
            fields: [],
            requestId: operationId,
            network: 'unknown',
          },
          now,
        );
      return { count, clubs: rows.length };
    });
    if (!result) print(`administrator ${account.id} has no second factor; nothing was changed`);
    else
      print(
        `removed ${result.count} second factors of administrator ${account.id}; audit entries ${result.clubs}, by ${operationId}`,
      );
    return 0;
  } finally {
    await source.destroy();
  }
}

/** The command `reset-factors`. */
export async function main(administrator: string): Promise<void> {
  await runOnce('The factors were not reset', () =>
    resetFactorsOf(readConfig(), administrator, (line) => process.stdout.write(`${line}\n`)),
  );
}
