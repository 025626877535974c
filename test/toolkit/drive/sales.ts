/** Accepts sales notices without HTTP, and processes them without a workflow. */
import type { Id } from '../../../platform/core/ids.ts';
import { processNotice, type NoticeDeps, type NoticeStep } from '../../../domain/sales/notices/processing.ts';
import { createNoticeReceiver } from '../../../domain/sales/notices/notices.ts';
import { receivedBody } from '../builders/received-bodies.ts';
import { testDeps } from '../stack/database.ts';
import type { TestSalesConnection, TestShop } from '../builders/sales.ts';

/** @param body bytes, or a value that is sent as JSON @returns its id */
export async function takeNotice(connection: TestSalesConnection, body: unknown, proof = ''): Promise<Id> {
  const deps = await testDeps();
  const received = {
    ...connection,
    receiveBody: receivedBody(body),
    header: () => proof,
    signature: proof,
  };
  await createNoticeReceiver(deps)(received, new Date());
  const [row] = await deps.db.source.query<{ id: Id }[]>(
    `SELECT id FROM sales_notices WHERE connection_id = $1 ORDER BY id DESC LIMIT 1`,
    [connection.id],
  );
  if (!row) throw new Error('The notice does not exist');
  return row.id;
}

export async function noticeDeps(changes: Partial<NoticeDeps> = {}): Promise<NoticeDeps> {
  return { ...(await testDeps()), onOutcome() {}, async failpoint() {}, ...changes };
}

export async function stepNotice(noticeId: Id, now = new Date()): Promise<NoticeStep> {
  return processNotice(await noticeDeps(), noticeId, Math.max(now.getTime(), Date.now()));
}

export async function sell(shop: TestShop, ...bodies: unknown[]): Promise<string[]> {
  const outcomes: string[] = [];
  for (const body of bodies) {
    const step = await stepNotice(await takeNotice(shop.connection, body));
    outcomes.push(step.done ? step.outcome : 'pending');
  }
  return outcomes;
}
