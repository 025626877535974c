/** Checks the rows that the code declares for its statements. recording.ts recorded these statements during a test run. */
import { globSync } from 'node:fs';
import { projectDirectory } from '../../dev/project.ts';
import { acceptedNulls } from './accepted.ts';
import { rowDifferences, mayBeNull } from './compare.ts';
import { CallMissing, place, readDeclaredRows, type DeclaredRows } from './declared.ts';
import type { Describer } from './described.ts';
import { checkedFolders } from './recording.ts';
import type { RecordedStatement } from './records.ts';

export interface CheckedRows {
  /** The number of different statements that Postgres described. */
  statements: number;
  /** The number of row types that were compared. */
  rows: number;
  /** A sentence for each difference, with the position of the row in the code. */
  wrong: string[];
  /** The positions of declared rows for which the test run sent no statement. */
  unseen: string[];
  /** The number of records that were not checked, because their file changed after the recording. */
  outdated: number;
}

function checkedFiles(): string[] {
  return globSync(`{${checkedFolders.join(',')}}/**/*.ts`, { cwd: projectDirectory }).toSorted();
}

export const declaredRows = (): DeclaredRows => readDeclaredRows(checkedFiles(), checkedFolders);

/** Matches statements that return rows. Postgres cannot describe other statements, such as LISTEN. */
const answersRows = /^[\s(]*(?:SELECT|INSERT|UPDATE|DELETE|WITH|MERGE|VALUES|TABLE)\b/i;

/** @param before the time of the recording: a file that changed later has its calls at other positions */
export async function checkRows(
  records: readonly RecordedStatement[],
  {
    declared,
    describer,
    isOutdated = () => false,
  }: { declared: DeclaredRows; describer: Describer; isOutdated?: (file: string) => boolean },
): Promise<CheckedRows> {
  const wrong = new Set<string>();
  const checkedRows = new Set<string>();
  const texts = new Set<string>();
  let outdated = 0;
  for (const { text, nulls, record } of merged(records)) {
    if (!answersRows.test(text)) continue;
    if (record.calls.some(({ file }) => isOutdated(file))) {
      outdated++;
      continue;
    }
    try {
      const row = declared.rowOf(record);
      if (!row) continue;
      texts.add(text);
      checkedRows.add(place(row.at));
      const described = await describer.describe(text, nulls);
      const found =
        'error' in described ? [`Postgres refuses it: ${described.error}`] : rowDifferences(row, described.columns);
      for (const one of found) if (!isAccepted(row.at.file, one)) wrong.add(`${place(row.at)}: ${one}`);
    } catch (error) {
      if (!(error instanceof CallMissing)) throw error;
      wrong.add(error.message);
    }
  }
  const unseen = [...new Set(declared.all().map(({ at }) => place(at)))].filter((at) => !checkedRows.has(at));
  return {
    statements: texts.size,
    rows: checkedRows.size,
    wrong: [...wrong].toSorted(),
    unseen: unseen.toSorted(),
    outdated,
  };
}

function isAccepted(file: string, difference: string): boolean {
  if (!difference.endsWith(mayBeNull)) return false;
  return acceptedNulls.some((one) => one.file === file && difference.startsWith(`${one.property} `));
}

/** Merges the records with the same text and the same call. A merged record lists each parameter that was null in at least one record. */
function merged(records: readonly RecordedStatement[]) {
  const groups = Map.groupBy(records, ({ text, name, calls }) => JSON.stringify([text, name ?? calls]));
  return [...groups.values()].flatMap((group) => {
    const [record] = group;
    const nulls = new Set(group.flatMap((one) => one.nulls));
    return record ? [{ text: record.text, nulls, record }] : [];
  });
}
