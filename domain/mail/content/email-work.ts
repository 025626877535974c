/**
 * Validates and compiles e-mails in worker threads, which the clubs share fairly (ENG-20). The largest e-mail keeps a CPU core busy for
 * some seconds. In the API's main thread every other request would wait for it.
 */
import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Id } from '../../../platform/core/ids.ts';
import { moduleAt } from '../../../platform/core/modules.ts';
import { createClubPermits } from '../../../platform/engine/club-permits.ts';
import { createThreads } from '../../../platform/infra/threads/bounded-thread.ts';
import type { CompiledEmail, ImageWidths, Letterhead } from './compile.ts';
import type { EmailContent } from './email-content.ts';
import type { CopiesToMake, EmailOrder, EmailResults, EmailToJudge, RenderedCopy } from './email-thread.ts';
import { eachProblem, firstOf, type ContentProblem, type FoundProblems } from './problems.ts';

/** The limits of a process's threads. */
const emailThreadRules = {
  threads: 4,
  /** The limit of CPU time for one task. It is several times the time that the largest e-mail needs on a slow machine. */
  workMs: 10_000,
  maxHeapMb: 512,
  maxBuffersMb: 64,
  /** The number of tasks that a thread does before a new thread replaces it. */
  uses: 200,
} as const;

const threads = createThreads(moduleAt('./email-thread.ts', import.meta.url), emailThreadRules, {
  uses: emailThreadRules.uses,
});
const permits = createClubPermits(emailThreadRules.threads);

/** @returns undefined if the e-mail exceeds the limits of a thread @throws DomainError busy */
async function inThread(clubId: Id, order: EmailOrder): Promise<EmailResults | undefined> {
  const { signal } = new AbortController();
  const result = await permits.run({ clubId }, () => threads.run<EmailResults>({ data: order, signal }));
  return typeof result === 'string' ? undefined : result;
}

/** E-mails up to this many characters are validated in the main thread, in about 5 ms. Starting a task in a thread takes longer. */
const judgedHere = 20_000;
/** Every read of a draft and every step before the sending needs these results again. */
const judgements = new LRUCache<string, FoundProblems<ContentProblem>[]>({ max: 1_000 });

/**
 * @returns the first problems of each e-mail, and the number of all its problems
 * @throws DomainError busy if the club has too many such tasks
 */
export async function judgeEmails(
  clubId: Id,
  emails: readonly EmailToJudge[],
): Promise<FoundProblems<ContentProblem>[]> {
  if (emails.length === 0) return [];
  const text = JSON.stringify(emails);
  if (text.length <= judgedHere)
    return emails.map(({ content, path, images, imageProblems }) =>
      firstOf(eachProblem(content, { path, isImage: (mediaId) => images.includes(mediaId), imageProblems })),
    );
  const key = createHash('sha256').update(clubId).update(text).digest('base64url');
  const cached = judgements.get(key);
  if (cached) return cached;
  const fromThread = (await inThread(clubId, { judge: emails }))?.judged;
  const results = fromThread ?? emails.map(({ path }) => ({ problems: [tooLarge(path)], count: 1 }));
  judgements.set(key, results);
  return results;
}

const tooLarge = (path: string): ContentProblem => ({
  path,
  code: 'too_long',
  message: 'The e-mail takes too much time or memory to read. Shorten its texts.',
});

/**
 * @param content the content, which must have no problems
 * @param widths the widths of the images in the content
 * @returns undefined if the e-mail exceeds the limits of a thread
 * @throws DomainError busy
 */
export async function compileInThread(
  clubId: Id,
  content: EmailContent,
  letterhead: Letterhead,
  widths: ImageWidths,
): Promise<CompiledEmail | undefined> {
  return (await inThread(clubId, { compile: [content, letterhead, widths] }))?.compiled;
}

/** @returns a copy for each recipient; undefined if the e-mail exceeds the limits of a thread @throws DomainError busy */
export async function copiesInThread(clubId: Id, copies: CopiesToMake): Promise<RenderedCopy[] | undefined> {
  return (await inThread(clubId, { copies }))?.copies;
}
