/** Builds the conversations, questions, answers and citations that the API returns (AGT-19, AGT-20, AGT-22). */
import type { RecordOf } from '../../../contract/contract.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { AgentAnswer } from '../../../entities/agents/agent-answer.ts';
import { AgentCitation } from '../../../entities/agents/agent-citation.ts';
import { AgentConversation } from '../../../entities/agents/agent-conversation.ts';
import { AgentQuestion } from '../../../entities/agents/agent-question.ts';
import { AgentSource } from '../../../entities/knowledge/agent-source.ts';
import type { ObjectStore } from '../../../platform/infra/store/object-store.ts';
import { windowOf, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { presentImages } from './images.ts';

export type Conversation = RecordOf<'AgentConversation'>;
export type Message = RecordOf<'AgentMessage'>;

/** The columns of `agent_conversations conversation`. */
export const conversationColumns = columns(
  AgentConversation,
  ['id', 'title', 'lastMessageAt', 'createdAt'],
  'conversation',
);
export type ConversationRow = RowOf<typeof conversationColumns>;

export function presentConversation({ id, title, lastMessageAt, createdAt }: ConversationRow): Conversation {
  return { id, title, last_message_at: lastMessageAt.toISOString(), created_at: createdAt.toISOString() };
}

const questionColumns = columns(AgentQuestion, ['id', 'content', 'askedAt']);
export type QuestionRow = RowOf<typeof questionColumns>;

/** A question has no status of its own: it is always complete. */
function presentQuestion({ id, content, askedAt }: QuestionRow, images: Message['images']): Message {
  return { id, role: 'user', content, status: 'complete', images, citations: [], created_at: askedAt.toISOString() };
}

/** The columns of `agent_answers answer`. While an answer is being generated, its text is read from its log. */
const answerColumns = columns(
  AgentAnswer,
  ['id', 'questionId', 'status', 'errorCode', 'createdAt', 'completedAt'],
  'answer',
).and<{ content: string }>(sql`
  CASE WHEN answer.status = 'generating'
       THEN (SELECT coalesce(string_agg(text, '' ORDER BY starts_at), '') FROM agent_answer_deltas WHERE answer_id = answer.id)
       ELSE answer.content END AS content`);
type AnswerRow = RowOf<typeof answerColumns>;

function presentAnswer(row: AnswerRow, citations: Message['citations']): Message {
  return {
    id: row.id,
    role: 'assistant',
    content: row.content,
    status: row.status,
    ...(row.errorCode !== null && { error_code: row.errorCode }),
    reply_to: row.questionId,
    images: [],
    citations,
    created_at: row.createdAt.toISOString(),
    ...(row.completedAt !== null && { completed_at: row.completedAt.toISOString() }),
  };
}

/** @returns the answers by the ids of their questions. Each answer has its current text, and an ended answer also has its citations */
async function answersTo(db: Queries, questionIds: readonly Id[]): Promise<Map<Id, Message>> {
  const rows = await db.rows<AnswerRow>(
    sql`SELECT ${answerColumns} FROM agent_answers answer WHERE answer.question_id = ANY (${questionIds})`,
  );
  const citations = await citationsOf(
    db,
    rows.filter(({ status }) => status !== 'generating').map(({ id }) => id),
  );
  return new Map(rows.map((row) => [row.questionId, presentAnswer(row, citations.get(row.id) ?? [])]));
}

export async function findAnswer(db: Queries, answerId: Id): Promise<Message | undefined> {
  const row = await db.one<Pick<AgentAnswer, 'questionId'>>(
    sql`SELECT ${columns(AgentAnswer, ['questionId'])} FROM agent_answers WHERE id = ${answerId}`,
  );
  return row && (await answersTo(db, [row.questionId])).get(row.questionId);
}

/** @returns the messages of a conversation: each question with its images, and then its answer */
export async function presentTurns(
  db: Queries,
  storage: ObjectStore,
  questions: readonly QuestionRow[],
): Promise<Message[]> {
  const ids = questions.map(({ id }) => id);
  const answers = await answersTo(db, ids);
  const images = await presentImages(db, storage, ids);
  return questions.flatMap((question) => {
    const answer = answers.get(question.id);
    return [presentQuestion(question, images.get(question.id) ?? []), ...(answer ? [answer] : [])];
  });
}

/**
 * @returns a page of a conversation's messages, and the total number of messages. The first page holds the newest messages;
 *   each page starts with its oldest message
 */
export async function messagesOf(
  db: Queries,
  storage: ObjectStore,
  conversationId: Id,
  page: PageRequest,
): Promise<{ messages: Message[]; total: number }> {
  const { limit, offset } = windowOf(page);
  // Every question has an answer, so this counts pairs from the end of the conversation. A page can begin or end inside a pair.
  const firstPair = Math.floor(offset / 2);
  const pairs = Math.ceil((offset + limit) / 2) - firstPair;
  const questions =
    await db.rows<QuestionRow>(sql`SELECT ${questionColumns} FROM agent_questions WHERE conversation_id = ${conversationId}
      ORDER BY asked_at DESC, id DESC LIMIT ${pairs} OFFSET ${firstPair}`);
  const count = await db.manager.countBy(AgentQuestion, { conversationId });
  const newestFirst = (await presentTurns(db, storage, questions.toReversed())).toReversed();
  const skipped = offset - 2 * firstPair;
  return {
    messages: newestFirst.slice(skipped, skipped + limit).toReversed(),
    total: 2 * count,
  };
}

const citationColumns = columns(
  AgentCitation,
  ['answerId', 'citedText', 'sourceKind', 'sourceTitle', 'pageFrom', 'pageTo', 'fromSeconds', 'toSeconds'],
  'citation',
).and<{ sourceId: Id | null; mediaId: Id | null; lessonId: Id | null }>(
  columns(AgentSource, { sourceId: 'id', mediaId: 'mediaId', lessonId: 'lessonId' }, 'source'),
);
type CitationRow = RowOf<typeof citationColumns>;

async function citationsOf(db: Queries, answerIds: readonly Id[]): Promise<Map<Id, Message['citations']>> {
  const rows = await db.rows<CitationRow>(sql`SELECT ${citationColumns}
       FROM agent_citations citation LEFT JOIN agent_sources source ON source.id = citation.source_id AND source.removed_at IS NULL
      WHERE citation.answer_id = ANY (${answerIds}) ORDER BY citation.answer_id, citation.position`);
  const byAnswer = new Map<Id, Message['citations']>();
  for (const row of rows) byAnswer.set(row.answerId, [...(byAnswer.get(row.answerId) ?? []), presentCitation(row)]);
  return byAnswer;
}

function presentCitation(row: CitationRow): RecordOf<'AgentCitation'> {
  return {
    cited_text: row.citedText,
    ...(row.sourceId !== null && { source_id: row.sourceId }),
    source_kind: row.sourceKind,
    source_title: row.sourceTitle,
    ...(row.mediaId !== null && { media_id: row.mediaId }),
    ...(row.lessonId !== null && { lesson_id: row.lessonId }),
    ...(row.pageFrom !== null && { page_from: row.pageFrom }),
    ...(row.pageTo !== null && { page_to: row.pageTo }),
    ...(row.fromSeconds !== null && { from_seconds: row.fromSeconds }),
    ...(row.toSeconds !== null && { to_seconds: row.toSeconds }),
  };
}
