/**
 * The worker thread of email-work.ts: it validates, compiles and renders e-mails. It runs in a thread of its own, because the content of
 * e-mails is not trusted.
 */
import type { MailPictureProblem } from '../../../entities/media/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { serveThread } from '../../../platform/infra/threads/thread-work.ts';
import { compileEmail, type CompiledEmail, type ImageWidths, type Letterhead } from './compile.ts';
import type { EmailContent } from './email-content.ts';
import { eachProblem, firstOf, type ContentProblem, type FoundProblems } from './problems.ts';
import { renderEmail, type RecipientCopy } from './render.ts';

/** An e-mail to validate. */
export interface EmailToJudge {
  content: Partial<EmailContent>;
  /** The JSON path of the content in the checked document. */
  path: string;
  /** The ids of the library's ready images that the content uses as a `media_id`. */
  images: readonly Id[];
  /** Why an image has no version that e-mails can show, by the image's `media_id`. Absent if every image has such a version. */
  imageProblems?: Readonly<Record<Id, MailPictureProblem>> | undefined;
}

/** The data from which the copies of an e-mail are rendered. The e-mail must have no problems. */
export interface CopiesToMake {
  content: EmailContent;
  letterhead: Letterhead;
  /** The address of each image, by its id. */
  imageUrls: Readonly<Record<Id, string>>;
  /** The width of each image in pixels, by its id; absent if it is unknown. */
  imageWidths?: ImageWidths;
  /** The values of the variables, one set for each recipient. */
  recipients: readonly RecipientCopy['values'][];
  unsubscribeUrl: string;
  /** The maximum number of bytes of a copy's HTML and text. If a copy is larger, the thread returns only its size. */
  mostBytes: number;
}

export interface RenderedCopy {
  subject: string;
  /** HTML and plain text; absent if the copy has too many bytes. */
  body?: { html: string; text: string };
  /** The size of the HTML in bytes. */
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
