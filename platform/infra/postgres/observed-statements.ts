/** Lets tests observe each statement at its call. In production nothing observes them. */

/** @param text has `$1`, `$2` … @param name of a prepared statement */
export type StatementObserver = (text: string, values: readonly unknown[], name?: string) => void;

let observer: StatementObserver | undefined;

/**
 * Only tests use this (test/statements/recording.ts).
 * @returns a function that restores the former observer
 */
export function observeStatements(added: StatementObserver): () => void {
  const former = observer;
  observer = added;
  return () => {
    observer = former;
  };
}

export const noteStatement: StatementObserver = (text, values, name) => observer?.(text, values, name);
