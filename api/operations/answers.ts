/** The bodies of success responses. */
import { fitRows } from '../bounded-page.ts';
import type { Page } from '../../platform/infra/postgres/lists/page.ts';

/** One record. */
export function data<T>(record: T): { data: T } {
  return { data: record };
}

/** One page of a list, with its total and the cursor of the following page (REC-2, REC-3, REC-10, CUR-1). */
export function page<T>({ rows, total, next }: Page<T>): ListAnswer<T> {
  const fitting = fitRows(rows);
  return {
    data: [...fitting.rows],
    total,
    ...(fitting.shortened && { shortened: true }),
    ...(next !== undefined && { next_cursor: next }),
  };
}

interface ListAnswer<T> {
  data: T[];
  total: number;
  shortened?: boolean;
  next_cursor?: string;
}

/** One page of the messages of a conversation, with the same size limit as other pages. */
export function messagesPage<Conversation extends { messages: unknown[] }>({
  conversation,
  total,
}: {
  conversation: Conversation;
  total: number;
}): { data: Conversation; total: number; shortened?: boolean } {
  const { rows, shortened } = fitRows(conversation.messages);
  return { data: { ...conversation, messages: [...rows] }, total, ...(shortened && { shortened }) };
}

/** The same answer for a call with an effect and a call without an effect. So callers cannot find out which accounts exist (DEC-13). */
export function accepted(_done: void): { data: { accepted: true } } {
  return { data: { accepted: true } };
}

/** No body. */
export function noContent(_done: void): undefined {
  return undefined;
}
