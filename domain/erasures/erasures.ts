/** Records erasures. A run then follows each row until its files are gone (ADR 88, ADR 89). */
import { Erasure } from '../../entities/erasures/erasure.ts';
import type { ErasureKind } from '../../entities/erasures/values.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';

interface ErasedPerson {
  kind: Exclude<ErasureKind, 'club'>;
  /** The student or the administrator. */
  subjectId: Id;
  /** The club of the student; null for an administrator. */
  clubId: Id | null;
  /** The id of the person or API key that asked for the erasure; null for the service itself. */
  requestedBy: Id | null;
}

/** Records that this transaction erases the rows of a person, and wakes the run of the erasure. @returns the id of the erasure */
export async function recordErasure(tx: Transaction, person: ErasedPerson, now: Date): Promise<Id> {
  const id = newId();
  await tx.manager.insert(Erasure, {
    ...person,
    id,
    requestedAt: now,
    erasesAt: now,
    status: 'objects',
    looksAt: now,
  });
  await wake(tx, 'personErasure', [{ subjectId: person.subjectId, clubId: person.clubId }], now);
  return id;
}
