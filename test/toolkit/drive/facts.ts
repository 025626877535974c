/** Facts as the product commits them, for the relay of the test to carry on, and the body of one. */
import type { CausedWorkflow, FactConsumer } from '../../../domain/contexts.ts';
import { assembleBodies } from '../../../domain/webhooks/events/fan-out.ts';
import type { SubjectStudent } from '../../../domain/webhooks/events/bodies/reading.ts';
import { Database, type Queries } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import type { Priority } from '../../../entities/facts/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { recordFact, type FactToTell } from '../../../platform/engine/facts.ts';
import { testDeps } from '../stack/database.ts';

/** Commits that something happened to the student; told to the relay by NOTIFY, unless that is to be lost. @returns the event's id */
export async function commitFact(
  { clubId, studentId }: { clubId: Id; studentId: Id },
  {
    type = 'student.updated',
    notified = true,
    priority,
  }: { type?: EventType; notified?: boolean; priority?: Priority } = {},
): Promise<Id> {
  const { db } = await testDeps();
  const notifier = notified ? createNotifier(db.source, () => {}) : db.notifier;
  const fact = { clubId, studentId, type, occurredAt: new Date(), ...(priority !== undefined && { priority }) };
  return new Database(db.source, notifier).transaction((tx) => recordFact(tx, fact));
}

/** The body of one fact alone. */
export async function assembleBody(db: Queries, fact: FactToTell, student: SubjectStudent, now: Date): Promise<string> {
  const [body = ''] = await assembleBodies(db, [{ fact, student }], now);
  return body;
}

/** @returns the runs that a fact wants, of what a consumer answered about it */
export function startsOf(caused: Awaited<ReturnType<FactConsumer>>[number]): readonly CausedWorkflow[] {
  return caused === undefined || caused === 'removed' ? [] : caused;
}
