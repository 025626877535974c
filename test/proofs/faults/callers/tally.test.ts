/** Tests that the final check of `faults callers` finds deliberate errors. */
import { expect } from 'chai';
import { tallyCalls, type CallerRecord } from './tally.ts';

const first = { status: 201, text: '{"data":1}', isReplayed: false };
const again = { ...first, isReplayed: true };
const right: CallerRecord = { mark: 'mark-1', answers: [first, again] };
const tallied = (record: Partial<CallerRecord>, count = 1) =>
  tallyCalls([{ ...right, ...record }], new Map([['mark-1', count]]));

describe('the final check of the callers proof', () => {
  it('accepts correct answers, even if the first answer was lost', () => {
    const nothing = { requests: 1, effects: 1, doubledEffects: [], lostEffects: [], differingReplays: [] };
    expect(tallied({})).to.deep.equal({ ...nothing, replays: 1 });
    expect(tallied({ answers: [again, again] })).to.deep.equal({ ...nothing, replays: 2 });
  });

  it('reports a request with two effects, and a request without an effect', () => {
    expect(tallied({}, 2)).to.deep.include({ effects: 2, doubledEffects: ['mark-1 has 2 effects'], lostEffects: [] });
    expect(tallied({}, 0)).to.deep.include({ effects: 0, doubledEffects: [], lostEffects: ['mark-1 has no effect'] });
  });

  it('reports different answers, refusals, two first answers, and a missing answer', () => {
    const answers: CallerRecord['answers'][] = [
      [first, { ...again, text: '{"data":2}' }],
      [first, { ...again, status: 200 }],
      [{ ...first, status: 409 }],
      [first, first],
      [],
    ];
    expect(answers.map((each) => tallied({ answers: each }).differingReplays.length)).to.deep.equal([1, 1, 1, 1, 1]);
  });
});
