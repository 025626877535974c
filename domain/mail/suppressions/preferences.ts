/** Leaving a kind of mail by the way out that each mail has, and coming back (CAMP-5). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { MailSuppression } from '../../../entities/mail/mail-suppression.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { addressKeyOf } from '../../../platform/infra/keys/address-keys.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columnOf, list, sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../../platform/infra/keys/vault.ts';
import type { AddressedDeps, VaultDeps } from '../../deps.ts';
import { hasSpaces, resumeDigests, stopDigests } from '../../joining/digests.ts';
import { findBranding, presentPublicBranding } from '../../branding/branding.ts';
import { languageOf } from '../../language/languages.ts';
import { mailKinds, readWayOut, wayOutToken, type MailKind, type WayOut } from './unsubscribe-link.ts';

/** Where it stands that somebody has left a kind of mail. */
const columns = {
  campaigns: 'leftCampaignsAt',
  automations: 'leftAutomationsAt',
  digests: 'leftDigestsAt',
} as const satisfies Record<MailKind, keyof MailSuppression>;
const leftAt = (kind: MailKind): Sql => columnOf(columns[kind]);
const otherKinds = (kind: MailKind) => mailKinds.filter((other) => other !== kind);

interface Leaver extends WayOut {
  clubName: string;
  /** BCP 47 tag: the student's own language, or the club's. */
  language: string;
  /** Null once the student is removed: then there is nothing left to leave. */
  addressKey: Buffer | null;
}

/** @throws DomainError not_found, for a token that is not ours or is another club's */
async function leaverOf({ vault, db }: { vault: Vault; db: Queries }, clubId: Id, token: string): Promise<Leaver> {
  const way = readWayOut(vault, token);
  const student =
    way &&
    (await db.one<{ email: string | null; clubName: string; language: string }>(
      sql`SELECT student.email, club.name AS "clubName", coalesce(student.language, club.language) AS language FROM students student JOIN clubs club ON club.id = student.club_id
           WHERE student.id = ${way.studentId} AND student.club_id = ${clubId}`,
    ));
  if (!way || !student) throw notFound('mail');
  const { email, ...known } = student;
  return { ...way, ...known, addressKey: email === null ? null : addressKeyOf(vault, email) };
}

/** @throws DomainError not_found */
export async function readPreference(
  deps: { vault: Vault; db: Queries; publicUrl: string },
  clubId: Id,
  token: string,
): Promise<RecordOf<'MailPreference'>> {
  const { kind, studentId, clubName, language, addressKey } = await leaverOf(deps, clubId, token);
  const gets = await preferencesOf(deps.db, clubId, addressKey);
  const talks = await hasSpaces(deps.db, clubId);
  return {
    club_name: clubName,
    branding: presentPublicBranding(await findBranding(deps.db, deps.publicUrl, clubId)),
    language: languageOf(language),
    kind,
    subscribed: gets[kind],
    token,
    others: otherKinds(kind)
      .filter((other) => other !== 'digests' || talks)
      .map((other) => ({
        kind: other,
        subscribed: gets[other],
        token: wayOutToken(deps.vault, { kind: other, studentId }),
      })),
  };
}

/** What an address gets; nothing where there is none any more. */
async function preferencesOf(db: Queries, clubId: Id, addressKey: Buffer | null): Promise<RecordOf<'MailPreferences'>> {
  if (addressKey === null) return { campaigns: false, automations: false, digests: false };
  const left = await db.one<RecordOf<'MailPreferences'>>(
    sql`SELECT left_campaigns_at IS NULL AS campaigns, left_automations_at IS NULL AS automations, left_digests_at IS NULL AS digests
          FROM mail_suppressions WHERE club_id = ${clubId} AND address_key = ${addressKey}`,
  );
  return left ?? { campaigns: true, automations: true, digests: true };
}

/** Leaves; a mail that is not claimed yet does not go out any more. @throws DomainError not_found */
export async function leave(
  deps: VaultDeps & Pick<AddressedDeps, 'publicUrl'>,
  clubId: Id,
  token: string,
  now: Date,
): Promise<RecordOf<'MailPreference'>> {
  const { kind, studentId, addressKey } = await leaverOf(deps, clubId, token);
  if (addressKey !== null)
    await deps.db.transaction((tx) => leaveKind(tx, { clubId, studentId, addressKey, kind }, now));
  return readPreference(deps, clubId, token);
}

/** Comes back; what is suppressed for another reason stays so. @throws DomainError not_found */
export async function comeBack(
  deps: VaultDeps & Pick<AddressedDeps, 'publicUrl'>,
  clubId: Id,
  token: string,
): Promise<RecordOf<'MailPreference'>> {
  const { kind, studentId, addressKey } = await leaverOf(deps, clubId, token);
  if (addressKey !== null)
    await deps.db.transaction(async (tx) => {
      await returnToKind(tx, { clubId, addressKey, kind });
      if (kind === 'digests') await resumeDigests(tx, studentId);
    });
  return readPreference(deps, clubId, token);
}

/** A student of the classroom. */
interface Subscriber {
  id: Id;
  clubId: Id;
}

/** What a student gets, as the classroom shows it. */
export async function readPreferences(
  { db, vault }: { db: Queries; vault: Vault },
  student: Subscriber,
): Promise<RecordOf<'MailPreferences'>> {
  return preferencesOf(db, student.clubId, await keyOf({ db, vault }, student));
}

/** Changes what the student gets; what is absent stays. All or nothing. */
export async function setPreferences(
  { db, vault }: VaultDeps,
  student: Subscriber,
  wanted: Partial<RecordOf<'MailPreferences'>>,
  now: Date,
): Promise<RecordOf<'MailPreferences'>> {
  return db.transaction(async (tx) => {
    const { clubId } = student;
    const addressKey = await keyOf({ db: tx, vault }, student);
    for (const kind of mailKinds) {
      if (addressKey === null || wanted[kind] === undefined) continue;
      const subscription = { clubId, studentId: student.id, addressKey, kind };
      if (!wanted[kind]) await leaveKind(tx, subscription, now);
      else {
        await returnToKind(tx, subscription);
        if (kind === 'digests') await resumeDigests(tx, student.id);
      }
    }
    return preferencesOf(tx, clubId, addressKey);
  });
}

async function keyOf({ db, vault }: { db: Queries; vault: Vault }, { id, clubId }: Subscriber): Promise<Buffer | null> {
  const student = await db.one<{ email: string | null }>(
    sql`SELECT email FROM students WHERE id = ${id} AND club_id = ${clubId}`,
  );
  const email = student?.email ?? null;
  return email === null ? null : addressKeyOf(vault, email);
}

interface Subscription {
  clubId: Id;
  addressKey: Buffer;
  kind: MailKind;
}

async function leaveKind(
  tx: Transaction,
  { clubId, studentId, addressKey, kind }: Subscription & { studentId: Id },
  now: Date,
): Promise<void> {
  if (kind === 'digests') await stopDigests(tx, studentId);
  const column = leftAt(kind);
  await tx.run(sql`INSERT INTO mail_suppressions AS suppression (club_id, address_key, ${column}, created_at)
    VALUES (${clubId}, ${addressKey}, ${now}, ${now})
    ON CONFLICT (club_id, address_key) DO UPDATE SET ${column} = coalesce(suppression.${column}, excluded.${column})`);
}

async function returnToKind(tx: Transaction, { clubId, addressKey, kind }: Subscription): Promise<void> {
  const column = leftAt(kind);
  const others = list([sql`reason`, ...otherKinds(kind).map(leftAt)]);
  const mine = sql`club_id = ${clubId} AND address_key = ${addressKey} AND ${column} IS NOT NULL`;
  await tx.run(sql`DELETE FROM mail_suppressions WHERE ${mine} AND num_nonnulls(${others}) = 0`);
  await tx.run(sql`UPDATE mail_suppressions SET ${column} = NULL WHERE ${mine} AND num_nonnulls(${others}) > 0`);
}

/** Ends that a student has left the daily mail of spaces, who asks for that of a space now. The caller holds the student. */
export async function returnToDigests(tx: Transaction, { id, clubId }: Subscriber): Promise<void> {
  const student = await tx.one<{ addressKey: Buffer | null }>(
    sql`SELECT email_key AS "addressKey" FROM students WHERE id = ${id} AND club_id = ${clubId}`,
  );
  const addressKey = student?.addressKey ?? null;
  if (addressKey !== null) await returnToKind(tx, { clubId, addressKey, kind: 'digests' });
}
