/** What each event says: `data` of the envelope, read from the resource as it is when the body is assembled. */
import type { EventBodyOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import { accessBodies } from './bodies/access.ts';
import { certificateBodies } from './bodies/certificates.ts';
import { learningBodies } from './bodies/learning.ts';
import type { DataReader, SubjectStudent } from './bodies/reading.ts';
import { standingBodies } from './bodies/standing.ts';
import { salesBodies } from './bodies/sales.ts';
import { studentBodies } from './bodies/student.ts';
import type { FactToTell } from '../../../platform/engine/facts.ts';

export type { SubjectStudent } from './bodies/reading.ts';

/** One reader an event type; a type without one cannot be told yet. */
const dataOf: { [Type in EventType]?: DataReader<EventBodyOf<Type>['data']> } = {
  ...studentBodies,
  ...accessBodies,
  ...salesBodies,
  ...certificateBodies,
  ...learningBodies,
  ...standingBodies,
};

/** @returns the exact JSON that is signed and sent (DEL-14) */
export async function assembleBody(db: Queries, fact: FactToTell, student: SubjectStudent, now: Date): Promise<string> {
  const read: DataReader<object> | undefined = dataOf[fact.type];
  if (!read) throw new Error(`No body is defined for ${fact.type}`);
  return JSON.stringify({
    id: fact.id,
    type: fact.type,
    occurred_at: fact.occurredAt.toISOString(),
    club_id: fact.clubId,
    data: await read(db, fact, student, now),
  });
}

/** @returns the body of a test message, which no fact causes */
export function assembleTestBody(test: { eventId: Id; clubId: Id; endpointId: Id; occurredAt: Date }): string {
  const body: EventBodyOf<'webhook.test'> = {
    id: test.eventId,
    type: 'webhook.test',
    occurred_at: test.occurredAt.toISOString(),
    club_id: test.clubId,
    data: { endpoint: { id: test.endpointId } },
  };
  return JSON.stringify(body);
}
