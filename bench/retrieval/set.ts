/** The material and the questions of the benchmark: two handbooks, or a smaller handbook of a fictitious school if they are unavailable. */
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../config.ts';
import { readCorpus, readQuestions, type CorpusDocument, type GoldQuestion } from './corpus.ts';
import { obtainHandbooks } from './handbooks/obtain.ts';

export interface RetrievalSet {
  documents: CorpusDocument[];
  questions: GoldQuestion[];
}

const placeOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** @param report gets progress, and the name of the chosen set */
export async function chooseSet(env: Environment, report: (line: string) => void): Promise<RetrievalSet> {
  try {
    const documents = await readCorpus(await obtainHandbooks(env, report));
    return { documents, questions: await readHandbookQuestions() };
  } catch (error) {
    report(error instanceof Error ? error.message : String(error));
    report(
      'The handbooks cannot be had: measuring with the small corpus instead. Its figures do not compare with theirs.',
    );
    return readSchool();
  }
}

export const readHandbookQuestions = (): Promise<GoldQuestion[]> => readQuestions(placeOf('handbooks/questions.json'));

export async function readSchool(): Promise<RetrievalSet> {
  return {
    documents: await readCorpus(placeOf('school')),
    questions: await readQuestions(placeOf('school/questions.json')),
  };
}
