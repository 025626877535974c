/**
 * Holds the data of a dry run: the student's records, after the facts that the request assumes and after the effects of steps. Nothing is
 * written. The rules run their usual SQL statements, in which `WITH` expressions replace the real tables (AUTO-19).
 */
import type { RecordOf } from '../../../contract/contract.ts';
import type { EventType } from '../../../platform/core/event-types.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { sql, type Sql } from '../../../platform/infra/postgres/sql.ts';

type FactRecord = RecordOf<'AutomationSupposedFact'>;

export interface SupposedFact extends Omit<FactRecord, 'at' | 'ends_at'> {
  at: Date;
  endsAt: Date | null;
}

/** The differences between the supposed records of a dry run and the real records of the student. */
export interface World {
  tags: Map<Id, boolean>;
  lessons: Map<Id, boolean>;
  products: Map<Id, boolean>;
  courses: Set<Id>;
  /** The deliveries to which the student has lost access in the dry run. */
  lostDeliveries: Set<Id>;
  granted: { deliveryId: Id; cohortId: Id | null; startsAt: Date; endsAt: Date | null }[];
  /** The e-mails that the predicted run has sent, by step. */
  mails: Map<string, { openedAt: Date | null; clickedAt: Date | null }>;
}

export const worldAsItIs = (): World => ({
  tags: new Map(),
  lessons: new Map(),
  products: new Map(),
  courses: new Set(),
  lostDeliveries: new Set(),
  granted: [],
  mails: new Map(),
});

/** The type of fact that may wake a run, as in the list `types` of `Watch`. The value `always` wakes every run. */
export type Waking = EventType | 'always' | undefined;

/**
 * @returns the type of the fact, which may wake the run. Undefined if the fact has no effect, such as the opening of an e-mail that was not
 * sent
 */
export function suppose(world: World, fact: SupposedFact): Waking {
  const {
    kind,
    at,
    tag_id: tag = '',
    lesson_id: lesson = '',
    product_id: product = '',
    delivery_id: delivery = '',
  } = fact;
  switch (kind) {
    case 'student_tagged':
    case 'student_untagged':
      world.tags.set(tag, kind === 'student_tagged');
      return kind === 'student_tagged' ? 'student.tagged' : 'student.untagged';
    case 'lesson_completed':
    case 'lesson_undone':
      world.lessons.set(lesson, kind === 'lesson_completed');
      return 'lesson.completed'; // a lesson that becomes incomplete also wakes runs
    case 'course_completed':
      world.courses.add(fact.course_id ?? '');
      return 'course.completed';
    case 'purchase_paid':
    case 'purchase_refunded':
      world.products.set(product, kind === 'purchase_paid');
      return kind === 'purchase_paid' ? 'purchase.paid' : 'purchase.refunded';
    case 'access_granted':
      world.granted.push({
        deliveryId: delivery,
        cohortId: fact.cohort_id ?? null,
        startsAt: at,
        endsAt: fact.endsAt,
      });
      return 'access.granted';
    case 'access_revoked':
      world.lostDeliveries.add(delivery);
      world.granted = world.granted.filter((one) => one.deliveryId !== delivery);
      return 'access.revoked';
    case 'email_opened':
    case 'email_clicked': {
      const mail = world.mails.get(fact.step_id ?? '');
      if (!mail) return undefined;
      if (kind === 'email_opened') mail.openedAt ??= at;
      else mail.clickedAt ??= at;
      return 'always';
    }
  }
}

/**
 * @returns a `WITH …` clause with the records of the dry run. Its expressions have the names of the tables that the rules read. Postgres
 * inlines the expressions, so each rule still needs only one look-up in an index
 */
export function shadowing(world: World, { runId, studentId }: { runId: Id; studentId: Id }): Sql {
  const { tags, lessons, products, courses, lostDeliveries, granted } = world;
  const mails = [...world.mails];
  const student = sql`${studentId}::uuid`;
  return sql`WITH student_tags AS NOT MATERIALIZED (
      SELECT student_id, tag_id FROM student_tags WHERE student_id = ${student} AND tag_id <> ALL(${keys(tags)}::uuid[])
      UNION ALL SELECT ${student}, unnest(${trueOf(tags)}::uuid[])),
    lesson_progress AS NOT MATERIALIZED (
      SELECT student_id, lesson_id, completed FROM lesson_progress WHERE student_id = ${student} AND lesson_id <> ALL(${keys(lessons)}::uuid[])
      UNION ALL SELECT ${student}, unnest(${trueOf(lessons)}::uuid[]), true),
    course_completions AS NOT MATERIALIZED (
      SELECT student_id, course_id FROM course_completions WHERE student_id = ${student}
      UNION ALL SELECT ${student}, unnest(${[...courses]}::uuid[])),
    purchases AS NOT MATERIALIZED (
      SELECT student_id, product_id, status FROM purchases WHERE student_id = ${student} AND product_id <> ALL(${keys(products)}::uuid[])
      UNION ALL SELECT ${student}, unnest(${trueOf(products)}::uuid[]), 'paid'),
    enrollments AS NOT MATERIALIZED (
      SELECT student_id, delivery_id, cohort_id, starts_at, ends_at, revoked_at FROM enrollments
       WHERE student_id = ${student} AND delivery_id <> ALL(${[...lostDeliveries]}::uuid[])
      UNION ALL SELECT ${student}, granted.*, NULL FROM unnest(${granted.map(({ deliveryId }) => deliveryId)}::uuid[],
        ${granted.map(({ cohortId }) => cohortId)}::uuid[], ${granted.map(({ startsAt }) => startsAt)}::timestamptz[],
        ${granted.map(({ endsAt }) => endsAt)}::timestamptz[]) AS granted),
    mails AS NOT MATERIALIZED (
      SELECT ${runId}::uuid AS run_id, sent.* FROM unnest(${mails.map(([stepId]) => stepId)}::text[],
        ${mails.map(([, { openedAt }]) => openedAt)}::timestamptz[], ${mails.map(([, { clickedAt }]) => clickedAt)}::timestamptz[])
        AS sent (step_id, opened_at, clicked_at))`;
}

const keys = (changes: ReadonlyMap<Id, boolean>): Id[] => [...changes.keys()];
const trueOf = (changes: ReadonlyMap<Id, boolean>): Id[] => keys(changes).filter((id) => changes.get(id) === true);
