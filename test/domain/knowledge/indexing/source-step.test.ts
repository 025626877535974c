/** Tests how a lesson or a file is indexed. */
import { expect } from 'chai';
import { readerVersion } from '../../../../domain/knowledge/indexing/indexing.policy.ts';
import { extract } from '../../../../domain/knowledge/extraction/extraction.ts';
import type { IndexingDeps } from '../../../../domain/knowledge/indexing/source-step.ts';
import { passagesOf, sourceRow, textsOf } from '../../../toolkit/assert/sources.ts';
import { book, sentences } from '../../../toolkit/builders/office-files.ts';
import { buildFileSource, buildLessonSource, type TestSource } from '../../../toolkit/builders/sources.ts';
import { changeLesson, stepSource, wantAnew, whenRead } from '../../../toolkit/drive/indexing.ts';
import { testDatabase } from '../../../toolkit/stack/database.ts';
import { testObjectStore } from '../../../toolkit/stack/storage.ts';

const ready = (passages: number) => ({ done: true, outcome: 'ready', passages });
const failed = (error: string) => ({ done: true, outcome: 'failed', error });

describe('indexing', function () {
  this.timeout(60_000);

  describe('of a lesson', () => {
    it('records the passages of the lesson with title and headings, in the club’s language', async () => {
      const source = await buildLessonSource('# Nós\nO nó é firme. Não solta.\n\n## Voltas\nA volta é simples.', 'pt');
      expect(await stepSource(source)).to.deep.equal(ready(2));
      const passages = await passagesOf(source);
      const common = {
        sourceId: source.id,
        clubId: source.clubId,
        page: null,
        fromSeconds: null,
        toSeconds: null,
        title: 'Knots for all',
        language: 'pt',
      };
      expect(passages.map(({ id: _id, ...passage }) => passage)).to.deep.equal([
        {
          ...common,
          position: 0,
          headings: ['Nós'],
          blocks: ['O nó é firme. ', 'Não solta.'],
          text: 'O nó é firme. Não solta.',
        },
        {
          ...common,
          position: 1,
          headings: ['Nós', 'Voltas'],
          blocks: ['A volta é simples.'],
          text: 'A volta é simples.',
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
        readerVersion,
      });
      expect(row.warnings).to.deep.equal([]);
      expect(row.indexedAt).to.be.instanceOf(Date);
    });

    it('records separate words for a script without blanks, but not for Latin letters', async () => {
      const source = await buildLessonSource('## 放松\n前帆。\n\n## Ropes\nMade fast.', 'pt');
      await stepSource(source);
      const rows = await (
        await testDatabase()
      ).query<{ words: unknown; search: string }[]>(
        `SELECT words, search FROM agent_passages WHERE source_id = $1 ORDER BY position`,
        [source.id],
      );
      expect(rows.map(({ words }) => words)).to.deep.equal([
        [null, '放松 放 松 放松', '前 帆 前 帆 前帆'],
        [null, null, null],
      ]);
      expect(rows[0]?.search)
        .to.include(`'前帆'`)
        .and.match(/'放松':\d+B,\d+B/);
    });

    it('makes a lesson without text ready, and records no passage', async () => {
      const source = await buildLessonSource('');
      expect(await stepSource(source)).to.deep.equal(ready(0));
      expect(await sourceRow(source)).to.include({ status: 'ready', passageCount: 0 });
    });

    it('replaces the passages of a changed lesson in one commit', async () => {
      const source = await buildLessonSource(sentences(30, 1));
      await stepSource(source);
      const before = await textsOf(source);
      expect(before.length).to.be.above(1);
      await changeLesson(source, 'Another text.');
      expect(await textsOf(source)).to.deep.equal(before);
      const during: string[][] = [];
      await stepSource(
        source,
        whenRead(async () => void during.push(await textsOf(source))),
      );
      expect(during).to.deep.equal([before]);
      expect(await textsOf(source)).to.deep.equal(['Another text.']);
      expect(await sourceRow(source)).to.include({ wantedVersion: 2, indexedVersion: 2, passageCount: 1 });
    });
  });

  describe('of a file', () => {
    it('records all passages of a file of 500 pages, and reports its progress', async () => {
      const source = await buildFileSource(await book(500));
      const beats = new Set<string>();
      const beat = (progress: string) => void beats.add(progress);
      const step = await stepSource(source, {}, { beat });
      const row = await sourceRow(source);
      expect(step).to.deep.equal({ ...ready(row.passageCount), pages: 500 });
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
      { what: 'that cannot be read', build: () => buildFileSource('%PDF-1.7 and no more'), code: 'file_corrupt' },
      { what: 'that is not in the store', build: () => buildFileSource(null), code: 'file_missing' },
      { what: 'of no bytes', build: () => buildFileSource('', { sizeBytes: 0 }), code: 'no_text' },
      { what: 'of over 100 MB', build: () => buildFileSource('x', { sizeBytes: 104_857_601 }), code: 'too_large' },
    ];
    for (const { what, build, code } of refused)
      it(`fails with ${code} and without a second try for a file ${what}`, async () => {
        const source = await build();
        expect(await stepSource(source)).to.deep.equal(failed(code));
        const row = { status: 'failed', errorCode: code, attempts: 1, looksAt: null, leaseUntil: null };
        expect(await sourceRow(source)).to.include({ ...row, indexedVersion: 0 });
      });

    it('fails with took_too_long if the reading of the file takes too long', async () => {
      const source = await buildFileSource(await book(300));
      const rules = { extractionMs: 200, maxHeapMb: 512, maxBuffersMb: 512 };
      const briefly: Partial<IndexingDeps> = { extract: (read, options) => extract(read, { ...options, rules }) };
      let step = await stepSource(source, briefly);
      // On a busy machine the thread may get too little CPU time. Then the step is tried again.
      while (!step.done) step = await stepSource(source, briefly, { now: step.at });
      expect(step).to.deep.equal(failed('took_too_long'));
    });

    it('fails with file_missing if the store has lost the file, and keeps the passages', async () => {
      const source = await buildFileSource('A bowline holds.');
      await stepSource(source);
      await (await testDatabase()).query(`UPDATE media SET object_key = NULL WHERE id = $1`, [source.mediaId]);
      await wantAnew(source);
      expect(await stepSource(source)).to.deep.equal(failed('file_missing'));
      expect(await textsOf(source)).to.deep.equal(['A bowline holds.']);
      expect(await sourceRow(source)).to.include({ wantedVersion: 2, indexedVersion: 1, passageCount: 1 });
    });

    it('omits characters that Postgres does not accept', async () => {
      const source = await buildFileSource(`${sentences(6, 1)} A k\0not h\u00adolds.`);
      expect(await stepSource(source)).to.include({ outcome: 'ready' });
      expect((await textsOf(source)).join(' ')).to.match(/ A knot holds\.$/);
    });

    it('reads the file from the store in pieces of 8 MB', async () => {
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
});
