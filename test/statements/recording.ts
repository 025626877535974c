/**
 * Records each statement of a process with the position of its call, for the check of declared rows (check.ts). The test launcher names
 * the folder in TEST_STATEMENTS; without this variable nothing is recorded. Each process writes a separate file, so lines never mix.
 */
import { appendFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectDirectory } from '../../dev/project.ts';
import { observeStatements, type StatementObserver } from '../../platform/infra/postgres/observed-statements.ts';
import type { Position, RecordedStatement } from './records.ts';

/** The row types in these folders are checked. */
export const checkedFolders = ['activities', 'api', 'commands', 'contract', 'domain', 'entities', 'platform', 'worker'];
/** These files only forward statements. The calls that declare the rows are in other files. */
const adapters = new Set(
  ['database.ts', 'gauge-reads.ts', 'observed-statements.ts', 'prepared.ts'].map(
    (file) => `platform/infra/postgres/${file}`,
  ),
);
/**
 * The number of calls in a record. One call is not enough: a generic helper uses the row type of its caller, and the caller may be generic
 * too.
 */
const maxCalls = 4;
/** The number of stack frames to read. Frames of helpers, timers and drivers may be between the calls. */
const maxFrames = 40;

let note: StatementObserver | undefined;

/** Starts to record if TEST_STATEMENTS names a folder. Call this function once, before the tests. */
export function recordStatements(folder = process.env['TEST_STATEMENTS']): void {
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  note = statementRecorder((line) => appendFileSync(path.join(folder, `${process.pid}.jsonl`), `${line}\n`));
  observeStatements(note);
}

let observesDriver = false;

/**
 * Also records statements that our code sends directly to the driver. This function loads the driver, and tracing must start before the
 * driver is loaded. So call the function after the modules of a test are loaded.
 */
export async function recordDriverStatements(): Promise<void> {
  if (!note || observesDriver) return;
  observesDriver = true;
  const { default: pg } = await import('pg');
  observeQueries([pg.Client.prototype, pg.Pool.prototype], note);
}

/** Arguments of Node that record the statements of a process. They must precede the script's own arguments. */
export const recordingArguments: readonly string[] = [
  '--import',
  new URL('recording-in-a-process.ts', import.meta.url).href,
];

/**
 * @param write receives a line for each different record
 * @param folders only statements of code in these folders are recorded
 */
export function statementRecorder(
  write: (line: string) => void,
  folders: readonly string[] = checkedFolders,
): StatementObserver {
  const written = new Set<string>();
  return (text, values, name) => {
    const calls = callsHere();
    if (!isIn(folders, calls)) return;
    const nulls = values.flatMap((value, index) => (hasNull(value) ? [index + 1] : []));
    const record: RecordedStatement = {
      text,
      ...(name !== undefined && { name }),
      calls: calls.slice(0, maxCalls),
      nulls,
    };
    const line = JSON.stringify(record);
    if (written.has(line)) return;
    written.add(line);
    write(line);
  };
}

const hasNull = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.some(hasNull));

/** Whether code of these folders made the call. Calls by tests are left out, because tests may use tables that do not exist. */
function isIn(folders: readonly string[], calls: readonly Position[]): boolean {
  const first = calls.find(({ file }) => !file.startsWith('platform/infra/postgres/')) ?? calls[0];
  return first !== undefined && folders.some((folder) => first.file.startsWith(`${folder}/`));
}

interface Querying {
  query(...args: unknown[]): unknown;
}

function observeQueries(prototypes: readonly Querying[], observer: StatementObserver): void {
  for (const prototype of prototypes) {
    const query = prototype.query;
    prototype.query = function observed(this: unknown, ...args: unknown[]) {
      const [statement, values] = args;
      if (typeof statement === 'string') observer(statement, Array.isArray(values) ? values : []);
      else if (isStatement(statement)) observer(statement.text, statement.values ?? [], statement.name);
      return query.apply(this, args);
    };
  }
}

function isStatement(value: unknown): value is { text: string; values?: unknown[]; name?: string } {
  return typeof value === 'object' && value !== null && 'text' in value && typeof value.text === 'string';
}

/** @returns the stack frames of the project's files, without the adapters; empty if a package is the innermost caller */
function callsHere(): Position[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder: { stack?: unknown } = {};
  try {
    Error.stackTraceLimit = maxFrames;
    Error.prepareStackTrace = (_, sites) => sites;
    Error.captureStackTrace(holder, callsHere);
    const sites = holder.stack as NodeJS.CallSite[]; // Node builds the stack when this property is first read
    return positionsOf(sites);
  } finally {
    Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  }
}

function positionsOf(sites: readonly NodeJS.CallSite[]): Position[] {
  const positions: Position[] = [];
  for (const site of sites) {
    const url = site.getFileName() ?? '';
    if (url.includes('/node_modules/')) {
      if (positions.length === 0) return [];
      continue;
    }
    if (!url.startsWith('file:')) continue;
    const file = path.relative(projectDirectory, fileURLToPath(url)).replaceAll(path.sep, '/');
    if (file === 'test/statements/recording.ts' || adapters.has(file)) continue;
    positions.push({ file, line: site.getLineNumber() ?? 0, column: site.getColumnNumber() ?? 0 });
  }
  return positions;
}
