/** Reads reports of SES about a mail, from its event publishing or its feedback notifications (CAMP-15). The functions are pure. */
import { noticeBounds, readJson } from '../../../platform/core/json.ts';
import { mailIdIn, namedMail, type MailEvent } from './mail-event.policy.ts';
import { headerIn, listOf, objectOf, textOf, timeOfText, wordOf } from './providers/fields.policy.ts';
import { kindOf } from './providers/words.policy.ts';

/** The field of a report that describes the event, with its time. */
const detailsOf: Readonly<Record<string, string>> = { Delivery: 'delivery', Bounce: 'bounce', Complaint: 'complaint' };

/**
 * @param text the field `Message` of a notification
 * @param now the time that replaces a missing time
 * @returns the event; undefined if reports of this type are ignored
 */
export function readSesReport(text: string, now: Date): MailEvent | undefined {
  const report = objectOf(parse(text));
  const type = wordOf(report['eventType'] ?? report['notificationType']);
  const details = objectOf(report[detailsOf[type] ?? '']);
  const kind = kindOf('ses', `${type} ${wordOf(details['bounceType'])}`, type);
  if (kind === undefined) return undefined;
  const mail = objectOf(report['mail']);
  const [tag] = listOf(objectOf(mail['tags'])['mail_id']);
  const header = (name: string) => headerIn(mail['headers'], name);
  return {
    kind,
    at: timeOfText(details['timestamp']) ?? now,
    ...namedMail({
      ownId: mailIdIn(textOf(tag), header('x-club-mail-id')),
      messageId: header('message-id'),
      providerId: textOf(mail['messageId']),
    }),
  };
}

function parse(text: string): unknown {
  try {
    return readJson(text, noticeBounds);
  } catch {
    return undefined;
  }
}
