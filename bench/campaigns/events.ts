/** Events of a mail provider a second, in requests of 1,000, beside bare updates of the same rows. */
import type { DataSource } from 'typeorm';
import { readConfig } from '../../config.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import type { Id } from '../../platform/core/ids.ts';
import { Database } from '../../platform/infra/postgres/database.ts';
import { onFreshStack, progress, reportBeside, type Round } from '../support.ts';
import { clubWithoutRate, draft, haveStudents } from './scene.ts';

const token = 'a-token-of-the-operator';
const mails = 20_000;
const perRequest = 1_000;
/** Parallel requests. */
const senders = 4;
const rounds = 5;

interface ToldEvent {
  kind: 'delivered' | 'bounced' | 'complained' | 'soft_bounced';
  at: string;
  mail_id: Id;
}

export async function measureEvents(): Promise<void> {
  await onFreshStack(['postgres'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const db = new Database(source, { notify() {} });
    const clubId = await clubWithoutRate(db);
    const api = await launch('api/server.ts', 'API_PORT', { MAIL_NOTICE_TOKEN: token });
    const url = `http://127.0.0.1:${api.port}/webhooks/mail/${token}`;
    const measured: Round[] = [];
    for (let round = 0; round <= rounds; round++) {
      const requests = inRequests(eventsOf(await sentMails(db, clubId)));
      const ours = rateOf(requests, await timed(() => eachOf(requests, (events) => post(url, events))));
      const bare = rateOf(requests, await timed(() => eachOf(requests, (events) => updateBare(source, events))));
      if (round > 0) measured.push({ ours, bare }); // the first round warms up
      progress(`round ${round} of ${rounds}: ${ours.toFixed(0)} beside ${bare.toFixed(0)}`);
    }
    reportBeside(`events/s in requests of ${perRequest}`, measured);
    await source.destroy();
  });
}

/** @returns one campaign with a mail to each student */
async function sentMails(db: Database, clubId: Id): Promise<Id[]> {
  await haveStudents(db.source, clubId, mails);
  const campaignId = await draft({ db, clubId });
  await db.source.query(
    `INSERT INTO mails (id, club_id, campaign_id, student_id, student_name, student_email, address_key, status, fence, sent_at, next_attempt_at, created_at)
     SELECT gen_random_uuid(), club_id, $2, id, name, email, sha256(id::text::bytea), 'sent', 1, now(), now(), now() FROM students WHERE club_id = $1`,
    [clubId, campaignId],
  );
  await db.source.query('VACUUM ANALYZE mails');
  const rows = await db.source.query<{ id: Id }[]>(`SELECT id FROM mails WHERE campaign_id = $1`, [campaignId]);
  return rows.map(({ id }) => id);
}

/** `delivered` for each mail, and for some also a soft bounce, a hard bounce or a spam complaint. */
function eventsOf(ids: readonly Id[]): ToldEvent[] {
  const at = new Date().toISOString();
  return ids.flatMap((id, place) => {
    const delivered: ToldEvent = { kind: 'delivered', at, mail_id: id };
    if (place % 25 === 0) return [{ kind: 'bounced', at, mail_id: id }];
    if (place % 25 === 1) return [{ kind: 'soft_bounced', at, mail_id: id }, delivered];
    return place % 500 === 2 ? [delivered, { kind: 'complained', at, mail_id: id }] : [delivered];
  });
}

function inRequests(events: readonly ToldEvent[]): ToldEvent[][] {
  return Array.from({ length: Math.ceil(events.length / perRequest) }, (_, request) =>
    events.slice(request * perRequest, (request + 1) * perRequest),
  );
}

async function eachOf(
  requests: readonly ToldEvent[][],
  send: (events: ToldEvent[]) => Promise<unknown>,
): Promise<void> {
  const remaining = [...requests];
  const oneAfterAnother = async () => {
    for (let next = remaining.shift(); next; next = remaining.shift()) await send(next);
  };
  await Promise.all(Array.from({ length: senders }, oneAfterAnother));
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const rateOf = (requests: readonly ToldEvent[][], tookMs: number): number =>
  (requests.reduce((sum, { length }) => sum + length, 0) / tookMs) * 1_000;

async function post(url: string, events: readonly ToldEvent[]): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ events }),
  });
  await answer.text();
  if (answer.status !== 202) throw new Error(`Events were answered ${answer.status}.`);
}

/** The ceiling: one statement for each request, which only writes a time into each row. */
async function updateBare(source: DataSource, events: readonly ToldEvent[]): Promise<void> {
  await source.query(
    `UPDATE mails SET machine_opened_at = event.at FROM unnest($1::uuid[], $2::timestamptz[]) AS event (id, at) WHERE mails.id = event.id`,
    [events.map(({ mail_id: id }) => id), events.map(({ at }) => at)],
  );
}
