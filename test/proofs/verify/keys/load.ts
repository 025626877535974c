/**
 * Makes work that needs the master key: signed webhooks, rotations of secrets, signed sales notices, unsubscribe links, and suppressions.
 */
import { createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { Problem } from '../../../../dev/problem.ts';
import { startReceiver } from '../../../../dev/clients/receiver.ts';
import { unsubscribeToken } from '../../../../domain/mail/suppressions/unsubscribe-link.ts';
import { createConnection } from '../../../../domain/sales/platforms/connections.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Database } from '../../../../platform/infra/postgres/database.ts';
import { sql } from '../../../../platform/infra/postgres/sql.ts';
import type { Vault } from '../../../../platform/infra/keys/vault.ts';
import { buildAudience, type Subject } from '../../faults/audience.ts';
import { factsAbout } from '../../faults/facts.ts';
import { progress } from '../../faults/progress.ts';
import { remainder, tallyDeliveries } from '../../faults/tally.ts';
import type { Ground } from '../../faults/victims.ts';

const everyMs = { fact: 120, notice: 150, rotation: 2_500, suppression: 1_500 };
const mostFacts = 5_000;
const endsWithinMs = 240_000;
const noticeSecret = 'the secret of the shop';

interface Load {
  expectLinks(status: number): Promise<void>;
  /** @throws Problem when a fact, a notice or a suppression was lost or refused */
  finish(): Promise<void>;
  stop(): Promise<void>;
}

/** @param apiUrls a function that returns the URLs of the running API processes */
export async function beginLoad(
  ground: Ground,
  db: Database,
  before: Vault,
  apiUrls: () => readonly string[],
): Promise<Load> {
  const secrets = new Map<Id, string[]>();
  const received = { valid: new Set<string>(), invalid: 0 };
  const receiver = await startReceiver({
    certificate: await ground.stack.authority.issue(['127.0.0.1']),
    respond({ path, headers, body }) {
      const endpointId = path.slice(1);
      const isSigned = (secrets.get(endpointId) ?? []).some((secret) => verifies(secret, body, headers));
      if (isSigned) received.valid.add(`${endpointId} ${headers['webhook-id']}`);
      else received.invalid += 1;
      return { status: isSigned ? 204 : 400 };
    },
  });
  const subjects = await buildAudience(db.source, before, mostFacts, (id) => `${receiver.url}/${id}`);
  for (const { id, secret } of await db.rows<{ id: Id; secret: Buffer }>(
    sql`SELECT id, secret FROM webhook_endpoints WHERE url LIKE ${`${receiver.url}%`}`,
  ))
    secrets.set(id, [before.open(secret, id)]);
  const [subject] = subjects as [Subject, ...Subject[]];
  const connection = await createConnection(
    { db, vault: before, publicUrl: '', classroomUrl: '' },
    subject.clubId,
    { platform: 'generic', name: 'Shop', secret: noticeSecret },
    new Date(),
  );
  const link = `classroom/mail/unsubscribe/${unsubscribeToken(before, { kind: 'campaigns', studentId: subject.studentId })}`;
  const api = apiCaller(apiUrls);
  const author = factsAbout(subjects, { db, apiUrl: ground.urls.API, everyMs: 0 });
  const suppressions: string[] = [];
  const clubs = [...new Map(subjects.map((one) => [one.clubId, one])).values()];
  let rotations = 0;
  let notices = 0;
  let isRunning = true;
  let failure: unknown;

  const repeat = async (pauseMs: number, act: (round: number) => Promise<boolean | void>) => {
    for (let turn = 0; isRunning; turn++) {
      try {
        if ((await act(turn)) === false) return;
      } catch (error) {
        failure ??= error;
        return;
      }
      await sleep(pauseMs);
    }
  };
  const work = [
    repeat(everyMs.fact, async (turn) => {
      if (turn === mostFacts) return false;
      await author.commit(1);
    }),
    repeat(everyMs.notice, async (turn) => {
      const body = JSON.stringify({ event: 'something.else', number: turn });
      const proof = createHmac('sha256', noticeSecret).update(body).digest('hex');
      await api('POST', `/webhooks/generic/${connection.token}`, { body, headers: { 'x-notice-signature': proof } });
      notices += 1;
    }),
    repeat(everyMs.rotation, async (turn) => {
      const [endpointId] = [...secrets.keys()].slice(turn);
      const owner = subjects.find(({ endpoints }) => endpoints.some((id) => id === endpointId));
      if (endpointId === undefined || !owner) return false;
      // If the answer with a new secret is lost, the club can still verify by the previous secret for a day.
      const answer = await api('POST', `/v1/clubs/${owner.clubId}/webhook-endpoints/${endpointId}/rotate-secret`, {
        body: '{}',
        token: owner.ownerToken,
        acceptedStatus: 409,
      });
      const { secret } = answer.data as { secret?: string };
      if (secret !== undefined) secrets.get(endpointId)?.push(secret);
      rotations += 1;
    }),
    repeat(everyMs.suppression, async (turn) => {
      const { clubId, ownerToken: token } = clubs[turn % clubs.length] ?? subject;
      const email = `${newId()}@example.com`;
      await api('POST', `/v1/clubs/${clubId}/mail/suppressions`, { body: JSON.stringify({ email }), token });
      suppressions.push(`${clubId} ${email} ${token}`);
    }),
  ];

  return {
    async expectLinks(status) {
      if (failure !== undefined) throw failure;
      for (const url of apiUrls()) {
        const answer = await fetch(`${url}/v1/clubs/${subject.clubId}/${link}`, {
          headers: { accept: 'application/json' },
        });
        await answer.arrayBuffer();
        if (answer.status !== status) throw new Problem(`An unsubscribe link answered ${answer.status}, not ${status}`);
      }
      progress(
        `${author.committed} facts, ${received.valid.size} webhooks, ${notices} notices, ${rotations} rotations; links answer ${status}`,
      );
    },
    async finish() {
      isRunning = false;
      await Promise.all(work);
      if (failure !== undefined) throw failure;
      await untilEnded(db);
      const committedSubjects = subjects.slice(0, author.committed);
      const receipts = { has: (endpointId: Id, eventId: Id) => received.valid.has(`${endpointId} ${eventId}`) };
      const { lostFacts } = await tallyDeliveries(db.source, committedSubjects, receipts);
      const refused = await db.rows<{ code: string | null }>(
        sql`SELECT error_code AS code FROM sales_notices WHERE connection_id = ${connection.id} AND status <> 'ignored'`,
      );
      const checks = await Promise.all(suppressions.map((one) => isSuppressed(one)));
      const missing = checks.filter((isFound) => !isFound).length;
      const counts = `facts ${committedSubjects.length}, lost ${lostFacts.length}, webhooks with a wrong signature ${received.invalid}, notices ${notices}, refused ${refused.length}, suppressions ${suppressions.length}, missing ${missing}`;
      progress(counts);
      if (
        lostFacts.length + received.invalid + refused.length + missing > 0 ||
        committedSubjects.length === 0 ||
        notices === 0
      )
        throw new Problem(
          `${counts}\n${[...lostFacts, ...refused.map(({ code }) => code ?? 'pending')].slice(0, 20).join('\n')}`,
        );
    },
    async stop() {
      isRunning = false;
      await receiver.stop();
    },
  };

  async function isSuppressed(one: string): Promise<boolean> {
    const [clubId, email, token] = one.split(' ') as [string, string, string];
    const answer = await api('GET', `/v1/clubs/${clubId}/mail/suppressions?q=${encodeURIComponent(email)}`, {
      token,
    });
    return (answer.data as unknown[]).length === 1;
  }
}

function verifies(secret: string, body: Buffer, headers: Readonly<Record<string, string>>): boolean {
  try {
    new Webhook(secret).verify(body, { ...headers });
    return true;
  } catch {
    return false;
  }
}

interface Call {
  body?: string;
  token?: string;
  headers?: Record<string, string>;
  acceptedStatus?: number;
}

/** Calls one API process after the other, and repeats a call that a restart interrupted. */
function apiCaller(urls: () => readonly string[]) {
  let callCount = 0;
  return async (
    method: string,
    place: string,
    { body, token, headers = {}, acceptedStatus: maySay }: Call,
  ): Promise<{ data: unknown }> => {
    for (;;) {
      const url = urls()[callCount++ % urls().length] ?? '';
      const answer = await fetch(url + place, {
        method,
        headers: {
          'content-type': 'application/json',
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...headers,
        },
        signal: AbortSignal.timeout(10_000),
        ...(body !== undefined && { body }),
      }).catch(() => undefined);
      if (answer?.ok) return { data: {}, ...((await answer.json().catch(() => ({}))) as object) };
      const bodyText = await answer?.text().catch(() => undefined);
      if (answer?.status === maySay && answer) return { data: {} };
      if (answer && answer.status < 500 && answer.status !== 429)
        throw new Problem(`${method} ${place.split('?')[0]} answers ${answer.status}: ${bodyText}`);
      await sleep(250);
    }
  };
}

async function untilEnded(db: Database): Promise<void> {
  const deadline = performance.now() + endsWithinMs;
  for (;;) {
    const { facts, deliveries } = await remainder(db.source);
    const row = await db.one<{ count: number }>(
      sql`SELECT count(*)::int AS count FROM sales_notices WHERE status = 'pending'`,
    );
    if (facts + deliveries + (row?.count ?? 0) === 0) return;
    if (performance.now() > deadline) {
      progress(`the time is over: ${facts} facts, ${deliveries} deliveries and ${row?.count} notices are open`);
      return;
    }
    await sleep(500);
  }
}
