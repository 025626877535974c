import { receivedBody } from '../toolkit/builders/received-bodies.ts';
import { mock } from 'node:test';
import { expect } from 'chai';
import { workflowIdOf } from '../../platform/engine/workflow-types.ts';
import { requestMail } from '../../domain/mail/transactional/requests.ts';
import { createNoticeReceiver } from '../../domain/sales/notices/notices.ts';
import { SalesNotice } from '../../entities/sales/sales-notice.ts';
import { TransactionalMail } from '../../entities/mail/transactional-mail.ts';
import { keepSchedules } from '../../worker/temporal/schedules.ts';
import type { sweep } from '../../workflows/sweep.ts';
import { deliveryOf } from '../toolkit/assert/webhooks.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { buildSalesConnection } from '../toolkit/builders/sales.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { buildSubscription } from '../toolkit/builders/webhooks.ts';
import { alter } from '../toolkit/drive/alter.ts';
import { untilDelivery } from '../toolkit/drive/deliveries.ts';
import { commitFact } from '../toolkit/drive/facts.ts';
import { until } from '../toolkit/drive/until.ts';
import { useDeliveries } from '../toolkit/stack/receivers.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { useTemporal, useWorker, type ObservedWorker } from '../toolkit/stack/worker.ts';

const second = 1_000;
const minute = 60 * second;

describe('the sweeper in a worker', function () {
  this.timeout(60 * second);
  after('resume the schedule', () => temporal().schedule.getHandle('sweeper').unpause());
  const startWorker = useWorker();
  const temporal = useTemporal();
  const delivering = useDeliveries();
  let worker: ObservedWorker;

  before('start the worker, and pause the schedule', async () => {
    worker = await startWorker({ WORKER_TASK_QUEUES: 'webhooks,mail,sales,upkeep' });
    const schedule = temporal().schedule.getHandle('sweeper');
    await schedule.pause();
    // If a killed worker left an open run of the schedule, no new run would start until its time limit.
    for (const { workflow } of (await schedule.describe()).info.runningActions) {
      await temporal()
        .workflow.getHandle(workflow.workflowId)
        .terminate()
        .catch(() => {}); // the run may have just ended by itself
    }
  });

  let rounds = 0;
  const round = () =>
    temporal().workflow.execute<typeof sweep>('sweep', { workflowId: `sweep-${++rounds}`, taskQueue: 'upkeep' });

  it('rescues a delivery whose workflow run was terminated, and counts the rescue (ENG-11)', async () => {
    const receiver = await delivering().receiver((_, number) => ({ status: number === 1 ? 500 : 200 }));
    const subscription = await buildSubscription(receiver.url);
    const eventId = await commitFact(subscription);
    await receiver.waitFor(1, 5 * second);
    const delivery = await until('the failed attempt', { timeoutMs: 5 * second }, async () => {
      const row = await deliveryOf(eventId, subscription.endpoint.id);
      return row?.attemptCount === 1 && row;
    });
    const run = temporal().workflow.getHandle(workflowIdOf('webhookDelivery', delivery.id));
    await run.terminate('by an operator’s mistake');
    await alter('webhook_deliveries', delivery.id, { next_attempt_at: new Date(Date.now() - 2 * minute - second) });

    const before = await worker.metric('sweeper_rescued_total');
    expect(await round()).to.deep.equal({ rescued: 1 });
    await receiver.waitFor(2, 5 * second);
    await untilDelivery(delivery.id, 'succeeded');
    expect((await worker.metric('sweeper_rescued_total')) - before).to.equal(1);
    expect(await round(), 'the next round').to.deep.equal({ rescued: 0 });
  });

  it('rescues a mail if its workflow run was never started', async () => {
    const { mailbox } = await testStack();
    const { db, vault } = await testDeps();
    const { id: clubId } = await buildClub();
    const student = await buildStudent(clubId, { verified: false });
    const request = {
      template: 'student_verify_email',
      clubId,
      recipient: { studentId: student.id },
      email: 'somebody@example.com',
    } as const;
    const longAgo = new Date(Date.now() - 3 * minute);
    await db.transaction(async (tx) => {
      await requestMail(tx, vault, request, longAgo);
      await tx.manager.query(`DELETE FROM wakes WHERE club_id = $1`, [clubId]);
    });
    expect(await round()).to.deep.equal({ rescued: 1 });
    await mailbox?.waitFor(({ to }) => to.includes(student.email), 5 * second);
    await until('the record', { timeoutMs: 5 * second }, async () => {
      const row = await db.source.manager.findOneByOrFail(TransactionalMail, { studentId: student.id });
      return row.status === 'sent';
    });
  });

  it('does not rescue a failed notice during its pause (ENG-16)', async () => {
    const deps = await testDeps();
    const { source } = deps.db;
    const connection = await buildSalesConnection((await buildClub()).id, 'generic', 'a key');
    const [sealed] = await source.query<{ secret: Buffer }[]>(`SELECT secret FROM sales_connections WHERE id = $1`, [
      connection.id,
    ]);
    const damaged = Buffer.from(sealed?.secret ?? []);
    damaged.writeUInt8(damaged.readUInt8(damaged.length - 1) ^ 1, damaged.length - 1);
    await source.query(`UPDATE sales_connections SET secret = $2 WHERE id = $1`, [connection.id, damaged]);
    const notice = { ...connection, receiveBody: receivedBody({}), header: () => '', signature: '' };
    await createNoticeReceiver(deps)(notice, new Date(Date.now() - 3 * minute));
    const { id } = await source.manager.findOneByOrFail(SalesNotice, { connectionId: connection.id });
    await until('the fault', { timeoutMs: 10 * second }, async () => {
      const [row] = await source.query<unknown[]>(`SELECT FROM failing_steps WHERE workflow_id = $1`, [
        workflowIdOf('salesNotice', id),
      ]);
      return row !== undefined;
    });
    await alter('sales_notices', id, { lease_until: null });
    expect(await round()).to.deep.equal({ rescued: 0 });
    const ofNotices = (name: string) => worker.metric(`${name}{workflow="salesNotice"}`);
    expect(await ofNotices('workflow_rows_failing')).to.equal(1);
    expect(await ofNotices('workflow_rows_due')).to.equal(0);
    expect(await ofNotices('workflow_step_faults_total')).to.be.at.least(1);
    await alter('sales_notices', id, { status: 'ignored' });
  });

  it('has a schedule with one round each minute, without overlap', async () => {
    const { spec, policies, action } = await temporal().schedule.getHandle('sweeper').describe();
    expect(spec.intervals).to.deep.equal([{ every: minute, offset: undefined }]);
    expect(policies).to.include({ overlap: 'SKIP', catchupWindow: minute });
    expect(action).to.include({ workflowType: 'sweep', taskQueue: 'upkeep' });
  });

  it('has a second schedule, which starts daily mails every 15 minutes (COMM-17)', async () => {
    const { spec, policies, action } = await temporal().schedule.getHandle('space-digests').describe();
    expect(spec.intervals).to.deep.equal([{ every: 15 * minute, offset: undefined }]);
    expect(policies).to.include({ overlap: 'SKIP', catchupWindow: 15 * minute });
    expect(action).to.include({ workflowType: 'beginDigests', taskQueue: 'upkeep' });
  });

  it('has its schedule created again within 5 min of a deletion', async () => {
    const { schedule } = temporal();
    const sweeper = schedule.getHandle('sweeper');
    await schedule.getHandle('retention').delete();
    mock.timers.enable({ apis: ['setInterval'] });
    const failures: unknown[] = [];
    const stop = keepSchedules(schedule, (error) => failures.push(error));
    try {
      mock.timers.tick(5 * minute);
      await until('the schedule', { timeoutMs: 5 * second }, () =>
        schedule
          .getHandle('retention')
          .describe()
          .then(
            () => true,
            () => false,
          ),
      );
      expect((await sweeper.describe()).state.paused).to.equal(true);
      expect(failures).to.deep.equal([]);
    } finally {
      stop();
      mock.timers.reset();
    }
  });

  it('starts a round by its schedule', async () => {
    const handle = temporal().schedule.getHandle('sweeper');
    const before = (await handle.describe()).info.numActionsTaken;
    await handle.trigger();
    await until('a round', { timeoutMs: 5 * second }, async () => {
      const { info } = await handle.describe();
      return info.numActionsTaken > before && info.runningActions.length === 0;
    });
    const { recentActions } = (await handle.describe()).info;
    const last = recentActions.at(-1)?.action;
    const result: unknown = await temporal()
      .workflow.getHandle(last?.workflow.workflowId ?? '')
      .result();
    expect(result).to.deep.equal({ rescued: 0 });
  });
});
