/** The statements that the processes of a run of the tests have recorded (recording.ts). */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';

/** The records of the last run that checked rows. */
export const recordsFolder = path.join(projectDirectory, '.data', 'test-statements');

/** Runs after the files whose statements it checks. */
export const statementsTest = 'test/statements/statements.test.ts';

/** A position in a file, as V8 names it: from 1. */
export interface Position {
  /** From the project's directory. */
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface RecordedStatement {
  readonly text: string;
  /** The name of a prepared statement, whose definition declares the row. */
  readonly name?: string;
  /** The call and its callers, the innermost first. */
  readonly calls: readonly Position[];
  /** The numbers of parameters that were null, or arrays with a null. */
  readonly nulls: readonly number[];
}

/** @returns the records in the folder; empty if there is none */
export function readRecords(folder: string): RecordedStatement[] {
  return filesIn(folder).flatMap((file) => {
    const lines = readFileSync(file, 'utf8').split('\n');
    // A process that was killed may have left half a line, which is the last one.
    return lines.slice(0, -1).map((line) => JSON.parse(line) as RecordedStatement);
  });
}

/** @returns whether a file of the project is younger than the records: its calls may stand at other positions */
export function changedSince(folder: string): (file: string) => boolean {
  const oldest = Math.min(...filesIn(folder).map((file) => statSync(file).birthtimeMs));
  return (file) =>
    (statSync(path.join(projectDirectory, file), { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > oldest;
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => path.join(folder, name));
  } catch {
    return [];
  }
}
