/** Reads notices of Postmark. Postmark does not sign them, so only the token in the address proves their sender (BNC-2). */
import { mailIdIn, namedMail } from '../mail-event.policy.ts';
import { readObjects, type ReadNotice } from './adapter.ts';
import { idIn, objectOf, textOf, timeOfText, wordOf, type Json } from './fields.policy.ts';
import { kindOf } from './words.policy.ts';

export const readPostmarkNotice: ReadNotice = ({ raw }) => ({
  events: readObjects(raw).flatMap(eventIn),
  receipt: undefined,
});

function eventIn(report: Json) {
  const record = wordOf(report['RecordType']);
  const kind = kindOf('postmark', `${record} ${wordOf(report['Type'])}`, record);
  const at = timeOfText(report['DeliveredAt'] ?? report['BouncedAt']);
  if (kind === undefined || at === undefined) return [];
  const ownId = mailIdIn(textOf(objectOf(report['Metadata'])['mail-id']));
  return [{ kind, at, ...namedMail({ ownId, messageId: undefined, providerId: idIn(report['MessageID']) }) }];
}
