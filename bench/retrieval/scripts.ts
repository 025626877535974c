/**
 * `npm run bench -- retrieval scripts`: whether the passage that answers a question is among the first eight, in scripts that plain
 * Postgres does not segment. The material and its questions were written for this project before the search was tuned. Every other
 * question of each language was held out during tuning.
 */
import { readFile } from 'node:fs/promises';
import type { DataSource } from 'typeorm';
import { readLesson } from '../../domain/knowledge/extraction/read-out.ts';
import { cutPassages } from '../../domain/knowledge/indexing/passages.policy.ts';
import { retrieve } from '../../domain/knowledge/retrieval.ts';
import { Queries } from '../../platform/infra/postgres/database.ts';
import { progress, quantile, report } from '../support.ts';
import { addFile, addPassages, emptyClub, type BenchClub } from './clubs.ts';

const languages = {
  zh: 'Chinese',
  ja: 'Japanese',
  th: 'Thai',
  hi: 'Hindi',
  ar: 'Arabic',
  ko: 'Korean',
} as const;
type ScriptLanguage = keyof typeof languages;

/** How many passages count. */
const shown = 8;

interface ScriptQuestion {
  /** The heading of the section with the answer. */
  section: string;
  question: string;
}

/**
 * One line for each language: Recall@8 of all questions and of the held-out ones. The club is in English, because material names no
 * language.
 */
export async function measureScripts(source: DataSource): Promise<void> {
  for (const [language, name] of Object.entries(languages)) {
    const club = await indexScript(source, language as ScriptLanguage);
    const questions = JSON.parse(await readFile(placeOf(`${language}.questions.json`), 'utf8')) as ScriptQuestion[];
    await source.query('VACUUM ANALYZE agent_passages, agent_words, agent_sources, agent_materials');
    const { places, took } = await ask(source, club, questions);
    const heldOut = places.filter((_, nth) => nth % 2 === 1);
    report(`retrieval, ${name} (${places.length} questions, ${club.passages} passages): Recall@${shown}`, {
      value: recall(places, shown),
      'held out': recall(heldOut, shown),
      first: recall(places, 1),
      MRR: places.reduce((sum, place) => sum + (place > 0 ? 1 / place : 0), 0) / places.length,
    });
    report('    ms', { p50: quantile(took, 0.5), p95: quantile(took, 0.95) });
  }
}

const placeOf = (name: string) => new URL(`scripts/${name}`, import.meta.url);

const recall = (places: readonly number[], most: number) =>
  places.filter((place) => place > 0 && place <= most).length / places.length;

/** A club with an agent whose material is the documents of a language. */
async function indexScript(source: DataSource, language: ScriptLanguage): Promise<BenchClub> {
  const club = await emptyClub(source, 'en');
  const markdown = await readFile(placeOf(`${language}.md`), 'utf8');
  for (const [, title = '', text = ''] of markdown.matchAll(/^# (.*)\n([^]*?)(?=^# |(?![^]))/gm)) {
    const { sections } = await readLesson(text);
    const passages = [...cutPassages(sections, 'en')];
    const sourceId = await addFile(source, club, title, passages.length);
    await addPassages(source, club, { sourceId, title, language: 'en', passages });
    club.passages += passages.length;
  }
  return club;
}

/** @returns the position of the section that answers each question, from 1, 0 for none; and the duration of each search, in ms */
async function ask(source: DataSource, { clubId, agentId }: BenchClub, questions: readonly ScriptQuestion[]) {
  const places: number[] = [];
  const took: number[] = [];
  for (const [nth, { section, question }] of questions.entries()) {
    const started = performance.now();
    const found = await retrieve(new Queries(source.manager), { clubId, agentId, question, limit: shown });
    took.push(performance.now() - started);
    const place = found.findIndex(({ headings }) => headings.includes(section)) + 1;
    // Held-out questions are not printed.
    if (place === 0 && nth % 2 === 0) progress(`not found: ${question}`);
    places.push(place);
  }
  return { places, took };
}
