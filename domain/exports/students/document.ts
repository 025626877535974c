/** Writes the document `export.json`, record by record, so that its size does not matter for the memory (EXP-2). */
import type { Id } from '../../../platform/core/ids.ts';
import type { Queries } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import type { ExportSection, ExportSectionName } from '../../questions.ts';
import { sectionNames, studentExportRules } from './exports.policy.ts';

export type Sections = Readonly<Record<ExportSectionName, ExportSection>>;

type Row = Readonly<Record<string, unknown>>;

interface Written {
  club: { id: Id; name: string; slug: string };
  sections: Sections;
  /** The path in the ZIP of each file that the ZIP contains, by the id of the file. */
  paths: ReadonlyMap<Id, string>;
}

/**
 * @param tx a snapshot; only this generator uses its connection
 * @param reportSection is called after each section
 * @returns the document in pieces
 */
export async function* writeDocument(
  tx: Queries,
  { club, sections, paths }: Written,
  now: Date,
  reportSection: (count: number) => void,
): AsyncGenerator<string, void, undefined> {
  const head = { format: 1, exported_at: now.toISOString(), club };
  yield JSON.stringify(head).slice(0, -1);
  for (const [index, name] of sectionNames.entries()) {
    yield `,\n${JSON.stringify(name)}:`;
    const records = name === 'files' ? withPaths(recordsOf(tx, sections[name]), paths) : recordsOf(tx, sections[name]);
    yield* name === 'profile' ? oneRecord(records) : listOf(records);
    reportSection(index + 1);
  }
  yield '}\n';
}

async function* oneRecord(records: AsyncIterable<readonly Row[]>): AsyncGenerator<string> {
  for await (const [record] of records) if (record) yield JSON.stringify(record);
}

async function* listOf(records: AsyncIterable<readonly Row[]>): AsyncGenerator<string> {
  let separator = '[';
  for await (const page of records) {
    if (page.length === 0) continue;
    yield separator + page.map((record) => `\n${JSON.stringify(record)}`).join(',');
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}

async function* withPaths(
  records: AsyncIterable<readonly Row[]>,
  paths: ReadonlyMap<Id, string>,
): AsyncGenerator<readonly Row[]> {
  for await (const page of records)
    yield page.map((record) => {
      const path = paths.get(String(record['id']));
      return path === undefined ? record : { ...record, path };
    });
}

const { recordsPerFetch } = studentExportRules;

/** Reads the records through a cursor of Postgres, page by page. */
async function* recordsOf(
  tx: Queries,
  { records, present = (row) => row }: ExportSection,
): AsyncGenerator<readonly Row[]> {
  await tx.run(sql`DECLARE export_records NO SCROLL CURSOR FOR ${records}`);
  for (;;) {
    const rows = await tx.rows<object>(sql`FETCH ${raw(String(recordsPerFetch))} FROM export_records`);
    yield rows.map((row) => withoutNulls(present(row as Row)));
    if (rows.length < recordsPerFetch) break;
  }
  await tx.run(sql`CLOSE export_records`);
}

const withoutNulls = (row: Row): Row => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
