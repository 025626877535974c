/** Students' conversations with an agent, as administrators of the club read them. */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { notFound } from '../../../platform/core/errors.ts';
import type { Id } from '../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../platform/infra/object-store.ts';
import { windowOf, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { conversationColumns, messagesOf, presentConversation, type ConversationRow } from './messages.ts';

type Review = RecordOf<'AgentConversationReview'>;

interface ReviewRow extends ConversationRow {
  studentId: Id;
  name: string;
  email: string;
}

/** Of an agent (`$1`) of a club (`$2`). The conversations of a removed student are deleted. */
const reviewed = `
  FROM agent_conversations conversation JOIN students student ON student.id = conversation.student_id
 WHERE conversation.agent_id = $1 AND conversation.club_id = $2 AND conversation.deleted_at IS NULL`;
const columns = `${conversationColumns}, student.id AS "studentId", student.name, student.email`;

function presentReview(row: ReviewRow): Review {
  return { ...presentConversation(row), student: { id: row.studentId, name: row.name, email: row.email } };
}

/** @returns a page, newest message first @throws DomainError not_found (agent) */
export async function listReviews(
  db: Queries,
  clubId: Id,
  agentId: Id,
  { student_id: studentId, ...page }: PageRequest & { student_id?: Id },
): Promise<Page<Review>> {
  const agent = await db.one(sql`SELECT 1 FROM agents WHERE id = ${agentId} AND club_id = ${clubId}`);
  if (!agent) throw notFound('agent');
  const { limit, offset } = windowOf(page);
  const condition = studentId === undefined ? reviewed : `${reviewed} AND conversation.student_id = $3`;
  const parameters = studentId === undefined ? [agentId, clubId] : [agentId, clubId, studentId];
  const [counted] = await db.query<{ total: number }[]>(`SELECT count(*)::int AS total ${condition}`, parameters);
  const rows = await db.query<ReviewRow[]>(
    `SELECT ${columns} ${condition}
      ORDER BY conversation.last_message_at DESC, conversation.id DESC LIMIT ${limit} OFFSET ${offset}`,
    parameters,
  );
  return { rows: rows.map(presentReview), total: counted?.total ?? 0 };
}

/** @returns the conversation with a page of its messages, and how many there are in all @throws DomainError not_found */
export async function readReview(
  db: Queries,
  storage: ObjectStore,
  { clubId, agentId, conversationId }: { clubId: Id; agentId: Id; conversationId: Id },
  page: PageRequest,
): Promise<{ conversation: RecordOf<'AgentConversationReviewMessages'>; total: number }> {
  const [row] = await db.query<ReviewRow[]>(`SELECT ${columns} ${reviewed} AND conversation.id = $3`, [
    agentId,
    clubId,
    conversationId,
  ]);
  if (!row) throw notFound('conversation');
  const { messages, total } = await messagesOf(db, storage, row.id, page);
  return { conversation: { ...presentReview(row), messages }, total };
}
