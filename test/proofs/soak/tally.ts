/** Compares confirmed actions with their effects. Pure. */
import { countedBy } from '../faults/mail/received.ts';

export interface FactTally {
  facts: number;
  lostFacts: string[];
  twice: string[];
}

/** @param acknowledged the keys of the confirmed actions, each once */
export function compareFacts(kind: string, acknowledged: readonly string[], effectKeys: readonly string[]): FactTally {
  const counts = countedBy(effectKeys, (key) => key);
  return {
    facts: acknowledged.length,
    lostFacts: acknowledged.filter((key) => !counts.has(key)).map((key) => `${kind} ${key}`),
    twice: [...counts].filter(([, count]) => count > 1).map(([key, count]) => `${kind} ${key}: ${count} times`),
  };
}

export function together(all: readonly FactTally[]): FactTally {
  return {
    facts: all.reduce((sum, { facts }) => sum + facts, 0),
    lostFacts: all.flatMap(({ lostFacts: lost }) => lost),
    twice: all.flatMap(({ twice }) => twice),
  };
}
