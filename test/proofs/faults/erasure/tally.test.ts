import { expect } from 'chai';
import { tallyErasures, type Remains, type Traces } from './tally.ts';

const club = '01900000-0000-7000-8000-00000000000c';
const student = '01900000-0000-7000-8000-0000000000a1';
const traces: Traces = { ids: new Set([club, student]), words: ['gone.example'] };

function remains(
  rows: readonly (readonly [table: string, key: string, row: Record<string, unknown>])[] = [],
  { objects = {}, runs = [] }: { objects?: Record<string, string>; runs?: string[] } = {},
): Remains {
  return {
    rows: new Map(rows.map(([table, key, row]) => [`${table} ${key}`, { table, key, row }])),
    objects: new Map(Object.entries(objects)),
    runs,
  };
}

const none = { rowsLeft: [], objectsLeft: [], runsLeft: [], othersChanged: [] };

describe('the tally of faults erasure', () => {
  it('counts nothing if all is as before, except the rows of erasures', () => {
    const before = remains([['students', 'b', { name: 'Bea' }]], { objects: { 'private media/b v1': 'e1 3' } });
    const after = remains(
      [
        ['students', 'b', { name: 'Bea' }],
        ['erasures', 'e', { club_id: club }],
      ],
      {
        objects: {
          'private media/b v1': 'e1 3',
          [`private erasures/2026-11-29/club-${club} v1`]: 'e 0',
        },
        runs: ['relay'],
      },
    );
    expect(tallyErasures(before, after, traces)).to.deep.equal(none);
  });

  it('counts a new row, even if the row has no id of an erased club', () =>
    expect(tallyErasures(remains(), remains([['wakes', 'w', { seq: 1 }]]), traces).rowsLeft).to.deep.equal([
      'row left: wakes w',
    ]));

  it('counts the id of an erased student in any column of any table', () => {
    const row = { answer: { people: [student] } };
    expect(tallyErasures(remains(), remains([['administrators', 'a', row]]), traces).rowsLeft).to.deep.equal([
      `row left: administrators a has ${student} in answer`,
    ]);
  });

  it('counts an address of an erased student in bytes', () => {
    const body = `\\x${Buffer.from('to stella@Gone.example').toString('hex')}`;
    expect(tallyErasures(remains(), remains([['releases', 'r', { body }]]), traces).rowsLeft).to.deep.equal([
      'row left: releases r has gone.example in body',
    ]);
  });

  it('ignores a new account and a new count of requests', () => {
    const after = remains([
      ['administrators', 'a', {}],
      ['rate_limit_counters', 'c', {}],
    ]);
    expect(tallyErasures(remains(), after, traces)).to.deep.equal(none);
  });

  it('counts versions, delete markers and unfinished uploads that remain', () => {
    const objects = {
      [`private media/${club}/f v1`]: 'delete marker',
      [`public public/${club}/u 7`]: 'unfinished upload',
    };
    expect(tallyErasures(remains(), remains([], { objects }), traces).objectsLeft).to.have.length(2);
  });

  it('counts a running workflow of an erased student, and no other', () => {
    const runs = [`webhook-delivery/${student}`, 'retention'];
    expect(tallyErasures(remains(), remains([], { runs }), traces).runsLeft).to.deep.equal([
      `run left: webhook-delivery/${student}`,
    ]);
  });

  it('counts a changed and a deleted row of others, with the changed columns', () => {
    const before = remains([
      ['students', 'b', { name: 'Bea', points: 1 }],
      ['tags', 't', {}],
    ]);
    const after = remains([['students', 'b', { name: 'Bea', points: 2 }]]);
    expect(tallyErasures(before, after, traces).othersChanged).to.deep.equal([
      'other changed: students b: points',
      'other changed: tags t is gone',
    ]);
  });

  it('counts a changed and a deleted object of others', () => {
    const before = remains([], { objects: { 'private media/a v1': 'e1 3', 'private media/b v1': 'e2 3' } });
    const after = remains([], { objects: { 'private media/a v1': 'e9 3' } });
    expect(tallyErasures(before, after, traces).othersChanged).to.deep.equal([
      'other changed: private media/a v1 was e1 3 and is e9 3',
      'other changed: private media/b v1 was e2 3 and is gone',
    ]);
  });

  it('ignores the time at which an API key was last used', () => {
    const [before, after] = ['2026-01-01', '2026-01-02'].map((at) =>
      remains([['api_keys', 'k', { last_used_at: at }]]),
    );
    expect(tallyErasures(before as Remains, after as Remains, traces)).to.deep.equal(none);
  });
});
