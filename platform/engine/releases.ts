/**
 * The current build (ENG-19). `promote` writes it, and relays of other builds claim nothing. Without a current build, as in development,
 * all relays claim.
 */
import type { Build } from '../infra/build.ts';
import type { Queries, Transaction } from '../infra/postgres/database.ts';
import { sql } from '../infra/postgres/sql.ts';

/** @param buildId null in a checkout */
export function anotherIsCurrent(buildId: string): string {
  return `EXISTS (SELECT FROM releases WHERE is_current AND build_id IS DISTINCT FROM ${buildId})`;
}

/** @returns the previous build; undefined if there was none, or if it was this build */
export async function makeCurrent(tx: Transaction, build: Build): Promise<Build | undefined> {
  // One promotion at a time. Otherwise the second would fail at the unique index on the current build.
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

export async function forgetReleases(db: Queries, buildIds: readonly string[]): Promise<void> {
  await db.run(sql`DELETE FROM releases WHERE NOT is_current AND build_id = ANY (${[...buildIds]}::text[])`);
}

/**
 * @param buildId undefined in a checkout
 * @param since the start of the process; an earlier promotion counts only if the build is still current
 * @returns whether the build is or was current. Then it, or a later build, continues the waiting work. A checkout counts while no build is
 * current
 */
export async function isPromoted(db: Queries, buildId: string | undefined, since: Date): Promise<boolean> {
  const row = await db.one<{ promoted: boolean }>(
    buildId === undefined
      ? sql`SELECT NOT EXISTS (SELECT FROM releases WHERE is_current) AS promoted`
      : sql`SELECT EXISTS (SELECT FROM releases WHERE build_id = ${buildId} AND (is_current OR promoted_at > ${since})) AS promoted`,
  );
  return row?.promoted ?? false;
}
