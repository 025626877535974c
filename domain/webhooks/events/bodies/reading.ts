/** What the readers of event data share: what they get, and what they do when the record is not there. */
import type { FactToTell } from '../../../../platform/engine/facts.ts';
import type { Queries } from '../../../../platform/infra/postgres/database.ts';
import type { Id } from '../../../../platform/core/ids.ts';

/** The student of the fact, as it stands now; removed students have no name and no e-mail any more. */
export interface SubjectStudent {
  id: Id;
  name: string;
  email: string | null;
  verified: boolean;
  createdAt: Date;
  removed: boolean;
}

/** Reads `data` of an event from the record as it is now; the student's row is locked by the caller. */
export type DataReader<Data extends object> = (
  tx: Queries,
  fact: FactToTell,
  student: SubjectStudent,
  now: Date,
) => Promise<Data>;

/** @throws Error where there is no such record: none that a fact is about is ever deleted */
export function oneRow<Row>(rows: readonly Row[], fact: FactToTell): Row {
  const [row] = rows;
  if (row === undefined) throw new Error(`The record of a fact ${fact.type} is gone`);
  return row;
}
