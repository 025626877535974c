/** Reads reports of SES about a mail, from its event publishing or its feedback notifications (CAMP-15). The functions are pure. */
import { isoMoment } from '../../../platform/core/time/iso-time.policy.ts';
import { noticeBounds, readJson } from '../../../platform/core/json.ts';
import { mailIdIn, type MailEvent } from './mail-event.policy.ts';

type Json = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

/** Other types of reports, such as sends and opens, are ignored. */
type Read = (report: Json) => { kind: MailEvent['kind']; at: unknown };
const kinds: ReadonlyMap<unknown, Read> = new Map<unknown, Read>([
  ['Delivery', ({ delivery }) => ({ kind: 'delivered', at: objectOf(delivery)['timestamp'] })],
  [
    'Bounce',
    ({ bounce }) => ({
      kind: objectOf(bounce)['bounceType'] === 'Permanent' ? 'bounced' : 'soft_bounced',
      at: objectOf(bounce)['timestamp'],
    }),
  ],
  ['Complaint', ({ complaint }) => ({ kind: 'complained', at: objectOf(complaint)['timestamp'] })],
]);

/**
 * @param text the field `Message` of a notification
 * @param now the time that replaces a missing time
 * @returns the event; undefined if reports of this type are ignored
 */
export function readSesReport(text: string, now: Date): MailEvent | undefined {
  const report = objectOf(parse(text));
  const read = kinds.get(report['eventType'] ?? report['notificationType']);
  if (!read) return undefined;
  const { kind, at } = read(report);
  const mail = objectOf(report['mail']);
  const [tag] = listOf(objectOf(mail['tags'])['mail_id']);
  const headers = listOf(mail['headers']).map(objectOf);
  const header = (headerName: string) =>
    textOf(headers.find(({ name }) => textOf(name)?.toLowerCase() === headerName)?.['value']);
  const time = new Date(isoMoment(textOf(at) ?? ''));
  return {
    kind,
    at: Number.isNaN(time.getTime()) ? now : time,
    mailId: mailIdIn(textOf(tag), header('x-club-mail-id'), header('message-id')),
    providerId: textOf(mail['messageId']),
  };
}

function parse(text: string): unknown {
  try {
    return readJson(text, noticeBounds);
  } catch {
    return undefined;
  }
}
