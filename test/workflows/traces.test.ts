import { expect } from 'chai';
import { traceHeader } from '../../platform/core/traces.policy.ts';
import { interceptors } from '../../workflows/traces.ts';

const cause = (text: string) => ({ [traceHeader]: { data: new TextEncoder().encode(text) } });
const other = { other: { data: new Uint8Array() } };

/** A run with these interceptors. @returns what happens to its inputs */
function run() {
  const { inbound: [inbound] = [], outbound: [outbound] = [] } = interceptors();
  const given = (call: (input: never, next: never) => unknown) => (headers: object) => {
    const input = { headers };
    let passed: typeof input | undefined;
    const next = (got: typeof input) => {
      passed = got;
      return 'answer';
    };
    const answer = call(input as never, next as never);
    return { answer, isSame: passed === input, headers: passed?.headers };
  };
  const wrong = () => expect.fail('There is no such interceptor');
  return {
    execute: given(inbound?.execute ?? wrong),
    signal: given(inbound?.handleSignal ?? wrong),
    activity: given(outbound?.scheduleActivity ?? wrong),
    localActivity: given(outbound?.scheduleLocalActivity ?? wrong),
    continueAsNew: given(outbound?.continueAsNew ?? wrong),
  };
}

describe('the trace of a run', () => {
  it('goes from its start to activities, local ones, and the run that continues it, beside other headers', () => {
    const { execute, ...others } = run();
    expect(execute(cause('start'))).to.deep.equal({ answer: 'answer', isSame: true, headers: cause('start') });
    for (const schedule of [others.activity, others.localActivity, others.continueAsNew])
      expect(schedule(other).headers).to.deep.equal({ ...other, ...cause('start') });
  });

  it('is that of the last signal which has one', () => {
    const { execute, signal, activity } = run();
    execute(cause('start'));
    signal(cause('signal'));
    signal({});
    expect(activity({}).headers).to.deep.equal(cause('signal'));
  });

  it('is its own: another run of the worker has none, and its inputs stay as they are', () => {
    run().execute(cause('start'));
    const { execute, signal, activity, continueAsNew } = run();
    for (const call of [execute, signal, activity, continueAsNew])
      expect(call(other)).to.deep.equal({ answer: 'answer', isSame: true, headers: other });
  });
});
