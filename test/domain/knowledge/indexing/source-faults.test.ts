/** Tests internal errors while a source is indexed. */
import { expect } from 'chai';
import { maxAttempts, waitAfter } from '../../../../domain/knowledge/indexing/indexing.policy.ts';
import { rescueOverdue } from '../../../../platform/engine/sweeper.ts';
import { sourceRow } from '../../../toolkit/assert/sources.ts';
import { buildFileSource, buildLessonSource } from '../../../toolkit/builders/sources.ts';
import { alterSource, stepSource, wantAnew } from '../../../toolkit/drive/indexing.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const storage = { read: () => Promise.reject(new Error('an internal error of the test')) };
const indexingFailed = { done: true, outcome: 'failed', error: 'indexing_failed' };

describe('a source whose indexing meets an internal error', function () {
  this.timeout(60_000);

  it('is tried again after 5 s, 30 s, 2, 10, 30 and 60 min, and then fails with indexing_failed', async () => {
    const source = await buildFileSource('Text.');
    const faults: unknown[] = [];
    const waits: number[] = [];
    let now = Date.now();
    for (let attempt = 1; attempt < maxAttempts; attempt++) {
      const step = await stepSource(source, { storage, onFault: (error) => faults.push(error) }, { now });
      if (step.done) throw new Error('It was given up.');
      expect(step.attempt).to.equal(attempt + 1);
      const waiting = { status: 'pending', errorCode: null, attempts: attempt, leaseUntil: null };
      expect(await sourceRow(source)).to.include(waiting);
      expect(
        await stepSource(source, {}, { now: step.at - 1 }),
        'the source is not claimed before it is due',
      ).to.deep.equal(step);
      waits.push(step.at - now);
      now = step.at;
    }
    expect(waits).to.deep.equal([5, 30, 120, 600, 1_800, 3_600].map((seconds) => seconds * 1_000));
    expect(await stepSource(source, { storage }, { now })).to.deep.equal(indexingFailed);
    expect(faults).to.have.length(maxAttempts - 1);
  });

  it('waits before every try except the first', () => {
    const waits = [waitAfter(1), waitAfter(maxAttempts - 1), waitAfter(maxAttempts)];
    expect(waits).to.deep.equal([5_000, 3_600_000, undefined]);
  });

  it('becomes ready without an error code when the error is gone', async () => {
    const source = await buildFileSource('Text.');
    const step = await stepSource(source, { storage });
    if (step.done) throw new Error('It was given up.');
    const ready = { done: true, outcome: 'ready', passages: 1 };
    expect(await stepSource(source, {}, { now: step.at })).to.deep.equal(ready);
    expect(await sourceRow(source)).to.include({ status: 'ready', errorCode: null });
  });

  it('begins again with the first try if a person restarts the indexing', async () => {
    const source = await buildFileSource('Text.');
    const failed = `status = 'failed', error_code = 'indexing_failed', attempts = ${maxAttempts}, looks_at = NULL`;
    await alterSource(source, failed);
    await wantAnew(source);
    expect(await stepSource(source, { storage })).to.include({ done: false, attempt: 2 });
  });

  it('fails if every worker dies while it indexes the source', async () => {
    const source = await buildFileSource('Text.');
    await alterSource(source, `status = 'indexing', attempts = ${maxAttempts}, lease_until = now() - interval '1 s'`);
    expect(await stepSource(source)).to.deep.equal(indexingFailed);
  });

  it('is woken by the sweeper when its next try is overdue', async () => {
    const [overdue, leased, waiting, ready] = await Promise.all([1, 2, 3, 4].map(() => buildLessonSource('Text.')));
    if (!overdue || !leased || !waiting || !ready) throw new Error('The sources were not built.');
    for (const source of [overdue, leased]) await alterSource(source, `looks_at = now() - interval '121 s'`);
    await alterSource(leased, `lease_until = now() + interval '1 min'`);
    await alterSource(ready, `status = 'ready', looks_at = NULL`);
    const { db } = await testDeps();
    await rescueOverdue(db, new Date());
    const woken = await db.source.query<{ id: string }[]>(
      `SELECT subject_id AS id FROM wakes WHERE workflow_type = 'sourceIndex' AND subject_id = ANY ($1)`,
      [[overdue.id, leased.id, waiting.id, ready.id]],
    );
    expect(woken).to.deep.equal([{ id: overdue.id }]);
  });
});
