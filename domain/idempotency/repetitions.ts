/**
 * Keeps the answers to requests with an `Idempotency-Key`. The first statement of a request's transaction inserts a row for the key, and
 * the last statement adds the answer. So the effect and the answer of the request commit together (ADR 71).
 */
import { gathered } from '../../platform/core/gathered.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { DomainError } from '../../platform/core/errors.ts';
import {
  isLockTimeout,
  type Database,
  type Queries,
  type Transaction,
} from '../../platform/infra/postgres/database.ts';
import { prepared } from '../../platform/infra/postgres/prepared.ts';
import { forAllClubs } from '../../platform/infra/postgres/shared-pool.ts';
import { sql } from '../../platform/infra/postgres/sql.ts';
import { SealUnreadable, type Vault } from '../../platform/infra/keys/vault.ts';
import { repetitionRules } from './repetitions.policy.ts';

export interface KeyedRequest {
  /** The kind and the id of the caller: `student:…`. */
  readonly caller: string;
  readonly keyHash: Buffer;
  /** SHA-256 of everything that decides the effect of the request. */
  readonly fingerprint: Buffer;
  /** The club of the path or of the student. */
  readonly clubId: Id | undefined;
  /** Whether the answer can contain data about a student, by its schema. */
  readonly isAboutStudent: boolean;
}

export interface KeptAnswer {
  readonly status: number;
  /** Headers that the operation sets, such as `ETag`. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as JSON. Absent without a body. */
  readonly body?: unknown;
}

export interface KeyState {
  /** The answer of an earlier request with the key. */
  readonly answer: KeptAnswer | undefined;
  /** The number of removals of students in the club so far. */
  readonly erasures: number;
}

/** Another request with the same key has committed after this request looked up the key. Look up the key again. */
export class RequestRepeated extends Error {
  override name = 'RequestRepeated';
}

/** @returns the name of a student in {@link KeyedRequest.caller} */
export const studentCaller = (studentId: Id): string => `student:${studentId}`;
/** @returns the name of an administrator in {@link KeyedRequest.caller} */
export const administratorCaller = (administratorId: Id): string => `administrator:${administratorId}`;
/** @returns the name of an API key in {@link KeyedRequest.caller} */
export const keyCaller = (keyId: Id): string => `key:${keyId}`;

/** @throws DomainError idempotency_key_reused (a different request has used the key), result_removed (the answer is not kept any more) */
export type AnswerFinder = (request: KeyedRequest, now: Date) => Promise<KeyState>;

interface LookUp extends Pick<KeyedRequest, 'caller' | 'keyHash' | 'clubId'> {
  now: Date;
}

interface KeyRow {
  position: number;
  id: string | null;
  fingerprint: Buffer | null;
  status: number | null;
  answer: Buffer | null;
  erasures: number | null;
}

const selectKeys = prepared<KeyRow, { callers: string[]; keyHashes: Buffer[]; times: Date[]; clubIds: (Id | null)[] }>(
  'select_idempotency_keys',
  (value) => `
  SELECT asked.position::int, held.id, held.fingerprint, held.status, held.answer, erasure.count AS erasures
    FROM unnest(${value.callers}::text[], ${value.keyHashes}::bytea[], ${value.times}::timestamptz[], ${value.clubIds}::uuid[])
           WITH ORDINALITY AS asked (caller, key_hash, now, club_id, position)
    LEFT JOIN idempotency_keys held ON held.caller = asked.caller AND held.key_hash = asked.key_hash AND held.expires_at > asked.now
    LEFT JOIN idempotency_erasures erasure ON erasure.club_id = asked.club_id`,
);

/** `atOnce`: the maximum number of concurrent look-ups in a process. `most`: the maximum number of keys in one look-up. */
const lookUpBounds = { atOnce: 4, most: 100 } as const;

/**
 * @returns a function that finds the kept answer of a request. Every request calls it first, so it looks up the keys of concurrent requests
 * together
 */
export function createAnswerFinder({ db, vault }: { db: Database; vault: Vault }): AnswerFinder {
  const lookUp = gathered(
    (lookUps: readonly LookUp[]) =>
      forAllClubs(async () => {
        const rows = await selectKeys(db.source, {
          callers: lookUps.map(({ caller }) => caller),
          keyHashes: lookUps.map(({ keyHash }) => keyHash),
          times: lookUps.map(({ now }) => now),
          clubIds: lookUps.map(({ clubId }) => clubId ?? null),
        });
        const rowsByPosition = new Map(rows.map((row) => [row.position, row]));
        return lookUps.map((_, index) => rowsByPosition.get(index + 1));
      }),
    lookUpBounds,
  );
  return async ({ caller, keyHash, fingerprint, clubId }, now) => {
    const row = await lookUp({ caller, keyHash, clubId, now });
    const erasures = row?.erasures ?? 0;
    if (!row?.id || !row.fingerprint || row.status === null) return { answer: undefined, erasures };
    if (!row.fingerprint.equals(fingerprint))
      throw new DomainError(
        'idempotency_key_reused',
        'Another request was sent with this Idempotency-Key. Choose a new key for each request.',
      );
    const text = row.answer && openedAnswer(vault, row.answer, row.id);
    if (!text)
      throw new DomainError('result_removed', 'The request has had its effect. Its answer is not kept any more.');
    return { answer: { ...(JSON.parse(text) as Omit<KeptAnswer, 'status'>), status: row.status }, erasures };
  };
}

/** @returns undefined if the key that sealed the answer was removed */
function openedAnswer(vault: Vault, answer: Buffer, id: string): string | undefined {
  try {
    return vault.open(answer, id);
  } catch (error) {
    if (error instanceof SealUnreadable) return undefined;
    throw error;
  }
}

const insertKey = prepared<
  { id: string },
  Omit<KeyedRequest, 'clubId'> & { id: string; clubId: Id | null; now: Date; expiresAt: Date }
>(
  'insert_idempotency_key',
  (value) => `
  INSERT INTO idempotency_keys AS held (caller, key_hash, id, club_id, is_about_student, fingerprint, created_at, expires_at)
  VALUES (${value.caller}, ${value.keyHash}, ${value.id}, ${value.clubId}, ${value.isAboutStudent}, ${value.fingerprint}, ${value.now}, ${value.expiresAt})
      ON CONFLICT (caller, key_hash) DO UPDATE
     SET id = EXCLUDED.id, club_id = EXCLUDED.club_id, is_about_student = EXCLUDED.is_about_student, fingerprint = EXCLUDED.fingerprint,
         status = NULL, answer = NULL, created_at = EXCLUDED.created_at, expires_at = EXCLUDED.expires_at
   WHERE held.expires_at <= EXCLUDED.created_at
  RETURNING id`,
);

/**
 * Claims the key in the transaction of its request. Waits for an earlier request with the key, at most for the lock timeout of our
 * connections (5 s).
 * @throws RequestRepeated if an earlier request has committed. DomainError request_in_progress if it still runs
 */
export async function claimKey(tx: Transaction, request: KeyedRequest, now: Date): Promise<Id> {
  const id = newId();
  const { caller, keyHash, fingerprint, clubId = null, isAboutStudent } = request;
  const expiresAt = new Date(now.getTime() + repetitionRules.keptMs);
  const [claimed] = await insertKey(tx, {
    caller,
    keyHash,
    fingerprint,
    clubId,
    isAboutStudent,
    id,
    now,
    expiresAt,
  }).catch((error: unknown) => {
    if (isLockTimeout(error))
      throw new DomainError('request_in_progress', 'Another request with this Idempotency-Key still runs.');
    throw error;
  });
  if (!claimed) throw new RequestRepeated();
  return id;
}

const updateKey = prepared<
  object,
  { caller: string; keyHash: Buffer; status: number; answer: Buffer | null; clubId: Id | null; erasures: number }
>(
  'keep_idempotent_answer',
  (value) => `
  UPDATE idempotency_keys
     SET status = ${value.status},
         answer = CASE WHEN coalesce((SELECT count FROM idempotency_erasures WHERE club_id = ${value.clubId}::uuid), 0) = ${value.erasures}::integer
                       THEN ${value.answer}::bytea END
   WHERE caller = ${value.caller} AND key_hash = ${value.keyHash}`,
);

/**
 * Adds the answer to the claimed row. The row stays empty if the answer is too large (IDEM-7). It also stays empty if the answer may
 * contain data about a student, and a student was removed since the request began (IDEM-6).
 * @param claim the id of the claimed row, and the number of removals before the request ran
 */
export async function keepAnswer(
  tx: Transaction,
  vault: Vault,
  { caller, keyHash, clubId, isAboutStudent }: KeyedRequest,
  claim: { id: Id; erasures: number },
  { status, ...rest }: KeptAnswer,
): Promise<void> {
  const text = JSON.stringify(rest);
  const answer = Buffer.byteLength(text) <= repetitionRules.answerBytes ? vault.seal(text, claim.id) : null;
  const mayBeErased = isAboutStudent || caller.startsWith(studentCaller(''));
  const erasedClub = mayBeErased && clubId !== undefined ? clubId : null;
  // The removal of a student deletes the answers in committed rows. Because of this lock, the removal either waits for this transaction, or
  // this transaction waits and then sees the removal.
  if (erasedClub !== null)
    await tx.run(sql`SELECT pg_advisory_xact_lock_shared(hashtextextended('idempotency ' || ${erasedClub}::text, 0))`);
  const erasures = erasedClub === null ? 0 : claim.erasures;
  await updateKey(tx, { caller, keyHash, status, answer, clubId: erasedClub, erasures });
}

/**
 * Deletes the rows of a removed student, and empties all answers of the club that may contain data about a student. A repetition of such a
 * request gets result_removed (IDEM-6).
 */
export async function eraseAnswers(
  tx: Transaction,
  { clubId, studentId }: { clubId: Id; studentId: Id },
): Promise<void> {
  await tx.run(sql`SELECT pg_advisory_xact_lock(hashtextextended('idempotency ' || ${clubId}::text, 0))`);
  await tx.run(sql`INSERT INTO idempotency_erasures AS erasure (club_id, count) VALUES (${clubId}, 1)
    ON CONFLICT (club_id) DO UPDATE SET count = erasure.count + 1`);
  await tx.run(sql`DELETE FROM idempotency_keys WHERE caller = ${studentCaller(studentId)}`);
  await tx.run(
    sql`UPDATE idempotency_keys SET answer = NULL, is_about_student = false WHERE club_id = ${clubId} AND is_about_student`,
  );
}

/**
 * Deletes the rows of an erased administrator. Also empties the answers to the other members and to the keys of these clubs: a record of a
 * member or a mentorship may name the person. No index finds the rows of a club, so this finds them by their callers.
 */
export async function eraseAnswersOfAdministrator(
  tx: Transaction,
  { administratorId, clubIds }: { administratorId: Id; clubIds: readonly Id[] },
): Promise<void> {
  await tx.run(sql`DELETE FROM idempotency_keys WHERE caller = ${administratorCaller(administratorId)}`);
  if (clubIds.length === 0) return;
  await tx.run(sql`
    UPDATE idempotency_keys SET answer = NULL, is_about_student = false
     WHERE caller IN (
             SELECT ${administratorCaller('')} || administrator_id FROM memberships WHERE club_id = ANY (${clubIds}::uuid[])
              UNION ALL
             SELECT ${keyCaller('')} || id FROM api_keys WHERE club_id = ANY (${clubIds}::uuid[]))
       AND club_id = ANY (${clubIds}::uuid[]) AND answer IS NOT NULL`);
}

export async function removeExpiredAnswers(
  db: Queries,
  now: Date,
): Promise<{ rows: { idempotencyKeys: number }; more: boolean }> {
  const { expiredPerBatch } = repetitionRules;
  const idempotencyKeys = await db.run(sql`DELETE FROM idempotency_keys WHERE (caller, key_hash) IN (
    SELECT caller, key_hash FROM idempotency_keys WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${expiredPerBatch} FOR UPDATE SKIP LOCKED)`);
  return { rows: { idempotencyKeys }, more: idempotencyKeys >= expiredPerBatch };
}
