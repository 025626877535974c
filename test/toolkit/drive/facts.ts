/** Facts as the product commits them, for the relay of the test to carry on. */
import { createBell } from '../../../platform/infra/postgres/notifier.ts';
import { inTransaction } from '../../../platform/infra/postgres/transaction.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import { testPlatform } from '../stack/database.ts';

/** Commits that something happened to the student; told to the relay by NOTIFY, unless that is to be lost. @returns the event's id */
export async function commitFact(
  { clubId, studentId }: { clubId: Id; studentId: Id },
  { type = 'student.updated', notified = true }: { type?: EventType; notified?: boolean } = {},
): Promise<Id> {
  const { database } = await testPlatform();
  const bell = notified ? createBell(database.source, () => {}) : database.bell;
  const fact = { clubId, studentId, type, occurredAt: new Date() };
  return inTransaction({ ...database, bell }, (tx) => recordFact(tx, fact));
}
