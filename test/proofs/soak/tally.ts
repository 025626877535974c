/** What was acknowledged, held against what is there. Pure. */
import { countedBy } from '../faults/mail/received.ts';

export interface Held {
  facts: number;
  /** A line for each that is not there. */
  lost: string[];
  /** A line for each that is there more than once. */
  twice: string[];
}

/** @param what each is, for the lines @param acknowledged keys, each once @param found a key for each effect that is there */
export function holdFacts(what: string, acknowledged: readonly string[], found: readonly string[]): Held {
  const counts = countedBy(found, (key) => key);
  return {
    facts: acknowledged.length,
    lost: acknowledged.filter((key) => !counts.has(key)).map((key) => `${what} ${key}`),
    twice: [...counts].filter(([, count]) => count > 1).map(([key, count]) => `${what} ${key}: ${count} times`),
  };
}

/** @returns all of them as one */
export function together(all: readonly Held[]): Held {
  return {
    facts: all.reduce((sum, { facts }) => sum + facts, 0),
    lost: all.flatMap(({ lost }) => lost),
    twice: all.flatMap(({ twice }) => twice),
  };
}
