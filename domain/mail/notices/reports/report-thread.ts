/** Reads messages that may be reports, in a thread, because anyone can send a message to the mailbox of reports (BNC-6). */
import PostalMime, { type Attachment } from 'postal-mime';
import { serveThread } from '../../../../platform/infra/threads/thread-work.ts';
import type { MailEvent } from '../mail-event.policy.ts';
import { readReportParts } from './report.policy.ts';

export interface ReadMessage {
  /** Undefined if the message is no report. */
  events?: MailEvent[];
}

const limits = { maxNestingDepth: 10, maxHeadersSize: 131_072 };
/** The part of a field list that is read. */
const mostFieldBytes = 65_536;

async function readMessage(bytes: Uint8Array): Promise<ReadMessage> {
  const email = await parsed(bytes);
  if (!email) return {};
  const header = (name: string) => email.headers.filter(({ key }) => key === name).map(({ value }) => value);
  if (!/^\s*multipart\/report\b/i.test(header('content-type')[0] ?? '')) return {};
  const part = (...types: string[]) => textOf(email.attachments.find(({ mimeType }) => types.includes(mimeType)));
  const events = readReportParts({
    deliveryStatus: part('message/delivery-status', 'message/global-delivery-status'),
    feedback: part('message/feedback-report'),
    returnedHeaders: part('message/rfc822', 'text/rfc822-headers', 'message/global', 'message/global-headers'),
    recipients: [...header('delivered-to'), ...header('x-original-to'), ...header('to')].map(addressIn),
    date: header('date')[0],
  });
  return events === undefined ? {} : { events };
}

/** @returns undefined if the message is nested too deeply or its headers are too large */
async function parsed(bytes: Uint8Array) {
  try {
    return await PostalMime.parse(bytes, { ...limits, forceRfc822Attachments: true });
  } catch {
    return undefined;
  }
}

function textOf(part: Attachment | undefined): string | undefined {
  if (part === undefined || typeof part.content === 'string') return undefined;
  return new TextDecoder().decode(new Uint8Array(part.content).subarray(0, mostFieldBytes));
}

/** @param value `address`, or `Name <address>` */
const addressIn = (value: string): string => /<([^<>]*)>/.exec(value)?.[1] ?? value.trim();

serveThread((data) => readMessage(data as Uint8Array));
