/** Does the work of the worker immediately and in a fixed order: notices, imports, and answers to questions. */
import type { Id } from '../../../../platform/core/ids.ts';
import { endAnswer } from '../../../toolkit/drive/answers.ts';
import { runBulk } from '../../../toolkit/drive/bulk.ts';
import { runImport } from '../../../toolkit/drive/imports.ts';
import { clock } from '../../../toolkit/drive/api.ts';
import { stepNotice } from '../../../toolkit/drive/sales.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';

const answerLookMs = 5;

/**
 * Handles the waiting notices, imports and bulk jobs of these clubs, except the newest import and the newest job, which can still be
 * canceled.
 */
export async function workThrough(clubIds: readonly Id[]): Promise<void> {
  for (const id of await idsOf(`sales_notices WHERE status = 'pending'`, clubIds)) await stepNotice(id, clock.now());
  const imports = await idsOf(`student_imports WHERE status IN ('pending', 'running')`, clubIds);
  for (const id of imports.slice(0, -1)) await runImport(id);
  const jobs = await idsOf(`bulk_jobs WHERE completed_at IS NULL`, clubIds);
  for (const id of jobs.slice(0, -1)) await runBulk(id);
}

/** Answers the questions of these clubs while the request runs, because the request ends only when its answer is complete. */
export async function whileAnswering<T>(clubIds: readonly Id[], request: Promise<T>): Promise<T> {
  let underWay = true;
  const answering = (async () => {
    while (underWay) {
      for (const id of await idsOf(`agent_answers WHERE status = 'generating'`, clubIds))
        await endAnswer(id, { text: 'A bowline, or two.', citations: [{ citedText: 'A bowline' }] });
      await new Promise((resolve) => setTimeout(resolve, answerLookMs));
    }
  })();
  try {
    return await request;
  } finally {
    underWay = false;
    await answering;
  }
}

async function idsOf(where: string, clubIds: readonly Id[]): Promise<Id[]> {
  const source = await testDatabase();
  const rows = await source.query<{ id: Id }[]>(`SELECT id FROM ${where} AND club_id = ANY($1) ORDER BY id`, [clubIds]);
  return rows.map(({ id }) => id);
}
