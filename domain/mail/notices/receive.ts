/** Receives the notices of mail providers. Their sender must know the operator's token, and notices of SNS must be signed (CAMP-15). */
import type { BodyOf } from '../../../contract/contract.ts';
import { DomainError, notFound } from '../../../platform/core/errors.ts';
import type { Secret } from '../../../platform/core/secret.ts';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { sameText } from '../../../platform/infra/keys/vault.ts';
import { mailIdIn, namedMail } from './mail-event.policy.ts';
import type { ReadNotice } from './providers/adapter.ts';
import type { MailProvider } from './providers/words.policy.ts';
import { recordEvents, type RecordedEvents } from './record-events.ts';
import { readSesReport } from './ses.policy.ts';
import { readSnsMessage, type SnsGuard } from './sns.ts';

export interface MailNoticeDeps {
  /** The token in the address to which providers send notices; undefined if the operator has configured no token. */
  token: Secret | undefined;
  /** Undefined if the operator has configured no topic. */
  sns: SnsGuard | undefined;
  /** The readers of the configured providers. */
  providers: Partial<Record<MailProvider, ReadNotice>>;
  /** Receives the outcome of each request, for the metrics. */
  onEvents: (events: RecordedEvents) => void;
}

export interface Receiving {
  db: Database;
  mailNotices: MailNoticeDeps;
}

/**
 * @throws DomainError not_configured, when the service has no token; not_found, when the received token is wrong. An unknown address gets
 * the same answer as a wrong token
 */
export function requireToken({ token }: MailNoticeDeps, received: string): void {
  if (token === undefined)
    throw new DomainError('not_configured', 'This environment accepts no notices of mail providers.');
  if (!sameText(token.reveal(), received)) throw notFound('address');
}

/**
 * Receives events in our own format. The token is checked before the body is read.
 * @throws DomainError not_configured, not_found, malformed_request, invalid_request
 */
export async function receiveMailEvents(
  { db, mailNotices }: Receiving,
  token: string,
  receiveBody: () => Promise<{ parse: () => BodyOf<'receiveMailEvents'> }>,
  now: Date,
): Promise<void> {
  requireToken(mailNotices, token);
  const { events } = (await receiveBody()).parse();
  const mailEvents = events.map(({ kind, at, mail_id: mailId, message_id: messageId, provider_id: providerId }) => ({
    kind,
    at: new Date(at),
    ...namedMail({ ownId: mailIdIn(mailId), messageId, providerId }),
  }));
  mailNotices.onEvents(await recordEvents(db, mailEvents, now));
}

/**
 * Receives a message of SNS: a report of SES, or a request to confirm the subscription.
 * @throws DomainError not_configured, not_found, malformed_request, signature_invalid
 * @throws Error if SNS cannot be reached; SNS then sends the message again
 */
export async function receiveSesNotice(
  { db, mailNotices }: Receiving,
  token: string,
  body: AsyncIterable<Buffer>,
  now: Date,
): Promise<void> {
  requireToken(mailNotices, token);
  const { sns, onEvents } = mailNotices;
  if (sns === undefined)
    throw new DomainError(
      'not_configured',
      'This environment accepts no messages of SNS, because no topic is configured.',
    );
  const message = readSnsMessage(await wholeBody(body));
  await sns.verify(message, now);
  if (message.Type === 'SubscriptionConfirmation') return sns.confirm(message);
  const event = message.Type === 'Notification' ? readSesReport(message.Message, now) : undefined;
  if (event) onEvents(await recordEvents(db, [event], now));
}

export async function wholeBody(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
}
