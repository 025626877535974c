/** Puts a row into each table that a furnished club leaves empty, by the columns that the catalogue of Postgres names. */
import { randomBytes } from 'node:crypto';
import type { DataSource } from 'typeorm';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { readTables, type Column, type CatalogTable } from './tables.ts';

type Row = Record<string, unknown>;

const now = new Date().toISOString();
/** The upkeep removes a row that has expired, and works on a row that is due. */
const inDays = new Date(Date.now() + 20 * 86_400_000).toISOString();

/** Columns that a check of the table demands, or that a row under way must not have. `null` leaves a column out. */
const demanded: Readonly<Record<string, Row>> = {
  agent_charges: { settled_at: now, cost_micros: 1 },
  agent_materials: { course_id: null },
  assignment_reviews: { comment: 'Well tied.' },
  club_sign_in_rules: { required_provider_id: null },
  club_branding: { accent_color: '#102030' },
  mail_clicks: { machine: false },
  mails: { status: 'sent', run_id: null, step_id: null, digest_id: null },
  one_time_tokens: {
    purpose: 'student_invitation',
    administrator_id: null,
    invitation_id: null,
    identity_join_id: null,
  },
  overage_charges: { status: 'failed', item_id: null, charged_at: null, settled_at: now },
  passkeys: { administrator_id: null, name: 'Phone' },
  space_digests: { ended_at: now },
  student_import_rows: { outcome: 'failed', code: 'row_too_long', student_id: null },
  test_mails: { status: 'sent' },
  transactional_mails: { status: 'sent', administrator_id: null, invitation_id: null, session_sequence: null },
  webhook_attempts: { trigger: 'schedule', outcome: 'http_error' },
};

/** These tables belong to the whole service. */
const ofService: ReadonlySet<string> = new Set([
  'code_failure_counts',
  'erasures',
  'facts', // the arrivals of the proof write facts and wakes
  'failing_steps',
  'leftover_objects', // the upkeep erases the object and the row
  'mail_notice_receipts',
  'phone_codes', // has codes of administrators
  'media_moves', // a move would look for the object of a furnished file
  'rate_limit_counters',
  'recovery_codes',
  'releases',
  'report_mailboxes',
  'running_processes',
  'schema_contractions',
  'second_factors', // belongs to administrators
  'spent_passkey_challenges',
  'spent_sign_ins',
  'upkeep_rounds',
  'typeorm_metadata',
  'vault_secrets',
  'wakes',
  'webhook_listeners', // the upkeep removes a listener without a stream
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
  const tables = (await readTables(source)).filter(({ name }) => !ofService.has(name));
  const known = new Set([club.id, club.student.id]);
  const filled = new Map<string, Row[]>();
  for (let pass = 0; ; pass++) {
    await readFilled(source, tables, known, filled);
    const empty = tables.filter(({ name }) => !filled.has(name));
    if (pass === passes) return empty.map(({ name }) => name);
    for (const table of empty) await addRow(source, table, club, filled);
  }
}

const passes = 4;

/** Reads the rows of the club: rows with its id, with the id of the student, or with the id of another row of the club. */
async function readFilled(
  source: DataSource,
  tables: readonly CatalogTable[],
  known: Set<string>,
  filled: Map<string, Row[]>,
): Promise<void> {
  const all = new Map<string, Row[]>();
  for (const { name } of tables)
    all.set(
      name,
      (await source.query<{ row: Row }[]>(`SELECT to_jsonb(self) AS row FROM ${name} self`)).map(({ row }) => row),
    );
  for (let before = -1; before < known.size;) {
    before = known.size;
    for (const [name, rows] of all) {
      if (name === 'administrators') continue;
      const own = rows.filter((row) =>
        Object.values(row).some((value) => typeof value === 'string' && known.has(value)),
      );
      if (own.length > 0) filled.set(name, own);
      for (const { id } of own) if (typeof id === 'string') known.add(id);
    }
  }
}

async function addRow(
  source: DataSource,
  table: CatalogTable,
  club: Furnished,
  filled: ReadonlyMap<string, readonly Row[]>,
): Promise<void> {
  const row: Row = {};
  for (const column of table.columns.filter(({ isGenerated }) => !isGenerated)) {
    const value = valueOf(table, column, club, filled);
    if (value !== undefined) row[column.name] = value;
  }
  Object.assign(row, demanded[table.name]);
  if ('club_provider_id' in row) row['provider_id'] = row['club_provider_id'];
  if (table.name === 'space_digests') row['id'] = `${club.id}/${String(row['date']).slice(0, 10)}`;
  if (table.name === 'passkeys') row['club_id'] = club.id;
  const names = Object.keys(row).filter((name) => row[name] !== null);
  const list = names.map((name) => `"${name}"`).join(', ');
  await source
    .query(
      `INSERT INTO ${table.name} (${list}) SELECT ${list} FROM jsonb_populate_record(NULL::${table.name}, $1::jsonb)`,
      [JSON.stringify(row)],
    )
    .catch(() => undefined); // the caller reports the table as empty
}

/** @returns undefined if the default may stay */
function valueOf(
  { references }: CatalogTable,
  { name, type, isRequired, permitted }: Column,
  club: Furnished,
  filled: ReadonlyMap<string, readonly Row[]>,
): unknown {
  const parent = references.find(({ column }) => column === name)?.parent;
  if (name === 'club_id' || parent === 'clubs') return club.id;
  if (name === 'student_id' || parent === 'students') return club.student.id;
  if (name === 'administrator_id' || parent === 'administrators') return club.owner.id;
  const ids: readonly Row[] = filled.get(parent ?? parentBy(name, filled)) ?? [];
  if (ids[0] !== undefined && 'id' in ids[0]) return ids[0]['id'];
  return isRequired ? (permitted ?? plainValue(type, name)) : undefined;
}

/** Some columns refer to rows without a foreign key: `delivery_id` of an attempt names a webhook delivery. */
function parentBy(name: string, filled: ReadonlyMap<string, readonly Row[]>): string {
  const noun = name.replace(/_id$/, '');
  const nouns = `${noun === 'delivery' ? 'webhook_deliverie' : noun}s`;
  return [nouns, ...filled.keys()].find((one) => filled.has(one) && (one === nouns || one.endsWith(`_${nouns}`))) ?? '';
}

function plainValue(type: string, name: string): unknown {
  if (/(expires_at|_until|looks_at|erases_at|due_at)$/.test(name)) return inDays;
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
