import { expect } from 'chai';
import { retrieve } from '../../../domain/knowledge/retrieval.ts';
import type { Language } from '../../../entities/clubs/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { Queries } from '../../../platform/infra/postgres/database.ts';
import { buildAgent, buildMaterial } from '../../toolkit/builders/agents.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { buildSource, type NewPassage } from '../../toolkit/builders/sources.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';

/** The agent's material is one file of these passages. */
async function scene(language: Language, passages: readonly NewPassage[], title = 'Handbook') {
  const { id: clubId } = await buildClub({ language });
  const { id: agentId } = await buildAgent(clubId);
  const file = await buildSource(clubId, { title, passages });
  await buildMaterial(agentId, { mediaId: file.mediaId });
  const find = async (question: string) => {
    const found = await retrieve(new Queries((await testDatabase()).manager), { clubId, agentId, question, limit: 8 });
    return found.map(({ blocks }) => blocks.join(''));
  };
  return { clubId, sourceId: file.id, find };
}

/** Words with a count above zero. */
async function wordsLeft(clubId: Id): Promise<string[]> {
  const rows = await (
    await testDatabase()
  ).query<{ word: string }[]>(
    `SELECT word || ' ' || lexeme AS word FROM agent_words WHERE club_id = $1 GROUP BY 1 HAVING sum(passages) <> 0 ORDER BY 1`,
    [clubId],
  );
  return rows.map(({ word }) => word);
}

const scripts = {
  Chinese: { text: '转向前先松开前帆的缭绳。', questions: ['前帆', '缭绳怎么放？', '转向'], other: '面包要烤十五分钟' },
  Japanese: {
    text: '生地は暖かい場所で発酵させます。',
    questions: ['発酵', '生地を置く場所', '暖かい'],
    other: 'ギターの弦',
  },
  'katakana in half width': {
    text: 'コンピューターの減価償却',
    questions: ['ｺﾝﾋﾟｭｰﾀ', 'こんぴゅーたー'],
    other: 'パン',
  },
  Thai: { text: 'ต้องชาร์จแบตเตอรี่ก่อนใช้กล้อง', questions: ['แบตเตอรี่หมด', 'กล้อง'], other: 'ขนมปังอบใหม่' },
  Lao: { text: 'ພາສາລາວເປັນພາສາທາງການ', questions: ['ພາສາ'], other: 'ເຂົ້າໜຽວ' },
  Khmer: { text: 'ខ្ញុំស្រឡាញ់ភាសាខ្មែរ', questions: ['ភាសាខ្មែរ'], other: 'បាយ' },
  Burmese: { text: 'မြန်မာဘာသာစကား', questions: ['ဘာသာစကား'], other: 'ထမင်း' },
  Hindi: { text: 'रस्सियाँ हमेशा सूखी रखें। हिन्दी', questions: ['रस्सी', 'हिंदी', 'रस्सियां'], other: 'रोटी गरम है' },
  Tamil: { text: 'புத்தகங்கள் மேசையில் உள்ளன', questions: ['புத்தகம்'], other: 'கடல் அலை' },
  Arabic: { text: 'تُحفظ الفواتير في المدرسة', questions: ['فواتير', 'مدرسه', 'المدرسة'], other: 'خبز' },
  Persian: { text: 'کتاب‌های تازه', questions: ['كتابهاى', 'کتاب‌های'], other: 'نان' },
  Hebrew: { text: 'שָׁלוֹם לכולם', questions: ['שלום'], other: 'לחם' },
  Korean: { text: '요트를 타기 전에 구명조끼를 입으세요', questions: ['구명조끼', '요트는'], other: '빵 굽기' },
  Russian: { text: 'Ещё один узёл', questions: ['еще', 'УЗЕЛ'], other: 'Хлеб' },
  'full-width letters': { text: 'ＩＳＯ１００ は 明るい', questions: ['iso100'], other: 'ノイズ' },
} as const;

describe('retrieval in scripts that Postgres cannot divide into words', () => {
  for (const [script, { text, questions, other }] of Object.entries(scripts))
    it(`finds words in ${script}, although the club has a different language`, async () => {
      const { find } = await scene('pt', [text, other]);
      for (const question of questions) expect(await find(question), question).to.deep.equal([text]);
    });

  it('finds a passage by words of its title and headings', async () => {
    const text = 'Two turns.';
    const { find } = await scene('en', [{ text, headings: ['系绳'] }, 'Other.'], '帆船入门');
    expect(await find('绳')).to.deep.equal([text]);
    expect(await find('帆船')).to.have.members([text, 'Other.']);
  });

  it('stems the Latin words of a mixed text by the language of the club', async () => {
    const text = 'Informações sobre 帆船';
    const { find } = await scene('pt', [text, 'Outra coisa.']);
    expect(await find('informação')).to.deep.equal([text]);
    expect(await find('informacao')).to.deep.equal([text]);
    expect(await find('帆')).to.deep.equal([text]);
  });

  it('finds passages by the words that an old release stored', async () => {
    const arabic = 'فواتير الشهر';
    const { find } = await scene('en', [
      { text: 'Ropes are made fast.', isFormer: true },
      { text: arabic, isFormer: true },
      { text: 'Булинь', isFormer: true },
    ]);
    expect(await find('rope')).to.deep.equal(['Ropes are made fast.']);
    expect(await find('فواتير')).to.deep.equal([arabic]);
    expect(await find('булинь')).to.deep.equal(['Булинь']);
  });

  it('keeps no words of deleted passages', async () => {
    const texts = ['المدرسة 帆船', 'Ropes and knots', 'हिन्दी'];
    const { clubId, sourceId } = await scene('en', [...texts, ...texts.map((text) => ({ text, isFormer: true }))]);
    expect(await wordsLeft(clubId)).to.include.members(['帆船 帆船', 'ropes rope', 'المدرسة مدرس']);
    await (await testDatabase()).query(`DELETE FROM agent_passages WHERE source_id = $1`, [sourceId]);
    expect(await wordsLeft(clubId)).to.deep.equal([]);
  });

  it('accepts a passage of marks, and a passage without a blank', async () => {
    const { find } = await scene('en', [`ก${'\u0e48'.repeat(5_000)}`, '漢'.repeat(5_000), 'a'.repeat(5_000), 'rope']);
    expect(await find('rope')).to.deep.equal(['rope']);
    expect(await find('漢字')).to.deep.equal(['漢'.repeat(5_000)]);
  });

  for (const [language, text, question] of [
    ['pt-BR', 'informações', 'informação'],
    ['pt', 'informações', 'informação'],
    ['de-AT', 'Häuser', 'Hauses'],
    ['ar', 'ropes', 'rope'],
  ] as const)
    it(`stems words by the rules of ${language}`, async () => {
      const [row] = await (
        await testDatabase()
      ).query<{ same: boolean; plain: boolean }[]>(
        `SELECT agent_word_stems($1, $2) = agent_word_stems($1, $3) AS same,
                agent_word_plain_stem($1, $2) = agent_word_plain_stem($1, unaccent($2)) AS plain`,
        [language, text, question],
      );
      expect(row).to.deep.equal({ same: true, plain: true });
    });
});
