/** Starts runs of automations because of facts, and wakes waiting runs to evaluate their rules again (AUTO-18, AUTO-12). */
import { triggerKinds, type AccessKind, type TriggerKind } from '../../../entities/automations/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { togetherWaitsMs, type ClaimedFact, type FactResult } from '../../../platform/engine/facts.ts';
import {
  isLockTimeout,
  boundLockWaits,
  type Database,
  type Queries,
  type Transaction,
} from '../../../platform/infra/postgres/database.ts';
import { prepared } from '../../../platform/infra/postgres/prepared.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';
import { wakeAtPace, wakeRunsOf } from '../../watches/watches.ts';
import type { Trigger, TriggerList } from '../versions/definition.policy.ts';
import { enter, shareOpen } from './entering.ts';

/**
 * Starts the runs that facts cause, and wakes the runs that the facts concern. Each fact has its own transaction, and the transactions run
 * in parallel. For all facts of clubs without automations, the function needs only one query in total. If the same fact is passed again, it
 * starts nothing. If the function is called with several facts, each fact waits only briefly for a lock. A fact that would have to wait
 * longer is
 * `blocked`.
 * @param options.waitSpeed the factor by which waits are shortened; 1 if absent
 * @returns the result of each fact, without runs to start, because the transactions write wakes instead
 */
export async function enrollByFacts(
  db: Database,
  facts: readonly ClaimedFact[],
  now: Date,
  { waitSpeed }: { waitSpeed?: number } = {},
): Promise<FactResult<never>[]> {
  const blocked = new Set<Id>();
  const entries = (await concerned(db, facts)).map(({ fact, automationIds }) =>
    db
      .transaction(async (tx) => {
        if (facts.length > 1) await boundLockWaits(tx, togetherWaitsMs);
        await enterAndWake(tx, fact, { automationIds, waitSpeed }, now);
      })
      .catch((error: unknown) => {
        if (facts.length === 1 || !isLockTimeout(error)) throw error;
        blocked.add(fact.id);
      }),
  );
  const failure = (await Promise.allSettled(entries)).find((one) => one.status === 'rejected');
  if (failure) throw failure.reason;
  return facts.map(({ id }) => (blocked.has(id) ? { kind: 'blocked' } : { kind: 'consumed', runs: [] }));
}

const kindOf = ({ type }: Pick<ClaimedFact, 'type'>) => type.replace('.', '_') as TriggerKind;

/** @returns the facts that may start or wake runs, each with the automations that have its type as trigger */
async function concerned(
  db: Queries,
  facts: readonly ClaimedFact[],
): Promise<{ fact: ClaimedFact; automationIds: Id[] }[]> {
  if (facts.length === 0) return [];
  const rows = await selectConcerned(db, {
    clubIds: facts.map(({ clubId }) => clubId),
    kinds: facts.map(kindOf),
    studentIds: facts.map(({ studentId }) => studentId),
  });
  return rows.flatMap(({ place, automationIds, hasRuns }) => {
    const fact = facts[place - 1];
    return fact && (automationIds !== null || hasRuns) ? [{ fact, automationIds: automationIds ?? [] }] : [];
  });
}

// This query runs for every fact of every club. The query uses `LIMIT` instead of EXISTS, because for EXISTS Postgres may choose a plan
// that reads all active runs.
const selectConcerned = prepared<
  { place: number; automationIds: Id[] | null; hasRuns: boolean },
  { clubIds: readonly Id[]; kinds: readonly string[]; studentIds: readonly Id[] }
>(
  'select_concerned_facts',
  (value) => `SELECT given.place::int AS place, found.ids AS "automationIds",
           (SELECT true FROM automation_runs run WHERE run.student_id = given.student_id AND run.status = 'active' LIMIT 1) IS NOT NULL AS "hasRuns"
      FROM unnest(${value.clubIds}::uuid[], ${value.kinds}::text[], ${value.studentIds}::uuid[]) WITH ORDINALITY AS given (club_id, kind, student_id, place)
     CROSS JOIN LATERAL (
       SELECT array_agg(automation.id ORDER BY automation.id) AS ids FROM automations automation
        WHERE automation.club_id = given.club_id AND automation.trigger_kind = given.kind AND automation.status = 'active') AS found
     ORDER BY place`,
);

async function enterAndWake(
  tx: Transaction,
  fact: ClaimedFact,
  { automationIds, waitSpeed }: { automationIds: readonly Id[]; waitSpeed: number | undefined },
  now: Date,
): Promise<void> {
  // Locks the student before any other row is read. So the counts of the student's runs stay valid, and the student cannot be removed
  // during this transaction.
  const student = await tx.one(
    sql`SELECT 1 FROM students WHERE id = ${fact.studentId} AND removed_at IS NULL FOR NO KEY UPDATE`,
  );
  if (!student) return;
  if (automationIds.length > 0 && triggerKinds.includes(kindOf(fact))) {
    const about = await subjectOf(tx, fact);
    for (const automationId of automationIds) {
      const automation = await shareOpen(tx, automationId, waitSpeed);
      const { trigger } = automation?.version.definition ?? {};
      if (!automation || !trigger || trigger.kind !== kindOf(fact) || !fits(trigger, about.ids)) continue;
      const entrant = {
        studentId: fact.studentId,
        causeId: fact.id,
        priority: fact.priority,
        access: about.access,
        links: fact.details?.links ?? [],
      };
      const { runs } = await enter(tx, automation, [entrant], now);
      await wakeAtPace(tx, runs, now);
    }
  }
  await wakeRunsOf(tx, fact.studentId, [fact.type], now, fact.details?.runId);
}

type Ids = Partial<Record<TriggerList, Id | null>>;

/** Every list of the trigger must contain the fact's id of this kind. An absent or empty list matches every fact. */
function fits(trigger: Trigger, ids: Ids): boolean {
  return (['delivery_ids', 'product_ids', 'course_ids', 'lesson_ids', 'tag_ids', 'level_ids'] as const).every(
    (list) => {
      const allowedIds = trigger[list] ?? [];
      const id = ids[list];
      return allowedIds.length === 0 || (id !== undefined && id !== null && allowedIds.includes(id));
    },
  );
}

interface About {
  ids: Ids;
  access: { kind: AccessKind; id: Id } | undefined;
}

/** @returns the ids of the records that the fact is about, as the current row of the fact's subject names them */
async function subjectOf(tx: Queries, fact: ClaimedFact): Promise<About> {
  const { subjectId } = fact;
  const read = async (statement: Sql) => (await tx.one<Record<string, Id | null>>(statement)) ?? {};
  switch (fact.type) {
    case 'access.granted':
    case 'access.revoked': {
      const row = await read(sql`
        SELECT enrollment.delivery_id AS delivery, delivery.course_id AS course, coalesce(purchase.product_id, subscription.product_id) AS product
          FROM enrollments enrollment JOIN access_deliveries delivery ON delivery.id = enrollment.delivery_id
          LEFT JOIN purchases purchase ON purchase.id = enrollment.origin_id
          LEFT JOIN subscriptions subscription ON subscription.id = enrollment.origin_id
         WHERE enrollment.id = ${subjectId}`);
      return {
        ids: { delivery_ids: row['delivery'], course_ids: row['course'], product_ids: row['product'] } as Ids,
        access: accessTo('delivery', row['delivery']),
      };
    }
    case 'purchase.paid':
    case 'purchase.refunded': {
      const row = await read(sql`SELECT product_id AS product FROM purchases WHERE id = ${subjectId}`);
      return { ids: { product_ids: row['product'] ?? null }, access: accessTo('product', row['product']) };
    }
    case 'subscription.past_due':
    case 'subscription.canceled': {
      const row = await read(sql`SELECT product_id AS product FROM subscriptions WHERE id = ${subjectId}`);
      return { ids: { product_ids: row['product'] ?? null }, access: accessTo('product', row['product']) };
    }
    case 'lesson.completed': {
      const row = await read(sql`SELECT course_id AS course FROM lessons WHERE id = ${subjectId}`);
      return {
        ids: { lesson_ids: subjectId, course_ids: row['course'] ?? null },
        access: accessTo('course', row['course']),
      };
    }
    case 'course.completed':
      return { ids: { course_ids: subjectId }, access: accessTo('course', subjectId) };
    case 'certificate.issued': {
      const row = await read(sql`SELECT course_id AS course FROM certificates WHERE id = ${subjectId}`);
      return { ids: { course_ids: row['course'] ?? null }, access: accessTo('course', row['course']) };
    }
    case 'student.tagged':
    case 'student.untagged':
      return { ids: { tag_ids: subjectId }, access: undefined };
    case 'student.level_reached':
      return { ids: { level_ids: subjectId }, access: undefined };
    case 'student.created':
    case 'student.updated':
    case 'student.removed':
    case 'access.extended':
    case 'access.shortened':
    case 'access.restored':
    case 'access.moved':
      return { ids: {}, access: undefined };
  }
}

const accessTo = (kind: AccessKind, id: Id | null | undefined): About['access'] =>
  id === null || id === undefined ? undefined : { kind, id };
