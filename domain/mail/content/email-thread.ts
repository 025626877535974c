/**
 * The worker thread of email-work.ts. It validates, compiles and renders e-mails apart from other work, because their content is not
 * trusted.
 */
import type { MailPictureProblem } from '../../../entities/media/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { serveThread } from '../../../platform/infra/threads/thread-work.ts';
import { compileEmail, type CompiledEmail, type ImageWidths, type Letterhead } from './compile.ts';
import type { EmailContent } from './email-content.ts';
import { eachProblem, firstOf, type ContentProblem, type FoundProblems } from './problems.ts';
import { renderEmail, type RecipientCopy } from './render.ts';

export interface EmailToJudge {
  content: Partial<EmailContent>;
  /** The JSON path of the content in the checked document. */
  path: string;
  /** The library's ready images that the content uses as a `media_id`. */
  images: readonly Id[];
  /** Why e-mails cannot show an image, by `media_id`. Absent if they can show all. */
  imageProblems?: Readonly<Record<Id, MailPictureProblem>> | undefined;
}

/** The data of the copies to render. The e-mail must have no problems. */
export interface CopiesToMake {
  content: EmailContent;
  letterhead: Letterhead;
  imageUrls: Readonly<Record<Id, string>>;
  /** In pixels, by image id; absent if unknown. */
  imageWidths?: ImageWidths;
  /** One set for each recipient. */
  recipients: readonly RecipientCopy['values'][];
  unsubscribeUrl: string;
  /** The thread returns only the size of a larger copy. */
  mostBytes: number;
}

export interface RenderedCopy {
  subject: string;
  /** Absent if the copy has too many bytes. */
  body?: { html: string; text: string };
  htmlBytes: number;
}

export type EmailOrder =
  | { judge: readonly EmailToJudge[] }
  | { compile: [EmailContent, Letterhead, ImageWidths] }
  | { copies: CopiesToMake };

export interface EmailResults {
  judged?: FoundProblems<ContentProblem>[];
  compiled?: CompiledEmail;
  copies?: RenderedCopy[];
}

async function work(order: EmailOrder): Promise<EmailResults> {
  if ('judge' in order) return { judged: order.judge.map(judge) };
  if ('compile' in order) return { compiled: await compileEmail(...order.compile) };
  return { copies: await makeCopies(order.copies) };
}

function judge({ content, path, images, imageProblems }: EmailToJudge): FoundProblems<ContentProblem> {
  const imageIds = new Set(images);
  return firstOf(eachProblem(content, { path, isImage: (mediaId) => imageIds.has(mediaId), imageProblems }));
}

async function makeCopies(job: CopiesToMake): Promise<RenderedCopy[]> {
  const { content, letterhead, imageUrls, imageWidths, recipients, unsubscribeUrl, mostBytes } = job;
  const compiled = await compileEmail(content, letterhead, imageWidths);
  return recipients.map((values) => {
    const { subject, html, text } = renderEmail(compiled, {
      values,
      linkUrl: (link) => compiled.links[link] ?? '',
      imageUrl: (image) => imageUrls[compiled.images[image] ?? ''] ?? '',
      unsubscribeUrl,
    });
    const htmlBytes = Buffer.byteLength(html);
    const fits = Buffer.byteLength(JSON.stringify([html, text])) <= mostBytes;
    return { subject, htmlBytes, ...(fits && { body: { html, text } }) };
  });
}

serveThread((data) => work(data as EmailOrder));
