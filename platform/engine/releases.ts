/**
 * Which build is current (ENG-19). The command `promote` writes it, and each claim of a relay reads it: a relay of another build
 * claims nothing. Where no build was ever promoted, as in development, all claim.
 */
import type { Build } from '../infra/build.ts';
import type { Queries, Transaction } from '../infra/postgres/database.ts';
import { sql } from '../infra/postgres/sql.ts';

/** @param buildId SQL of the build id; null in a checkout @returns SQL: whether another build than this one is current */
export function anotherIsCurrent(buildId: string): string {
  return `EXISTS (SELECT FROM releases WHERE is_current AND build_id IS DISTINCT FROM ${buildId})`;
}

/** Makes it the current one. @returns the build that was current before; undefined if none, or the same */
export async function makeCurrent(tx: Transaction, build: Build): Promise<Build | undefined> {
  // One at a time: the index on the current one would refuse the second.
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

/** Forgets builds that were current once, and are no more. */
export async function forgetReleases(db: Queries, buildIds: readonly string[]): Promise<void> {
  await db.run(sql`DELETE FROM releases WHERE NOT is_current AND build_id = ANY (${[...buildIds]}::text[])`);
}

/**
 * @param buildId undefined in a checkout
 * @param since the start of the process: what was promoted before and is current no more has to be promoted again
 * @returns whether it is current, or was since then: what waits for it is carried on, by it or by a later build. A checkout is as good
 *   as promoted while no build is
 */
export async function isPromoted(db: Queries, buildId: string | undefined, since: Date): Promise<boolean> {
  const row = await db.one<{ promoted: boolean }>(
    buildId === undefined
      ? sql`SELECT NOT EXISTS (SELECT FROM releases WHERE is_current) AS promoted`
      : sql`SELECT EXISTS (SELECT FROM releases WHERE build_id = ${buildId} AND (is_current OR promoted_at > ${since})) AS promoted`,
  );
  return row?.promoted ?? false;
}
