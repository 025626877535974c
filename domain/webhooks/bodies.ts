/** What each event says: `data` of the envelope, read from the resource as it is when the body is assembled. */
import type { EventBodyOf } from '../../contract/contract.ts';
import type { EventType } from '../facts/catalogue.policy.ts';
import type { Id } from '../core/ids.ts';

/** The student of the fact, as it stands now; removed students have no name and no e-mail any more. */
export interface SubjectStudent {
  id: Id;
  name: string;
  email: string | null;
  verified: boolean;
  createdAt: Date;
  removed: boolean;
}

export interface FactToTell {
  id: Id;
  clubId: Id;
  type: EventType;
  studentId: Id;
  occurredAt: Date;
}

type Data = { [Type in EventType]?: (student: SubjectStudent) => object };

/** One row an event type; a type without one cannot be told yet. */
const dataOf: Data = {
  'student.created': studentRecord,
  'student.updated': studentRecord,
  'student.removed': ({ id }): EventBodyOf<'student.removed'>['data'] => ({ student: { id } }),
};

/** @returns the exact JSON that is signed and sent (specification: Events, Envelope) */
export function assembleBody(fact: FactToTell, student: SubjectStudent): string {
  const data = dataOf[fact.type];
  if (!data) throw new Error(`No body is defined for ${fact.type}`);
  return JSON.stringify({
    id: fact.id,
    type: fact.type,
    occurred_at: fact.occurredAt.toISOString(),
    club_id: fact.clubId,
    data: data(student),
  });
}

function studentRecord(student: SubjectStudent): EventBodyOf<'student.created'>['data'] {
  return {
    student: {
      id: student.id,
      name: student.name,
      email: student.email ?? '',
      verified: student.verified,
      created_at: student.createdAt.toISOString(),
    },
  };
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
