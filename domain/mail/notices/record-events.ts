/**
 * Records the events that mail providers report. An event changes the times of its mail and the tallies, and may suppress an address. All
 * events of a request are recorded in one transaction (CAMP-14, CAMP-15).
 */
import type { TalliedList } from '../../../entities/facts/values.ts';
import { Mail } from '../../../entities/mail/mail.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { addToTallies } from '../../../platform/infra/postgres/lists/counts.ts';
import type { Database, Transaction } from '../../../platform/infra/postgres/database.ts';
import { columns, sql, type RowOf } from '../../../platform/infra/postgres/sql.ts';
import { isOpenClub } from '../../open-clubs.ts';
import { sentByEvidence } from '../evidence.ts';
import { eventRetentionMs } from '../retention.policy.ts';
import type { MailEvent } from './mail-event.policy.ts';
import { storeReceipt, type Receipt } from './receipts.ts';
import { judgeSoftBounces } from './soft-bounces.ts';
import { suppress } from './suppress.ts';

const mailColumns = columns(Mail, [
  'id',
  'providerId',
  'clubId',
  'campaignId',
  'addressKey',
  'status',
  'sentAt',
  'deliveredAt',
  'bouncedAt',
  'softBouncedAt',
  'complainedAt',
]);
type MailColumns = RowOf<typeof mailColumns>;

/** For each kind of event, the column with the time of the mail's earliest event of that kind. */
const columnOf = {
  delivered: 'deliveredAt',
  bounced: 'bouncedAt',
  soft_bounced: 'softBouncedAt',
  complained: 'complainedAt',
} as const satisfies Record<MailEvent['kind'], keyof MailColumns>;

/** For each kind of event, the tally that counts this kind. Soft bounces have no tally, because a mail can have many soft bounces. */
const listOf: Partial<Record<MailEvent['kind'], TalliedList>> = {
  delivered: 'mails_delivered',
  bounced: 'mails_bounced',
  complained: 'mails_complained',
};

export interface RecordedEvents {
  /** Includes repeated events. */
  matched: number;
  /** Events of unknown mails, and events older than 90 days. */
  ignored: number;
}

/**
 * Records events. Repeated events change nothing, and the order does not matter, because each kind keeps only its earliest time.
 * @param events the events, at most a few thousand
 */
export async function recordEvents(db: Database, events: readonly MailEvent[], now: Date): Promise<RecordedEvents> {
  const recent = recentOf(events, now);
  const matched = recent.length === 0 ? 0 : await db.transaction((tx) => recordRecent(tx, recent, now));
  return { matched, ignored: events.length - matched };
}

const recentOf = (events: readonly MailEvent[], now: Date) =>
  events.filter(({ at }) => at.getTime() > now.getTime() - eventRetentionMs);

/**
 * Records the events of a signed notice together with its receipt (BNC-3).
 * @returns undefined if the same notice was recorded before
 * @throws DomainError signature_invalid, if the signature was used for another notice
 */
export async function recordNotice(
  db: Database,
  { events, receipt }: { events: readonly MailEvent[]; receipt: Receipt },
  now: Date,
): Promise<RecordedEvents | undefined> {
  return db.transaction(async (tx) => {
    if (!(await storeReceipt(tx, receipt))) return undefined;
    const matched = await recordRecent(tx, recentOf(events, now), now);
    return { matched, ignored: events.length - matched };
  });
}

interface MatchedEvent {
  mail: MailColumns;
  kind: MailEvent['kind'];
  at: Date;
  /** Whether the reported time is in the future, so that the present time replaces it. */
  isFuture: boolean;
}

/** @returns the number of events of our mails */
async function recordRecent(tx: Transaction, events: readonly MailEvent[], now: Date): Promise<number> {
  const matched = events.length === 0 ? [] : await matchAndLock(tx, events, now);
  if (matched.length === 0) return 0;
  const changed = changesBy(matched);
  await write(tx, changed);
  const first = changed.flatMap(({ mail, first: kinds }) => [...kinds].map((kind) => ({ mail, kind })));
  await addToTallies(
    tx,
    first.flatMap(({ mail: { clubId, campaignId }, kind }) => {
      const list = listOf[kind];
      return list === undefined || campaignId === null
        ? []
        : [{ clubId, list, subjectId: campaignId, marked: false, records: 1 }];
    }),
  );
  await suppress(
    tx,
    first.flatMap(({ mail, kind }) =>
      kind === 'bounced' || kind === 'complained'
        ? [{ ...mail, reason: kind === 'bounced' ? ('bounce' as const) : ('complaint' as const) }]
        : [],
    ),
    now,
  );
  const redelivered = changed.filter(({ mail, times }) => times.deliveredAt !== mail.deliveredAt);
  await judgeSoftBounces(
    tx,
    {
      bounced: await insertSoftBounces(tx, matched),
      delivered: redelivered.map(({ mail }) => mail.id),
      deliveredEarlier: redelivered.filter(({ mail }) => mail.deliveredAt !== null).map(({ mail }) => mail.id),
    },
    now,
  );
  return matched.length;
}

/** Locks the mails by id. A mail that was never handed over cannot have events. */
async function matchAndLock(tx: Transaction, events: readonly MailEvent[], now: Date): Promise<MatchedEvent[]> {
  const ids = events.flatMap(({ mailId }) => mailId ?? []);
  const providerIds = events.flatMap(({ providerId }) => providerId ?? []);
  const mails = await tx.rows<MailColumns>(sql`SELECT ${mailColumns} FROM mails
    WHERE id IN (SELECT id FROM mails WHERE id = ANY(${ids}) UNION SELECT id FROM mails WHERE provider_id = ANY(${providerIds}))
      AND fence > 0 AND ${isOpenClub(sql`mails.club_id`)} ORDER BY id FOR NO KEY UPDATE`);
  const byId = new Map(mails.map((mail) => [mail.id, mail]));
  // A mail server may use an id again after a while, so the event belongs to the latest mail with it.
  const bySending = mails.toSorted((one, other) => (one.sentAt?.getTime() ?? 0) - (other.sentAt?.getTime() ?? 0));
  const byProviderId = new Map(bySending.map((mail) => [mail.providerId, mail]));
  return events.flatMap(({ kind, at, mailId, providerId }) => {
    const mail = byId.get(mailId ?? '') ?? byProviderId.get(providerId ?? '');
    return mail ? [{ mail, kind, at: at > now ? now : at, isFuture: at > now }] : [];
  });
}

interface ChangedMail {
  mail: MailColumns;
  times: Pick<MailColumns, (typeof columnOf)[MailEvent['kind']]>;
  /** The earliest event. */
  provenAt: Date;
  /** The kinds that are new for this mail. */
  first: Set<MailEvent['kind']>;
}

function changesBy(matched: readonly MatchedEvent[]): ChangedMail[] {
  const changes = new Map<Id, ChangedMail & { isChanged: boolean }>();
  for (const { mail, kind, at } of matched) {
    const isUnproven = mail.status !== 'sent' && mail.status !== 'sending';
    const change = changes.get(mail.id) ?? {
      mail,
      times: { ...mail },
      provenAt: at,
      first: new Set(),
      isChanged: isUnproven,
    };
    const before = change.times[columnOf[kind]];
    if (before === null) change.first.add(kind);
    if (before === null || at < before) {
      change.times[columnOf[kind]] = at;
      change.isChanged = true;
    }
    if (at < change.provenAt) change.provenAt = at;
    changes.set(mail.id, change);
  }
  return [...changes.values()].filter(({ isChanged }) => isChanged);
}

async function write(tx: Transaction, changed: readonly ChangedMail[]): Promise<void> {
  if (changed.length === 0) return;
  const times = (column: keyof ChangedMail['times']) => changed.map((change) => change.times[column]);
  await tx.run(sql`UPDATE mails SET delivered_at = event.delivered, bounced_at = event.bounced, soft_bounced_at = event.soft_bounced,
      complained_at = event.complained, ${sentByEvidence(sql`event.proven`)}
    FROM unnest(${changed.map(({ mail }) => mail.id)}::uuid[], ${times('deliveredAt')}::timestamptz[], ${times('bouncedAt')}::timestamptz[],
      ${times('softBouncedAt')}::timestamptz[], ${times('complainedAt')}::timestamptz[], ${changed.map(({ provenAt }) => provenAt)}::timestamptz[])
      AS event (mail_id, delivered, bounced, soft_bounced, complained, proven)
    WHERE mails.id = event.mail_id`);
}

/**
 * A repeated event with a time in the future would get another present time. So it counts only if the mail has no soft bounce yet (BNC-8).
 * @returns the mails with soft bounces that were not recorded before
 */
async function insertSoftBounces(tx: Transaction, matched: readonly MatchedEvent[]): Promise<Id[]> {
  const soft = matched.filter(
    ({ kind, isFuture, mail }) => kind === 'soft_bounced' && !(isFuture && mail.softBouncedAt !== null),
  );
  if (soft.length === 0) return [];
  const inserted = await tx.rows<{ mailId: Id }>(sql`INSERT INTO mail_soft_bounces (mail_id, at)
    SELECT DISTINCT * FROM unnest(${soft.map(({ mail }) => mail.id)}::uuid[], ${soft.map(({ at }) => at)}::timestamptz[]) AS given (mail_id, at)
    ON CONFLICT DO NOTHING RETURNING mail_id AS "mailId"`);
  return [...new Set(inserted.map(({ mailId }) => mailId))];
}
