/** Lists the assignments of a lesson for its students. */
import { Assignment } from '../../entities/assignments/assignment.ts';
import { AssignmentExtension } from '../../entities/assignments/assignment-extension.ts';
import type { RecordOf } from '../../contract/contract.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Queries } from '../../platform/infra/postgres/database.ts';
import { ascending } from '../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../platform/infra/postgres/lists/page.ts';
import { columns, sql } from '../../platform/infra/postgres/sql.ts';
import type { Reader } from '../identity/student-ref.ts';
import { findVisibleLesson } from '../learning/courses/classroom.ts';
import { place, presentDates } from './assignments.ts';
import { datesInForce, isClosed } from './assignments.policy.ts';
import { presentAttached } from './attachments.ts';
import { findOwnOf } from './submissions.ts';

const seenColumns = columns(
  Assignment,
  ['id', 'blockLabel', 'prompt', 'dueAt', 'closesAt', 'takesText', 'maxFiles', 'required'],
  'assignment',
)
  .and(columns(AssignmentExtension, { extendedDueAt: 'dueAt', extendedClosesAt: 'closesAt' }, 'extension'))
  .and<{ place: number }>(place);

/** @returns a page of the lesson's assignments, in their order @throws DomainError not_found if the student does not see the lesson */
export async function listVisibleAssignments(
  db: Queries,
  storage: ObjectStore,
  reader: Reader,
  publicId: string,
  page: PageRequest,
  now: Date,
): Promise<Page<RecordOf<'ClassroomAssignment'>>> {
  const lesson = await findVisibleLesson(db, reader, publicId, now);
  const { rows, total, next } = await listPage(db, page, {
    columns: seenColumns,
    from: sql`FROM assignments assignment LEFT JOIN assignment_extensions extension
        ON extension.assignment_id = assignment.id AND extension.student_id = ${reader.id}
      WHERE assignment.lesson_id = ${lesson.id} AND assignment.removed_at IS NULL`,
    orderBy: [ascending('assignment.position', 'int'), ascending('assignment.id', 'uuid')],
  });
  const handedIn = await findOwnOf(
    db,
    reader,
    rows.map(({ id }) => id),
  );
  const attached = await presentAttached(
    db,
    storage,
    'assignment',
    rows.map(({ id }) => id),
  );
  return {
    rows: rows.map((row) => {
      const dates = datesInForce(row, { dueAt: row.extendedDueAt, closesAt: row.extendedClosesAt });
      const submission = handedIn.get(row.id);
      const mayHandIn = submission === undefined || submission.status === 'changes_requested';
      return {
        id: row.id,
        ...(row.blockLabel !== null && { block_label: row.blockLabel }),
        prompt: row.prompt,
        media: attached.get(row.id) ?? [],
        position: row.place,
        ...presentDates(dates),
        takes_text: row.takesText,
        max_files: row.maxFiles,
        required: row.required,
        open: mayHandIn && !isClosed(dates, now),
        ...(submission && { submission }),
      };
    }),
    total,
    next,
  };
}
