/** Reads notices of Resend, which are signed by the rules of Standard Webhooks (BNC-3). */
import { createHmac } from 'node:crypto';
import type { Secret } from '../../../../platform/core/secret.ts';
import { sameText } from '../../../../platform/infra/keys/vault.ts';
import { mailIdIn, namedMail } from '../mail-event.policy.ts';
import { receiptOf } from '../receipts.ts';
import { badSignature, readObjects, requireFresh, type ReadNotice } from './adapter.ts';
import { headerIn, idIn, objectOf, textOf, timeOfSeconds, timeOfText, wordOf, type Json } from './fields.policy.ts';
import { kindOf } from './words.policy.ts';

/** Resend signs each repetition again. */
const validMs = 300_000;
/** A request with several keys has several signatures. */
const mostSignatures = 8;

/** @param secret as Resend shows it: `whsec_` and a key in base64 */
export function resendReader(secret: Secret): ReadNotice {
  return ({ raw, header, now }) => {
    const key = Buffer.from(secret.reveal().replace(/^whsec_/, ''), 'base64');
    const signed = (name: string) => header(`svix-${name}`) || header(`webhook-${name}`);
    const [id, timestamp, signatures] = [signed('id'), signed('timestamp'), signed('signature')];
    const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(raw).digest('base64');
    const isSigned = signatures.split(' ', mostSignatures).some((signature) => sameText(signature, `v1,${expected}`));
    if (!isSigned || id === '') throw badSignature();
    requireFresh(timeOfSeconds(timestamp), validMs, now);
    return {
      events: readObjects(raw).flatMap(eventIn),
      receipt: receiptOf('resend', id, { body: raw, expiresAt: new Date(now.getTime() + receiptMs) }),
    };
  };
}

/** Resend repeats a notice for about 28 hours, always with the same id. */
const receiptMs = 30 * 3_600_000;

function eventIn(report: Json) {
  const [type, data] = [wordOf(report['type']), objectOf(report['data'])];
  const kind = kindOf('resend', `${type} ${wordOf(objectOf(data['bounce'])['type'])}`, type);
  const at = timeOfText(report['created_at']);
  if (kind === undefined || at === undefined) return [];
  const ownId = mailIdIn(headerIn(data['headers'], 'x-club-mail-id'));
  const messageId = textOf(data['message_id']);
  return [{ kind, at, ...namedMail({ ownId, messageId, providerId: idIn(data['email_id']) }) }];
}
