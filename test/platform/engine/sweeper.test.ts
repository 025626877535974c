import { StaleRead, Transaction, Queries } from '../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { settleBudget } from '../../../domain/agents/budget/budget.ts';
import { eraseConversations } from '../../../domain/agents/conversations/erasure.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { forgetFaults, noteFault } from '../../../platform/engine/faults.ts';
import { lastCompleteRound, overdueQueries, removeExpired, rescueOverdue } from '../../../platform/engine/sweeper.ts';
import type { WorkflowType } from '../../../platform/engine/workflow-types.ts';
import { requestMail } from '../../../domain/mail/transactional/requests.ts';
import { migrate } from '../../../commands/migrate.ts';
import { wakesOfAddOn } from '../../toolkit/assert/wakes.ts';
import { buildAddOn } from '../../toolkit/builders/billing.ts';
import { buildAdministrator, buildClub, buildStudent } from '../../toolkit/builders/clubs.ts';
import { scratchDatabase, testDatabase, testDeps } from '../../toolkit/stack/database.ts';
import { buildQuestion } from '../../toolkit/builders/questions.ts';
import { buildWebhookDelivery, buildSubscription, type TestWebhookDelivery } from '../../toolkit/builders/webhooks.ts';
import { alter } from '../../toolkit/drive/alter.ts';
import { unreliable, watching } from '../../toolkit/fakes/databases.ts';

const second = 1_000;
const minute = 60 * second;
const day = 86_400 * second;
const url = 'https://93.184.216.34/hooks';

async function isWoken(workflowId: string): Promise<boolean> {
  const source = await testDatabase();
  const [row] = await source.query<unknown[]>(`SELECT 1 FROM wakes WHERE workflow_id = $1`, [workflowId]);
  return row !== undefined;
}

describe('rescue of overdue rows (ENG-5)', () => {
  const now = new Date();
  const ago = (ms: number) => new Date(now.getTime() - ms);
  const rescue = async () => rescueOverdue((await testDeps()).db, now);
  const isRescued = ({ id }: { id: Id }) => isWoken(`webhook-delivery/${id}`);
  let overdue: TestWebhookDelivery;
  beforeEach('end the rows of other tests, and build one overdue delivery', async () => {
    const source = await testDatabase();
    await source.query(`UPDATE webhook_deliveries SET status = 'canceled' WHERE status = 'pending'`);
    await source.query(`UPDATE transactional_mails SET status = 'canceled' WHERE status = 'pending'`);
    await source.query(`DELETE FROM agent_charges WHERE settled_at IS NULL`);
    await source.query(`UPDATE agent_sources SET looks_at = NULL WHERE looks_at IS NOT NULL`);
    await source.query(`UPDATE add_ons SET status = 'failed', settled_at = next_attempt_at WHERE status = 'pending'`);
    await source.query(
      `UPDATE agent_answers SET status = 'failed', error_code = 'internal_error', completed_at = created_at WHERE status = 'generating'`,
    );
    overdue = await buildWebhookDelivery(await buildSubscription(url), ago(2 * minute + second));
  });

  it('wakes a delivery that is overdue by two minutes', async () => {
    expect(await rescue()).to.equal(1);
    const source = await testDatabase();
    const [row] = await source.query<object[]>(
      `SELECT workflow_type, subject_id, club_id, attributes, priority FROM wakes WHERE workflow_id = $1`,
      [`webhook-delivery/${overdue.id}`],
    );
    expect(row).to.deep.equal({
      workflow_type: 'webhookDelivery',
      subject_id: overdue.id,
      club_id: overdue.clubId,
      attributes: { ClubId: overdue.clubId, EndpointId: overdue.endpoint.id, EventType: 'student.updated' },
      priority: 2, // new work has priority over rescued work
    });
  });

  it('does not wake a workflow that has an unsent wake', async () => {
    expect([await rescue(), await rescue()]).to.deep.equal([1, 0]);
  });

  it('wakes the workflow of an ended answer until the cost of the answer is settled', async () => {
    const { questionId, answerId, conversationId } = await buildQuestion({ acceptedAt: ago(10 * minute) });
    const { db } = await testDeps();
    await db.transaction((tx) =>
      eraseConversations(tx, [conversationId], 'conversation_deleted', ago(2 * minute + second)),
    );
    const forget = () => db.source.query(`DELETE FROM wakes WHERE subject_id = $1`, [questionId]);
    await forget();
    await rescue();
    expect(await isWoken(`agent-answer/${questionId}`)).to.equal(true);
    await forget();
    await db.transaction((tx) => settleBudget(tx, answerId, 0n, now));
    await rescue();
    expect(await isWoken(`agent-answer/${questionId}`)).to.equal(false);
  });

  it('does not wake a delivery that is overdue by less than two minutes', async () => {
    await alter('webhook_deliveries', overdue.id, { next_attempt_at: ago(2 * minute - second) });
    expect(await rescue()).to.equal(0);
    expect(await isRescued(overdue)).to.equal(false);
  });

  it('does not wake a leased delivery, but wakes a delivery whose lease has expired', async () => {
    await alter('webhook_deliveries', overdue.id, { lease_until: new Date(Date.now() + minute) });
    expect(await rescue()).to.equal(0);
    await alter('webhook_deliveries', overdue.id, { lease_until: new Date(Date.now() - second) });
    expect(await rescue()).to.equal(1);
  });

  it('does not wake ended deliveries', async () => {
    for (const status of ['succeeded', 'failed', 'canceled']) {
      await alter('webhook_deliveries', overdue.id, { status });
      expect(await rescue(), status).to.equal(0);
    }
  });

  it('does not wake parked deliveries, because their gate wakes them', async () => {
    await alter('webhook_deliveries', overdue.id, { parked_at: ago(3 * minute) });
    expect(await rescue()).to.equal(0);
  });

  it('wakes a delivery of a paused endpoint if the delivery is not parked', async () => {
    await alter('webhook_endpoints', overdue.endpoint.id, { status: 'paused' });
    expect(await rescue()).to.equal(1);
  });

  it('wakes a delivery with a requested or an interrupted manual attempt', async () => {
    await alter('webhook_deliveries', overdue.id, { status: 'succeeded', requested: 'manual' });
    expect(await rescue()).to.equal(1);
    await (await testDatabase()).query(`DELETE FROM wakes`);
    await alter('webhook_deliveries', overdue.id, { requested: null, in_flight: 'manual' });
    expect(await rescue()).to.equal(1);
  });

  it('wakes a gate that is overdue by two minutes, but only once', async () => {
    await alter('webhook_deliveries', overdue.id, { status: 'canceled' });
    await alter('webhook_endpoints', overdue.endpoint.id, { gate_looks_at: ago(minute) });
    expect(await rescue()).to.equal(0);
    await alter('webhook_endpoints', overdue.endpoint.id, { gate_looks_at: ago(3 * minute) });
    expect(await rescue()).to.equal(1);
    expect(await rescue(), 'already woken').to.equal(0);
  });

  it('wakes only an add-on with an unknown payment', async () => {
    const { id: clubId } = await buildClub();
    const due = { next_attempt_at: ago(2 * minute + second) };
    const unknownPayment = await buildAddOn(clubId, due);
    const charged = await buildAddOn(clubId, { ...due, lease_until: new Date(Date.now() + minute) });
    const settled = await buildAddOn(clubId, { ...due, status: 'failed', settled_at: now });
    await rescue();
    expect([
      await wakesOfAddOn(unknownPayment.id),
      await wakesOfAddOn(charged.id),
      await wakesOfAddOn(settled.id),
    ]).to.deep.equal([['addOn'], [], []]);
  });

  it('wakes a lost delivery while 500 older deliveries pause', async () => {
    const source = await testDatabase();
    await alter('webhook_deliveries', overdue.id, { next_attempt_at: ago(3 * minute) });
    const subscription = await buildSubscription(url);
    for (let count = 0; count < 500; count++) await buildWebhookDelivery(subscription, ago(4 * minute));
    await source.query(
      `INSERT INTO failing_steps (workflow_id, workflow_type, fault_count, error_code, failing_since, retry_at)
       SELECT 'webhook-delivery/' || id, 'webhookDelivery', 3, 'Error', $2, $3 FROM webhook_deliveries WHERE endpoint_id = $1`,
      [subscription.endpoint.id, ago(4 * minute), ago(2 * minute - second)],
    );
    expect([await rescue(), await isRescued(overdue)]).to.deep.equal([1, true]);
    await source.query(`UPDATE failing_steps SET retry_at = $1`, [ago(2 * minute + second)]);
    expect(await rescue()).to.equal(500);
    await source.query(`DELETE FROM failing_steps`);
    await source.query(`UPDATE webhook_deliveries SET status = 'canceled' WHERE endpoint_id = $1`, [
      subscription.endpoint.id,
    ]);
  });

  it('rescues other kinds of rows if one kind cannot be read', async () => {
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const addOn = await buildAddOn(clubId, { next_attempt_at: ago(2 * minute + second) });
    const before = await lastCompleteRound(db);
    let transactions = 0;
    const broken = unreliable(db, () => (++transactions === 1 ? 'before' : undefined));
    const error: unknown = await rescueOverdue(broken, now).catch((thrown: unknown) => thrown);
    expect(error).to.include({ name: 'IncompleteRound', rescued: 1 });
    expect(await wakesOfAddOn(addOn.id)).to.deep.equal(['addOn']);
    expect(await lastCompleteRound(db)).to.deep.equal(before);

    expect(await rescue()).to.equal(1);
    expect(await lastCompleteRound(db)).to.deep.equal(now);
  });

  it('ends a query after 5 s', async () => {
    const { db } = await testDeps();
    const limits: unknown[] = [];
    const watched = watching(db, async (tx) =>
      limits.push(...(await tx.manager.query<unknown[]>('SHOW statement_timeout'))),
    );
    await rescueOverdue(watched, now);
    const kinds = overdueQueries(db.source, now);
    expect(limits).to.deep.equal(kinds.map(() => ({ statement_timeout: '5s' })));
  });

  it('wakes overdue mails, even mails without a club', async () => {
    await alter('webhook_deliveries', overdue.id, { status: 'canceled' });
    const { db, vault } = await testDeps();
    const { id: administratorId, email } = await buildAdministrator();
    const club = await buildClub();
    const student = await buildStudent(club.id);
    await db.source.transaction(async (tx) => {
      const reset = {
        template: 'administrator_reset_password',
        clubId: null,
        recipient: { administratorId },
        email,
      } as const;
      await requestMail(new Transaction(tx), vault, reset, ago(3 * minute));
      const about = { clubId: club.id, recipient: { studentId: student.id }, email: student.email };
      await requestMail(new Transaction(tx), vault, { template: 'student_code', ...about }, ago(3 * minute));
      await requestMail(new Transaction(tx), vault, { template: 'student_reset_password', ...about }, ago(minute));
    });
    await db.source.query(`DELETE FROM wakes WHERE workflow_type = 'transactionalMail'`);
    expect(await rescue()).to.equal(2);
    const rows = await db.source.query<{ attributes: object; priority: number }[]>(
      `SELECT wake.attributes, wake.priority FROM wakes wake JOIN transactional_mails mail ON mail.id::text = wake.subject_id
        WHERE mail.administrator_id = $1 OR mail.student_id = $2 ORDER BY mail.template`,
      [administratorId, student.id],
    );
    expect(rows).to.deep.equal([
      { attributes: {}, priority: 0 },
      { attributes: { ClubId: club.id }, priority: 0 },
    ]);
  });
});

describe('the pause of a step after an internal fault (ENG-16)', () => {
  const fault = new Error('a fault of ours');
  const at = new Date('2026-06-01T00:00:00Z').getTime();
  interface Fault {
    error?: Error;
    now?: number;
    type?: WorkflowType;
  }
  const fail = async (id: Id, { error = fault, now = at, type = 'transactionalMail' }: Fault = {}) => {
    const { at: retryAt, failing } = await noteFault((await testDeps()).db, type, id, error, now);
    return [failing.faults, failing.code, (retryAt - now) / second];
  };
  const failTimes = async (count: number, id: Id, options: Fault = {}) => {
    const pauses: unknown[] = [];
    while (pauses.length < count) pauses.push((await fail(id, options))[2]);
    return pauses;
  };

  it('is 1 s, and doubles after each further fault, up to 10 minutes', async () => {
    const pauses = await failTimes(13, newId());
    expect(pauses).to.deep.equal([1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600, 600]);
  });

  it('is at most 10 s if a person waits', async () => {
    expect(await failTimes(6, newId(), { type: 'agentAnswer' })).to.deep.equal([1, 2, 4, 8, 10, 10]);
  });

  it('does not grow for a transient conflict', async () => {
    const id = newId();
    const conflict = { error: new StaleRead() };
    expect([await fail(id, conflict), await fail(id, conflict)]).to.deep.equal([
      [0, 'looked_too_early', 1],
      [0, 'looked_too_early', 1],
    ]);
    expect([await fail(id), await fail(id), await fail(id, conflict)]).to.deep.equal([
      [1, 'Error', 1],
      [2, 'Error', 2],
      [2, 'looked_too_early', 1],
    ]);
  });

  it('is short again if the step has not failed for 10 minutes', async () => {
    const [id, other] = [newId(), newId()];
    const { db } = await testDeps();
    for (const one of [id, other]) await failTimes(3, one);
    const tried = at + 4 * second;
    await fail(other, { now: tried + second });
    await forgetFaults(db, new Date(tried + 10 * minute));
    expect(await fail(id, { now: tried })).to.deep.equal([4, 'Error', 8]);
    await forgetFaults(db, new Date(tried + 8 * second + 10 * minute + 1));
    expect([await fail(id), await fail(other)]).to.deep.equal([
      [1, 'Error', 1],
      [5, 'Error', 16],
    ]);
  });
});

describe('removal of expired rows', () => {
  const now = new Date('2026-06-01T00:00:00Z');
  const ago = (ms: number) => new Date(now.getTime() - ms);
  const tablesOfOwners = ['clubs', 'students', 'administrators'];
  const [clubId, studentId, administratorId] = [newId(), newId(), newId()];
  let source: DataSource;
  let db: Queries;
  before('create a database with a club, a student and an administrator', async () => {
    source = await scratchDatabase();
    db = new Queries(source.manager);
    await migrate(source);
    await source.query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', 'club', now())`, [clubId]);
    await source.query(
      `INSERT INTO students (id, club_id, name, email, created_at) VALUES ($1, $2, 'Ada', 'ada@example.com', now())`,
      [studentId, clubId],
    );
    await source.query(
      `INSERT INTO administrators (id, name, email, created_at) VALUES ($1, 'Grace', 'grace@example.com', now())`,
      [administratorId],
    );
  });
  after(() => source.destroy());
  const count = async (table: string) => {
    const [row] = await source.query<{ count: number }[]>(`SELECT count(*)::int AS count FROM ${table}`);
    return row?.count;
  };

  /** All rows expire at this time. */
  const expiring: Record<string, (at: Date) => Promise<unknown>> = {
    student_sessions: (at) =>
      source.query(`INSERT INTO student_sessions VALUES ($1, $2, $3, $3)`, [randomBytes(32), studentId, at]),
    administrator_sessions: (at) =>
      source.query(`INSERT INTO administrator_sessions VALUES ($1, $2, $3, $3)`, [
        randomBytes(32),
        administratorId,
        at,
      ]),
    one_time_tokens: (at) =>
      source.query(
        `INSERT INTO one_time_tokens (id, purpose, token_hash, student_id, created_at, expires_at) VALUES ($1, 'student_verify_email', $2, $3, $4, $4)`,
        [newId(), randomBytes(32), studentId, at],
      ),
    invitations: (at) =>
      source.query(
        `INSERT INTO invitations (id, club_id, email, role, invited_at, expires_at) VALUES ($1, $2, $3, 'support', $4, $4)`,
        [newId(), clubId, `${newId()}@example.com`, at],
      ),
  };
  for (const [table, insert] of Object.entries(expiring)) {
    it(`removes only expired rows of ${table}`, async () => {
      for (const at of [ago(minute), ago(1), ago(-1), ago(-minute)]) await insert(at);
      await removeExpired(db, now);
      expect(await count(table)).to.equal(2);
    });
  }

  it('deletes the counts of wrong codes of earlier days', async () => {
    for (const date of ['2031-05-03', '2031-05-04', '2031-05-05'])
      await source.query(`INSERT INTO code_failure_counts VALUES ($1, $2, 1)`, [randomBytes(32), date]);
    await removeExpired(db, new Date('2031-05-04T00:00:00Z'));
    expect(await count('code_failure_counts')).to.equal(2);
    await removeExpired(db, new Date('2031-05-04T23:59:59Z'));
    expect(await count('code_failure_counts')).to.equal(2);
  });

  it('deletes ended e-mails after 30 days, and keeps pending e-mails', async () => {
    for (const status of ['sent', 'failed', 'canceled', 'pending']) {
      for (const at of [ago(30 * day + 1), ago(30 * day - 1)]) {
        await source.query(
          `INSERT INTO transactional_mails (id, template, student_id, address_key, status, next_attempt_at, created_at)
           VALUES ($1, 'student_code', $2, $3, $4, $5, $5)`,
          [newId(), studentId, randomBytes(32), status, at],
        );
      }
    }
    await removeExpired(db, now);
    const rows = await source.query<{ status: string; count: number }[]>(
      `SELECT status, count(*)::int AS count FROM transactional_mails GROUP BY 1 ORDER BY 1`,
    );
    expect(rows).to.deep.equal([
      { status: 'canceled', count: 1 },
      { status: 'failed', count: 1 },
      { status: 'pending', count: 2 },
      { status: 'sent', count: 1 },
    ]);
  });

  it('deletes at most 1,000 rows of a table per statement', async () => {
    await source.query(
      `INSERT INTO student_sessions SELECT sha256(i::text::bytea), $1, $2, $2 FROM generate_series(1, 1500) AS i`,
      [studentId, ago(minute)],
    );
    const before = (await count('student_sessions')) ?? 0;
    await removeExpired(db, now);
    expect(await count('student_sessions')).to.equal(before - 1_000);
    await removeExpired(db, now);
    expect(await count('student_sessions')).to.equal(before - 1_500);
  });

  it('never deletes a club, a student or an administrator', async () => {
    await removeExpired(db, new Date('2036-01-01T00:00:00Z'));
    for (const table of tablesOfOwners) expect(await count(table), table).to.equal(1);
  });
});
