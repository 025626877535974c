import { Queries } from '../../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { retrieve, type Retrieved } from '../../../domain/knowledge/retrieval.ts';
import { rankingRules } from '../../../domain/knowledge/retrieval.policy.ts';
import type { Language } from '../../../entities/clubs/values.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildAgent, buildMaterial } from '../../toolkit/builders/agents.ts';
import { buildClub } from '../../toolkit/builders/clubs.ts';
import { buildCourse } from '../../toolkit/builders/courses.ts';
import { testDatabase } from '../../toolkit/stack/database.ts';
import { buildPassages, buildSource, type NewPassage } from '../../toolkit/builders/sources.ts';

interface Scene {
  clubId: Id;
  agentId: Id;
  ask: (question: string, limit?: number) => Promise<Retrieved[]>;
  find: (question: string, limit?: number) => Promise<string[]>;
}

/** The agent's material is one file of these passages. */
async function scene(language: Language, passages: readonly NewPassage[], title = 'Handbook'): Promise<Scene> {
  const { id: clubId } = await buildClub({ language });
  const { id: agentId } = await buildAgent(clubId);
  const file = await buildSource(clubId, { title, passages });
  await buildMaterial(agentId, { mediaId: file.mediaId });
  return { clubId, agentId, ...asking(clubId, agentId) };
}

function asking(clubId: Id, agentId: Id): Pick<Scene, 'ask' | 'find'> {
  const ask = async (question: string, limit = 8) =>
    retrieve(new Queries((await testDatabase()).manager), { clubId, agentId, question, limit });
  return {
    ask,
    find: async (question, limit) => (await ask(question, limit)).map(({ blocks }) => blocks.join('')),
  };
}

describe('retrieval', () => {
  describe('words', () => {
    const bowline = 'A bowline makes a fixed loop at the end of a rope.';
    const hitch = 'Clove hitches hold a line on a post.';
    const whipping = 'Whipping keeps the end of a rope from fraying.';
    let knots: Scene;
    before('a club in English', async () => {
      knots = await scene('en', [bowline, hitch, whipping]);
    });

    it('finds a passage if only one word of the question matches', async () => {
      expect(await knots.find('Could you please explain how my grandfather tied a bowline?')).to.deep.equal([bowline]);
    });

    it('ignores the frequency of words in the material of other agents', async () => {
      const { clubId, find } = await scene('en', ['Interest is what money costs.']);
      const { id: other } = await buildAgent(clubId);
      const many = (count: number, words: string) =>
        Array.from({ length: count }, (_, number) => `${words} ${number} in the register.`);
      for (const [title, passages] of [
        ['Loans', many(700, 'The loan number')],
        ['Interest', many(800, 'Some interest of account')],
      ] as const)
        await buildMaterial(other, { mediaId: (await buildSource(clubId, { title, passages })).mediaId });
      expect(await find('What is the interest of a loan?')).to.deep.equal(['Interest is what money costs.']);
    });

    it('ranks the passage with the most words of the question first', async () => {
      expect(await knots.find('rope fraying')).to.deep.equal([whipping, bowline]);
    });

    it('gives a rare word more weight than a common word', async () => {
      const { find } = await scene('en', ['rope rope rope', 'rope and more rope', 'a sheepshank', 'rope']);
      expect((await find('rope sheepshank'))[0]).to.equal('a sheepshank');
    });

    it('finds a word in the singular if the question has the plural, and the reverse', async () => {
      expect(await knots.find('bowlines')).to.deep.equal([bowline]);
      expect(await knots.find('hitch')).to.deep.equal([hitch]);
    });

    it('finds the most similar word for a misspelled word', async () => {
      expect(await knots.find('bowlnie')).to.deep.equal([bowline]);
      expect(await knots.find('wihpping')).to.deep.equal([whipping]);
    });

    it('ranks the passage with the more similar word first', async () => {
      const { find } = await scene('en', ['A bowling alley.', 'A bowline.', 'Else.']);
      expect(await find('bowlinee')).to.deep.equal(['A bowline.', 'A bowling alley.']);
    });

    it('finds nothing for unknown words, stop words, punctuation and other scripts', async () => {
      for (const question of [
        'xylophone',
        'the of and how',
        '',
        '   ',
        '😀🎉',
        '日本語の質問',
        '& | ! : * ( ) <->',
        `''\\`,
        '\0',
        'lone \ud800',
      ])
        expect(await knots.find(question), question).to.deep.equal([]);
    });

    it('treats search operators as plain text', async () => {
      expect(await knots.find('!bowline & (hitch | :*) <-> "loop"')).to.have.members([bowline, hitch]);
      expect(await knots.find('-bowline')).to.deep.equal([bowline]);
    });

    it('finds a passage with two common words among many passages with only one of these words', async () => {
      const many = (word: string) => Array.from({ length: rankingRules.candidates + 1 }, () => word);
      const { find } = await scene('en', [...many('rope'), ...many('sail'), 'a sail on a rope']);
      expect((await find('ropes and sails'))[0]).to.equal('a sail on a rope');
    });

    it('finds words of other scripts, in upper or lower case', async () => {
      const { find } = await scene('en', ['Булинь — это узел.', 'κόμπος ΒΑΡΚΑΡΗ']);
      expect(await find('что такое БУЛИНЬ?')).to.deep.equal(['Булинь — это узел.']);
      expect(await find('βαρκάρη')).to.deep.equal(['κόμπος ΒΑΡΚΑΡΗ']);
    });

    it('answers a question of 8,000 characters with the help of its rarest words', async () => {
      const question = `${'I would like to know how to hold a line. '.repeat(190)}bowline`.slice(0, 8_000);
      expect(await knots.find(question)).to.deep.equal([hitch]);
      const words = Array.from({ length: 900 }, (_, n) => `unheard${n}of`).join(' ');
      expect(await knots.find(`bowline ${words}`.slice(0, 8_000))).to.deep.equal([bowline]);
    });
  });

  describe('accents in Portuguese', () => {
    const information = 'A informação está na página inicial.';
    const technique = 'Técnicas de respiração para iniciantes.';
    let club: Scene;
    before('a club in Portuguese', async () => {
      club = await scene('pt', [information, technique, 'O pão leva fermento.']);
    });

    for (const [question, found] of [
      ['informação', information],
      ['informacao', information],
      ['INFORMAÇÃO', information],
      ['informações', information],
      ['paginas', information],
      ['tecnica', technique],
      ['técnica', technique],
      ['respiracao', technique],
      ['respiraçoes', technique],
      ['informa\u0063\u0327\u0061\u0303o', information],
    ] as const)
      it(`finds "${found}" by ${question}`, async () => {
        expect(await club.find(question)).to.deep.equal([found]);
      });

    it('finds a word if the question has a different inflection of the word', async () => {
      const { find } = await scene('pt', ['Uma gota.', 'Informação, informação.']);
      expect(await find('gotas de informações')).to.deep.equal(['Informação, informação.', 'Uma gota.']);
    });

    it('finds a passage without accents if the question has accents', async () => {
      const { find } = await scene('pt', ['A informacao fica na portaria.', 'Outra coisa.']);
      expect(await find('informação')).to.deep.equal(['A informacao fica na portaria.']);
    });

    it('ignores the stop words of the language', async () => {
      expect(await club.find('o que é para uma')).to.deep.equal([]);
    });
  });

  for (const [language, text, question] of [
    ['es', 'Las canciones populares.', 'cancion'],
    ['fr', 'Les chevaux mangent.', 'manger'],
    ['de', 'Die Häuser der Stadt.', 'hauser'],
    ['it', 'Le città italiane.', 'citta italiana'],
  ] as const)
    it(`uses the stems of ${language}: the question "${question}" finds "${text}"`, async () => {
      const { find } = await scene(language, [text, 'Xyz.']);
      expect(await find(question)).to.deep.equal([text]);
    });

  describe('title, headings and neighbours', () => {
    it('ranks a passage higher if its title or heading also contains the word', async () => {
      const { clubId, agentId, find } = await scene('en', [
        { text: 'Sails are made of canvas.', page: 1 },
        { text: 'Sails are made of canvas!', page: 2, headings: ['Sewing sails'] },
      ]);
      const titled = await buildSource(clubId, {
        title: 'Sails of the world',
        passages: [{ text: 'Sails are made of canvas?', page: 1 }],
      });
      await buildMaterial(agentId, { mediaId: titled.mediaId });
      const found = await find('sails');
      expect(found.at(-1)).to.equal('Sails are made of canvas.');
      expect(found).to.have.length(3);
    });

    it('finds a passage if only its title or heading contains the word', async () => {
      const { find } = await scene('en', [{ text: 'Two turns, then pull.', headings: ['Cleat hitch'] }], 'Mooring');
      expect(await find('cleats')).to.deep.equal(['Two turns, then pull.']);
      expect(await find('mooring')).to.deep.equal(['Two turns, then pull.']);
    });

    it('returns a third passage of one page only after the passages of other pages', async () => {
      const { ask } = await scene('en', [
        ...Array.from({ length: 5 }, () => ({ text: 'anchor anchor anchor', page: 1 })),
        { text: 'an anchor', page: 2 },
      ]);
      expect((await ask('anchor', 3)).map(({ page }) => page)).to.deep.equal([1, 1, 2]);
      expect((await ask('anchor')).map(({ page }) => page)).to.deep.equal([1, 1, 2, 1, 1, 1]);
    });

    it('ranks the passage with the better neighbour first if two passages match equally', async () => {
      const { ask } = await scene('en', [
        { text: 'A tide table.', page: 1 },
        { text: 'Nothing.', page: 2 },
        { text: 'Nothing.', page: 3 },
        { text: 'A tide table.', page: 4 },
        { text: 'The tide rises and falls in twelve hours because of the moon.', page: 5 },
      ]);
      expect((await ask('tide table')).map(({ page }) => page)).to.deep.equal([4, 1, 5]);
    });

    it('returns each passage with its position and score, best first', async () => {
      const { clubId, agentId } = await scene('en', []);
      const file = await buildSource(clubId, {
        title: 'Ropes',
        passages: [
          { text: 'Hemp.', page: 7, headings: ['Fibres', 'Plants'] },
          { text: 'Nylon. Hemp.', page: null },
        ],
      });
      await buildMaterial(agentId, { mediaId: file.mediaId });
      const [first, second, ...more] = await asking(clubId, agentId).ask('nylon hemp');
      expect(more).to.deep.equal([]);
      expect(first).to.deep.include({
        sourceId: file.id,
        sourceKind: 'media',
        sourceTitle: 'Ropes',
        position: 1,
        page: null,
        headings: [],
        blocks: ['Nylon. Hemp.'],
      });
      expect(second).to.deep.include({ position: 0, page: 7, headings: ['Fibres', 'Plants'], blocks: ['Hemp.'] });
      expect(first?.score).to.be.greaterThan(second?.score ?? 0);
    });
  });

  describe('the material of an agent', () => {
    it('contains only the agent’s files and lessons, and the lessons of the agent’s courses', async () => {
      const { id: clubId } = await buildClub();
      const course = await buildCourse(clubId, { modules: 1, lessons: 2 });
      const other = await buildCourse(clubId, { modules: 1, lessons: 2 });
      const file = await buildSource(clubId, { title: 'File', passages: ['compass in a file'] });
      await buildSource(clubId, { title: 'Ungiven', passages: ['compass in an ungiven file'] });
      for (const [place, lesson] of course.lessons.entries())
        await buildSource(clubId, {
          lessonId: lesson.id,
          title: 'A lesson',
          passages: [`compass in lesson ${place} of the course`],
        });
      for (const [place, lesson] of other.lessons.entries())
        await buildSource(clubId, {
          lessonId: lesson.id,
          title: 'A lesson',
          passages: [`compass in lesson ${place} of the other`],
        });

      const { id: agent } = await buildAgent(clubId);
      const { find } = asking(clubId, agent);
      expect(await find('compass')).to.deep.equal([]);
      await buildMaterial(agent, { mediaId: file.mediaId });
      expect(await find('compass')).to.have.members(['compass in a file']);
      await buildMaterial(agent, { lessonId: other.lessons[1]?.id ?? '' });
      expect(await find('compass')).to.have.members(['compass in a file', 'compass in lesson 1 of the other']);
      await buildMaterial(agent, { courseId: course.id });
      expect(await find('compass')).to.have.members([
        'compass in a file',
        'compass in lesson 1 of the other',
        'compass in lesson 0 of the course',
        'compass in lesson 1 of the course',
      ]);
    });

    it('is never found by another club', async () => {
      const ours = await scene('en', ['A sextant measures angles.']);
      const theirs = await scene('en', ['A sextant of theirs.']);
      expect(await ours.find('sextant')).to.deep.equal(['A sextant measures angles.']);
      expect(await asking(ours.clubId, theirs.agentId).find('sextant')).to.deep.equal([]);
      expect(await asking(theirs.clubId, ours.agentId).find('sextant')).to.deep.equal([]);
    });

    it('loses the words of a deleted file', async () => {
      const source = await testDatabase();
      const { clubId, agentId, find } = await scene('en', ['A barnacle.']);
      const file = await buildSource(clubId, { title: 'Log', passages: ['A barnacel.'] });
      await buildMaterial(agentId, { mediaId: file.mediaId });
      expect(await find('barnacel')).to.deep.equal(['A barnacel.']);
      await source.query(`DELETE FROM agent_sources WHERE id = $1`, [file.id]);
      expect(await find('barnacel')).to.deep.equal(['A barnacle.']);
    });

    it('is found by the words of a replaced file, but not after its deletion', async () => {
      const source = await testDatabase();
      const { clubId, agentId, find } = await scene('en', []);
      const file = await buildSource(clubId, { title: 'Log', passages: ['The barnacle grows.'] });
      await buildMaterial(agentId, { mediaId: file.mediaId });
      expect(await find('barnacles')).to.have.length(1);
      await source.transaction(async (tx) => {
        await tx.query(`DELETE FROM agent_passages WHERE source_id = $1`, [file.id]);
      });
      await buildPassages(file, ['The limpet clings.'], 'Log');
      expect(await find('barnacles')).to.deep.equal([]);
      expect(await find('limpets')).to.deep.equal(['The limpet clings.']);
      await source.query(`DELETE FROM agent_sources WHERE id = $1`, [file.id]);
      expect(await find('limpets')).to.deep.equal([]);
    });
  });
});
