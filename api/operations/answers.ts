/** The bodies of success responses. */
import { fitRows } from '../bounded-page.ts';
import type { Page } from '../../platform/infra/postgres/lists/page.ts';

/** One record. */
export function data<T>(record: T): { data: T } {
  return { data: record };
}

/** A page has the total, and the cursor of the following page (REC-2, REC-3, REC-10, CUR-1). */
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

/** These pages have the size limit of all other pages. */
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

/** This answer does not show whether the call had an effect. So callers cannot find out which accounts exist (DEC-13). */
export function accepted(_done: void): { data: { accepted: true } } {
  return { data: { accepted: true } };
}

/** No body. */
export function noContent(_done: void): undefined {
  return undefined;
}
