import { Queries } from '../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { retrieve } from '../../domain/knowledge/retrieval.ts';
import { indexClub } from '../../bench/retrieval/clubs.ts';
import { corpusLanguages, pdfOf, standsOn, type GoldQuestion } from '../../bench/retrieval/corpus.ts';
import { searchPlainly } from '../../bench/retrieval/plain-search.ts';
import { readHandbookQuestions, readSchool, type RetrievalSet } from '../../bench/retrieval/set.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

const expectUniqueIds = (questions: readonly GoldQuestion[]) =>
  expect(new Set(questions.map(({ id }) => id)).size).to.equal(questions.length);

const tags = ['plain', 'plural', 'typo', 'paraphrase', 'short', 'long'];

describe('the questions about the handbooks', () => {
  it('include at least 35 questions in each language, and at least 80 questions in total', async () => {
    const questions = await readHandbookQuestions();
    expect(questions.length).to.be.at.least(80);
    expectUniqueIds(questions);
    for (const language of corpusLanguages) {
      const own = questions.filter((question) => question.language === language);
      expect(own.length, language).to.be.at.least(35);
      expect([...new Set(own.flatMap((question) => question.tags))], language).to.include.members(tags);
    }
    expect(questions.filter((question) => question.tags.includes('accent')).length).to.be.at.least(10);
  });
});

describe('the corpus of the school', () => {
  let school: RetrievalSet;
  before('read it', async () => {
    school = await readSchool();
  });

  it('has at least 20 questions, of every kind, and at least 30 pages in two languages', () => {
    expect(school.questions.length).to.be.at.least(20);
    expectUniqueIds(school.questions);
    expect(school.documents.flatMap(({ pages }) => pages).length).to.be.at.least(30);
    expect([...new Set(school.questions.flatMap((question) => question.tags))]).to.include.members([...tags, 'accent']);
    for (const language of corpusLanguages)
      expect(school.questions.filter((question) => question.language === language).length).to.be.at.least(10);
  });

  it('has the pages that its questions name', () => {
    for (const { id, language, document, pages } of school.questions) {
      const named = school.documents.find((one) => one.language === language && one.name === document);
      expect(pages.length, id).to.be.at.least(1);
      for (const page of pages) expect(named?.pages[page - 1], `${id}, page ${page}`).to.not.equal(undefined);
    }
  });

  it('can be converted to PDFs with as many pages as the documents have', async () => {
    for (const document of school.documents) {
      const pdf = (await pdfOf(document)).toString('latin1');
      expect(pdf.match(/\/Type \/Page\n/g), document.name).to.have.length(document.pages.length);
    }
  });

  it('lets retrieval find the pages of all 11 Portuguese questions, and plain search of 2', async function () {
    this.timeout(30_000);
    const source = await testDatabase();
    const part = school.documents.filter(({ language }) => language === 'pt');
    const questions = school.questions.filter(({ language }) => language === 'pt');
    const { clubId, agentId } = await indexClub(source, 'pt', part);
    const missed: string[] = [];
    const foundPlainly: string[] = [];
    for (const gold of questions) {
      const title = part.find(({ name }) => name === gold.document)?.title;
      const isGold = (found: { sourceTitle: string; page: number | null }) =>
        found.sourceTitle === title && gold.pages.includes(found.page ?? 0);
      const found = await retrieve(new Queries(source.manager), { clubId, agentId, question: gold.question, limit: 3 });
      if (!found.some(isGold)) missed.push(gold.id);
      if ((await searchPlainly(source, clubId, gold, 3)).some(isGold)) foundPlainly.push(gold.id);
      for (const { sourceTitle, page, blocks } of found) {
        const document = part.find((one) => one.title === sourceTitle);
        for (const block of blocks)
          expect(document && standsOn(document, page ?? 0, block), `${sourceTitle}, page ${page}: ${block}`).to.equal(
            true,
          );
      }
    }
    expect(questions).to.have.length(11);
    expect(missed).to.deep.equal([]);
    expect(foundPlainly).to.deep.equal(['pt-04', 'pt-07']);
  });
});
