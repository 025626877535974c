/**
 * The statements that write the delta log. Each statement handles many answers. It checks the fencing token of every answer, and returns
 * one outcome for each answer.
 */
import type { DataSource } from 'typeorm';
import type { Id } from '../../../platform/core/ids.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';

/** `held`: another transaction has locked the answer's row. `lost`: the answer has ended, or a newer call owns the answer. */
export type Outcome = 'written' | 'held' | 'lost';

interface Fenced {
  answerId: Id;
  callNo: number;
}

export interface DeltaStatements {
  /** @returns one outcome per delta, in their order */
  write(source: DataSource, deltas: readonly (Fenced & { startsAt: number; text: string })[]): Promise<Outcome[]>;
  /** @returns one outcome per answer, in their order */
  renew(source: DataSource, answers: readonly Fenced[], leaseMs: number): Promise<Outcome[]>;
}

/**
 * A statement skips the rows that another transaction has locked, so that one answer does not block the others. For each skipped row, this
 * expression then reads the row without a lock. It decides whether the row is only locked (`held`), or whether the call no longer owns the
 * answer (`lost`).
 */
const outcome = `
  CASE WHEN done.id IS NOT NULL THEN 'written'
       WHEN EXISTS (SELECT FROM agent_answers looked
                     WHERE looked.id = given.id AND looked.call_no = given.call_no AND looked.status = 'generating') THEN 'held'
       ELSE 'lost' END AS outcome`;

const mine = (lock: 'SHARE' | 'NO KEY UPDATE') => `
  SELECT answer.id FROM agent_answers answer JOIN given ON answer.id = given.id
   WHERE answer.call_no = given.call_no AND answer.status = 'generating'
   ORDER BY answer.id FOR ${lock} OF answer SKIP LOCKED`;

interface FencedAnswers {
  ids: readonly Id[];
  callNos: readonly number[];
}

const columnsOf = (answers: readonly Fenced[]): FencedAnswers => ({
  ids: answers.map(({ answerId }) => answerId),
  callNos: answers.map(({ callNo }) => callNo),
});

/**
 * The lock on the answer's row keeps other transactions from ending the answer until these words are committed. A repeated write overwrites
 * the words of the first write.
 */
const writeDeltas = prepared<
  { outcome: Outcome },
  FencedAnswers & { starts: readonly number[]; texts: readonly string[] }
>(
  'write_answer_deltas',
  (value) => `WITH given AS (
     SELECT * FROM unnest(${value.ids}::uuid[], ${value.callNos}::smallint[], ${value.starts}::integer[], ${value.texts}::text[])
       WITH ORDINALITY AS each (id, call_no, starts_at, text, place)),
   mine AS (${mine('SHARE')}),
   done AS (
     INSERT INTO agent_answer_deltas (answer_id, starts_at, text)
     SELECT given.id, given.starts_at, given.text FROM given JOIN mine ON mine.id = given.id
     ON CONFLICT (answer_id, starts_at) DO UPDATE SET text = excluded.text
     RETURNING answer_id AS id)
   SELECT ${outcome} FROM given LEFT JOIN done ON done.id = given.id ORDER BY given.place`,
);

const renewLeases = prepared<{ outcome: Outcome }, FencedAnswers & { leaseMs: number }>(
  'renew_answer_leases',
  (value) => `WITH given AS (
     SELECT * FROM unnest(${value.ids}::uuid[], ${value.callNos}::smallint[]) WITH ORDINALITY AS each (id, call_no, place)),
   mine AS (${mine('NO KEY UPDATE')}),
   done AS (
     UPDATE agent_answers answer SET lease_until = clock_timestamp() + ${value.leaseMs} * interval '1 millisecond'
       FROM mine WHERE answer.id = mine.id RETURNING answer.id)
   SELECT ${outcome} FROM given LEFT JOIN done ON done.id = given.id ORDER BY given.place`,
);

export const deltaStatements: DeltaStatements = {
  async write(source, deltas) {
    const rows = await writeDeltas(source, {
      ...columnsOf(deltas),
      starts: deltas.map(({ startsAt }) => startsAt),
      texts: deltas.map(({ text }) => text),
    });
    return rows.map((row) => row.outcome);
  },
  async renew(source, answers, leaseMs) {
    const rows = await renewLeases(source, { ...columnsOf(answers), leaseMs });
    return rows.map((row) => row.outcome);
  },
};
