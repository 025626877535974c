/** The thread of email-work.ts: judges, compiles and renders e-mails, whatever their authors have typed. */
import type { MailPictureProblem } from '../../../entities/media/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { serveThread } from '../../../platform/infra/threads/thread-work.ts';
import { compileEmail, type CompiledEmail, type ImageWidths, type Letterhead } from './compile.ts';
import type { EmailContent } from './email-content.ts';
import { eachProblem, firstOf, type ContentProblem, type FoundProblems } from './problems.ts';
import { renderEmail, type RecipientCopy } from './render.ts';

/** An e-mail to be judged. */
export interface EmailToJudge {
  content: Partial<EmailContent>;
  /** Where the content stands in what is checked. */
  path: string;
  /** Those of its `media_id` that are ready images of the library. */
  images: readonly Id[];
  /** Those of its `media_id` of which no picture for e-mails can be made, and why; absent where there is none. */
  imageProblems?: Readonly<Record<Id, MailPictureProblem>> | undefined;
}

/** Copies that are to be made of an e-mail without problems. */
export interface CopiesToMake {
  content: EmailContent;
  letterhead: Letterhead;
  /** The address of each image, by its id. */
  imageUrls: Readonly<Record<Id, string>>;
  /** The width of each image in pixels, by its id; absent where it is not known. */
  imageWidths?: ImageWidths;
  /** What each recipient's copy has in its variables. */
  recipients: readonly RecipientCopy['values'][];
  unsubscribeUrl: string;
  /** Copies with more bytes of HTML and text are measured and not given back. */
  mostBytes: number;
}

export interface RenderedCopy {
  subject: string;
  /** HTML and plain text; absent if they have too many bytes. */
  body?: { html: string; text: string };
  /** Of the HTML. */
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
  const known = new Set(images);
  return firstOf(eachProblem(content, { path, isImage: (mediaId) => known.has(mediaId), imageProblems }));
}

async function makeCopies(given: CopiesToMake): Promise<RenderedCopy[]> {
  const { content, letterhead, imageUrls, imageWidths, recipients, unsubscribeUrl, mostBytes } = given;
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
