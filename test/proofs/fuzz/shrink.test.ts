import { expect } from 'chai';
import { isRequest, type RequestStep, type Step } from './requests/step.ts';
import { stepsNeeded } from './shrink.ts';

const request = (name: string, id: string, more: Partial<RequestStep> = {}): RequestStep => ({
  name,
  operation: 'getCourse',
  caller: 'owner',
  path: { courseId: id },
  ...more,
});

const namesOf = (steps: readonly Step[]) => steps.filter(isRequest).map(({ name }) => name);

describe('test/proofs/fuzz/shrink', () => {
  it('returns the last step and all steps that it needs', () => {
    const steps: Step[] = [
      request('s1', '{{own.course}}'),
      request('s2', '{{s1/data/id}}'),
      { advance: 61 },
      request('s3', '{{own.course}}'),
      request('s4', '{{upper:s2/data/id}}'),
    ];
    expect(namesOf(stepsNeeded(steps))).to.deep.equal(['s1', 's2', 's4']);
    expect(stepsNeeded(steps)).to.have.length(3);
  });

  it('returns a step if its concurrent request gets the needed answer', () => {
    const beside = request('s1b', '{{own.course}}');
    const steps = [request('s1', '{{own.course}}', { beside }), request('s2', '{{s1b/data/id}}')];
    expect(namesOf(stepsNeeded(steps))).to.deep.equal(['s1', 's2']);
  });
});
