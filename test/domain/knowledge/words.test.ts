import { expect } from 'chai';
import * as fc from 'fast-check';
import { rollUpWords } from '../../../domain/knowledge/words.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps } from '../../toolkit/stack/database.ts';
import { buildPassages, buildSource } from '../../toolkit/builders/sources.ts';

async function countedWords(clubId: Id): Promise<Record<string, number>> {
  const source = await testDatabase();
  const rows = await source.query<{ word: string; passages: number }[]>(
    `SELECT word || ' ' || lexeme || ' ' || stem AS word, sum(passages)::int AS passages FROM agent_words WHERE club_id = $1
      GROUP BY 1 HAVING sum(passages) <> 0 ORDER BY 1`,
    [clubId],
  );
  return Object.fromEntries(rows.map(({ word, passages }) => [word, passages]));
}

async function rollUpAll(): Promise<void> {
  const { db } = await testDeps();
  while ((await rollUpWords(db, 100)) > 0);
}

describe('words of the material', () => {
  it('are counted once for each passage, with and without accents', async () => {
    const { id: clubId } = await buildClub({ language: 'pt' });
    await buildSource(clubId, {
      title: 'Receita',
      passages: ['Informação, informação! O pão.', { text: 'Informacoes', headings: ['Pão'] }],
    });
    expect(await countedWords(clubId)).to.deep.equal({
      'informacao inform informaca': 1,
      'informacoes informaco informaco': 1,
      'pao pã pao': 2,
      'receita receit receit': 2,
    });
  });

  it('equal a new count after any changes and rollups', async () => {
    const source = await testDatabase();
    const { db } = await testDeps();
    const text = fc
      .array(fc.constantFrom('rope', 'Ropes', 'knot', 'é', 'sail', 'a b'), { minLength: 1, maxLength: 4 })
      .map((words) => words.join(' '));
    const act = fc.oneof(
      fc.record({ kind: fc.constant('replace' as const), file: fc.nat(1), texts: fc.array(text, { maxLength: 3 }) }),
      fc.record({
        kind: fc.constant('change' as const),
        file: fc.nat(1),
        texts: fc.array(text, { minLength: 1, maxLength: 1 }),
      }),
      fc.record({ kind: fc.constant('roll up' as const), file: fc.nat(1), texts: fc.constant<string[]>([]) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 8 }), async (acts) => {
        const { id: clubId } = await buildClub();
        const files = [await buildSource(clubId, { title: 'One' }), await buildSource(clubId, { title: 'Two' })];
        for (const { kind, file, texts } of acts) {
          const sourceId = files[file]?.id ?? '';
          if (kind === 'roll up') await rollUpWords(db, 3);
          if (kind === 'change')
            await source.query(`UPDATE agent_passages SET text = $2 WHERE source_id = $1`, [sourceId, texts[0]]);
          if (kind !== 'replace') continue;
          await source.query(`DELETE FROM agent_passages WHERE source_id = $1`, [sourceId]);
          await buildPassages({ id: sourceId, clubId }, texts, 'One');
        }
        const counted = await countedWords(clubId);
        const { id: anew } = await buildClub();
        const passages = await source.query<{ title: string; text: string }[]>(
          `SELECT title, text FROM agent_passages WHERE club_id = $1`,
          [clubId],
        );
        for (const { title, text: words } of passages) await buildSource(anew, { title, passages: [words] });
        expect(counted).to.deep.equal(await countedWords(anew));
        await source.query(`DELETE FROM agent_sources WHERE club_id = $1`, [clubId]);
        expect(await countedWords(clubId)).to.deep.equal({});
      }),
      { numRuns: 25 },
    );
  });

  it('have one row each after a rollup, and no row if no passage contains them', async () => {
    const source = await testDatabase();
    const { id: clubId } = await buildClub();
    const files = [];
    for (let n = 0; n < 3; n++) files.push(await buildSource(clubId, { title: 'Rope', passages: ['rope'] }));
    await rollUpAll();
    const rows = () =>
      source.query<unknown[]>(`SELECT word, passages, folded FROM agent_words WHERE club_id = $1`, [clubId]);
    expect(await rows()).to.deep.equal([{ word: 'rope', passages: 3, folded: true }]);
    await source.query(`DELETE FROM agent_sources WHERE club_id = $1`, [clubId]);
    await rollUpAll();
    expect(await rows()).to.deep.equal([]);
  });

  it('are counted without waiting for another transaction', async () => {
    const source = await testDatabase();
    const { id: clubId } = await buildClub();
    const [one, two] = [await buildSource(clubId, { title: 'Rope' }), await buildSource(clubId, { title: 'Rope' })];
    const insert = `INSERT INTO agent_passages (id, source_id, club_id, position, title, headings, blocks, text, language)
      VALUES (gen_random_uuid(), $1, $2, 0, 'Rope', '{}', '{rope}', 'rope', 'en')`;
    await source.transaction(async (tx) => {
      await tx.query(insert, [one.id, clubId]);
      // A lock would make this statement wait forever for the open transaction.
      await source.query(insert, [two.id, clubId]);
    });
    expect(await countedWords(clubId)).to.deep.equal({ 'rope rope rope': 2 });
  });
});
