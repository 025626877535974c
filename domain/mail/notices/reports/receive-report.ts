/** Receives reports that the operator's mail server posts (BNC-6). */
import { DomainError } from '../../../../platform/core/errors.ts';
import { requireToken, wholeBody, type Receiving } from '../receive.ts';
import { recordEvents } from '../record-events.ts';
import { readReport } from './read-report.ts';

/**
 * Records the event of a report. The token is checked before the message is read.
 * @throws DomainError not_configured, not_found, busy; malformed_request, if the message is no report
 */
export async function receiveReport(
  { db, mailNotices }: Receiving,
  token: string,
  body: AsyncIterable<Buffer>,
  now: Date,
): Promise<void> {
  requireToken(mailNotices, token);
  const { events } = await readReport(await wholeBody(body));
  if (events === undefined)
    throw new DomainError('malformed_request', 'The message is no delivery report that this service can read.');
  mailNotices.onEvents(await recordEvents(db, events, now));
}
