/** Receives the notices that mail providers post in their own formats (BNC-2, BNC-3). */
import { DomainError } from '../../../platform/core/errors.ts';
import type { MailProvider } from './providers/words.policy.ts';
import { requireToken, type Receiving } from './receive.ts';
import { recordEvents, recordNotice } from './record-events.ts';

/**
 * Records the events of a notice. The token is checked before the body is read, and the signature before the events are read. The same
 * signed notice again changes nothing, and is not counted in the metrics.
 * @throws DomainError not_configured, not_found, malformed_request, signature_invalid
 */
export async function receiveProviderNotice(
  { db, mailNotices }: Receiving,
  { provider, token }: { provider: MailProvider; token: string },
  request: {
    receiveBody: () => Promise<{ raw: Buffer }>;
    /** @returns an empty text if the header is missing */
    header: (name: string) => string;
    now: Date;
  },
): Promise<void> {
  requireToken(mailNotices, token);
  const read = mailNotices.providers[provider];
  if (read === undefined)
    throw new DomainError('not_configured', `This environment accepts no notices of ${provider}: see MAIL_PROVIDERS.`);
  const { header, now } = request;
  const { raw } = await request.receiveBody();
  const { events, receipt } = read({ raw, header, now });
  const recorded =
    receipt === undefined ? await recordEvents(db, events, now) : await recordNotice(db, { events, receipt }, now);
  if (recorded) mailNotices.onEvents(recorded);
}
