/** Puts a row into each table that a furnished club leaves empty, by the columns that the catalogue of Postgres names. */
import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { readTables, type Column, type Table } from './tables.ts';

type Row = Record<string, unknown>;

/** Values that a check of the table demands. */
const demanded: Readonly<Record<string, Row>> = {
  administrator_identities: { club_provider_id: undefined, provider: null },
  bulk_job_rows: { outcome: 'failed', code: 'student_not_found' },
  course_completion_looks: { looks_at: null },
  mails: { status: 'sent', run_id: null, step_id: null, digest_id: null },
  mail_clicks: { machine: false },
  media_uploads: { status: 'open' },
  one_time_tokens: { purpose: 'student_invitation' },
  sign_in_challenges: { student_id: null },
  student_import_rows: { outcome: 'failed', code: 'row_too_long' },
  transactional_mails: { template: 'student_code', status: 'sent' },
  webhook_attempts: { trigger: 'schedule', outcome: 'http_error' },
};

/** Tables of the whole service. A row of a club has no place there. */
const ofService: ReadonlySet<string> = new Set([
  'erasures',
  'rate_limit_counters',
  'releases',
  'running_processes',
  'schema_contractions',
  'upkeep_rounds',
  'vault_secrets',
]);

interface Furnished {
  id: Id;
  student: { id: Id };
  owner: { id: Id };
}

/**
 * Several passes fill tables whose parents were empty in the pass before.
 * @returns the names of the tables that have no row of the club
 */
export async function fillTables(source: DataSource, club: Furnished): Promise<string[]> {
  const tables = await readTables(source);
  const rowsOf = async (name: string) => {
    const rows = await source.query<{ row: Row }[]>(
      `SELECT to_jsonb(self) AS row FROM ${name} self WHERE strpos(to_jsonb(self)::text, $1) + strpos(to_jsonb(self)::text, $2) > 0 LIMIT 5`,
      [club.id, club.student.id],
    );
    return rows.map(({ row }) => row);
  };
  const filled = new Map<string, Row[]>();
  let empty = tables.filter(({ name }) => !ofService.has(name));
  for (let pass = 0; pass < 3; pass++) {
    for (const { name } of empty) filled.set(name, await rowsOf(name));
    empty = empty.filter(({ name }) => filled.get(name)?.length === 0);
    for (const table of empty) await addRow(source, table, club, filled);
  }
  const left: string[] = [];
  for (const { name } of empty) if ((await rowsOf(name)).length === 0) left.push(name);
  return left;
}

async function addRow(
  source: DataSource,
  table: Table,
  club: Furnished,
  filled: ReadonlyMap<string, readonly Row[]>,
): Promise<void> {
  const row: Row = {};
  for (const column of table.columns.filter(({ isGenerated }) => !isGenerated)) {
    const value = valueOf(table, column, club, filled);
    if (value !== undefined) row[column.name] = value;
  }
  Object.assign(row, demanded[table.name]);
  const names = Object.keys(row).filter((name) => row[name] !== undefined);
  const list = names.map((name) => `"${name}"`).join(', ');
  await source
    .query(`INSERT INTO ${table.name} (${list}) SELECT ${list} FROM jsonb_populate_record(NULL::${table.name}, $1::jsonb)`, [
      JSON.stringify(row),
    ])
    .catch((error: unknown) => process.env['FILL_DEBUG'] ? console.log(table.name, (error as Error).message, (error as {detail?: string}).detail, JSON.stringify(row)) : undefined); // the caller reports the table as empty
}

/** @returns undefined if the default may stay */
function valueOf(
  { references }: Table,
  { name, type, isRequired }: Column,
  club: Furnished,
  filled: ReadonlyMap<string, readonly Row[]>,
): unknown {
  const parent = references.find(({ column }) => column === name)?.parent;
  if (name === 'club_id' || parent === 'clubs') return club.id;
  if (name === 'student_id' || parent === 'students') return club.student.id;
  if (name === 'administrator_id' || parent === 'administrators') return club.owner.id;
  const ids: readonly Row[] = filled.get(parent ?? parentBy(name, filled)) ?? [];
  if (ids[0] !== undefined && 'id' in ids[0]) return ids[0]['id'];
  return isRequired ? plainValue(type) : undefined;
}

/** Some columns refer to rows without a foreign key: `delivery_id` of an attempt names a webhook delivery. */
function parentBy(name: string, filled: ReadonlyMap<string, readonly Row[]>): string {
  const noun = name.replace(/_id$/, '');
  return [`webhook_${noun === 'delivery' ? 'deliverie' : noun}s`, `${noun}s`].find((one) => filled.has(one)) ?? '';
}

function plainValue(type: string): unknown {
  if (type.endsWith('[]')) return [];
  if (type === 'uuid') return newId();
  if (type === 'bytea') return `\\x${randomBytes(32).toString('hex')}`;
  if (type === 'boolean') return false;
  if (type === 'jsonb' || type === 'json') return {};
  if (type === 'date' || type.startsWith('timestamp')) return new Date().toISOString();
  if (/^(smallint|integer|bigint|numeric|double)/.test(type)) return 1;
  if (type === 'cidr' || type === 'inet') return '203.0.113.0/24';
  return newId().slice(-12);
}
