/** Searches for texts in every table of the database, in Temporal's data about a club, and in the buckets. */
import type { Client } from '@temporalio/client';
import { everyText } from './histories.ts';
import { testDatabase } from '../stack/database.ts';

/** The texts to search for, by name. The search also finds their hexadecimal forms. */
export type Needles = Readonly<Record<string, string | Buffer>>;

const formsOf = (needle: string | Buffer): string[] =>
  typeof needle === 'string'
    ? [needle.toLowerCase(), Buffer.from(needle).toString('hex')]
    : [needle.toString('hex'), needle.toString('base64').toLowerCase()];

/** @returns the names of the needles (the texts to search for) that the text contains, in any letter case */
export function needlesIn(text: string, needles: Needles): string[] {
  const searched = text.toLowerCase();
  return Object.entries(needles).flatMap(([what, needle]) =>
    formsOf(needle).some((form) => searched.includes(form)) ? [what] : [],
  );
}

/** Lists all tables in the catalogue of Postgres except partitions and the table of migrations. */
async function tables(): Promise<string[]> {
  const source = await testDatabase();
  const rows = await source.query<{ name: string }[]>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'migrations'
        AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = tablename::regclass) ORDER BY 1`,
  );
  return rows.map(({ name }) => name);
}

export async function emptyTables(): Promise<string[]> {
  const source = await testDatabase();
  const empty: string[] = [];
  for (const table of await tables())
    if ((await source.query<unknown[]>(`SELECT 1 FROM "${table}" LIMIT 1`)).length === 0) empty.push(table);
  return empty;
}

/** @returns `table.column: needle` for each needle in each column of each table */
export async function tracesInTables(needles: Needles): Promise<string[]> {
  const source = await testDatabase();
  const traces = new Set<string>();
  for (const table of await tables())
    for (const { row } of await source.query<{ row: Record<string, unknown> }[]>(
      `SELECT to_jsonb(self) AS row FROM "${table}" self`,
    ))
      for (const [column, value] of Object.entries(row)) {
        // Bytes may contain text, such as the body of a notice.
        const bytes = typeof value === 'string' && value.startsWith('\\x') ? Buffer.from(value.slice(2), 'hex') : '';
        for (const needle of needlesIn(`${JSON.stringify(value)} ${bytes.toString()}`, needles))
          traces.add(`${table}.${column}: ${needle}`);
      }
  return [...traces].toSorted((one, other) => one.localeCompare(other));
}

/** @returns everything that Temporal has about the club's runs, as one text */
export async function keptOfClub({ workflow }: Client, clubId: string): Promise<{ text: string; runs: number }> {
  const texts: string[] = [];
  for await (const run of workflow.list({ query: `ClubId = '${clubId}'` })) {
    const handle = workflow.getHandle(run.workflowId, run.runId);
    const { raw } = await handle.describe();
    texts.push(everyText({ listed: run.raw, described: raw, history: await handle.fetchHistory() }));
  }
  return { text: texts.join('\n'), runs: texts.length };
}
