/** Reads notices of SendGrid's Event Webhook, which signs a time and the body with ECDSA (BNC-3). */
import { createPublicKey, createVerify, type KeyObject } from 'node:crypto';
import { mailIdIn, namedMail } from '../mail-event.policy.ts';
import { receiptOf } from '../receipts.ts';
import { badSignature, readObjects, requireFresh, type ReadNotice } from './adapter.ts';
import { idIn, textOf, timeOfSeconds, wordOf, type Json } from './fields.policy.ts';
import { kindOf } from './words.policy.ts';

/** SendGrid repeats a notice for 24 hours. */
const validMs = 25 * 3_600_000;

/**
 * @param key the verification key as SendGrid shows it: the DER of a public key in base64
 * @returns undefined if it is no public key of the curve P-256
 */
export function sendgridKeyIn(key: string): KeyObject | undefined {
  try {
    const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' });
    return publicKey.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? publicKey : undefined;
  } catch {
    return undefined;
  }
}

export const sendgridReader =
  (publicKey: KeyObject): ReadNotice =>
  ({ raw, header, now }) => {
    const timestamp = header('x-twilio-email-event-webhook-timestamp');
    const signature = header('x-twilio-email-event-webhook-signature');
    const isSigned = createVerify('sha256').update(timestamp).update(raw).verify(publicKey, signature, 'base64');
    if (!isSigned) throw badSignature();
    requireFresh(timeOfSeconds(timestamp), validMs, now);
    return {
      events: readObjects(raw).flatMap(eventIn),
      // A signature of ECDSA is different each time, so the receipt names what is signed.
      receipt: receiptOf('sendgrid', Buffer.concat([Buffer.from(`${timestamp} `), raw]), {
        body: raw,
        expiresAt: new Date(now.getTime() + validMs + 3_600_000),
      }),
    };
  };

function eventIn(report: Json) {
  const event = wordOf(report['event']);
  const kind = kindOf('sendgrid', `${event} ${wordOf(report[event === 'dropped' ? 'reason' : 'type'])}`, event);
  const at = timeOfSeconds(report['timestamp']);
  if (kind === undefined || at === undefined) return [];
  // The id in the reply of the mail server is the part before the first dot.
  const providerId = idIn(report['sg_message_id'])?.split('.', 1)[0];
  const ownId = mailIdIn(textOf(report['mail_id']));
  return [{ kind, at, ...namedMail({ ownId, messageId: textOf(report['smtp-id']), providerId }) }];
}
