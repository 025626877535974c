/** Receives what mail providers post: believed with the operator's token alone, or with the signature of SNS beside it (CAMP-15). */
import type { BodyOf } from '../../../contract/contract.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Secret } from '../../../platform/core/secret.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sameText } from '../../../platform/infra/keys/vault.ts';
import { mailIdIn } from './mail-event.policy.ts';
import { noteEvents, type NotedEvents } from './noting.ts';
import { readSesReport } from './ses.policy.ts';
import { readSnsMessage, type SnsGuard } from './sns.ts';

export interface MailNoticeDeps {
  /** In the address that providers post to; undefined where the operator has set none up. */
  token: Secret | undefined;
  /** Undefined where the operator has pinned no topic. */
  sns: SnsGuard | undefined;
  /** Called with the outcome of each request, for the metrics. */
  onEvents: (events: NotedEvents) => void;
}

interface Receiving {
  db: Database;
  mailNotices: MailNoticeDeps;
}

/** @throws DomainError not_configured, not_found: a wrong token gets the answer of an unknown address */
function requireToken({ token }: MailNoticeDeps, given: string): void {
  if (token === undefined)
    throw new DomainError('not_configured', 'This environment takes no notices of mail providers.');
  if (!sameText(token.reveal(), given)) throw notFound('address');
}

/** Notices in our own format. The body is read once the token is known. @throws DomainError not_configured, not_found, malformed_request, invalid_request */
export async function receiveMailEvents(
  { db, mailNotices }: Receiving,
  token: string,
  receiveBody: () => Promise<{ parse: () => BodyOf<'receiveMailEvents'> }>,
  now: Date,
): Promise<void> {
  requireToken(mailNotices, token);
  const { events } = (await receiveBody()).parse();
  const noted = events.map(({ kind, at, mail_id: mailId, message_id: messageId, provider_id: providerId }) => ({
    kind,
    at: new Date(at),
    mailId: mailIdIn(mailId, messageId),
    providerId,
  }));
  mailNotices.onEvents(await noteEvents(db, noted, now));
}

/**
 * A message of SNS about SES, or one that asks to confirm the subscription.
 * @throws DomainError not_configured, not_found, malformed_request, signature_invalid
 * @throws Error where SNS cannot be asked: it then posts the message again
 */
export async function receiveSesNotice(
  { db, mailNotices }: Receiving,
  token: string,
  body: AsyncIterable<Buffer>,
  now: Date,
): Promise<void> {
  requireToken(mailNotices, token);
  const { sns, onEvents } = mailNotices;
  if (sns === undefined) throw new DomainError('not_configured', 'This environment listens to no topic of SNS.');
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  const message = readSnsMessage(Buffer.concat(parts));
  await sns.verify(message, now);
  if (message.Type === 'SubscriptionConfirmation') return sns.confirm(message);
  const event = message.Type === 'Notification' ? readSesReport(message.Message, now) : undefined;
  if (event) onEvents(await noteEvents(db, [event], now));
}
