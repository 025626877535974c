/**
 * `npm run bench -- retrieval`:
 * - `quality`: whether the page that answers a question is among the first eight passages, compared with Postgres's own
 * `websearch_to_tsquery` over the same passages.
 * - `scripts`: the same measurement in six languages of other scripts.
 * - `citations`: whether the citations of answers are on their page.
 * - `size`: the cost of a search with 5,000 and 50,000 passages of a club, without and with a million passages of other clubs.
 * - `removal`: the cost of removing a file of 20,000 passages.
 */
import { Database, Queries } from '../../platform/infra/postgres/database.ts';
import type { DataSource } from 'typeorm';
import { readConfig } from '../../config.ts';
import { setMaterial } from '../../domain/agents/setup/material.ts';
import { indexSource, type IndexingDeps } from '../../domain/knowledge/indexing/source-step.ts';
import { retrieve } from '../../domain/knowledge/retrieval.ts';
import { rollUpWords } from '../../domain/knowledge/words.ts';
import { createDataSource } from '../../entities/data-source.ts';
import { migrate } from '../../commands/migrate.ts';
import { indexesOf } from '../reads-plans.ts';
import { onFreshStack, progress, quantile, report } from '../support.ts';
import { measureCitations } from './citations.ts';
import { copyClub, indexClub, type BenchClub } from './clubs.ts';
import { corpusLanguages, type CorpusLanguage, type GoldQuestion } from './corpus.ts';
import { searchPlainly } from './plain-search.ts';
import { measureScripts } from './scripts.ts';
import { chooseSet, type RetrievalSet } from './set.ts';

export const retrievalMeasurements = ['quality', 'scripts', 'citations', 'size', 'removal'];

/** A page is found if one of these first passages is from it. */
const mostPassages = 8;
/** Each question is repeated, to measure its time. */
const repetitions = 5;

const sizes = { small: 5_000, large: 50_000 };
const others = { clubs: 200, passages: 5_000 };

/** @param selection names from `retrievalMeasurements` */
export async function benchRetrieval(selection: readonly string[]): Promise<void> {
  const ofHandbooks = selection.filter((name) => name !== 'scripts');
  const set = ofHandbooks.length > 0 ? await chooseSet(process.env, progress) : undefined;
  await onFreshStack(['postgres'], async ({ env }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench', { patient: true }).initialize();
    try {
      await migrate(source);
      if (selection.includes('scripts')) await measureScripts(source);
      if (!set) return;
      const clubs = await indexCorpus(source, set);
      if (selection.includes('quality')) await measureQuality(source, clubs, set);
      if (selection.includes('citations')) await measureCitations(source, clubs, set);
      if (selection.includes('size')) await measureSize(source, clubs, set);
      if (selection.includes('removal')) await measureRemoval(source, clubs);
    } finally {
      await source.destroy();
    }
  });
}

type Clubs = Record<CorpusLanguage, BenchClub>;

async function indexCorpus(source: DataSource, { documents }: RetrievalSet): Promise<Clubs> {
  const clubs: Partial<Clubs> = {};
  for (const language of corpusLanguages) {
    const own = documents.filter((document) => document.language === language);
    const club = await indexClub(source, language, own);
    const pages = own.reduce((sum, document) => sum + document.pages.length, 0);
    progress(`${language}: ${pages} pages, ${club.passages} passages`);
    clubs[language] = club;
  }
  await rollUpAll(source);
  await source.query(`VACUUM ANALYZE agent_passages, agent_words, agent_sources, agent_materials`);
  return clubs as Clubs;
}

async function rollUpAll(source: DataSource): Promise<void> {
  while ((await rollUpWords(new Database(source, { notify() {} }), 10_000)) > 0);
}

/** The first passage from a gold page, from 1; 0 if there is none. */
interface Place {
  ours: number;
  plain: number;
}

async function measureQuality(source: DataSource, clubs: Clubs, { documents, questions }: RetrievalSet): Promise<void> {
  const titles = new Map(documents.map(({ language, name, title }) => [`${language} ${name}`, title]));
  const groups = new Map<string, Place[]>();
  for (const question of questions) {
    const { clubId, agentId } = clubs[question.language];
    const isGold = (found: { sourceTitle: string; page: number | null }) =>
      found.sourceTitle === titles.get(`${question.language} ${question.document}`) &&
      question.pages.includes(found.page ?? 0);
    const ours = await retrieve(new Queries(source.manager), {
      clubId,
      agentId,
      question: question.question,
      limit: mostPassages,
    });
    const plain = await searchPlainly(source, clubId, question, mostPassages);
    const place = { ours: ours.findIndex(isGold) + 1, plain: plain.findIndex(isGold) + 1 };
    if (place.ours === 0) progress(`not found: ${question.id} ${question.question}`);
    for (const group of groupsOf(question)) groups.set(group, [...(groups.get(group) ?? []), place]);
  }
  for (const [group, places] of groups) reportPlaces(group, places);
  for (const language of corpusLanguages) {
    const took = await timesOf(source, clubs[language], questions, language);
    report(`retrieval at ${clubs[language].passages} passages, ${language}, ms`, percentiles(took));
  }
}

/** The ranking was tuned with the questions of even numbers. The others show whether it is also good for new questions. */
function groupsOf({ id, language, tags }: GoldQuestion): string[] {
  const half = Number(id.slice(-2)) % 2 === 0 ? 'tuned on' : 'held out';
  return ['all', half, language, ...tags.map((tag) => `${language} ${tag}`)];
}

function reportPlaces(group: string, places: readonly Place[]): void {
  const recall = (side: keyof Place) => places.filter((place) => place[side] > 0).length / places.length;
  const reciprocal = (side: keyof Place) =>
    places.reduce((sum, place) => sum + (place[side] > 0 ? 1 / place[side] : 0), 0) / places.length;
  report(`retrieval, ${group} (${places.length}): Recall@${mostPassages}`, {
    value: recall('ours'),
    websearch: recall('plain'),
  });
  report(`    MRR`, { value: reciprocal('ours'), websearch: reciprocal('plain') });
}

async function timesOf(
  source: DataSource,
  { clubId, agentId }: BenchClub,
  questions: readonly GoldQuestion[],
  language: CorpusLanguage,
): Promise<number[]> {
  const took: number[] = [];
  const own = questions.filter((question) => question.language === language);
  for (let nth = -1; nth < repetitions; nth++) {
    for (const { question } of own) {
      const started = performance.now();
      await retrieve(new Queries(source.manager), { clubId, agentId, question, limit: mostPassages });
      if (nth >= 0) took.push(performance.now() - started);
    }
  }
  return took;
}

const percentiles = (took: readonly number[]) => ({ p50: quantile(took, 0.5), p95: quantile(took, 0.95) });

/** These questions have only very common words, far too many words, or misspelled words. */
const heavy = {
  common: 'system files and user packages with the configuration of a network',
  long: 'How do I configure the network, the packages, the users and the files of a system with a server? '.repeat(80),
  misspelled: 'konfigurashun sistemm pakcages nettwork fiels usres directoory',
};

async function measureSize(source: DataSource, clubs: Clubs, { questions }: RetrievalSet): Promise<void> {
  const scenes = new Map<string, BenchClub>();
  for (const [name, passages] of Object.entries(sizes))
    scenes.set(name, await copyClub(source, 'en', clubs.en, passages));
  await source.query(`VACUUM ANALYZE agent_passages, agent_words, agent_sources, agent_materials, media`);
  const alone = new Map<string, number[]>();
  for (const [name, club] of scenes) alone.set(name, await timesOf(source, club, questions, 'en'));
  await addOthers(source, clubs);
  for (const [name, club] of scenes) {
    const took = await timesOf(source, club, questions, 'en');
    const before = quantile(alone.get(name) ?? [], 0.95);
    const { p50, p95 } = percentiles(took);
    report(`retrieval at ${club.passages} passages beside 1,000,000 of others, ms`, {
      p50,
      p95,
      'p95 alone': before,
      ratio: p95 / before,
    });
    for (const [what, question] of Object.entries(heavy)) {
      const heavyQuestions = Array.from({ length: 20 }, () => ({ language: 'en', question }) as GoldQuestion);
      report(`    a question of ${what} words, ms`, percentiles(await timesOf(source, club, heavyQuestions, 'en')));
    }
    const request = { clubId: club.clubId, agentId: club.agentId, question: heavy.common, limit: mostPassages };
    process.stdout.write(`    ${(await indexesOf(source, (tx) => retrieve(tx, request))).join(', ')}\n`);
  }
}

/** A file of 20,000 passages: the time that the administrator waits, and the time until no row remains. */
async function measureRemoval(source: DataSource, clubs: Clubs): Promise<void> {
  const passages = 20_000;
  const { clubId, agentId } = await copyClub(source, 'en', clubs.en, passages, passages);
  await source.query(`VACUUM ANALYZE agent_passages, agent_words, agent_sources, agent_materials, media`);
  const db = new Database(source, { notify() {} });
  const [file] = await source.query<{ id: string }[]>(`SELECT id FROM agent_sources WHERE club_id = $1`, [clubId]);
  const nothing = { course_ids: [], lesson_ids: [], media_ids: [] };
  const startedAt = performance.now();
  await setMaterial({ db }, clubId, agentId, nothing, new Date());
  const answered = performance.now();
  const deps: IndexingDeps = {
    db,
    storage: { read: () => Promise.reject(new Error('A removal reads no file.')) },
    extract: () => Promise.reject(new Error('A removal reads nothing out.')),
    ocr: undefined,
    onFault(error) {
      throw error;
    },
    onOutcome() {},
    async failpoint() {},
  };
  const watcher = { beat() {}, stop: new AbortController().signal };
  const indexed = await indexSource(deps, file?.id ?? '', Date.now(), watcher);
  if (!indexed.done) throw new Error('The source is not removed.');
  report(`removal of a source of ${passages} passages, ms`, {
    value: answered - startedAt,
    'until its rows are gone': performance.now() - startedAt,
  });
}

/** The index is built after the insertion, as in the restore of a backup. */
async function addOthers(source: DataSource, clubs: Clubs): Promise<void> {
  const started = performance.now();
  const [index] = await source.query<{ definition: string }[]>(
    `SELECT pg_get_indexdef('agent_passages_search'::regclass) AS definition`,
  );
  await source.query(`DROP INDEX agent_passages_search`);
  for (let nth = 0; nth < others.clubs; nth++) {
    const language = nth % 2 === 0 ? 'en' : 'pt';
    await copyClub(source, language, clubs[language], others.passages);
  }
  await source.transaction(async (tx) => {
    await tx.query(`SET LOCAL maintenance_work_mem = '1GB'`);
    await tx.query(index?.definition ?? '');
  });
  await source.query(`VACUUM ANALYZE agent_passages, agent_words, agent_sources, agent_materials, media`);
  progress(`others loaded in ${Math.round((performance.now() - started) / 1_000)} s`);
}
