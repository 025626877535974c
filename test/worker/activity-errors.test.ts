import { CancelledFailure } from '@temporalio/common';
import { expect } from 'chai';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { newId } from '../../platform/core/ids.ts';
import { activityInterceptors } from '../../worker/activities/activity-interceptors.ts';
import { metricsAddress } from '../../worker/temporal/connection.ts';
import { unreliable } from '../toolkit/fakes/databases.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { useTracing } from '../toolkit/stack/tracing.ts';

const runOf = (workflowType: string, subjectId: string) => ({
  workflowType,
  workflowExecution: { workflowId: `webhook-delivery/${subjectId}`, runId: 'run-1' },
  taskQueue: 'webhooks',
  activityType: 'attemptDelivery',
  attempt: 3,
});

describe('the log line of a failed activity', () => {
  /** Returns the log lines without time and process. */
  async function logOfFailure(db: Parameters<typeof activityInterceptors>[0], workflowType: string, error: Error) {
    const subjectId = newId();
    const lines: Record<string, unknown>[] = [];
    const stream = new Writable({
      write: (line, _, done) => {
        lines.push(JSON.parse(String(line)) as Record<string, unknown>);
        done();
      },
    });
    const log = pino({ base: null, timestamp: false }, stream);
    const run = activityInterceptors(db, log).reduceRight(
      (next, surround) => async () =>
        surround({ info: runOf(workflowType, subjectId) } as never).inbound?.execute?.(
          { args: [subjectId, Date.now()], headers: {} },
          next,
        ),
      (): Promise<unknown> => Promise.reject(error),
    );
    await run().catch(() => undefined);
    return { subjectId, lines };
  }
  const place = (workflow: string, subjectId: string) => ({
    level: 50,
    workflow,
    workflow_id: `webhook-delivery/${subjectId}`,
    run_id: 'run-1',
    queue: 'webhooks',
    activity: 'attemptDelivery',
    attempt: 3,
  });

  it('names the run, the queue and the attempt', async () => {
    const { subjectId, lines } = await logOfFailure(
      (await testDeps()).db,
      'webhookDelivery',
      new RangeError('of Mary'),
    );
    expect(lines).to.have.length(1);
    const { error, ...logged } = lines[0] ?? {};
    expect(logged).to.deep.equal({
      ...place('webhookDelivery', subjectId),
      faults: 1,
      msg: 'a step failed; it is tried again',
    });
    expect(error).to.have.property('name', 'RangeError');
    expect(JSON.stringify(lines)).to.not.include('Mary');
  });

  it('names only the run if the fault cannot be recorded', async () => {
    for (const [db, type] of [
      [unreliable((await testDeps()).db, () => 'before'), 'webhookDelivery'],
      [(await testDeps()).db, 'retention'],
    ] as const) {
      const { subjectId, lines } = await logOfFailure(db, type, new Error('of Mary'));
      const { error: _, ...logged } = lines[0] ?? {};
      expect([lines.length, logged]).to.deep.equal([1, { ...place(type, subjectId), msg: 'activity failed' }]);
    }
  });

  it('is not written if the activity was canceled', async () => {
    const { lines } = await logOfFailure((await testDeps()).db, 'webhookDelivery', new CancelledFailure('stopped'));
    expect(lines).to.deep.equal([]);
  });

  describe('while tracing is on', () => {
    const spans = useTracing();

    it('contains the trace id', async () => {
      const { db } = await testDeps();
      for (const [type, name] of [
        ['webhookDelivery', 'a step failed; it is tried again'],
        ['retention', 'activity failed'],
      ] as const) {
        const { lines } = await logOfFailure(db, type, Object.assign(new Error('of Mary'), { code: '23505' }));
        const span = spans().at(-1);
        expect(span).to.include({ name: 'attemptDelivery', failed: true });
        expect(span?.attributes).to.include({ 'error.type': '23505', 'club.workflow.type': type });
        expect(lines.map(({ msg, trace }) => ({ msg, trace }))).to.deep.equal([{ msg: name, trace: span?.traceId }]);
      }
    });
  });
});

describe('the address of the Temporal SDK’s metrics', () => {
  it('is the resolved WORKER_HOST', async () => {
    expect(await metricsAddress('0.0.0.0', 9090)).to.equal('0.0.0.0:9090');
    expect(await metricsAddress('::1', 9090)).to.equal('[::1]:9090');
    expect(await metricsAddress('localhost', 9090)).to.match(/^(127\.0\.0\.1|\[::1\]):9090$/);
  });

  it('causes an error if WORKER_HOST has no address', async () => {
    const refused: unknown = await metricsAddress('no-such-host.invalid', 9090).catch((error: unknown) => error);
    expect(refused)
      .to.be.an('error')
      .with.property(
        'message',
        "The host no-such-host.invalid of WORKER_HOST has no address, so Temporal's metrics cannot be served there.",
      );
  });
});
