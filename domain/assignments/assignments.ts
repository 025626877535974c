/** Lists and changes the assignments of a lesson for administrators. A transaction that changes an assignment locks its course. */
import { Assignment } from '../../entities/assignments/assignment.ts';
import type { RecordOf } from '../../contract/contract.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import { newId, type Id } from '../../platform/core/ids.ts';
import { instantOf } from '../../platform/core/time/instants.ts';
import { hasVisible, tidyName } from '../../platform/core/text/text.policy.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Queries, Transaction } from '../../platform/infra/postgres/database.ts';
import { ascending } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { columns, given, sql, type RowOf } from '../../platform/infra/postgres/sql.ts';
import type { DatabaseDeps } from '../deps.ts';
import { findLesson, lockLesson } from '../learning/courses/lessons.ts';
import type { MediaDeps } from '../media/media.ts';
import { assignmentRules, type Dates } from './assignments.policy.ts';
import { attach, presentAttached } from './attachments.ts';

type AssignmentRecord = RecordOf<'Assignment'>;

/** The position of the assignment in its lesson, from 1. */
export const place = sql`(SELECT count(*)::int FROM assignments other
  WHERE other.lesson_id = assignment.lesson_id AND other.removed_at IS NULL
    AND (other.position, other.id) <= (assignment.position, assignment.id)) AS place`;

const assignmentColumns = columns(
  Assignment,
  [
    'id',
    'lessonId',
    'blockLabel',
    'prompt',
    'dueAt',
    'closesAt',
    'takesText',
    'maxFiles',
    'required',
    'createdAt',
    'updatedAt',
  ],
  'assignment',
).and<{ place: number }>(place);
export type AssignmentRow = RowOf<typeof assignmentColumns>;

const standing = sql`FROM assignments assignment WHERE assignment.removed_at IS NULL`;

/** @returns a page of the lesson's assignments, in their order @throws DomainError not_found (no such lesson) */
export async function listAssignments(
  db: Queries,
  storage: ObjectStore,
  clubId: Id,
  lessonId: Id,
  page: PageRequest,
): Promise<Page<AssignmentRecord>> {
  await findLesson(db, clubId, lessonId);
  const { rows, total, next } = await listPage(db, page, {
    columns: assignmentColumns,
    from: sql`${standing} AND assignment.lesson_id = ${lessonId}`,
    changedAt: 'assignment.changed_at',
    orderBy: [ascending('assignment.position', 'int'), ascending('assignment.id', 'uuid')],
  });
  return { rows: await presentAssignments(db, storage, rows), total, next };
}

/** @throws DomainError not_found (also for a deleted assignment and for an assignment of another club) */
export async function readAssignment(
  db: Queries,
  storage: ObjectStore,
  clubId: Id,
  assignmentId: Id,
): Promise<AssignmentRecord> {
  const [record] = await presentAssignments(db, storage, [await findRow(db, clubId, assignmentId)]);
  if (!record) throw new Error(`Assignment ${assignmentId} was found but not presented`);
  return record;
}

/** @throws DomainError not_found (also for a deleted assignment and for an assignment of another club) */
export async function requireAssignment(db: Queries, clubId: Id, assignmentId: Id): Promise<void> {
  await findRow(db, clubId, assignmentId);
}

/**
 * Adds an assignment at the end of the lesson.
 * @throws DomainError not_found (no such lesson or file), media_archived, invalid_request, assignment_limit_reached
 */
export async function createAssignment(
  { db, storage }: MediaDeps,
  clubId: Id,
  lessonId: Id,
  input: RecordOf<'AssignmentCreation'>,
  now: Date,
): Promise<AssignmentRecord> {
  const id = newId();
  const rules = {
    dueAt: dateOf(input.due_at, 'due_at'),
    closesAt: dateOf(input.closes_at, 'closes_at'),
    takesText: input.takes_text ?? true,
    maxFiles: input.max_files ?? 0,
  };
  await db.transaction(async (tx) => {
    await lockLesson(tx, clubId, lessonId);
    requireSense(rules);
    const present = await tx.one<{ count: number; end: number }>(sql`
      SELECT count(*)::int AS count, coalesce(max(position) + 1, 0) AS "end" FROM assignments
       WHERE lesson_id = ${lessonId} AND removed_at IS NULL`);
    if (present && present.count >= assignmentRules.maxOfLesson)
      throw new DomainError(
        'assignment_limit_reached',
        `The lesson has reached its limit of ${assignmentRules.maxOfLesson} assignments.`,
      );
    await tx.manager.insert(Assignment, {
      id,
      clubId,
      lessonId,
      blockLabel: labelOf(input.block_label),
      prompt: input.prompt,
      position: present?.end ?? 0,
      ...rules,
      required: input.required ?? false,
      createdAt: now,
      updatedAt: now,
    });
    await attach(tx, clubId, { kind: 'assignment', id }, input.media_ids ?? []);
  });
  return readAssignment(db, storage, clubId, id);
}

/**
 * Changes the fields of the assignment that `input` contains. An empty text removes the value of its field.
 * @throws DomainError not_found (also if a file does not exist), media_archived, invalid_request
 */
export async function updateAssignment(
  { db, storage }: MediaDeps,
  clubId: Id,
  assignmentId: Id,
  input: RecordOf<'AssignmentChange'>,
  now: Date,
): Promise<AssignmentRecord> {
  await db.transaction(async (tx) => {
    const before = await lockAssignment(tx, clubId, assignmentId);
    const change = given({
      blockLabel: input.block_label === undefined ? undefined : labelOf(input.block_label),
      prompt: input.prompt,
      dueAt: input.due_at === undefined ? undefined : dateOf(input.due_at, 'due_at'),
      closesAt: input.closes_at === undefined ? undefined : dateOf(input.closes_at, 'closes_at'),
      takesText: input.takes_text,
      maxFiles: input.max_files,
      required: input.required,
    });
    requireSense({ ...before, ...change });
    await tx.manager.update(Assignment, { id: assignmentId }, { ...change, updatedAt: now });
    if (input.media_ids) await attach(tx, clubId, { kind: 'assignment', id: before.id }, input.media_ids);
  });
  return readAssignment(db, storage, clubId, assignmentId);
}

/**
 * Sets the order of the assignments of a lesson.
 * @throws DomainError not_found (no such lesson), invalid_request unless `assignmentIds` names each assignment of the lesson exactly once,
 *   and no
 * other
 */
export async function orderAssignments(
  { db }: DatabaseDeps,
  clubId: Id,
  lessonId: Id,
  assignmentIds: readonly Id[],
  now: Date,
): Promise<void> {
  const orderedIds = assignmentIds.map((id) => id.toLowerCase());
  await db.transaction(async (tx) => {
    await lockLesson(tx, clubId, lessonId);
    const present = await tx.rows<{ id: Id }>(sql`SELECT id ${standing} AND assignment.lesson_id = ${lessonId}`);
    const distinctIds = new Set(orderedIds);
    if (orderedIds.length !== present.length || present.some(({ id }) => !distinctIds.has(id)))
      throw new DomainError(
        'invalid_request',
        'assignment_ids must name each assignment of the lesson exactly once, and no other.',
      );
    await tx.run(sql`UPDATE assignments SET position = requested.position, updated_at = ${now}
      FROM unnest(${orderedIds}::uuid[]) WITH ORDINALITY AS requested (id, position) WHERE assignments.id = requested.id`);
  });
}

/** Removes an assignment from its lesson. Submissions stay. @throws DomainError not_found */
export async function removeAssignment({ db }: DatabaseDeps, clubId: Id, assignmentId: Id, now: Date): Promise<void> {
  await db.transaction(async (tx) => {
    await lockAssignment(tx, clubId, assignmentId);
    await attach(tx, clubId, { kind: 'assignment', id: assignmentId }, []);
    await tx.manager.update(Assignment, { id: assignmentId }, { removedAt: now, updatedAt: now });
    // The `position` of each later assignment of the lesson is lower now.
    await tx.run(sql`UPDATE assignments later SET updated_at = ${now} FROM assignments removed
      WHERE removed.id = ${assignmentId} AND later.lesson_id = removed.lesson_id AND later.removed_at IS NULL
        AND (later.position, later.id) > (removed.position, removed.id)`);
  });
}

/** Locks the assignment's course, then reads it. @throws DomainError not_found */
export async function lockAssignment(tx: Transaction, clubId: Id, assignmentId: Id): Promise<AssignmentRow> {
  const { lessonId } = await findRow(tx, clubId, assignmentId);
  await lockLesson(tx, clubId, lessonId);
  return findRow(tx, clubId, assignmentId);
}

async function findRow(db: Queries, clubId: Id, assignmentId: Id): Promise<AssignmentRow> {
  const row = await db.one<AssignmentRow>(sql`SELECT ${assignmentColumns} ${standing}
      AND assignment.id = ${assignmentId} AND assignment.club_id = ${clubId}
      AND EXISTS (SELECT FROM lessons WHERE id = assignment.lesson_id AND removed_at IS NULL)`);
  if (!row) throw notFound('assignment');
  return row;
}

/** @throws DomainError invalid_request */
function requireSense({
  dueAt,
  closesAt,
  takesText,
  maxFiles,
}: Dates & { takesText: boolean; maxFiles: number }): void {
  if (!takesText && maxFiles === 0)
    throw new DomainError('invalid_request', 'max_files: the assignment would accept neither text nor files.');
  if (dueAt !== null && closesAt !== null && dueAt > closesAt)
    throw new DomainError('invalid_request', 'closes_at must not be before due_at.');
}

/** @throws DomainError invalid_request for a day that does not exist in its month */
function dateOf(text: string | undefined, field: string): Date | null {
  return text === undefined || text === '' ? null : instantOf(text, field);
}

function labelOf(text: string | undefined): string | null {
  const label = tidyName(text ?? '');
  return hasVisible(label) ? label : null;
}

async function presentAssignments(
  db: Queries,
  storage: ObjectStore,
  rows: readonly AssignmentRow[],
): Promise<AssignmentRecord[]> {
  const attached = await presentAttached(
    db,
    storage,
    'assignment',
    rows.map(({ id }) => id),
  );
  return rows.map((row) => presentAssignment(row, attached.get(row.id) ?? []));
}

function presentAssignment(row: AssignmentRow, media: RecordOf<'Media'>[]): AssignmentRecord {
  return {
    id: row.id,
    lesson_id: row.lessonId,
    ...(row.blockLabel !== null && { block_label: row.blockLabel }),
    prompt: row.prompt,
    media,
    position: row.place,
    ...presentDates(row),
    takes_text: row.takesText,
    max_files: row.maxFiles,
    required: row.required,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

export function presentDates({ dueAt, closesAt }: Dates): { due_at?: string; closes_at?: string } {
  return {
    ...(dueAt !== null && { due_at: dueAt.toISOString() }),
    ...(closesAt !== null && { closes_at: closesAt.toISOString() }),
  };
}
