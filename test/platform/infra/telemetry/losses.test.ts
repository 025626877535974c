import { expect } from 'chai';
import { InMemorySpanExporter, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace';
import { createLosses } from '../../../../platform/infra/telemetry/losses.ts';
import type { LostSpans } from '../../../../platform/infra/tracing.ts';

describe('spans that their receiver does not take', () => {
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

  it('are counted, and told once a minute with the code of the error', () => {
    let now = 0;
    const told: LostSpans[] = [];
    const losses = createLosses(() => now);
    const answers: (Error | undefined)[] = [];
    const lose = (count: number, error: Error) =>
      losses.counting(failing(error)).export(spans(count), (result) => answers.push(result.error));
    lose(1, refused);
    expect(told, 'nobody listens yet').to.deep.equal([]);
    losses.report((lost) => told.push(lost));
    lose(2, refused);
    lose(4, refused);
    now = 59_999;
    lose(8, refused);
    expect(told).to.deep.equal([{ spans: 3, code: '401' }]);
    now = 60_000;
    lose(16, new TypeError('of mary@example.com'));
    expect(told.slice(1)).to.deep.equal([{ spans: 28, code: 'TypeError' }]);
    expect(answers.map((error) => error?.name)).to.deep.equal(['Error', 'Error', 'Error', 'Error', 'TypeError']);
  });

  it('are none if it accepts them', () => {
    const told: LostSpans[] = [];
    const losses = createLosses();
    losses.report((lost) => told.push(lost));
    const memory = new InMemorySpanExporter();
    losses.counting(memory).export(spans(3), () => undefined);
    expect([memory.getFinishedSpans().length, told]).to.deep.equal([3, []]);
  });
});
