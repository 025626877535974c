/** Lets the club's administrators read students' conversations with an agent. */
import { Student } from '../../../entities/identity/student.ts';
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { requireAgent } from '../setup/agents.ts';
import { conversationColumns, messagesOf, presentConversation } from './messages.ts';

type Review = RecordOf<'AgentConversationReview'>;

/** Conversations of removed students are deleted, so each conversation has a student with a name and an e-mail address. */
const reviewed = (clubId: Id, agentId: Id) => sql`
  FROM agent_conversations conversation JOIN students student ON student.id = conversation.student_id
 WHERE conversation.agent_id = ${agentId} AND conversation.club_id = ${clubId} AND conversation.deleted_at IS NULL`;
const reviewColumns = conversationColumns.and<{ studentId: Id; name: string; email: string }>(
  columns(Student, { studentId: 'id', name: 'name', email: 'email' }, 'student'),
);
type ReviewRow = RowOf<typeof reviewColumns>;

function presentReview(row: ReviewRow): Review {
  return { ...presentConversation(row), student: { id: row.studentId, name: row.name, email: row.email } };
}

/** @returns a page, newest message first @throws DomainError not_found (no such agent) */
export async function listReviews(
  db: Queries,
  clubId: Id,
  agentId: Id,
  { student_id: studentId, ...page }: PageRequest & { student_id?: Id },
): Promise<Page<Review>> {
  await requireAgent(db, clubId, agentId);
  const ofAgent = reviewed(clubId, agentId);
  const { rows, total, next } = await listPage(db, page, {
    columns: reviewColumns,
    from: studentId === undefined ? ofAgent : sql`${ofAgent} AND conversation.student_id = ${studentId}`,
    orderBy: newestFirst('conversation', 'last_message_at'),
  });
  return { rows: rows.map(presentReview), total, next };
}

/** @returns the conversation with a page of its messages, and the total number of messages @throws DomainError not_found */
export async function readReview(
  db: Queries,
  storage: ObjectStore,
  { clubId, agentId, conversationId }: { clubId: Id; agentId: Id; conversationId: Id },
  page: PageRequest,
): Promise<{ conversation: RecordOf<'AgentConversationReviewMessages'>; total: number }> {
  const row = await db.one<ReviewRow>(
    sql`SELECT ${reviewColumns} ${reviewed(clubId, agentId)} AND conversation.id = ${conversationId}`,
  );
  if (!row) throw notFound('conversation');
  const { messages, total } = await messagesOf(db, storage, row.id, page);
  return { conversation: { ...presentReview(row), messages }, total };
}
