/** Compares the answers that callers got with the effects in Postgres. */

export type Effects = ReadonlyMap<string, number>;

export interface CallerRecord {
  mark: string;
  answers: readonly { status: number; text: string; isReplayed: boolean }[];
}

export interface CallerTally {
  requests: number;
  effects: number;
  doubledEffects: string[];
  lostEffects: string[];
  differingReplays: string[];
  /** Answers that the API gave again, because the key was known. */
  replays: number;
}

export function tallyCalls(records: readonly CallerRecord[], effects: Effects): CallerTally {
  const countOf = (mark: string) => effects.get(mark) ?? 0;
  return {
    requests: records.length,
    effects: records.reduce((sum, { mark }) => sum + countOf(mark), 0),
    doubledEffects: records
      .filter(({ mark }) => countOf(mark) > 1)
      .map(({ mark }) => `${mark} has ${countOf(mark)} effects`),
    lostEffects: records.filter(({ mark }) => countOf(mark) === 0).map(({ mark }) => `${mark} has no effect`),
    differingReplays: records.filter(isDiffering).map(({ mark, answers }) => `${mark}: ${JSON.stringify(answers)}`),
    replays: records.reduce((sum, { answers }) => sum + answers.filter(({ isReplayed }) => isReplayed).length, 0),
  };
}

/** All answers to a request must have status 201 and equal texts. All answers are replays, except at most one. */
function isDiffering({ answers }: CallerRecord): boolean {
  const [first] = answers;
  if (!first) return true;
  const firstAnswers = answers.filter(({ isReplayed }) => !isReplayed);
  return firstAnswers.length > 1 || answers.some(({ status, text }) => status !== 201 || text !== first.text);
}
