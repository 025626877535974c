/** `npm run bench -- retrieval citations` asks every question of the set, and compares each citation with the page that it names. */
import { Queries } from '../../platform/infra/postgres/database.ts';
import type { DataSource } from 'typeorm';
import { Secret } from '../../platform/core/secret.ts';
import { startFakeModel } from '../../dev/fake-model/fake-model.ts';
import { citationsOf, type Citation } from '../../domain/agents/prompt/citations.policy.ts';
import { answerRules } from '../../domain/agents/answers/answers.policy.ts';
import { createModel, type AskModel, type ModelCitation } from '../../platform/infra/model/model.ts';
import { promptOf } from '../../domain/agents/prompt/prompt-blocks.policy.ts';
import { promptBounds } from '../../domain/agents/prompt/prompt.policy.ts';
import { retrieve } from '../../domain/knowledge/retrieval.ts';
import { progress, report } from '../support.ts';
import type { BenchClub } from './clubs.ts';
import { standsOn, type CorpusDocument, type CorpusLanguage, type GoldQuestion } from './corpus.ts';
import type { RetrievalSet } from './set.ts';

const model = 'claude-sonnet-5-5';

/** Measures the product's own search, prompt, client and citations, with the configured model. */
export async function measureCitations(
  source: DataSource,
  clubs: Record<CorpusLanguage, BenchClub>,
  { documents, questions }: RetrievalSet,
): Promise<void> {
  const fake = await startFakeModel();
  const ask = createModel({ apiKey: new Secret('unused'), baseUrl: fake.url }, answerRules);
  if (!ask) throw new Error('A model with a key is one.');
  const counted = { citations: 0, 'on their page': 0, answers: 0, 'that cite': 0, 'the gold page': 0 };
  try {
    for (const question of questions) {
      const citations = await citationsFor(source, ask, clubs[question.language], question);
      counted.answers += 1;
      if (citations.length > 0) counted['that cite'] += 1;
      if (citations.some((citation) => isGold(question, documents, citation))) counted['the gold page'] += 1;
      for (const citation of citations) {
        counted.citations += 1;
        if (standsWhereItSays(question, documents, citation)) counted['on their page'] += 1;
        else progress(`not on page ${citation.pageFrom}: ${question.id} ${citation.citedText.slice(0, 80)}`);
      }
    }
  } finally {
    await fake.stop();
  }
  report('citations of the set', counted);
}

async function citationsFor(
  source: DataSource,
  ask: AskModel,
  { clubId, agentId }: BenchClub,
  { question }: GoldQuestion,
): Promise<Citation[]> {
  const passages = await retrieve(new Queries(source.manager), {
    clubId,
    agentId,
    question,
    limit: promptBounds.passages,
  });
  const prompt = promptOf({
    model,
    maxTokens: 1_024,
    agentName: 'Librarian',
    instructions: '',
    history: [],
    question,
    passages,
    images: [],
  });
  const cited: ModelCitation[] = [];
  for await (const event of ask(prompt.request, new AbortController().signal))
    if (event.type === 'citation') cited.push(event.citation);
  return citationsOf(cited, prompt.sent).citations;
}

const documentOf = ({ language }: GoldQuestion, documents: readonly CorpusDocument[], { sourceTitle }: Citation) =>
  documents.find((document) => document.language === language && document.title === sourceTitle);

function isGold(question: GoldQuestion, documents: readonly CorpusDocument[], citation: Citation): boolean {
  const { pageFrom, pageTo } = citation;
  return (
    documentOf(question, documents, citation)?.name === question.document &&
    question.pages.some((page) => page >= (pageFrom ?? 0) && page <= (pageTo ?? 0))
  );
}

/** For a citation of several pages, their texts are joined. */
function standsWhereItSays(question: GoldQuestion, documents: readonly CorpusDocument[], citation: Citation): boolean {
  const document = documentOf(question, documents, citation);
  const { pageFrom, pageTo, citedText } = citation;
  if (!document || pageFrom === null || pageTo === null) return false;
  const pages = document.pages.slice(pageFrom - 1, pageTo);
  if (pages.length === 1) return standsOn(document, pageFrom, citedText);
  return standsOn({ ...document, pages: [pages.flat()] }, 1, citedText);
}
