import { Queries } from '../../platform/infra/postgres/database.ts';
import { expect } from 'chai';
import { retrieve } from '../../domain/knowledge/retrieval.ts';
import { indexClub } from '../../bench/retrieval/clubs.ts';
import {
  corpusLanguages,
  pdfOf,
  readCorpus,
  readQuestions,
  standsOn,
  type CorpusDocument,
  type GoldQuestion,
} from '../../bench/retrieval/corpus.ts';
import { searchPlainly } from '../../bench/retrieval/plain-search.ts';
import { testDatabase } from '../toolkit/stack/database.ts';

describe('the committed set of questions', () => {
  let documents: CorpusDocument[];
  let questions: GoldQuestion[];
  before('read it', async () => {
    documents = await readCorpus();
    questions = await readQuestions();
  });

  it('has 80 questions over 300 pages, and 35 of every kind in each language', () => {
    expect(questions.length).to.be.at.least(80);
    expect(documents.flatMap(({ pages }) => pages).length).to.be.at.least(300);
    for (const language of corpusLanguages) {
      const own = questions.filter((question) => question.language === language);
      expect(own.length, language).to.be.at.least(35);
      expect([...new Set(own.flatMap(({ tags }) => tags))], language).to.include.members([
        'plain',
        'plural',
        'typo',
        'paraphrase',
        'short',
        'long',
      ]);
    }
    expect(questions.filter(({ tags }) => tags.includes('accent')).length).to.be.at.least(10);
  });

  it('has unique questions about existing pages', () => {
    expect(new Set(questions.map(({ id }) => id)).size).to.equal(questions.length);
    for (const { id, language, document, pages } of questions) {
      const named = documents.find((one) => one.language === language && one.name === document);
      expect(pages.length, id).to.be.at.least(1);
      for (const page of pages) expect(named?.pages[page - 1], `${id}, page ${page}`).to.not.equal(undefined);
    }
  });

  it('has pages of 1,100 to 3,800 characters', () => {
    for (const { name, pages } of documents)
      for (const [place, blocks] of pages.entries())
        expect(blocks.map(({ text }) => text).join('\n').length, `${name}, page ${place + 1}`).to.be.within(
          1_100,
          3_800,
        );
  });

  it('becomes PDFs with as many pages as the documents have', async () => {
    for (const document of documents.slice(0, 3)) {
      const pdf = (await pdfOf(document)).toString('latin1');
      expect(pdf.match(/\/Type \/Page\n/g), document.name).to.have.length(document.pages.length);
    }
  });

  it('retrieval finds 10 of 11 questions of a part, plain search 3; every block stands on its page', async function () {
    this.timeout(30_000);
    const source = await testDatabase();
    const part = documents.filter(({ name }) => ['imprimindo', 'energia-bateria', 'monitor-tela'].includes(name));
    const { clubId, agentId } = await indexClub(source, 'pt', part);
    let asked = 0;
    const missed: string[] = [];
    const foundPlainly: string[] = [];
    for (const gold of questions.filter(({ document }) => part.some(({ name }) => name === document))) {
      asked++;
      const title = part.find(({ name }) => name === gold.document)?.title;
      const isGold = (found: { sourceTitle: string; page: number | null }) =>
        found.sourceTitle === title && gold.pages.includes(found.page ?? 0);
      const found = await retrieve(new Queries(source.manager), { clubId, agentId, question: gold.question, limit: 8 });
      if (!found.some(isGold)) missed.push(gold.id);
      if ((await searchPlainly(source, clubId, gold, 8)).some(isGold)) foundPlainly.push(gold.id);
      for (const { sourceTitle, page, blocks } of found) {
        const document = part.find((one) => one.title === sourceTitle);
        for (const block of blocks)
          expect(document && standsOn(document, page ?? 0, block), `${sourceTitle}, page ${page}: ${block}`).to.equal(
            true,
          );
      }
    }
    expect(asked).to.equal(11);
    // It shares its rarer words with other pages: a paraphrase.
    expect(missed).to.deep.equal(['pt-36']);
    expect(foundPlainly).to.deep.equal(['pt-24', 'pt-26', 'pt-33']);
  });
});
