import { expect } from 'chai';
import { traceHeader } from '../../platform/core/traces.policy.ts';
import { interceptors } from '../../workflows/traces.ts';

const cause = (text: string) => ({ [traceHeader]: { data: new TextEncoder().encode(text) } });
const other = { other: { data: new Uint8Array() } };

/** Returns, for each interceptor of a run, a function that passes headers through it. */
function run() {
  const { inbound: [inbound] = [], outbound: [outbound] = [] } = interceptors();
  const passThrough = (call: (input: never, next: never) => unknown) => (headers: object) => {
    const input = { headers };
    let passed: typeof input | undefined;
    const next = (nextInput: typeof input) => {
      passed = nextInput;
      return 'answer';
    };
    const answer = call(input as never, next as never);
    return { answer, isSame: passed === input, headers: passed?.headers };
  };
  const wrong = () => expect.fail('The interceptor does not exist');
  return {
    execute: passThrough(inbound?.execute ?? wrong),
    signal: passThrough(inbound?.handleSignal ?? wrong),
    activity: passThrough(outbound?.scheduleActivity ?? wrong),
    localActivity: passThrough(outbound?.scheduleLocalActivity ?? wrong),
    continueAsNew: passThrough(outbound?.continueAsNew ?? wrong),
  };
}

describe('the trace of a workflow run', () => {
  it('is passed from the start to activities, local activities and the next run', () => {
    const { execute, ...others } = run();
    expect(execute(cause('start'))).to.deep.equal({ answer: 'answer', isSame: true, headers: cause('start') });
    for (const schedule of [others.activity, others.localActivity, others.continueAsNew])
      expect(schedule(other).headers).to.deep.equal({ ...other, ...cause('start') });
  });

  it('is replaced by the trace of each signal that carries a trace', () => {
    const { execute, signal, activity } = run();
    execute(cause('start'));
    signal(cause('signal'));
    signal({});
    expect(activity({}).headers).to.deep.equal(cause('signal'));
  });

  it('is not passed to a different run on the same worker', () => {
    run().execute(cause('start'));
    const { execute, signal, activity, continueAsNew } = run();
    for (const call of [execute, signal, activity, continueAsNew])
      expect(call(other)).to.deep.equal({ answer: 'answer', isSame: true, headers: other });
  });
});
