/** Reads notices of Brevo. Brevo does not sign them, so only the token in the address proves their sender (BNC-2). */
import { mailIdIn, namedMail } from '../mail-event.policy.ts';
import { readObjects, type ReadNotice } from './adapter.ts';
import { idIn, textOf, timeOfSeconds, wordOf, type Json } from './fields.policy.ts';
import { kindOf } from './words.policy.ts';

export const readBrevoNotice: ReadNotice = ({ raw }) => ({
  events: readObjects(raw).flatMap(eventIn),
  receipt: undefined,
});

/** The field `date` is in the time zone of the account, so it is not used. */
function eventIn(report: Json) {
  const kind = kindOf('brevo', wordOf(report['event']));
  const at = timeOfSeconds(report['ts_event'] ?? report['ts']);
  if (kind === undefined || at === undefined) return [];
  const messageId = textOf(report['message-id']);
  const ownId = mailIdIn(textOf(report['X-Mailin-custom']));
  return [{ kind, at, ...namedMail({ ownId, messageId, providerId: idIn(messageId) }) }];
}
