/** Commits facts as the product does, so that the relay of the test handles them, and makes the body of a fact. */
import type { CausedWorkflow } from '../../../domain/contexts.ts';
import { assembleBodies } from '../../../domain/webhooks/events/bodies/assemble.ts';
import type { SubjectStudent } from '../../../domain/webhooks/events/bodies/reading.ts';
import { Database, type Queries } from '../../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../../platform/infra/postgres/notifications.ts';
import type { Priority } from '../../../entities/facts/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { recordFact, type FactResult, type FactToTell } from '../../../platform/engine/facts.ts';
import { testDeps } from '../stack/database.ts';

/** Commits a fact about the student, and notifies the relay, unless the test wants a lost NOTIFY. @returns the event's id */
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

export async function assembleBody(db: Queries, fact: FactToTell, student: SubjectStudent, now: Date): Promise<string> {
  const [body = ''] = await assembleBodies(db, [{ fact, student }], now);
  return body;
}

/** @returns the runs that the relay must start after a consumer returned this result for a fact */
export function startsOf(result: FactResult<CausedWorkflow> | undefined): readonly CausedWorkflow[] {
  return result?.kind === 'consumed' ? result.runs : [];
}

/** @returns a short form of a consumer's result for a fact: the number of runs to start, or `removed` or `blocked` */
export function inShort(result: FactResult<CausedWorkflow> | undefined): number | string | undefined {
  return result?.kind === 'consumed' ? result.runs.length : result?.kind;
}
