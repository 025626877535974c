/** Tests the lease on a source. */
import { withWords } from '../../../../domain/knowledge/indexing/passage-words.policy.ts';
import { once } from 'node:events';
import { expect } from 'chai';
import { holdClaim } from '../../../../domain/knowledge/indexing/claims.ts';
import { insertPassages, recordPassages, type Indexed } from '../../../../domain/knowledge/indexing/record.ts';
import { Transaction } from '../../../../platform/infra/postgres/database.ts';
import { passagesOf, sourceRow, textsOf } from '../../../toolkit/assert/sources.ts';
import { book } from '../../../toolkit/builders/office-files.ts';
import { buildFileSource, buildLessonSource, type TestSource } from '../../../toolkit/builders/sources.ts';
import {
  alterSource,
  changeLesson,
  claimOf,
  removeSource,
  stepSource,
  wantAnew,
  whenRead,
} from '../../../toolkit/drive/indexing.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { databaseOf } from '../../../toolkit/fakes/databases.ts';
import { testDatabase, testDeps } from '../../../toolkit/stack/database.ts';
import { testObjectStore } from '../../../toolkit/stack/storage.ts';
import { LeaseLost } from '../../../../platform/engine/lease.ts';

const ready = (passages: number) => ({ done: true, outcome: 'ready', passages });

describe('the claim of a source', function () {
  this.timeout(60_000);

  it('makes other steps wait while its lease is valid', async () => {
    const source = await buildLessonSource('Text.');
    const others: unknown[] = [];
    await stepSource(
      source,
      whenRead(async () => void others.push(await stepSource(source))),
    );
    expect(others[0]).to.include({ done: false });
    expect((await sourceRow(source)).fence).to.equal(1);
  });

  it('passes to another step when the lease ends', async () => {
    const source = await buildLessonSource('Text.');
    const first = stepSource(
      source,
      whenRead(async () => {
        await alterSource(source, `lease_until = now() - interval '1 s'`);
        await (await testDatabase()).query(`UPDATE lessons SET content = 'Newer.' WHERE id = $1`, [source.lessonId]);
        expect(await stepSource(source)).to.deep.equal(ready(1));
      }),
    );
    expect(await first).to.deep.equal(ready(1));
    expect(await textsOf(source)).to.deep.equal(['Newer.']);
    expect(await sourceRow(source)).to.include({ fence: 2, attempts: 2, leaseUntil: null });
  });

  it('is renewed while the work continues', async () => {
    const source = await buildLessonSource('Text.');
    const leases: number[] = [];
    const renewed = whenRead(async () => {
      const before = (await sourceRow(source)).leaseUntil?.getTime() ?? 0;
      for (let tries = 0; tries < 200 && leases.length === 0; tries++) {
        const { leaseUntil } = await sourceRow(source);
        if (leaseUntil && leaseUntil.getTime() > before) leases.push(leaseUntil.getTime() - before);
        else await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
    await stepSource(source, renewed);
    expect(leases).to.have.length(1);
  });

  const losses: Record<string, (source: TestSource) => Promise<void>> = {
    'the source is deleted': removeSource,
    'another worker claims the source': (source) => alterSource(source, 'fence = fence + 1'),
    'the content of the source changes': wantAnew,
  };
  for (const [when, lose] of Object.entries(losses))
    it(`stops the reading at the next renewal of the lease if ${when}`, async () => {
      const source = await buildLessonSource('Text.');
      const { db } = await testDeps();
      const lease = holdClaim(db, await claimOf(source), () => {}, new AbortController().signal);
      const aborted = once(lease.signal, 'abort');
      await lose(source);
      await aborted;
      lease.release();
      expect(lease.signal.reason).to.be.instanceOf(LeaseLost);
    });

  it('records nothing if the source’s content changes during the step', async () => {
    const source = await buildLessonSource('Old.');
    const step = await stepSource(
      source,
      whenRead(() => changeLesson(source, 'New.')),
    );
    expect(step).to.include({ done: false, attempt: 1 });
    expect(await textsOf(source)).to.deep.equal([]);
    expect(await sourceRow(source)).to.include({ status: 'pending', leaseUntil: null, attempts: 0 });
    expect(await stepSource(source)).to.deep.equal(ready(1));
    expect(await textsOf(source)).to.deep.equal(['New.']);
  });

  it('keeps a source pending if its new content arrived during a fault', async () => {
    const source = await buildFileSource(null);
    const step = await stepSource(
      source,
      whenRead(() => wantAnew(source)),
    );
    expect(step).to.include({ done: false });
    expect(await sourceRow(source)).to.include({ status: 'pending', errorCode: null });
  });

  it('ends with the outcome `gone` if the source was deleted', async () => {
    const source = await buildLessonSource('Text.');
    const outcomes: string[] = [];
    const step = await stepSource(source, {
      ...whenRead(() => removeSource(source)),
      onOutcome: (outcome) => outcomes.push(outcome),
    });
    expect(step).to.deep.equal({ done: true, outcome: 'gone' });
    expect(outcomes).to.deep.equal(['gone']);
    expect(await passagesOf(source)).to.deep.equal([]);
    expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'gone' });
  });

  it('is refused for a source without remaining work', async () => {
    const source = await buildLessonSource('Text.');
    await stepSource(source);
    expect(await stepSource(source)).to.deep.equal(ready(1));
    expect((await sourceRow(source)).fence).to.equal(1);
  });

  it('is released when the worker stops, and the try does not count', async () => {
    const source = await buildFileSource(await book(300));
    const stop = new AbortController();
    const storage = {
      async read(key: string, offset: number, length: number) {
        const piece = await (await testObjectStore()).read(key, offset, length);
        setImmediate(() => stop.abort(new Error('stop'))); // the thread has begun to read the file and needs more time
        return piece;
      },
    };
    const step = stepSource(source, { storage }, { stop: stop.signal });
    expect(await step).to.include({ done: false, attempt: 1 });
    expect(await sourceRow(source)).to.include({ status: 'pending', attempts: 0, leaseUntil: null, errorCode: null });
    expect(await stepSource(source)).to.include({ outcome: 'ready', pages: 300 });
  });

  it('writes passages without blocking a change or a removal of the source', async () => {
    const source = await buildLessonSource('Old.');
    await stepSource(source);
    await wantAnew(source);
    const { db } = await testDeps();
    const claim = await claimOf(source);
    const passages = [withWords({ page: null, headings: [], blocks: ['New.'], text: 'New.', seconds: null })];
    const recording = db.source.transaction(async (tx) => {
      await insertPassages(new Transaction(tx), claim, {
        title: 'T',
        language: 'en',
        passages,
      });
      await alterSource(source, `updated_at = now()`); // uses another connection, which would wait forever for a lock
      const lock = `SELECT id FROM agent_sources WHERE id = $1 FOR UPDATE NOWAIT`;
      expect(await db.source.query(lock, [source.id])).to.deep.equal([{ id: source.id }]);
      throw new Error('enough');
    });
    expect(await recording.catch((error: Error) => error.message)).to.equal('enough');
    expect(await textsOf(source)).to.deep.equal(['Old.']);
  });

  describe('with a removal during the recording of passages', () => {
    const passages = Array.from({ length: 400 }, (_, page) =>
      withWords({ page, headings: [], blocks: ['New.'], text: 'New.', seconds: null }),
    );
    const indexed: Indexed = { title: 'T', language: 'en', pageCount: 400, warnings: [], passages, ocrDueAt: null };
    /** The text of the source must be read again. */
    const claimed = async () => {
      const source = await buildFileSource(await book(40));
      await stepSource(source);
      await wantAnew(source);
      const { db } = await testDeps();
      return { source, claim: await claimOf(source), db };
    };
    const takeAway = async (tx: Transaction, { id }: TestSource) => {
      await tx.manager.query(`SELECT FROM agent_sources WHERE id = $1 FOR UPDATE`, [id]);
      await tx.manager.query(`DELETE FROM agent_sources WHERE id = $1`, [id]);
    };

    it('is lost if the removal commits first', async () => {
      const { source, claim, db } = await claimed();
      let recording: Promise<unknown> = Promise.resolve();
      await withOpenTransaction(
        (tx) => takeAway(tx, source),
        async () => {
          recording = recordPassages(db, claim, indexed, new Date()).catch((error: unknown) => error);
          await untilWaitingForLocks(1);
        },
      );
      expect(await recording).to.be.instanceOf(LeaseLost);
      expect(await passagesOf(source)).to.deep.equal([]);
    });

    it('leaves no passage if the passages are recorded before the removal', async () => {
      const { source, claim, db } = await claimed();
      let taking: Promise<unknown> = Promise.resolve();
      await withOpenTransaction(
        (tx) => recordPassages(databaseOf(tx), claim, indexed, new Date()),
        async (tx) => {
          expect(
            await tx.manager.query(`SELECT 1 FROM agent_passages WHERE source_id = $1`, [source.id]),
          ).to.have.length(400);
          taking = db.transaction((other) => takeAway(other, source));
          await untilWaitingForLocks(1);
        },
      );
      await taking;
      expect(await passagesOf(source)).to.deep.equal([]);
    });
  });
});
