/** Assembles the bodies of events: the exact JSON that is signed and sent (DEL-14). */
import type { EventBodyOf } from '../../../../contract/contract.ts';
import type { EventType } from '../../../../platform/core/event-types.ts';
import type { Queries } from '../../../../platform/infra/postgres/database.ts';
import { accessBodies } from './access.ts';
import { certificateBodies } from './certificates.ts';
import { learningBodies } from './learning.ts';
import type { DataReader, FactAndStudent } from './reading.ts';
import { salesBodies } from './sales.ts';
import { standingBodies } from './standing.ts';
import { studentBodies } from './student.ts';

const dataOf: { [Type in EventType]?: DataReader<EventBodyOf<Type>['data']> } = {
  ...studentBodies,
  ...accessBodies,
  ...salesBodies,
  ...certificateBodies,
  ...learningBodies,
  ...standingBodies,
};

/**
 * Reads the records of each type in one statement.
 * @returns the body of each fact as JSON, in the order of the facts
 */
export async function assembleBodies(db: Queries, facts: readonly FactAndStudent[], now: Date): Promise<string[]> {
  const bodies: string[] = [];
  const indexed = facts.map((one, position) => ({ ...one, position }));
  for (const [type, ofType] of Map.groupBy(indexed, ({ fact }) => fact.type)) {
    const read: DataReader<object> | undefined = dataOf[type];
    if (!read) throw new Error(`Event type ${type} has no body reader`);
    const data = await read(db, ofType, now);
    for (const [index, { fact, position }] of ofType.entries())
      bodies[position] = JSON.stringify({
        id: fact.id,
        type,
        occurred_at: fact.occurredAt.toISOString(),
        club_id: fact.clubId,
        data: data[index],
      });
  }
  return bodies;
}
