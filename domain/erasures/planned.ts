/** Plans the erasure of a club, reads it and cancels it (ERS-1). A run begins the erasure when its time has come (ADR 88). */
import type { RecordOf } from '../../contract/contract.ts';
import { Erasure } from '../../entities/erasures/erasure.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import { certificateAddress } from './certificate-address.ts';
import { erasureRules } from './erasures.policy.ts';

/** The dependencies of a record with the address of a certificate. */
export interface CertifiedDeps {
  db: Queries;
  vault: Vault;
  publicUrl: string;
}

const shownColumns = columns(Erasure, ['id', 'status', 'requestedAt', 'requestedBy', 'erasesAt']);

/** @returns undefined if no erasure of the club is planned and none has begun */
export async function findClubErasure(
  { db, vault, publicUrl }: CertifiedDeps,
  clubId: Id,
): Promise<RecordOf<'ClubErasure'> | undefined> {
  const row = await db.one<RowOf<typeof shownColumns>>(
    sql`SELECT ${shownColumns} FROM erasures WHERE subject_id = ${clubId} AND kind = 'club'`,
  );
  return (
    row && {
      id: row.id,
      status: row.status === 'planned' ? 'planned' : 'running',
      requested_at: row.requestedAt.toISOString(),
      ...(row.requestedBy !== null && { requested_by: row.requestedBy }),
      erases_at: row.erasesAt.toISOString(),
      certificate_url: certificateAddress(vault, publicUrl, row.id),
    }
  );
}

/** @returns when the erasure of the club begins; undefined if none is planned */
export async function findErasesAt(db: Queries, clubId: Id): Promise<Date | undefined> {
  const row = await db.one<Pick<Erasure, 'erasesAt'>>(
    sql`SELECT ${columns(Erasure, ['erasesAt'])} FROM erasures WHERE subject_id = ${clubId} AND kind = 'club'`,
  );
  return row?.erasesAt;
}

/**
 * Plans the erasure, 14 days from now. The run first looks at it when the reminder is due. The caller has locked the club, and knows that no
 * erasure is planned.
 */
export async function planClubErasure(
  tx: Transaction,
  { clubId, requestedBy }: { clubId: Id; requestedBy: Id },
  now: Date,
): Promise<void> {
  const erasesAt = new Date(now.getTime() + erasureRules.delayMs);
  await tx.manager.insert(Erasure, {
    id: newId(),
    kind: 'club',
    subjectId: clubId,
    clubId,
    requestedBy,
    requestedAt: now,
    erasesAt,
    status: 'planned',
    looksAt: new Date(erasesAt.getTime() - erasureRules.reminderMs),
  });
}

/** @returns false if no erasure is planned, or if it has already begun */
export async function cancelPlannedErasure(tx: Transaction, clubId: Id): Promise<boolean> {
  const { affected } = await tx.manager.delete(Erasure, { subjectId: clubId, kind: 'club', status: 'planned' });
  return affected === 1;
}

/** @returns whether the slug belonged to a club that was erased less than 90 days ago (ERS-8) */
export async function isOfErasedClub(db: Queries, slug: string): Promise<boolean> {
  return (await db.one(sql`SELECT 1 FROM erasures WHERE slug = ${slug} LIMIT 1`)) !== undefined;
}
