/**
 * Judges and compiles e-mails in threads, of which each club has its share (ENG-20). The largest e-mail keeps a core busy for seconds: in
 * the thread of the API every other request would wait for it.
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

/** What the threads of a process may use. */
const emailThreadRules = {
  /** At a time, of all clubs. */
  threads: 4,
  /** CPU of one piece of work: several times what the largest e-mail needs on a slow machine. */
  workMs: 10_000,
  maxHeapMb: 512,
  maxBuffersMb: 64,
  /** Pieces of work that a thread does before another one takes its place. */
  uses: 200,
} as const;

const threads = createThreads(moduleAt('./email-thread.ts', import.meta.url), emailThreadRules, {
  uses: emailThreadRules.uses,
});
const permits = createClubPermits(emailThreadRules.threads);

/** @returns undefined if the e-mail exceeds what a thread may use @throws DomainError busy */
async function inThread(clubId: Id, order: EmailOrder): Promise<EmailResults | undefined> {
  const { signal } = new AbortController();
  const ended = await permits.run({ clubId }, () => threads.run<EmailResults>({ data: order, signal }));
  return typeof ended === 'string' ? undefined : ended;
}

/** Characters of e-mails that are judged where they are: that takes some 5 ms, and a thread costs more. */
const judgedHere = 20_000;
/** Judgements that were made last: each look at a draft asks for them, and so does each step towards its sending. */
const judgements = new LRUCache<string, FoundProblems<ContentProblem>[]>({ max: 1_000 });

/**
 * @returns what is wrong with each e-mail, the first problems of it
 * @throws DomainError busy if the club has too much of such work
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
  const known = judgements.get(key);
  if (known) return known;
  const found = (await inThread(clubId, { judge: emails }))?.judged;
  const judged = found ?? emails.map(({ path }) => ({ problems: [tooLarge(path)], count: 1 }));
  judgements.set(key, judged);
  return judged;
}

const tooLarge = (path: string): ContentProblem => ({
  path,
  code: 'too_long',
  message: 'The e-mail takes too much time or memory to read. Shorten its texts.',
});

/**
 * @param content without problems
 * @param widths of its images
 * @returns undefined if it exceeds what a thread may use
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

/** @returns a copy for each recipient; undefined if the e-mail exceeds what a thread may use @throws DomainError busy */
export async function copiesInThread(clubId: Id, copies: CopiesToMake): Promise<RenderedCopy[] | undefined> {
  return (await inThread(clubId, { copies }))?.copies;
}
