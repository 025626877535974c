/** Lets the tests observe each statement at its call. Nothing observes them in production. */

/** @param text the text of the statement, with `$1`, `$2` … @param name the name of a prepared statement */
export type StatementObserver = (text: string, values: readonly unknown[], name?: string) => void;

let observer: StatementObserver | undefined;

/**
 * Sets the observer of statements. Only the tests call this function (test/statements/recording.ts).
 * @returns a function that sets the former observer again
 */
export function observeStatements(added: StatementObserver): () => void {
  const former = observer;
  observer = added;
  return () => {
    observer = former;
  };
}

export const noteStatement: StatementObserver = (text, values, name) => observer?.(text, values, name);
