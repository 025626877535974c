/**
 * Reads notices of Mailgun. Mailgun signs a time and a token, but not the event. So a token that was received before is accepted only with
 * the same body (BNC-3).
 */
import { createHmac } from 'node:crypto';
import type { Secret } from '../../../../platform/core/secret.ts';
import { sameText } from '../../../../platform/infra/keys/vault.ts';
import { mailIdIn, namedMail } from '../mail-event.policy.ts';
import { receiptOf } from '../receipts.ts';
import { badSignature, readObjects, requireFresh, type ReadNotice } from './adapter.ts';
import { idIn, objectOf, textOf, timeOfSeconds, wordOf, type Json } from './fields.policy.ts';
import { kindOf } from './words.policy.ts';

/** Mailgun repeats a notice for 8 hours. */
const validMs = 12 * 3_600_000;

export const mailgunReader =
  (signingKey: Secret): ReadNotice =>
  ({ raw, now }) => {
    const [body = {}, ...more] = readObjects(raw);
    const signature = objectOf(body['signature']);
    const [timestamp, token] = [String(signature['timestamp']), wordOf(signature['token'])];
    const expected = createHmac('sha256', signingKey.reveal())
      .update(timestamp + token)
      .digest('hex');
    if (more.length > 0 || token === '' || !sameText(expected, wordOf(signature['signature']))) throw badSignature();
    requireFresh(timeOfSeconds(timestamp), validMs, now);
    return {
      events: eventIn(objectOf(body['event-data'])),
      receipt: receiptOf('mailgun', token, { body: raw, expiresAt: expiryOf(now) }),
    };
  };

/** The receipt is stored for longer than the signature can be valid. */
const expiryOf = (now: Date) => new Date(now.getTime() + validMs + 3_600_000);

function eventIn(report: Json) {
  const [event, severity, reason] = [wordOf(report['event']), wordOf(report['severity']), wordOf(report['reason'])];
  const kind = kindOf('mailgun', `${event} ${severity} ${reason}`, `${event} ${severity}`, event);
  const at = timeOfSeconds(report['timestamp']);
  if (kind === undefined || at === undefined) return [];
  const messageId = textOf(objectOf(objectOf(report['message'])['headers'])['message-id']);
  const ownId = mailIdIn(textOf(objectOf(report['user-variables'])['mail_id']));
  return [{ kind, at, ...namedMail({ ownId, messageId, providerId: idIn(messageId) }) }];
}
