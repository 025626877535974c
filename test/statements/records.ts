/** Reads the statements that the processes of a test run have recorded (recording.ts). */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../../dev/project.ts';

/** The folder with the records of the last test run that checked rows. */
export const recordsFolder = path.join(projectDirectory, '.data', 'test-statements');

/** This test file runs last, because it checks the statements of the other test files. */
export const statementsTest = 'test/statements/statements.test.ts';

/** A position in a file. Lines and columns begin at 1, as in V8. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export interface RecordedStatement {
  readonly text: string;
  /** The name of a prepared statement. Its definition declares the row. */
  readonly name?: string;
  /** The positions of the call and of its callers, the innermost first. */
  readonly calls: readonly Position[];
  /** The numbers of parameters that were null or were arrays that contain null. */
  readonly nulls: readonly number[];
}

/** @returns the records in the folder; empty without a folder */
export function readRecords(folder: string): RecordedStatement[] {
  return filesIn(folder).flatMap((file) => {
    const lines = readFileSync(file, 'utf8').split('\n');
    // The last line may be incomplete, because the process may have been killed.
    return lines.slice(0, -1).map((line) => JSON.parse(line) as RecordedStatement);
  });
}

/** @returns a function that tells whether a file changed after the recording. Calls in a changed file may have moved */
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
