import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { expect } from 'chai';
import { idOfTime, type Id } from '../../platform/core/ids.ts';
import { longestTraceMs, traceHeader } from '../../platform/core/traces.policy.ts';
import { inSpan } from '../../platform/infra/tracing.ts';
import { stepsInSpans } from '../../worker/activities/activity-traces.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { deliveryOf } from '../toolkit/assert/webhooks.ts';
import { buildSubscription, buildWebhookDelivery, type Subscription } from '../toolkit/builders/webhooks.ts';
import { untilDelivery, wakeDelivery } from '../toolkit/drive/deliveries.ts';
import { commitFact } from '../toolkit/drive/facts.ts';
import { until } from '../toolkit/drive/until.ts';
import { testDatabase } from '../toolkit/stack/database.ts';
import { useEngine } from '../toolkit/stack/engine.ts';
import { useTracing, type ExportedSpan } from '../toolkit/stack/tracing.ts';

const second = 1_000;

describe('the trace of an activity', () => {
  const spans = useTracing();
  const origin = { traceId: '1'.repeat(32), spanId: '2'.repeat(16) };
  const info = { activityType: 'takeStep', workflowType: 'automationRun', taskQueue: 'automations', attempt: 2 };

  async function runActivity(header: Payload | undefined): Promise<ExportedSpan | undefined> {
    const { inbound } = stepsInSpans({ info } as never);
    const headers = header === undefined ? {} : { [traceHeader]: header };
    expect(await inbound?.execute?.({ args: [], headers }, async () => 'answer')).to.equal('answer');
    return spans().at(-1);
  }
  const caused = (at: number) =>
    defaultPayloadConverter.toPayload({ traceparent: `00-${origin.traceId}-${origin.spanId}-01`, at });

  it('is the trace in its header for ten minutes, and later a new trace with a link', async () => {
    const soon = await runActivity(caused(Date.now() - longestTraceMs + 60 * second));
    expect(soon).to.include({ name: 'takeStep', traceId: origin.traceId, parent: origin.spanId });
    expect(soon?.links).to.deep.equal([]);
    const late = await runActivity(caused(Date.now() - longestTraceMs - second));
    expect(late?.parent).to.equal(undefined);
    expect(late?.traceId).not.to.equal(origin.traceId);
    expect(late?.links).to.deep.equal([origin.spanId]);
  });

  it('is a new trace if the header is missing or unreadable', async () => {
    const unreadable = [
      undefined,
      {},
      { metadata: { encoding: Buffer.from('binary/other') }, data: Buffer.from('x') },
      defaultPayloadConverter.toPayload('text'),
      defaultPayloadConverter.toPayload({ traceparent: 'x', at: Date.now() }),
    ];
    await eachCase(unreadable, async (header) => {
      expect(await runActivity(header)).to.include({ name: 'takeStep', parent: undefined });
    });
  });
});

describe('a trace, from a request to the receiver', function () {
  this.timeout(60 * second);
  let reportedLosses = 0;
  const spans = useTracing(undefined, () => reportedLosses++);
  const engine = useEngine();
  before('start the worker', async () => {
    await engine.startWorkerHere({ WORKER_TASK_QUEUES: 'webhooks' });
  });

  it('is set up so that the worker reports lost spans', () => {
    expect(reportedLosses).to.equal(1);
  });

  /** From the root of the trace. */
  const pathTo = (name: string): string[] => {
    const all = spans();
    const path: ExportedSpan[] = [];
    for (let span = all.find((candidate) => candidate.name === name); span;) {
      path.unshift(span);
      const { parent } = span;
      span = all.find(({ spanId }) => spanId === parent);
    }
    expect(new Set(path.map(({ traceId }) => traceId)).size, 'traces').to.equal(1);
    return path.map((span) => span.name);
  };
  const untilEnded = (name: string) =>
    until(`the span ${name}`, { timeoutMs: 5 * second }, async () => spans().find((span) => span.name === name));
  const waitForDelivery = async (eventId: Id, { endpoint }: Subscription) => {
    const delivery = await until('the fan-out', { timeoutMs: 15 * second }, async () => {
      const found = await deliveryOf(eventId, endpoint.id);
      return found ?? undefined;
    });
    await untilDelivery(delivery.id, 'succeeded');
    return delivery.id;
  };
  const subscribed = async () => {
    const receiver = await engine.receiver();
    return { receiver, subscription: await buildSubscription(receiver.url) };
  };

  it('includes the relay, the run and the attempt of a fact', async () => {
    const { receiver, subscription } = await subscribed();
    const eventId = await inSpan('request', {}, () => commitFact(subscription));
    const deliveryId = await waitForDelivery(eventId, subscription);
    const attempt = await untilEnded('attemptDelivery');
    expect(pathTo('attemptDelivery')).to.deep.equal([
      'request',
      'fact student.updated',
      'start webhookDelivery',
      'attemptDelivery',
    ]);
    expect(attempt.attributes).to.deep.equal({
      'club.workflow.type': 'webhookDelivery',
      'club.workflow.id': `webhook-delivery/${deliveryId}`,
      'club.task_queue': 'webhooks',
      'club.attempt': 1,
    });
    expect(receiver.requests.map(({ headers }) => headers['traceparent'])).to.deep.equal([undefined]);
  });

  it('includes the attempt that a wake causes', async () => {
    const receiver = await engine.receiver();
    const delivery = await buildWebhookDelivery(await buildSubscription(receiver.url));
    await inSpan('request', {}, () => wakeDelivery(delivery));
    await untilDelivery(delivery.id, 'succeeded');
    await untilEnded('attemptDelivery');
    expect(pathTo('attemptDelivery')).to.deep.equal([
      'request',
      'wake webhookDelivery',
      'start webhookDelivery',
      'attemptDelivery',
    ]);
  });

  it('does not include a fact older than ten minutes', async () => {
    const { subscription } = await subscribed();
    const eventId = idOfTime(Date.now() - longestTraceMs - second);
    const spanId = '2'.repeat(16);
    await (
      await testDatabase()
    ).query(
      `INSERT INTO facts (id, club_id, type, student_id, occurred_at, traceparent)
       VALUES ($1, $2, 'student.updated', $3, now(), $4)`,
      [eventId, subscription.clubId, subscription.studentId, `00-${'1'.repeat(32)}-${spanId}-01`],
    );
    await waitForDelivery(eventId, subscription);
    await untilEnded('attemptDelivery');
    expect(pathTo('attemptDelivery')).to.deep.equal([
      'fact student.updated',
      'start webhookDelivery',
      'attemptDelivery',
    ]);
    expect((await untilEnded('fact student.updated')).links).to.deep.equal([spanId]);
  });

  it('includes a batch of facts if it contains the batch’s first fact', async () => {
    const { subscription } = await subscribed();
    await inSpan('request', {}, async () => {
      for (let count = 0; count < 4; count++) await commitFact(subscription, { notified: count === 3 });
    });
    const facts = await until('all facts', { timeoutMs: 10 * second }, async () => {
      const ended = spans().filter(({ name }) => name === 'fact student.updated');
      return ended.length === 4 ? ended : undefined;
    });
    const batches = spans().filter(({ name }) => name === 'facts together');
    for (const { parent, links, attributes } of batches) {
      expect(facts.map(({ spanId }) => spanId)).to.include.members([parent, ...links]);
      expect(attributes).to.deep.equal({ 'club.facts': links.length + 1 });
    }
    expect(batches).to.have.length.above(0);
  });
});
