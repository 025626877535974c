import { expect } from 'chai';
import { InMemorySpanExporter, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import { createLosses } from '../../../../platform/infra/telemetry/losses.ts';
import type { LostSpans } from '../../../../platform/infra/tracing.ts';

describe('spans that the receiver does not accept', () => {
  const refused = Object.assign(new Error('of mary@example.com'), { code: 401, data: 'of mary@example.com' });
  const failing = (error: Error): SpanExporter => {
    const stopped = new InMemorySpanExporter();
    void stopped.shutdown();
    return {
      export: (batch, done) => stopped.export(batch, (result) => done({ ...result, error })),
      shutdown: async () => {},
    };
  };
  const spans = (count: number) => Array.from({ length: count }, () => ({}) as ReadableSpan);

  it('are counted and reported once a minute with the code of the error', () => {
    let now = 0;
    const reports: LostSpans[] = [];
    const losses = createLosses(() => now);
    const answers: (Error | undefined)[] = [];
    const lose = (count: number, error: Error) =>
      losses.counting(failing(error)).export(spans(count), (result) => answers.push(result.error));
    lose(1, refused);
    expect(reports, 'no listener yet').to.deep.equal([]);
    losses.report((spanLoss) => reports.push(spanLoss));
    lose(2, refused);
    lose(4, refused);
    now = 59_999;
    lose(8, refused);
    expect(reports).to.deep.equal([{ spans: 3, code: '401' }]);
    now = 60_000;
    lose(16, new TypeError('of mary@example.com'));
    expect(reports.slice(1)).to.deep.equal([{ spans: 28, code: 'TypeError' }]);
    expect(answers.map((error) => error?.name)).to.deep.equal(['Error', 'Error', 'Error', 'Error', 'TypeError']);
  });

  it('are not reported if there are none', () => {
    const reports: LostSpans[] = [];
    const losses = createLosses();
    losses.report((spanLoss) => reports.push(spanLoss));
    const memory = new InMemorySpanExporter();
    losses.counting(memory).export(spans(3), () => undefined);
    expect([memory.getFinishedSpans().length, reports]).to.deep.equal([3, []]);
  });
});
