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

describe('which requests are kept', () => {
  it('follows the standard variables, and the parent if they say so', () => {
    const cases = [
      ['parentbased_always_on', '1', [true, true, false]],
      ['parentbased_always_off', '1', [false, true, false]],
      ['parentbased_traceidratio', '0', [false, true, false]],
      ['parentbased_traceidratio', '1', [true, true, false]],
      ['always_on', '1', [true, true, true]],
      ['always_off', '1', [false, false, false]],
    ] as const;
    for (const [sampler, share, kept] of cases) {
      const { keepsRequest } = settings(sampler, share);
      expect([ROOT_CONTEXT, remote(true), remote(false)].map(keepsRequest), sampler).to.deep.equal(kept);
    }
  });

  it('follows no sampler that decides about each span anew', () => {
    const problems: string[] = [];
    readVariables(telemetryVariables, { OTEL_TRACES_SAMPLER: 'traceidratio' }, problems);
    expect(problems.map((problem) => problem.split(' ')[0])).to.deep.equal(['OTEL_TRACES_SAMPLER']);
  });

  it('is about the share that is asked for', () => {
    const { keepsRequest } = settings('parentbased_traceidratio', '0.05');
    const kept = Array.from({ length: 20_000 }, () => keepsRequest(ROOT_CONTEXT)).filter(Boolean).length;
    expect(kept).to.be.within(700, 1_300); // 1,000, by ten standard deviations
  });

  it('says whether it samples a share, because then the cost of each span counts', () => {
    expect(settings('parentbased_traceidratio', '0.05').isShare).to.equal(true);
    expect(settings('parentbased_always_on').isShare).to.equal(false);
  });

  it('is decided once: the span of a kept request is not decided about again', () => {
    const { shouldSample } = settings('parentbased_traceidratio', '0');
    expect(shouldSample(ROOT_CONTEXT, '1'.repeat(32), 'GET', SpanKind.SERVER, {}, [])).to.deep.equal({
      decision: SamplingDecision.RECORD_AND_SAMPLED,
    });
  });
});

describe('a request that comes', () => {
  const from = (remoteAddress: string, isSampled = true, url = '/v1/clubs') => ({
    url,
    socket: { remoteAddress },
    headers: { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-${isSampled ? '01' : '00'}` },
  });

  it('has its parent only from a trusted peer, once a peer is trusted', () => {
    const parents: (string | undefined)[] = [];
    const incoming = createIncoming((parent) => parents.push(trace.getSpanContext(parent)?.traceId) > 0);
    incoming.parentOf(from('10.0.0.1'));
    incoming.trust((address) => address === '10.0.0.1');
    for (const address of ['10.0.0.1', '10.0.0.2']) incoming.parentOf(from(address));
    expect(parents).to.deep.equal([undefined, '1'.repeat(32), undefined]);
  });

  it('leaves no span if it is a probe, or not sampled', () => {
    const incoming = createIncoming(settings('parentbased_always_on').keepsRequest);
    incoming.trust(() => true);
    const kept = [from('10.0.0.1'), from('10.0.0.1', false), from('10.0.0.1', true, '/readyz')].map(incoming.parentOf);
    expect(kept.map((parent) => parent && trace.getSpanContext(parent)?.spanId)).to.deep.equal([
      '2'.repeat(16),
      undefined,
      undefined,
    ]);
  });
});
