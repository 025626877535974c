/** Tests the tally of `faults callers` with planted faults. */
import { expect } from 'chai';
import { tallyCalls, type CallerRecord } from './tally.ts';

const first = { status: 201, text: '{"data":1}', isReplayed: false };
const again = { ...first, isReplayed: true };
const right: CallerRecord = { mark: 'one', answers: [first, again] };
const tallied = (record: Partial<CallerRecord>, count = 1) =>
  tallyCalls([{ ...right, ...record }], new Map([['one', count]]));

describe('tally of the proof of callers', () => {
  it('finds no fault in right answers, also if the first one was lost', () => {
    const nothing = { requests: 1, effects: 1, doubled: [], lost: [], differing: [] };
    expect(tallied({})).to.deep.equal({ ...nothing, replays: 1 });
    expect(tallied({ answers: [again, again] })).to.deep.equal({ ...nothing, replays: 2 });
  });

  it('reports a request with two effects, and a request without an effect', () => {
    expect(tallied({}, 2)).to.deep.include({ effects: 2, doubled: ['one has 2 effects'], lost: [] });
    expect(tallied({}, 0)).to.deep.include({ effects: 0, doubled: [], lost: ['one has no effect'] });
  });

  it('reports answers that differ, answers of refusal, two first answers, and a missing answer', () => {
    const answers: CallerRecord['answers'][] = [
      [first, { ...again, text: '{"data":2}' }],
      [first, { ...again, status: 200 }],
      [{ ...first, status: 409 }],
      [first, first],
      [],
    ];
    expect(answers.map((each) => tallied({ answers: each }).differing.length)).to.deep.equal([1, 1, 1, 1, 1]);
  });
});
