/**
 * The current build (ENG-19). The command `promote` writes it, and each claim of a relay reads it. Relays of other builds claim nothing.
 * If no build was ever promoted, as in development, all relays claim.
 */
import type { Build } from '../infra/build.ts';
import type { Queries, Transaction } from '../infra/postgres/database.ts';
import { sql } from '../infra/postgres/sql.ts';

/**
 * @param buildId SQL whose value is the build id, or null in a checkout @returns an SQL condition that is true if a different build is
 * current
 */
export function anotherIsCurrent(buildId: string): string {
  return `EXISTS (SELECT FROM releases WHERE is_current AND build_id IS DISTINCT FROM ${buildId})`;
}

/**
 * Makes the build the current one.
 * @returns the previous current build. Undefined if no build was current, or if this build was already current
 */
export async function makeCurrent(tx: Transaction, build: Build): Promise<Build | undefined> {
  // Lets only one promotion run at a time. Otherwise the second promotion would fail, because of the unique index on the current build.
  await tx.run(sql`LOCK TABLE releases IN SHARE ROW EXCLUSIVE MODE`);
  const before = await tx.one<Build>(
    sql`UPDATE releases SET is_current = false WHERE is_current AND build_id <> ${build.buildId}
        RETURNING build_id AS "buildId", version`,
  );
  await tx.run(
    sql`INSERT INTO releases (build_id, version, promoted_at, is_current)
        VALUES (${build.buildId}, ${build.version}, clock_timestamp(), true)
        ON CONFLICT (build_id) DO UPDATE SET version = excluded.version, is_current = true,
          promoted_at = CASE WHEN releases.is_current THEN releases.promoted_at ELSE excluded.promoted_at END`,
  );
  tx.notifyRelay();
  return before;
}

/** Deletes builds that were current earlier and are not current now. */
export async function forgetReleases(db: Queries, buildIds: readonly string[]): Promise<void> {
  await db.run(sql`DELETE FROM releases WHERE NOT is_current AND build_id = ANY (${[...buildIds]}::text[])`);
}

/**
 * @param buildId the id of the running build; undefined in a checkout
 * @param since the start of the process; the promotion of a build counts only if it happened later or if the build is current now
 * @returns whether the build is current now, or was current at some time after `since`. In both cases this build or a later build continues
 * the waiting work. A
 * checkout counts as promoted while no build is current.
 */
export async function isPromoted(db: Queries, buildId: string | undefined, since: Date): Promise<boolean> {
  const row = await db.one<{ promoted: boolean }>(
    buildId === undefined
      ? sql`SELECT NOT EXISTS (SELECT FROM releases WHERE is_current) AS promoted`
      : sql`SELECT EXISTS (SELECT FROM releases WHERE build_id = ${buildId} AND (is_current OR promoted_at > ${since})) AS promoted`,
  );
  return row?.promoted ?? false;
}
