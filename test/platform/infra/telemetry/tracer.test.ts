import { context } from '@opentelemetry/api';
import { expect } from 'chai';
import { longestTraceMs } from '../../../../platform/core/traces.policy.ts';
import { unkeptRequest } from '../../../../platform/infra/telemetry/tracer.ts';
import { failSpan, inSpan, isTracing, traceId, traceparent } from '../../../../platform/infra/tracing.ts';
import { eachCase } from '../../../toolkit/assert/each-case.ts';
import { useTracing } from '../../../toolkit/stack/tracing.ts';

const now = Date.UTC(2026, 10, 26, 12);
const origin = { traceId: '1'.repeat(32), spanId: '2'.repeat(16) };
const written = `00-${origin.traceId}-${origin.spanId}-01`;
const nothing = () => Promise.resolve();

async function afterItsSpan<T>(work: () => Promise<T>): Promise<T> {
  const { promise: ended, resolve: goOn } = Promise.withResolvers<void>();
  const { later } = await inSpan('request', {}, async () => ({ later: ended.then(work) }));
  goOn();
  return later;
}

describe('spans, while tracing is off', () => {
  it('are not created, and the work runs without a trace id', async () => {
    expect(isTracing()).to.equal(false);
    expect(await inSpan('work', {}, async () => [traceparent(), traceId()])).to.deep.equal([undefined, undefined]);
    failSpan(new Error('without a span'));
  });
});

describe('spans', () => {
  const spans = useTracing(() => now);

  it('have the active span as parent, and provide a traceparent for later work', async () => {
    const ids = await inSpan('outer', {}, () => inSpan('inner', {}, async () => [traceparent(), traceId()]));
    const [inner, outer] = spans();
    expect([inner?.name, outer?.name]).to.deep.equal(['inner', 'outer']);
    expect(inner).to.include({ parent: outer?.spanId, traceId: outer?.traceId });
    expect(ids).to.deep.equal([`00-${inner?.traceId}-${inner?.spanId}-01`, inner?.traceId]);
    expect(traceparent()).to.equal(undefined);
  });

  it('continue the trace of their cause for ten minutes', async () => {
    await inSpan('step', { cause: { traceparent: written, at: now - longestTraceMs } }, nothing);
    const [step] = spans();
    expect(step).to.include({ traceId: origin.traceId, parent: origin.spanId });
    expect(step?.links).to.deep.equal([]);
  });

  it('begin a new trace with a link to their cause after ten minutes', async () => {
    await inSpan('step', { cause: { traceparent: written, at: now - longestTraceMs - 1 } }, nothing);
    const [step] = spans();
    expect(step?.parent).to.equal(undefined);
    expect(step?.traceId).not.to.equal(origin.traceId);
    expect(step?.links).to.deep.equal([origin.spanId]);
  });

  it('have a link to each cause except the first, which is their parent', async () => {
    const links = [`00-${'3'.repeat(32)}-${'4'.repeat(16)}-00`, 'no span'];
    await inSpan('batch', { cause: { traceparent: written, at: now }, links }, nothing);
    expect(spans()[0]).to.include({ parent: origin.spanId });
    expect(spans()[0]?.links).to.deep.equal(['4'.repeat(16)]);
  });

  it('are not recorded if their cause was not sampled', async () => {
    const cause = { traceparent: written.replace(/01$/, '00'), at: now };
    const ids = await inSpan('step', { cause }, () => inSpan('inner', {}, async () => [traceparent(), traceId()]));
    expect(spans()).to.deep.equal([]);
    expect(ids[0]).to.match(new RegExp(`^00-${origin.traceId}-[0-9a-f]{16}-00$`));
    expect(ids[1], 'the log has no trace id, because no trace would be found').to.equal(undefined);
  });

  it('are not recorded in an unsampled request or in the work that it causes', async () => {
    const ids = await context.with(unkeptRequest, () => inSpan('work', {}, async () => [traceparent(), traceId()]));
    expect(spans()).to.deep.equal([]);
    expect(ids[0]).to.match(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    expect(ids[1]).to.equal(undefined);
  });

  it('are recorded if their own cause is sampled, even inside a span that is not sampled', async () => {
    const unkept = { traceparent: written.replace(/01$/, '00'), at: now };
    const work = () => inSpan('kept', { cause: { traceparent: written, at: now } }, () => inSpan('inner', {}, nothing));
    await inSpan('step', { cause: unkept }, work);
    expect(spans().map(({ name }) => name)).to.deep.equal(['inner', 'kept']);
  });

  it('are not created in work that continues after the surrounding span has ended', async () => {
    await afterItsSpan(() => inSpan('loop', {}, () => inSpan('statement', {}, nothing)));
    expect(spans().map(({ name }) => name)).to.deep.equal(['request']);
  });

  it('give no trace id to rows and log lines after their end', async () => {
    expect(await afterItsSpan(async () => [traceparent(), traceId()])).to.deep.equal([undefined, undefined]);
  });

  it('record a failure by its code, never by its message', async () => {
    const error = Object.assign(new Error('of mary@example.com'), { code: '23505' });
    const thrown = inSpan('step', {}, () => Promise.reject(error));
    expect(await thrown.catch((caught: unknown) => caught)).to.equal(error);
    await inSpan('answered', {}, async () => failSpan(new RangeError('of mary@example.com')));
    expect(spans().map(({ failed, attributes }) => [failed, attributes])).to.deep.equal([
      [true, { 'error.type': '23505' }],
      [true, { 'error.type': 'RangeError' }],
    ]);
  });

  it('have only attributes of a fixed list', async () => {
    const attributes = {
      'club.fact.type': 'student.created',
      'club.workflow.id': 'webhook-delivery/0190-7c',
      'club.attempt': 2,
      'club.student': 'Mary',
      'url.full': 'https://receiver.example.com/hooks',
      'error.type': 'of Mary Smith',
      'club.task_queue': 'mary@example.com',
      'http.route': '/v1/courses?email=mary',
    };
    await inSpan('step', { attributes }, nothing);
    expect(spans()[0]?.attributes).to.deep.equal({
      'club.fact.type': 'student.created',
      'club.workflow.id': 'webhook-delivery/0190-7c',
      'club.attempt': 2,
    });
  });

  it('continue a trace only from a valid traceparent', async () => {
    const texts = [null, '', 'x', `01${written.slice(2)}`, written.replaceAll('1', '0'), `${written}-more`];
    await eachCase(texts, async (text) => {
      await inSpan('step', { cause: { traceparent: text as string, at: now } }, nothing);
      expect(spans().at(-1)?.traceId).not.to.equal(origin.traceId);
      expect(spans().at(-1)?.parent).to.equal(undefined);
    });
  });
});
