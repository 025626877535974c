import { expect } from 'chai';
import fc from 'fast-check';
import { foldOldNames, nameMatches } from '../../../../../platform/infra/postgres/lists/folded-names.ts';
import { listStudents } from '../../../../../domain/identity/students.ts';
import { newId, type Id } from '../../../../../platform/core/ids.ts';
import { tidyName } from '../../../../../platform/core/text/text.policy.ts';
import { sql } from '../../../../../platform/infra/postgres/sql.ts';
import { buildClub, buildStudent } from '../../../../toolkit/builders/clubs.ts';
import { testDatabase, testDeps } from '../../../../toolkit/stack/database.ts';

/** @returns the names of the club's students that a search finds */
async function found(clubId: Id, q: string): Promise<string[]> {
  const { db, storage } = await testDeps();
  const { rows } = await listStudents(db, storage, clubId, { page: 1, page_size: 100, q });
  return rows.map(({ name }) => name).toSorted();
}

describe('the search for names', () => {
  for (const [what, spellings] of [
    [
      'accents, composed, decomposed and omitted',
      ['José Conceição', 'Jose\u0301 Conceic\u0327a\u0303o', 'jose conceicao'],
    ],
    [
      'alef, hamza, yeh, heh and vowel marks of Arabic',
      ['أحمد علي فاطمة', 'احمد علی فاطمه', 'أَحْمَد عَلِي فاطِمة', 'احـمد علي فاطمة'],
    ],
    ['full-width and plain letters', ['ＡＮＡ Ｌｉｍａ', 'Ana Lima', 'ana lima']],
    ['half-width and full-width kana', ['ヤマダ ガク', 'ﾔﾏﾀﾞ ｶﾞｸ', 'ヤマタ\u3099 カ\u3099ク']],
    ['the dotted and the dotless i of Turkish', ['İpek Işık', 'ipek ışık', 'Ipek Isik']],
    ['stress marks and the letter yo of Russian', ['Семён', 'Семен', 'СЕМЁН']],
    ['niqqud', ['שָׁלוֹם', 'שלום']],
    ['nuktas', ['फ़राह', '\u095eराह', 'फराह']],
    ['digits of other scripts', ['Grupo 42', 'Grupo ٤٢', 'Grupo ４２']],
  ] as const)
    it(`finds all spellings of a name if the search text is any of the spellings: ${what}`, async () => {
      const { id: clubId } = await buildClub();
      for (const name of spellings) await buildStudent(clubId, { name: tidyName(name) });
      await buildStudent(clubId, { name: 'Zzz' });
      const all = spellings.map(tidyName).toSorted();
      for (const q of spellings) expect(await found(clubId, q), q).to.deep.equal(all);
    });

  it('finds no student with a different name, and treats wildcards as literal characters', async () => {
    const { id: clubId } = await buildClub();
    for (const name of ['か', 'が', '100%', '１００％', 'Ａ＿Ｂ', 'AxB']) await buildStudent(clubId, { name });
    expect(await found(clubId, 'が')).to.deep.equal(['が']);
    expect(await found(clubId, '%')).to.deep.equal(['100%', '１００％']);
    expect(await found(clubId, '％')).to.deep.equal(['100%', '１００％']);
    expect(await found(clubId, 'a_b')).to.deep.equal(['Ａ＿Ｂ']);
  });

  it('finds an address that was typed in full-width letters', async () => {
    const { id: clubId } = await buildClub();
    await buildStudent(clubId, { name: 'Zoe', email: `zoe.${clubId}@example.com` });
    expect(await found(clubId, 'ＺＯＥ．')).to.deep.equal(['Zoe']);
  });

  it('finds names that were stored before the trigger existed, after a batch job has folded them', async () => {
    const source = await testDatabase();
    const { db } = await testDeps();
    const { id: clubId } = await buildClub();
    const { id } = await buildStudent(clubId, { name: 'José' });
    await buildStudent(clubId, { name: 'Ana' });
    const formerly = async () => {
      await source.transaction(async (tx) => {
        await tx.query(`SET LOCAL session_replication_role = replica`);
        await tx.query(`UPDATE students SET name_folded = NULL WHERE id = $1`, [id]);
      });
    };
    await formerly();
    expect(await found(clubId, 'jose')).to.deep.equal([]);
    expect(await foldOldNames(db, 'students', ['name'])).to.deep.equal({ folded: 1, more: false });
    expect(await foldOldNames(db, 'students', ['name'])).to.deep.equal({ folded: 0, more: false });
    expect(await found(clubId, 'jose')).to.deep.equal(['José']);
  });

  it('follows a changed name, and forgets a deleted name', async () => {
    const source = await testDatabase();
    const { id: clubId } = await buildClub();
    const { id } = await buildStudent(clubId, { name: 'José' });
    await source.query(`UPDATE students SET name = 'Renée' WHERE id = $1`, [id]);
    expect(await found(clubId, 'jose')).to.deep.equal([]);
    expect(await found(clubId, 'renee')).to.deep.equal(['Renée']);
    await source.query(`UPDATE students SET name = '' WHERE id = $1`, [id]);
    const rows = await source.query<unknown[]>(`SELECT name_folded FROM students WHERE id = $1`, [id]);
    expect(rows).to.deep.equal([{ name_folded: null }]);
  });

  it('treats canonically equivalent texts as equal', async () => {
    const source = await testDatabase();
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom(...Array.from('aİıßςёйÅＡ１ｶﾞガ٠۹أآىیةهـَُא़ह文한'), '\u0301', '\u200d', ' '),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
      ),
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(text, async (name) => {
        const [row] = await source.query<{ once: string; twice: string; apart: string }[]>(
          `SELECT searched_spelling($1) AS once, searched_spelling(searched_spelling($1)) AS twice,
                  searched_spelling(normalize($1, NFD)) AS apart`,
          [name.replaceAll('\0', '')],
        );
        expect([row?.twice, row?.apart]).to.deep.equal([row?.once, row?.once]);
      }),
      { numRuns: 300 },
    );
  });

  it('uses the index of folded names if few names contain the text', async () => {
    const source = await testDatabase();
    const { id: clubId } = await buildClub();
    await source.query(
      `INSERT INTO students (id, club_id, name, email, created_at)
       SELECT gen_random_uuid(), $1, 'Søren ' || n, n || $2, now() FROM generate_series(1, 20000) AS n`,
      [clubId, `.${newId()}@example.com`],
    );
    await source.query('ANALYZE students');
    const values: unknown[] = [];
    const text = sql`EXPLAIN SELECT id FROM students student WHERE ${nameMatches('student.name', 'søren 7777')}`.render(
      values,
    );
    const plan = await source.query<{ 'QUERY PLAN': string }[]>(text, values);
    const lines = plan.map((row) => row['QUERY PLAN']).join('\n');
    expect(lines).to.include('students_name_folded').and.include('students_search').and.not.include('Seq Scan');
  });
});
