/** Leaving a kind of mail by the way out that each mail has, and coming back (CAMP-5). */
import type { RecordOf } from '../../contract/contract.ts';
import { notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { addressKeyOf } from '../../platform/infra/address-keys.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../platform/infra/vault.ts';
import type { VaultDeps } from '../deps.ts';
import { readWayOut, type MailKind } from './way-out.ts';

const columnOf = { campaigns: raw('left_campaigns_at'), automations: raw('left_automations_at') } as const;

interface Leaver {
  kind: MailKind;
  clubName: string;
  /** Null once the student is removed: then there is nothing left to leave. */
  addressKey: Buffer | null;
}

/** @throws DomainError not_found, for a token that is not ours or is another club's */
async function leaverOf({ vault, db }: { vault: Vault; db: Queries }, clubId: Id, token: string): Promise<Leaver> {
  const way = readWayOut(vault, token);
  const student =
    way &&
    (await db.one<{ email: string | null; clubName: string }>(
      sql`SELECT student.email, club.name AS "clubName" FROM students student JOIN clubs club ON club.id = student.club_id
           WHERE student.id = ${way.studentId} AND student.club_id = ${clubId}`,
    ));
  if (!way || !student) throw notFound('mail');
  const { email, clubName } = student;
  return { kind: way.kind, clubName, addressKey: email === null ? null : addressKeyOf(vault, email) };
}

/** @throws DomainError not_found */
export async function readPreference(
  deps: { vault: Vault; db: Queries },
  clubId: Id,
  token: string,
): Promise<RecordOf<'MailPreference'>> {
  const { kind, clubName, addressKey } = await leaverOf(deps, clubId, token);
  const left = await deps.db.one(sql`SELECT FROM mail_suppressions
    WHERE club_id = ${clubId} AND address_key = ${addressKey} AND ${columnOf[kind]} IS NOT NULL`);
  return { club_name: clubName, kind, subscribed: addressKey !== null && left === undefined, token };
}

/** Leaves; a mail that is not claimed yet does not go out any more. @throws DomainError not_found */
export async function leave(
  deps: VaultDeps,
  clubId: Id,
  token: string,
  now: Date,
): Promise<RecordOf<'MailPreference'>> {
  const { kind, addressKey } = await leaverOf(deps, clubId, token);
  const column = columnOf[kind];
  if (addressKey !== null)
    await deps.db.run(sql`INSERT INTO mail_suppressions AS suppression (club_id, address_key, ${column}, created_at)
      VALUES (${clubId}, ${addressKey}, ${now}, ${now})
      ON CONFLICT (club_id, address_key) DO UPDATE SET ${column} = coalesce(suppression.${column}, excluded.${column})`);
  return readPreference(deps, clubId, token);
}

/** Comes back; what is suppressed for another reason stays so. @throws DomainError not_found */
export async function comeBack(deps: VaultDeps, clubId: Id, token: string): Promise<RecordOf<'MailPreference'>> {
  const { kind, addressKey } = await leaverOf(deps, clubId, token);
  const column = columnOf[kind];
  const other = columnOf[kind === 'campaigns' ? 'automations' : 'campaigns'];
  const mine = sql`club_id = ${clubId} AND address_key = ${addressKey} AND ${column} IS NOT NULL`;
  await deps.db.transaction(async (tx) => {
    await tx.run(sql`DELETE FROM mail_suppressions WHERE ${mine} AND reason IS NULL AND ${other} IS NULL`);
    await tx.run(
      sql`UPDATE mail_suppressions SET ${column} = NULL WHERE ${mine} AND num_nonnulls(reason, ${other}) > 0`,
    );
  });
  return readPreference(deps, clubId, token);
}
