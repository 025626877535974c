import { ROOT_CONTEXT, SpanKind, trace, TraceFlags } from '@opentelemetry/api';
import { SamplingDecision } from '@opentelemetry/sdk-trace';
import { expect } from 'chai';
import { createIncoming } from '../../../../platform/infra/telemetry/incoming.ts';
import { samplerOf } from '../../../../platform/infra/telemetry/sampler.ts';
import { telemetryVariables } from '../../../../platform/infra/telemetry/settings.ts';
import { readVariables } from '../../../../platform/infra/variables.ts';

const remote = (isSampled: boolean) =>
  trace.setSpanContext(ROOT_CONTEXT, {
    traceId: '1'.repeat(32),
    spanId: '2'.repeat(16),
    traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
    isRemote: true,
  });
const settings = (sampler: Parameters<typeof samplerOf>[0]['sampler'], samplerShare = '1') =>
  samplerOf({ sampler, samplerShare });

describe('the sampling decision for a request', () => {
  it('follows the standard variables', () => {
    const cases = [
      ['parentbased_always_on', '1', [true, true, false]],
      ['parentbased_always_off', '1', [false, true, false]],
      ['parentbased_traceidratio', '0', [false, true, false]],
      ['parentbased_traceidratio', '1', [true, true, false]],
      ['always_on', '1', [true, true, true]],
      ['always_off', '1', [false, false, false]],
    ] as const;
    for (const [sampler, share, decisions] of cases) {
      const { keepsRequest } = settings(sampler, share);
      expect([ROOT_CONTEXT, remote(true), remote(false)].map(keepsRequest), sampler).to.deep.equal(decisions);
    }
  });

  it('cannot be made for each span separately', () => {
    const problems: string[] = [];
    readVariables(telemetryVariables, { OTEL_TRACES_SAMPLER: 'traceidratio' }, problems);
    expect(problems.map((problem) => problem.split(' ')[0])).to.deep.equal(['OTEL_TRACES_SAMPLER']);
  });

  it('selects about the configured share of requests', () => {
    const { keepsRequest } = settings('parentbased_traceidratio', '0.05');
    const keptCount = Array.from({ length: 20_000 }, () => keepsRequest(ROOT_CONTEXT)).filter(Boolean).length;
    expect(keptCount).to.be.within(700, 1_300); // about 1,000, with a tolerance of ten standard deviations
  });

  it('is marked as partial if only a share of the traces is selected', () => {
    expect(settings('parentbased_traceidratio', '0.05').isShare).to.equal(true);
    expect(settings('parentbased_always_on').isShare).to.equal(false);
  });

  it('is made once for a request', () => {
    const { shouldSample } = settings('parentbased_traceidratio', '0');
    expect(shouldSample(ROOT_CONTEXT, '1'.repeat(32), 'GET', SpanKind.SERVER, {}, [])).to.deep.equal({
      decision: SamplingDecision.RECORD_AND_SAMPLED,
    });
  });
});

describe('an incoming request', () => {
  const from = (remoteAddress: string, isSampled = true, url = '/v1/clubs') => ({
    url,
    socket: { remoteAddress },
    headers: { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-${isSampled ? '01' : '00'}` },
  });

  it('gets its parent span only from a trusted peer', () => {
    const parents: (string | undefined)[] = [];
    const incoming = createIncoming((parent) => parents.push(trace.getSpanContext(parent)?.traceId) > 0);
    incoming.parentOf(from('10.0.0.1'));
    incoming.trust((address) => address === '10.0.0.1');
    for (const address of ['10.0.0.1', '10.0.0.2']) incoming.parentOf(from(address));
    expect(parents).to.deep.equal([undefined, '1'.repeat(32), undefined]);
  });

  it('creates no span if it is a probe or if it is not sampled', () => {
    const incoming = createIncoming(settings('parentbased_always_on').keepsRequest);
    incoming.trust(() => true);
    const parents = [from('10.0.0.1'), from('10.0.0.1', false), from('10.0.0.1', true, '/readyz')].map(
      incoming.parentOf,
    );
    expect(parents.map((parent) => parent && trace.getSpanContext(parent)?.spanId)).to.deep.equal([
      '2'.repeat(16),
      undefined,
      undefined,
    ]);
  });
});
