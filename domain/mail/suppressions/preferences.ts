/** Unsubscribes a student from a kind of mail, by a link or in the classroom, and subscribes the student again (CAMP-5). */
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
import {
  mailKinds,
  readUnsubscribeToken,
  unsubscribeToken,
  type MailKind,
  type Unsubscription,
} from './unsubscribe-link.ts';

/** For each kind of mail, the column with the time at which the owner of an address unsubscribed. */
const columns = {
  campaigns: 'leftCampaignsAt',
  automations: 'leftAutomationsAt',
  digests: 'leftDigestsAt',
} as const satisfies Record<MailKind, keyof MailSuppression>;
const leftAt = (kind: MailKind): Sql => columnOf(columns[kind]);
const otherKinds = (kind: MailKind) => mailKinds.filter((other) => other !== kind);

interface TokenOwner extends Unsubscription {
  clubName: string;
  /** The BCP 47 tag of the student's own language, or else of the club's language. */
  language: string;
  /** Null for a removed student, who gets no mail any more. */
  addressKey: Buffer | null;
}

/** @throws DomainError not_found, for an invalid token or a token of another club */
async function ownerOfToken(
  { vault, db }: { vault: Vault; db: Queries },
  clubId: Id,
  token: string,
): Promise<TokenOwner> {
  const unsubscription = readUnsubscribeToken(vault, token);
  const student =
    unsubscription &&
    (await db.one<{ email: string | null; clubName: string; language: string }>(
      sql`SELECT student.email, club.name AS "clubName", coalesce(student.language, club.language) AS language FROM students student JOIN clubs club ON club.id = student.club_id
           WHERE student.id = ${unsubscription.studentId} AND student.club_id = ${clubId} AND club.erasing_at IS NULL`,
    ));
  if (!unsubscription || !student) throw notFound('mail');
  const { email, ...details } = student;
  return { ...unsubscription, ...details, addressKey: email === null ? null : addressKeyOf(vault, email) };
}

/** @throws DomainError not_found */
export async function readPreference(
  deps: { vault: Vault; db: Queries; publicUrl: string },
  clubId: Id,
  token: string,
): Promise<RecordOf<'MailPreference'>> {
  const { kind, studentId, clubName, language, addressKey } = await ownerOfToken(deps, clubId, token);
  const subscriptions = await preferencesOf(deps.db, clubId, addressKey);
  const clubHasSpaces = await hasSpaces(deps.db, clubId);
  return {
    club_name: clubName,
    branding: presentPublicBranding(await findBranding(deps.db, deps.publicUrl, clubId)),
    language: languageOf(language),
    kind,
    subscribed: subscriptions[kind],
    token,
    others: otherKinds(kind)
      .filter((other) => other !== 'digests' || clubHasSpaces)
      .map((other) => ({
        kind: other,
        subscribed: subscriptions[other],
        token: unsubscribeToken(deps.vault, { kind: other, studentId }),
      })),
  };
}

/** Returns the kinds of mail that are sent to an address. If the student has no address, no kind is sent. */
async function preferencesOf(db: Queries, clubId: Id, addressKey: Buffer | null): Promise<RecordOf<'MailPreferences'>> {
  if (addressKey === null) return { campaigns: false, automations: false, digests: false };
  const subscriptions = await db.one<RecordOf<'MailPreferences'>>(
    sql`SELECT left_campaigns_at IS NULL AS campaigns, left_automations_at IS NULL AS automations, left_digests_at IS NULL AS digests
          FROM mail_suppressions WHERE club_id = ${clubId} AND address_key = ${addressKey}`,
  );
  return subscriptions ?? { campaigns: true, automations: true, digests: true };
}

/** Unsubscribes. Mails that a worker has already claimed are still sent. @throws DomainError not_found */
export async function unsubscribe(
  deps: VaultDeps & Pick<AddressedDeps, 'publicUrl'>,
  clubId: Id,
  token: string,
  now: Date,
): Promise<RecordOf<'MailPreference'>> {
  const { kind, studentId, addressKey } = await ownerOfToken(deps, clubId, token);
  if (addressKey !== null)
    await deps.db.transaction((tx) => unsubscribeFrom(tx, { clubId, studentId, addressKey, kind }, now));
  return readPreference(deps, clubId, token);
}

/**
 * Subscribes an address again. A suppression for another reason stays.
 * @throws DomainError not_found
 */
export async function resubscribe(
  deps: VaultDeps & Pick<AddressedDeps, 'publicUrl'>,
  clubId: Id,
  token: string,
): Promise<RecordOf<'MailPreference'>> {
  const { kind, studentId, addressKey } = await ownerOfToken(deps, clubId, token);
  if (addressKey !== null)
    await deps.db.transaction(async (tx) => {
      await resubscribeTo(tx, { clubId, addressKey, kind });
      if (kind === 'digests') await resumeDigests(tx, studentId);
    });
  return readPreference(deps, clubId, token);
}

interface Subscriber {
  id: Id;
  clubId: Id;
}

/** Returns the kinds of mail that a student gets, for the classroom. */
export async function readPreferences(
  { db, vault }: { db: Queries; vault: Vault },
  student: Subscriber,
): Promise<RecordOf<'MailPreferences'>> {
  return preferencesOf(db, student.clubId, await keyOf({ db, vault }, student));
}

/** Changes the kinds of mail that the student gets, in one transaction. A kind that `wanted` does not contain stays as it is. */
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
      if (!wanted[kind]) await unsubscribeFrom(tx, subscription, now);
      else {
        await resubscribeTo(tx, subscription);
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

async function unsubscribeFrom(
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

async function resubscribeTo(tx: Transaction, { clubId, addressKey, kind }: Subscription): Promise<void> {
  const column = leftAt(kind);
  const others = list([sql`reason`, ...otherKinds(kind).map(leftAt)]);
  const mine = sql`club_id = ${clubId} AND address_key = ${addressKey} AND ${column} IS NOT NULL`;
  await tx.run(sql`DELETE FROM mail_suppressions WHERE ${mine} AND num_nonnulls(${others}) = 0`);
  await tx.run(sql`UPDATE mail_suppressions SET ${column} = NULL WHERE ${mine} AND num_nonnulls(${others}) > 0`);
}

/**
 * Subscribes a student to the daily mail again, because the student now wants it for a space. The caller holds the lock of the student's
 * row.
 */
export async function resubscribeToDigests(tx: Transaction, { id, clubId }: Subscriber): Promise<void> {
  const student = await tx.one<{ addressKey: Buffer | null }>(
    sql`SELECT email_key AS "addressKey" FROM students WHERE id = ${id} AND club_id = ${clubId}`,
  );
  const addressKey = student?.addressKey ?? null;
  if (addressKey !== null) await resubscribeTo(tx, { clubId, addressKey, kind: 'digests' });
}
