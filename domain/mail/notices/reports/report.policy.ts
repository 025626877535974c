/**
 * Reads the parts of a delivery report (RFC 3464, RFC 6533) or of a report of spam (RFC 5965). The result says what became of which mail
 * (BNC-6). The functions are pure.
 */
import { mailIdIn, namedMail, type MailEvent } from '../mail-event.policy.ts';
import { mailIdOfAddress } from '../marks.policy.ts';
import { kindOf } from '../providers/words.policy.ts';

export interface ReportParts {
  /** The fields of a delivery status: a group for the message, and a group for each recipient. */
  deliveryStatus: string | undefined;
  /** The fields of a report of spam. */
  feedback: string | undefined;
  /** The headers of the returned mail. */
  returnedHeaders: string | undefined;
  /** The addresses to which the report was sent. */
  recipients: readonly string[];
  /** The header `Date` of the report. */
  date: string | undefined;
}

type Fields = ReadonlyMap<string, string>;

const noFields: Fields = new Map();
/** A mail has one recipient, so more groups are forwards. */
const mostGroups = 50;
const mostLines = 2_000;

/**
 * @param text groups of fields, separated by empty lines. A line that begins with a blank continues the field before it
 * @returns the fields of each group by their name in lower case. If a field occurs several times, the first counts
 */
function fieldGroups(text: string): Fields[] {
  const groups: Map<string, string>[] = [];
  let group = new Map<string, string>();
  let name: string | undefined;
  for (const line of text.split(/\r\n|\r|\n/, mostLines)) {
    if (line.trim() === '') {
      if (group.size > 0) groups.push(group);
      if (groups.length === mostGroups) return groups;
      [group, name] = [new Map(), undefined];
      continue;
    }
    if (/^[ \t]/.test(line)) {
      if (name !== undefined) group.set(name, `${group.get(name) ?? ''} ${line.trim()}`);
      continue;
    }
    const colon = line.indexOf(':');
    name = colon > 0 ? line.slice(0, colon).trim().toLowerCase() : undefined;
    if (name === undefined || group.has(name)) name = undefined;
    else group.set(name, line.slice(colon + 1).trim());
  }
  return group.size > 0 ? [...groups, group] : groups;
}

/**
 * @returns the events of a report: one, or none if the report's word is ignored or the report has no time. Undefined if the parts are no
 * report
 */
export function readReportParts(parts: ReportParts): MailEvent[] | undefined {
  const returned = fieldGroups(parts.returnedHeaders ?? '')[0] ?? noFields;
  if (parts.feedback !== undefined) {
    const feedback = mergedFields(fieldGroups(parts.feedback));
    const kind = kindOf('report', wordOf(feedback.get('feedback-type')));
    const at = timeOf(feedback.get('arrival-date') ?? feedback.get('received-date'), parts.date);
    return eventsOf({ kind, at }, nameOf(parts, returned, undefined));
  }
  if (parts.deliveryStatus === undefined) return undefined;
  const groups = fieldGroups(parts.deliveryStatus);
  const ofRecipients = groups.filter((group) => group.has('action'));
  if (ofRecipients.length === 0) return undefined;
  const mildest = mildestOf(ofRecipients);
  const envelopeId = groups[0]?.get('original-envelope-id');
  return eventsOf(
    { kind: mildest?.kind, at: timeOf(mildest?.fields.get('last-attempt-date'), parts.date) },
    nameOf(parts, returned, envelopeId),
  );
}

function eventsOf(
  { kind, at }: { kind: MailEvent['kind'] | undefined; at: Date | undefined },
  name: Pick<MailEvent, 'mailId' | 'providerId'>,
): MailEvent[] {
  return kind === undefined || at === undefined ? [] : [{ kind, at, ...name }];
}

/** From the mildest to the gravest. Several groups are forwards of one recipient, and one of them may have received the mail. */
const byGravity: readonly (MailEvent['kind'] | undefined)[] = ['delivered', undefined, 'soft_bounced', 'bounced'];

function mildestOf(groups: readonly Fields[]): { kind: MailEvent['kind'] | undefined; fields: Fields } | undefined {
  const judged = groups.map((fields) => ({ kind: kindOfRecipient(fields), fields }));
  return judged.toSorted((one, other) => byGravity.indexOf(one.kind) - byGravity.indexOf(other.kind))[0];
}

/** Only statuses that say "the address does not exist" are permanent: a refusal of one text must not suppress an address. */
function kindOfRecipient(fields: Fields): MailEvent['kind'] | undefined {
  const action = wordOf(fields.get('action'));
  const [, status = '', subject = ''] = /^\s*((\d\.\d{1,3})\.\d{1,3})/.exec(fields.get('status') ?? '') ?? [];
  return kindOf('report', `${action} ${status}`, `${action} ${subject}`, action);
}

/** @returns the first word, in lower case */
const wordOf = (text: string | undefined): string => /^[\w-]+/.exec((text ?? '').trim())?.[0].toLowerCase() ?? '';

function nameOf(parts: ReportParts, returned: Fields, envelopeId: string | undefined) {
  const ownId =
    mailIdIn(returned.get('x-club-mail-id')) ??
    mailIdIn(envelopeId) ??
    parts.recipients.map(mailIdOfAddress).find((id) => id !== undefined);
  return namedMail({ ownId, messageId: returned.get('message-id'), providerId: undefined });
}

function timeOf(...texts: readonly (string | undefined)[]): Date | undefined {
  return texts.map((text) => new Date(text ?? '')).find((time) => !Number.isNaN(time.getTime()));
}

function mergedFields(groups: readonly Fields[]): Fields {
  return new Map(groups.toReversed().flatMap((group) => [...group]));
}
