import { expect } from 'chai';
import { requireTraceOfASignUp, startSpanReceiver, type SentSpan } from './spans.ts';

const names = [
  'POST /v1/clubs/{clubId}/classroom/sign-up',
  'middleware logged',
  'signUpStudent',
  'fact student.created',
  'start webhookDelivery',
  'attemptDelivery',
  'POST',
];
/**
 * Spans of a sign-up. Each span is the parent of the next span. The first three spans come from the API, and the others from the worker.
 */
const trace: readonly SentSpan[] = names.map((name, position) => ({
  service: position < 3 ? 'club-learning-api' : 'club-learning-worker',
  traceId: 'aa',
  spanId: `0${position + 1}`,
  parentId: position === 0 ? '' : `0${position}`,
  name,
}));

describe('startSpanReceiver', () => {
  it('reads the service, the parent and the name of each span, and stores the text', async () => {
    const field = (number: number, ...parts: (Buffer | string)[]) => {
      const bytes = Buffer.concat(parts.map((part) => Buffer.from(part as string)));
      return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
    };
    const span = (id: number, parent: Buffer[], name: string) =>
      field(
        2,
        field(1, Buffer.from([170])),
        field(2, Buffer.from([id])),
        ...parent,
        field(5, name),
        Buffer.from([48, 3]),
      );
    const resource = field(1, field(1, field(1, 'service.name'), field(2, field(1, 'club-learning-api'))));
    const spans = [span(1, [], 'outer'), span(2, [field(4, Buffer.from([1]))], 'inner')];
    const receiver = await startSpanReceiver();
    try {
      const body = new Uint8Array(field(1, resource, field(2, ...spans)));
      expect((await fetch(`${receiver.url}/v1/traces`, { method: 'POST', body })).status).to.equal(200);
      const of = { service: 'club-learning-api', traceId: 'aa' };
      expect(receiver.spans()).to.deep.equal([
        { ...of, spanId: '01', parentId: '', name: 'outer' },
        { ...of, spanId: '02', parentId: '01', name: 'inner' },
      ]);
      expect(receiver.text()).to.include('club-learning-api').and.to.include('inner');
    } finally {
      await receiver.stop();
    }
  });
});

describe('requireTraceOfASignUp', () => {
  it('finds a trace from the sign-up request to the webhook request', () => {
    expect(requireTraceOfASignUp(trace)).to.equal(7);
  });

  it('throws if a span or a process is missing in the trace', () => {
    const without = (name: string) => trace.filter((span) => span.name !== name);
    for (const name of ['POST', 'attemptDelivery', 'signUpStudent', names[0] ?? ''])
      expect(() => requireTraceOfASignUp(without(name))).to.throw('No trace connects a sign-up with the receiver');
    const ofOne = trace.map((span) => ({ ...span, service: 'club-learning-worker' }));
    expect(() => requireTraceOfASignUp(ofOne)).to.throw('not in one trace of API and worker');
  });
});
