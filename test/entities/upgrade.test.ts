/** Rows as the first release left them: the step of each goes on right after the migrations. */
import { Database } from '../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import type { DataSource } from 'typeorm';
import { idOfTime, newId, type Id } from '../../platform/core/ids.ts';
import { attemptDelivery } from '../../domain/webhooks/deliveries/attempts.ts';
import { fanOut } from '../../domain/webhooks/events/fan-out.ts';
import { resendDelivery } from '../../domain/webhooks/deliveries/manual.ts';
import { newSecret } from '../../domain/webhooks/deliveries/post.ts';
import { migrate } from '../../entities/migrate.ts';
import { WebhookAttempt } from '../../entities/webhooks/webhook-attempt.ts';
import { WebhookDelivery } from '../../entities/webhooks/webhook-delivery.ts';
import { accepted, answering, refused } from '../toolkit/drive/attempts.ts';
import { scratchDatabase, testDeps } from '../toolkit/stack/database.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
/** Waits after attempt 1 to 7 (DEL-3). */
const waits = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour];

const upgradedAt = Date.now();
const at = (ms: number) => new Date(upgradedAt + ms);

/** How an attempt of the first release ended; null: the worker has not said so yet. */
type OldOutcome = 'succeeded' | 'http_error' | 'interrupted' | null;
/** A delivery's row as the first release wrote it, and its attempts, each with its number. */
interface OldDelivery {
  status: 'pending' | 'succeeded' | 'failed' | 'canceled';
  attempts: readonly (readonly [number: number, outcome: OldOutcome])[];
  nextAttemptAt?: Date;
  leaseUntil?: Date;
  studentRemoved?: boolean;
}
const failures = (count: number) => Array.from({ length: count }, (_, index) => [index + 1, 'http_error'] as const);

const rows = {
  waiting: { status: 'pending', attempts: failures(3), nextAttemptAt: at(10 * minute) },
  beforeItsLast: { status: 'pending', attempts: failures(7), nextAttemptAt: at(hour) },
  untried: { status: 'pending', attempts: [], nextAttemptAt: at(-second) },
  untold: { status: 'pending', attempts: [], nextAttemptAt: at(-second) },
  leased: { status: 'pending', attempts: [...failures(1), [2, null]], leaseUntil: at(hour) },
  cutOff: { status: 'pending', attempts: [...failures(2), [3, null]], leaseUntil: at(-minute) },
  lastCutOff: { status: 'pending', attempts: [...failures(7), [8, null]], leaseUntil: at(-minute) },
  cutOffTooOften: {
    status: 'pending',
    attempts: [
      [1, 'interrupted'],
      [1, 'interrupted'],
      [1, 'interrupted'],
      [1, null],
    ],
    leaseUntil: at(-minute),
  },
  succeeded: { status: 'succeeded', attempts: [...failures(1), [2, 'succeeded']] },
  failed: { status: 'failed', attempts: failures(8) },
  failedAndAskedFor: { status: 'failed', attempts: failures(8) },
  canceled: { status: 'canceled', attempts: failures(2) },
  canceledOfRemoved: { status: 'canceled', attempts: failures(2), studentRemoved: true },
  canceledInFlight: { status: 'canceled', attempts: [[1, null]], leaseUntil: at(-minute) },
} as const satisfies Record<string, OldDelivery>;
type Row = keyof typeof rows;

describe('the upgrade from the first release', () => {
  let source: DataSource;
  const clubId = newId();
  const ids = new Map<string, { id: Id; endpointId: Id; eventId: Id }>();
  const named = (row: Row) => ids.get(row) ?? { id: '', endpointId: '', eventId: '' };
  const studentId = newId();

  before('rows of the first release, and then every migration', async () => {
    source = await scratchDatabase();
    const every = source.migrations;
    Object.assign(source, { migrations: every.slice(0, 1) });
    expect(await migrate(source)).to.deep.equal(['FirstSlice1763700000000']);
    await source.query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', 'club', now())`, [clubId]);
    for (const [name, row] of Object.entries(rows)) ids.set(name, await writeAsBefore(row));
    await source.query(
      `INSERT INTO students (id, club_id, name, email, created_at) VALUES ($1, $2, 'S', 's@example.com', now())`,
      [studentId, clubId],
    );
    // Its run was not started yet: the fact is told again.
    await source.query(
      `INSERT INTO facts (id, club_id, type, student_id, occurred_at) VALUES ($1, $2, 'student.updated', $3, now())`,
      [named('untold').eventId, clubId, studentId],
    );
    Object.assign(source, { migrations: every });
    expect(await migrate(source)).to.have.length(every.length - 1);
  });
  after(() => source.destroy());

  /** The row, its attempts and its event, with an endpoint of its own. */
  async function writeAsBefore({ status, attempts, nextAttemptAt, leaseUntil, studentRemoved }: OldDelivery) {
    const { vault } = await testDeps();
    const [endpointId, createdAt] = [newId(), at(-2 * hour)];
    const [id, eventId] = [idOfTime(createdAt.getTime()), idOfTime(createdAt.getTime())];
    const body = studentRemoved ? null : JSON.stringify({ id: eventId, type: 'student.updated' });
    const recorded = attempts.filter(([, outcome]) => outcome === 'succeeded' || outcome === 'http_error').length;
    await source.query(
      `INSERT INTO webhook_endpoints (id, club_id, url, event_types, secret, created_at, updated_at)
       VALUES ($1, $2, 'https://receiver.example', '{student.updated}', $3, $4, $4)`,
      [endpointId, clubId, vault.seal(newSecret(), endpointId), createdAt],
    );
    await source.query(
      `INSERT INTO webhook_events (id, club_id, type, occurred_at, body, created_at) VALUES ($1, $2, 'student.updated', $3, $4, $3)`,
      [eventId, clubId, createdAt, body],
    );
    await source.query(
      `INSERT INTO webhook_deliveries (id, club_id, endpoint_id, event_id, event_type, status, cancel_reason,
         payload_purged_at, attempt_count, next_attempt_at, fence, lease_until, created_at, completed_at)
       VALUES ($1, $2, $3, $4, 'student.updated', $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
      [
        id,
        clubId,
        endpointId,
        eventId,
        status,
        studentRemoved ? 'student_removed' : null,
        studentRemoved ? at(-hour) : null,
        recorded,
        nextAttemptAt ?? at(-hour),
        attempts.length,
        leaseUntil ?? null,
        createdAt,
        status === 'pending' ? null : at(-hour),
      ],
    );
    for (const [index, [number, outcome]] of attempts.entries()) {
      await source.query(
        `INSERT INTO webhook_attempts (delivery_id, fence, number, trigger, started_at, outcome) VALUES ($1, $2, $3, 'schedule', $4, $5)`,
        [id, index + 1, number, at(-2 * hour + index * minute), outcome],
      );
    }
    return { id, endpointId, eventId };
  }

  const db = () => new Database(source, { notify() {} });
  /** One step of the delivery. @returns what it said, and how often it posted */
  async function step(row: Row, answer = accepted, now = upgradedAt) {
    let posted = 0;
    const deps = await answering(
      async () => {
        posted++;
        return answer;
      },
      { db: db() },
    );
    return { step: await attemptDelivery(deps, named(row).id, now), posted };
  }
  const rowOf = (row: Row) => source.manager.findOneByOrFail(WebhookDelivery, { id: named(row).id });
  const attemptsOf = async (row: Row) => {
    const attempts = await source.manager.find(WebhookAttempt, {
      where: { deliveryId: named(row).id },
      order: { fence: 'ASC' },
    });
    return attempts.map(({ number, trigger, outcome }) => [number, trigger, outcome]);
  };
  const scheduled = (attempts: OldDelivery['attempts']) =>
    attempts.map(([number, outcome]) => [number, 'schedule', outcome]);

  it('has a row of slugs for each club, which is current', async () => {
    const slugs = await source.query<object[]>('SELECT slug, club_id, answers_until FROM club_slugs');
    expect(slugs).to.deep.equal([{ slug: 'club', club_id: clubId, answers_until: null }]);
  });

  describe('a delivery that waits for its fourth attempt', () => {
    it('waits until then', async () => {
      await eachCase([upgradedAt, upgradedAt + 10 * minute - 1], async (now) =>
        expect(await step('waiting', accepted, now)).to.deep.equal({
          step: { done: false, waitingFor: 'attempt', at: upgradedAt + 10 * minute, attempt: 4 },
          posted: 0,
        }),
      );
    });

    it('has its five remaining attempts at their waits, and no ninth', async () => {
      let now = upgradedAt + 10 * minute;
      await eachCase([4, 5, 6, 7], async (number) => {
        const { step: next, posted } = await step('waiting', refused, now);
        const due = next.done ? Number.NaN : next.at;
        expect(next).to.deep.include({ done: false, waitingFor: 'attempt', attempt: number + 1 });
        expect({ posted, wait: Math.round((due - now) / second) * second }).to.deep.equal({
          posted: 1,
          wait: waits[number - 1],
        });
        now = due;
      });
      expect(await step('waiting', refused, now)).to.deep.equal({ step: { done: true, outcome: 'failed' }, posted: 1 });
      expect(await step('waiting', accepted, now + 11 * hour)).to.deep.equal({
        step: { done: true, outcome: 'failed' },
        posted: 0,
      });
      expect(await attemptsOf('waiting')).to.deep.equal(scheduled(failures(8)));
      expect(await rowOf('waiting')).to.include({ status: 'failed', attemptCount: 8 });
    });
  });

  it('what there was are the oldest partitions, and bodies have their own', async () => {
    const places = await Promise.all(
      ['events', 'deliveries', 'attempts'].map((table) =>
        source.query<unknown[]>(`SELECT DISTINCT tableoid::regclass::text AS place FROM webhook_${table}`),
      ),
    );
    expect(places).to.deep.equal(
      ['events', 'deliveries', 'attempts'].map((table) => [{ place: `webhook_${table}_oldest` }]),
    );
    const bodies = await source.query<{ id: Id; body: string }[]>(`SELECT event_id AS id, body FROM webhook_bodies`);
    const kept = (Object.keys(rows) as Row[]).filter((row) => !('studentRemoved' in rows[row]));
    expect(bodies).to.have.deep.members(
      kept.map((row) => {
        const { eventId: id } = named(row);
        return { id, body: JSON.stringify({ id, type: 'student.updated' }) };
      }),
    );
  });

  it('a fact that is told again makes no second delivery, and the one that is there is looked at', async () => {
    const { id, eventId, endpointId } = named('untold');
    const about = { clubId, studentId, subjectId: null, details: null };
    await fanOut(db(), { id: eventId, type: 'student.updated', occurredAt: at(0), ...about }, at(0));
    const deliveries = await source.query(
      `SELECT id FROM webhook_deliveries WHERE event_id = $1 AND endpoint_id = $2`,
      [eventId, endpointId],
    );
    expect(deliveries).to.deep.equal([{ id }]);
    expect(await source.query(`SELECT workflow_id, subject_id, attributes FROM wakes`)).to.deep.equal([
      {
        workflow_id: `webhook-delivery/${id}`,
        subject_id: id,
        attributes: { ClubId: clubId, EndpointId: endpointId, EventType: 'student.updated' },
      },
    ]);
  });

  it('a delivery that waits for its eighth attempt fails with it', async () => {
    expect(await step('beforeItsLast', refused, upgradedAt + hour)).to.deep.equal({
      step: { done: true, outcome: 'failed' },
      posted: 1,
    });
    expect(await attemptsOf('beforeItsLast')).to.deep.equal(scheduled(failures(8)));
  });

  it('a delivery without attempts has its first one', async () => {
    expect(await step('untried')).to.deep.equal({ step: { done: true, outcome: 'succeeded' }, posted: 1 });
    expect(await attemptsOf('untried')).to.deep.equal([[1, 'schedule', 'succeeded']]);
  });

  describe('a delivery in flight', () => {
    it('waits for its lease', async () => {
      expect(await step('leased')).to.deep.equal({
        step: { done: false, waitingFor: 'lease', at: upgradedAt + hour, attempt: 2 },
        posted: 0,
      });
      expect(await attemptsOf('leased')).to.deep.equal(scheduled(rows.leased.attempts));
    });

    it('uses the number again when the lease has expired', async () => {
      await source.query(
        `UPDATE webhook_deliveries SET lease_until = clock_timestamp() - interval '1 s' WHERE id = $1`,
        [named('leased').id],
      );
      expect(await step('leased')).to.deep.equal({ step: { done: true, outcome: 'succeeded' }, posted: 1 });
      expect(await attemptsOf('leased')).to.deep.equal(
        scheduled([...failures(1), [2, 'interrupted'], [2, 'succeeded']]),
      );
      expect(await rowOf('leased')).to.include({ status: 'succeeded', attemptCount: 2, leaseUntil: null });
    });

    it('whose attempt was cut off uses the number again, with the wait that follows it', async () => {
      const { step: next, posted } = await step('cutOff', refused);
      expect(posted).to.equal(1);
      expect(next).to.deep.include({ done: false, waitingFor: 'attempt', attempt: 4 });
      expect(Math.round(((next.done ? 0 : next.at) - upgradedAt) / second) * second).to.equal(waits[2]);
      expect(await attemptsOf('cutOff')).to.deep.equal(
        scheduled([...failures(2), [3, 'interrupted'], [3, 'http_error']]),
      );
    });

    it('whose eighth attempt was cut off repeats it, and has no ninth', async () => {
      expect(await step('lastCutOff', refused)).to.deep.equal({ step: { done: true, outcome: 'failed' }, posted: 1 });
      expect(await step('lastCutOff', accepted, upgradedAt + 11 * hour)).to.deep.include({ posted: 0 });
      expect(await attemptsOf('lastCutOff')).to.deep.equal(
        scheduled([...failures(7), [8, 'interrupted'], [8, 'http_error']]),
      );
    });

    it('that was cut off four times counts a failed attempt without a request', async () => {
      const { step: next, posted } = await step('cutOffTooOften');
      expect(posted).to.equal(0);
      expect(next).to.deep.include({ done: false, waitingFor: 'attempt', attempt: 2 });
      expect(await rowOf('cutOffTooOften')).to.include({ status: 'pending', attemptCount: 1 });
    });
  });

  describe('a delivery that has ended is not sent again', () => {
    for (const [row, outcome] of [
      ['succeeded', 'succeeded'],
      ['failed', 'failed'],
      ['canceled', 'canceled'],
      ['canceledOfRemoved', 'canceled'],
      ['canceledInFlight', 'canceled'],
    ] as const) {
      it(`${row}: stays as it was`, async () => {
        const [as, attempts] = [await rowOf(row), await attemptsOf(row)];
        await eachCase([upgradedAt, upgradedAt + 11 * hour], async (now) =>
          expect(await step(row, accepted, now)).to.deep.equal({ step: { done: true, outcome }, posted: 0 }),
        );
        expect(await rowOf(row)).to.deep.equal(as);
        expect(await attemptsOf(row)).to.deep.equal(attempts);
      });
    }
  });

  it('a resend of a failed delivery is sent once, with the next number, and the delivery stays failed', async () => {
    const row = 'failedAndAskedFor';
    const { vault } = await testDeps();
    const { id, endpointId } = named(row);
    await resendDelivery({ db: db(), vault }, clubId, endpointId, id, new Date(upgradedAt));
    const failed = { done: true, outcome: 'failed' };
    expect(await step(row, refused)).to.deep.equal({ step: failed, posted: 1 });
    expect(await step(row, accepted, upgradedAt + 11 * hour)).to.deep.equal({ step: failed, posted: 0 });
    expect(await attemptsOf(row)).to.deep.equal([...scheduled(failures(8)), [9, 'manual', 'http_error']]);
    expect(await rowOf(row)).to.include({ status: 'failed', attemptCount: 9 });
  });
});
