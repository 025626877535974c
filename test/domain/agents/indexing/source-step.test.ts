import { ClaimLost, claimSource, holdClaim } from '../../../../domain/agents/indexing/claims.ts';
import { mostAttempts, waitAfter } from '../../../../domain/agents/indexing/indexing.policy.ts';
import { insertPassages, recordPassages, type Indexed } from '../../../../domain/agents/indexing/record.ts';
import type { IndexingPlatform } from '../../../../domain/agents/indexing/source-step.ts';
import { inTransaction, type Transaction } from '../../../../domain/core/database.ts';
import { rescueOverdue } from '../../../../domain/facts/upkeep.ts';
import { passagesOf, sourceRow, textsOf } from '../../../toolkit/assert/sources.ts';
import { book, sentences } from '../../../toolkit/builders/office-files.ts';
import { buildFileSource, buildLessonSource, type TestSource } from '../../../toolkit/builders/sources.ts';
import { changeLesson, stepSource, wantAnew } from '../../../toolkit/drive/indexing.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../../../toolkit/drive/races.ts';
import { databaseOf } from '../../../toolkit/fakes/databases.ts';
import { testDatabase, testPlatform } from '../../../toolkit/stack/database.ts';
import { testObjectStore } from '../../../toolkit/stack/storage.ts';
import { expect } from 'chai';
import { once } from 'node:events';

const second = 1_000;

describe('indexing a source', function () {
  this.timeout(60 * second);

  const at = (name: string, work: () => Promise<void>): Partial<IndexingPlatform> => ({
    async failpoint(place) {
      if (place === name) await work();
    },
  });
  const alter = async ({ id }: TestSource, changes: string) =>
    (await testDatabase()).query(`UPDATE agent_sources SET ${changes} WHERE id = $1`, [id]);
  const remove = async ({ id }: TestSource) =>
    (await testDatabase()).query(`DELETE FROM agent_sources WHERE id = $1`, [id]);

  describe('a lesson', () => {
    it('its passages stand under its title and headings, in the club’s language', async () => {
      const source = await buildLessonSource('# Nós\nO nó é firme. Não solta.\n\n## Voltas\nA volta é simples.', 'pt');
      expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'ready', passages: 2 });
      const passages = await passagesOf(source);
      expect(passages.map(({ id: _id, ...passage }) => passage)).to.deep.equal([
        {
          sourceId: source.id,
          clubId: source.clubId,
          position: 0,
          page: null,
          title: 'Knots for all',
          headings: ['Nós'],
          blocks: ['O nó é firme. ', 'Não solta.'],
          text: 'O nó é firme. Não solta.',
          language: 'pt',
        },
        {
          sourceId: source.id,
          clubId: source.clubId,
          position: 1,
          page: null,
          title: 'Knots for all',
          headings: ['Nós', 'Voltas'],
          blocks: ['A volta é simples.'],
          text: 'A volta é simples.',
          language: 'pt',
        },
      ]);
      const row = await sourceRow(source);
      expect(row).to.include({
        status: 'ready',
        errorCode: null,
        wantedVersion: 1,
        indexedVersion: 1,
        attempts: 1,
        fence: 1,
        leaseUntil: null,
        looksAt: null,
        pageCount: null,
        passageCount: 2,
      });
      expect(row.indexedAt).to.be.instanceOf(Date);
    });

    it('one without text is ready, and has no passages', async () => {
      const source = await buildLessonSource('');
      expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'ready', passages: 0 });
      expect(await sourceRow(source)).to.include({ status: 'ready', passageCount: 0 });
    });

    it('a changed one replaces its passages; until then the old ones stand', async () => {
      const source = await buildLessonSource(sentences(30, 1));
      await stepSource(source);
      const before = await textsOf(source);
      expect(before.length).to.be.above(1);
      await changeLesson(source, 'Another text.');
      expect(await textsOf(source)).to.deep.equal(before);
      const during: string[][] = [];
      await stepSource(
        source,
        at('source_read', async () => void during.push(await textsOf(source))),
      );
      expect(during).to.deep.equal([before]);
      expect(await textsOf(source)).to.deep.equal(['Another text.']);
      expect(await sourceRow(source)).to.include({ wantedVersion: 2, indexedVersion: 2, passageCount: 1 });
    });
  });

  describe('a file', () => {
    it('of 500 pages is indexed whole, and says how far it is', async () => {
      const source = await buildFileSource(await book(500));
      const beats = new Set<string>();
      const beat = (progress: string) => void beats.add(progress);
      const step = await stepSource(source, {}, { beat });
      const row = await sourceRow(source);
      expect(step).to.deep.equal({ done: true, outcome: 'ready', pages: 500, passages: row.passageCount });
      expect(row).to.include({ status: 'ready', pageCount: 500 });
      const passages = await passagesOf(source);
      expect(passages.length).to.equal(row.passageCount);
      expect(passages.map(({ position }) => position)).to.deep.equal(passages.map((_, place) => place));
      expect(new Set(passages.map(({ page }) => page)).size).to.equal(500);
      expect(passages.find(({ page }) => page === 317)?.text).to.match(/^This is the 317th page of the book\./);
      expect([...beats][0]).to.equal('about to read');
      for (const words of beats)
        expect(words).to.match(/^(about to read|reading|page \d+ of 500|writing \d+ passages)$/);
    });

    const refused: { what: string; build: () => Promise<TestSource>; code: string }[] = [
      { what: 'one that cannot be read', build: () => buildFileSource('%PDF-1.7 and no more'), code: 'file_corrupt' },
      { what: 'one that is not in the store', build: () => buildFileSource(null), code: 'file_missing' },
      { what: 'one of no bytes', build: () => buildFileSource('', { sizeBytes: 0 }), code: 'no_text' },
      {
        what: 'one of more than 100 MB',
        build: () => buildFileSource('x', { sizeBytes: 104_857_601 }),
        code: 'too_large',
      },
    ];
    for (const { what, build, code } of refused) {
      it(`${what}: failed at once, with ${code}`, async () => {
        const source = await build();
        expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'failed', error: code });
        expect(await sourceRow(source)).to.include({
          status: 'failed',
          errorCode: code,
          attempts: 1,
          looksAt: null,
          leaseUntil: null,
          indexedVersion: 0,
        });
      });
    }

    it('one that was erased from the store: file_missing, and what was indexed of it stays', async () => {
      const source = await buildFileSource('A bowline holds.');
      await stepSource(source);
      await (await testDatabase()).query(`UPDATE media SET object_key = NULL WHERE id = $1`, [source.mediaId]);
      await wantAnew(source);
      expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'failed', error: 'file_missing' });
      expect(await textsOf(source)).to.deep.equal(['A bowline holds.']);
      expect(await sourceRow(source)).to.include({ wantedVersion: 2, indexedVersion: 1, passageCount: 1 });
    });

    it('what Postgres does not take of a text is left out', async () => {
      const source = await buildFileSource(`${sentences(6, 1)} A k\0not h\u00adolds.`);
      expect(await stepSource(source)).to.include({ outcome: 'ready' });
      expect((await textsOf(source)).join(' ')).to.match(/ A knot holds\.$/);
    });

    it('one that takes longer than it may: took_too_long', async () => {
      const source = await buildFileSource(await book(300));
      const rules = { extractionMs: 200, mostHeapMb: 512, mostBuffersMb: 512 };
      expect(await stepSource(source, { rules })).to.deep.equal({
        done: true,
        outcome: 'failed',
        error: 'took_too_long',
      });
    });
  });

  it('passages are written without holding up those who change the source or take it away', async () => {
    const source = await buildLessonSource('Old.');
    await stepSource(source);
    await wantAnew(source);
    const { database } = await testPlatform();
    const claim = await claimSource(database, source.id, Date.now());
    if (!claim) throw new Error('It was not claimed.');
    const passages = [{ page: null, headings: [], blocks: ['New.'], text: 'New.' }];
    const recording = database.source.transaction(async (tx) => {
      await insertPassages(tx, claim, { title: 'T', language: 'en', pageCount: null, passages });
      await alter(source, `updated_at = now()`); // by another connection: it would wait for ever
      const lock = `SELECT id FROM agent_sources WHERE id = $1 FOR UPDATE NOWAIT`;
      expect(await database.source.query(lock, [source.id])).to.deep.equal([{ id: source.id }]);
      throw new Error('enough');
    });
    expect(await recording.catch((error: Error) => error.message)).to.equal('enough');
    expect(await textsOf(source)).to.deep.equal(['Old.']);
  });

  describe('a source that is taken away while its passages are replaced', () => {
    const passages = Array.from({ length: 400 }, (_, page) => ({ page, headings: [], blocks: ['New.'], text: 'New.' }));
    const indexed: Indexed = { title: 'T', language: 'en', pageCount: 400, passages };
    /** A source of 40 pages whose text is wanted anew, claimed. */
    const claimed = async () => {
      const source = await buildFileSource(await book(40));
      await stepSource(source);
      await wantAnew(source);
      const { database } = await testPlatform();
      const claim = await claimSource(database, source.id, Date.now());
      if (!claim) throw new Error('It was not claimed.');
      return { source, claim, database };
    };
    const takeAway = async (tx: Transaction, { id }: TestSource) => {
      await tx.query(`SELECT FROM agent_sources WHERE id = $1 FOR UPDATE`, [id]);
      await tx.query(`DELETE FROM agent_sources WHERE id = $1`, [id]);
    };

    it('is gone with them where it is taken away first; what records them loses its claim', async () => {
      const { source, claim, database } = await claimed();
      let recording: Promise<unknown> = Promise.resolve();
      await withOpenTransaction(
        (tx) => takeAway(tx, source),
        async () => {
          recording = recordPassages(database, claim, indexed, new Date()).catch((error: unknown) => error);
          await untilWaitingForLocks(1);
        },
      );
      expect(await recording).to.be.instanceOf(ClaimLost);
      expect(await passagesOf(source)).to.deep.equal([]);
    });

    it('is gone with them where they are recorded first', async () => {
      const { source, claim, database } = await claimed();
      let taking: Promise<unknown> = Promise.resolve();
      await withOpenTransaction(
        (tx) => recordPassages(databaseOf(tx), claim, indexed, new Date()),
        async (tx) => {
          expect(await tx.query(`SELECT 1 FROM agent_passages WHERE source_id = $1`, [source.id])).to.have.length(400);
          taking = inTransaction(database, (other) => takeAway(other, source));
          await untilWaitingForLocks(1);
        },
      );
      await taking;
      expect(await passagesOf(source)).to.deep.equal([]);
    });
  });

  describe('whose claim it is', () => {
    it('a claimed source is not claimed again while its lease runs', async () => {
      const source = await buildLessonSource('Text.');
      const others: unknown[] = [];
      await stepSource(
        source,
        at('source_read', async () => void others.push(await stepSource(source))),
      );
      const [other] = others;
      expect(other).to.include({ done: false });
      expect((await sourceRow(source)).fence).to.equal(1);
    });

    it('one whose lease ran out is claimed by another; the first then records nothing', async () => {
      const source = await buildLessonSource('Text.');
      const first = stepSource(
        source,
        at('source_read', async () => {
          await alter(source, `lease_until = now() - interval '1 s'`);
          await (await testDatabase()).query(`UPDATE lessons SET content = 'Newer.' WHERE id = $1`, [source.lessonId]);
          expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'ready', passages: 1 });
        }),
      );
      expect(await first).to.deep.equal({ done: true, outcome: 'ready', passages: 1 });
      expect(await textsOf(source)).to.deep.equal(['Newer.']);
      expect(await sourceRow(source)).to.include({ fence: 2, attempts: 2, leaseUntil: null });
    });

    it('a lease is renewed while the work goes on', async () => {
      const source = await buildLessonSource('Text.');
      const leases: number[] = [];
      await stepSource(
        source,
        at('source_read', async () => {
          const before = (await sourceRow(source)).leaseUntil?.getTime() ?? 0;
          for (let tries = 0; tries < 200; tries++) {
            const { leaseUntil } = await sourceRow(source);
            if (leaseUntil && leaseUntil.getTime() > before) {
              leases.push(leaseUntil.getTime() - before);
              return;
            }
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        }),
      );
      expect(leases).to.have.length(1);
    });

    const losses: { how: string; lose: (source: TestSource) => Promise<unknown> }[] = [
      { how: 'the source is deleted', lose: remove },
      { how: 'somebody else has claimed it', lose: (source) => alter(source, 'fence = fence + 1') },
      { how: 'other content is wanted', lose: wantAnew },
    ];
    for (const { how, lose } of losses) {
      it(`${how}: whoever reads it hears of it at the next renewal, and stops`, async () => {
        const source = await buildLessonSource('Text.');
        const { database } = await testPlatform();
        const claim = await claimSource(database, source.id, Date.now());
        if (!claim) throw new Error('It was not claimed.');
        const held = holdClaim(database, claim, () => {}, new AbortController().signal);
        const aborted = once(held.signal, 'abort');
        await lose(source);
        await aborted;
        held.letGo();
        expect(held.signal.reason).to.be.instanceOf(ClaimLost);
      });
    }

    it('other content is wanted meanwhile: nothing is recorded, and it is to be looked at again at once', async () => {
      const source = await buildLessonSource('Old.');
      const step = await stepSource(
        source,
        at('source_read', () => changeLesson(source, 'New.')),
      );
      expect(step).to.include({ done: false, attempt: 1 });
      expect(await textsOf(source)).to.deep.equal([]);
      expect(await sourceRow(source)).to.include({ status: 'pending', leaseUntil: null, attempts: 0 });
      expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'ready', passages: 1 });
      expect(await textsOf(source)).to.deep.equal(['New.']);
    });

    it('other content is wanted before it fails: it is not the new content that has failed', async () => {
      const source = await buildFileSource(null);
      const step = await stepSource(
        source,
        at('source_read', () => wantAnew(source)),
      );
      expect(step).to.include({ done: false });
      expect(await sourceRow(source)).to.include({ status: 'pending', errorCode: null });
    });

    it('a source that is deleted meanwhile, or was before, is gone, and so are its passages', async () => {
      const source = await buildLessonSource('Text.');
      const outcomes: string[] = [];
      const step = await stepSource(source, {
        ...at('source_read', () => remove(source)),
        onOutcome: (outcome) => outcomes.push(outcome),
      });
      expect(step).to.deep.equal({ done: true, outcome: 'gone' });
      expect(outcomes).to.deep.equal(['gone']);
      expect(await passagesOf(source)).to.deep.equal([]);
      expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'gone' });
    });

    it('a source with nothing left to do is not claimed', async () => {
      const source = await buildLessonSource('Text.');
      await stepSource(source);
      expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'ready', passages: 1 });
      expect((await sourceRow(source)).fence).to.equal(1);
    });

    it('told to stop, it gives the source back: at once to be had, and no attempt the poorer', async () => {
      const source = await buildFileSource(await book(300));
      const stop = new AbortController();
      const storage = {
        async read(key: string, offset: number, length: number) {
          const piece = await (await testObjectStore()).read(key, offset, length);
          setImmediate(() => stop.abort(new Error('stop'))); // the thread that reads it out has begun, and needs longer
          return piece;
        },
      };
      const step = stepSource(source, { storage }, { stop: stop.signal });
      expect(await step).to.include({ done: false, attempt: 1 });
      expect(await sourceRow(source)).to.include({ status: 'pending', attempts: 0, leaseUntil: null, errorCode: null });
      expect(await stepSource(source)).to.include({ outcome: 'ready', pages: 300 });
    });
  });

  describe('faults of ours', () => {
    const store = { read: () => Promise.reject(new Error('a fault of ours')) };

    it('each is told, and tried again after a growing wait; after the last it has failed', async () => {
      const source = await buildFileSource('Text.');
      const faults: unknown[] = [];
      let now = Date.now();
      const waits: number[] = [];
      for (let attempt = 1; attempt < mostAttempts; attempt++) {
        const step = await stepSource(source, { storage: store, onFault: (error) => faults.push(error) }, { now });
        if (step.done) throw new Error('It was given up.');
        expect(step.attempt).to.equal(attempt + 1);
        expect(await sourceRow(source)).to.include({
          status: 'pending',
          errorCode: null,
          attempts: attempt,
          leaseUntil: null,
        });
        expect(await stepSource(source, {}, { now: step.at - 1 }), 'not before it is due').to.deep.equal(step);
        waits.push(step.at - now);
        now = step.at;
      }
      expect(waits).to.deep.equal([5, 30, 120, 600, 1_800, 3_600].map((seconds) => seconds * second));
      expect(await stepSource(source, { storage: store }, { now })).to.deep.equal({
        done: true,
        outcome: 'failed',
        error: 'indexing_failed',
      });
      expect(faults).to.have.length(mostAttempts - 1);
    });

    it('a fault that passes is forgotten', async () => {
      const source = await buildFileSource('Text.');
      const step = await stepSource(source, { storage: store });
      if (step.done) throw new Error('It was given up.');
      expect(await stepSource(source, {}, { now: step.at })).to.deep.equal({
        done: true,
        outcome: 'ready',
        passages: 1,
      });
      expect(await sourceRow(source)).to.include({ status: 'ready', errorCode: null });
    });

    it('of one that failed, indexing by hand begins anew', async () => {
      const source = await buildFileSource('Text.');
      await alter(
        source,
        `status = 'failed', error_code = 'indexing_failed', attempts = ${mostAttempts}, looks_at = NULL`,
      );
      await wantAnew(source);
      expect(await stepSource(source, { storage: store })).to.include({ done: false, attempt: 2 });
    });

    it('one that each worker has died of has failed', async () => {
      const source = await buildFileSource('Text.');
      await alter(source, `status = 'indexing', attempts = ${mostAttempts}, lease_until = now() - interval '1 s'`);
      expect(await stepSource(source)).to.deep.equal({ done: true, outcome: 'failed', error: 'indexing_failed' });
    });

    it('the sweeper wakes what is overdue, unless somebody is at work on it', async () => {
      const [overdue, leased, waiting, done] = await Promise.all([1, 2, 3, 4].map(() => buildLessonSource('Text.')));
      if (!overdue || !leased || !waiting || !done) throw new Error('They were not built.');
      for (const source of [overdue, leased]) await alter(source, `looks_at = now() - interval '121 s'`);
      await alter(leased, `lease_until = now() + interval '1 min'`);
      await alter(done, `status = 'ready', looks_at = NULL`);
      const { database } = await testPlatform();
      await rescueOverdue(database, new Date());
      const woken = await database.source.query<{ id: string }[]>(
        `SELECT subject_id AS id FROM wakes WHERE workflow_type = 'sourceIndex' AND subject_id = ANY ($1)`,
        [[overdue.id, leased.id, waiting.id, done.id]],
      );
      expect(woken).to.deep.equal([{ id: overdue.id }]);
    });

    it('there are waits for all attempts but the last', () => {
      expect([waitAfter(1), waitAfter(mostAttempts - 1), waitAfter(mostAttempts)]).to.deep.equal([
        5_000,
        3_600_000,
        undefined,
      ]);
    });
  });

  it('the store is read in pieces', async () => {
    const text = `<html><!-- ${'x'.repeat(9_000_000)} --><p>At the very end.</p></html>`;
    const source = await buildFileSource(text);
    const pieces: [number, number][] = [];
    const storage = {
      async read(key: string, offset: number, length: number) {
        pieces.push([offset, length]);
        return (await testObjectStore()).read(key, offset, length);
      },
    };
    await stepSource(source, { storage });
    expect(pieces).to.deep.equal([
      [0, 8_388_608],
      [8_388_608, text.length - 8_388_608],
    ]);
    expect(await textsOf(source)).to.deep.equal(['At the very end.']);
  });
});
