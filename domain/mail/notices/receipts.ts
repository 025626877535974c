/**
 * Remembers signed notices, so that a signature counts once (BNC-3). A provider repeats a notice when the answer was lost: the same bytes
 * are accepted again, and change nothing. Other bytes under a signature that was received before are refused.
 */
import { createHash } from 'node:crypto';
import { DomainError } from '../../../platform/core/errors.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';

export interface Receipt {
  /** SHA-256 of the provider and of the part of the request that no other notice has. */
  key: Buffer;
  /** SHA-256 of the body. */
  bodyDigest: Buffer;
  expiresAt: Date;
}

/** @param unique the part of the request that no other notice of the provider has */
export function receiptOf(
  provider: string,
  unique: string | Buffer,
  { body, expiresAt }: { body: Buffer; expiresAt: Date },
): Receipt {
  const key = createHash('sha256').update(`${provider} `).update(unique).digest();
  return { key, bodyDigest: createHash('sha256').update(body).digest(), expiresAt };
}

/**
 * Stores the receipt in the transaction that records the notice. A simultaneous repetition waits for the end of that transaction.
 * @returns false if the same notice was received before
 * @throws DomainError signature_invalid, if the signature was received with another body
 */
export async function storeReceipt(tx: Transaction, { key, bodyDigest, expiresAt }: Receipt): Promise<boolean> {
  const stored = await tx.one(sql`INSERT INTO mail_notice_receipts (key, body_digest, expires_at)
    VALUES (${key}, ${bodyDigest}, ${expiresAt}) ON CONFLICT (key) DO NOTHING RETURNING key`);
  if (stored) return true;
  const former = await tx.one<{ bodyDigest: Buffer }>(
    sql`SELECT body_digest AS "bodyDigest" FROM mail_notice_receipts WHERE key = ${key}`,
  );
  if (former && !former.bodyDigest.equals(bodyDigest))
    throw new DomainError('signature_invalid', 'The signature of the notice was used before, for another notice.');
  return false;
}

const batch = 1_000;

/** Removes receipts whose signatures have expired. @returns how many, and whether another batch may be due immediately */
export async function removeExpiredReceipts(
  db: Database,
  now: Date,
): Promise<{ rows: { noticeReceipts: number }; more: boolean }> {
  const noticeReceipts = await db.run(sql`DELETE FROM mail_notice_receipts WHERE key IN (
    SELECT key FROM mail_notice_receipts WHERE expires_at <= ${now} ORDER BY expires_at LIMIT ${batch} FOR UPDATE SKIP LOCKED)`);
  return { rows: { noticeReceipts }, more: noticeReceipts >= batch };
}
