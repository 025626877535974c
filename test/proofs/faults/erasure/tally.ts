/** Judges the erasures of `faults erasure` by everything that Postgres, the buckets and Temporal have before and after. */
import type { Snapshot } from './snapshots.ts';

export interface Remains {
  rows: Snapshot;
  /** A text for each version and each unfinished upload, by its name. */
  objects: ReadonlyMap<string, string>;
  /** The ids of the running workflows. */
  runs: readonly string[];
}

/** The words by which a row, an object or a run betrays an erased club: ids, addresses and names. */
export interface Traces {
  ids: ReadonlySet<string>;
  words: readonly string[];
}

/** Rows of the whole service, which no club owns. */
const ofService: Readonly<Record<string, string>> = {
  rate_limit_counters: 'counts requests',
  running_processes: 'names the processes that run',
  releases: 'names versions of the service',
  schema_contractions: 'names versions of the service',
  upkeep_rounds: 'has the times of rounds',
  vault_secrets: 'has the sealed secrets of the service',
};

/** These tables get new rows that outlive a club. A row that names an erased club or student is counted even there. */
const outliving: Readonly<Record<string, string>> = {
  ...ofService,
  administrators: 'the accounts of people outlive their clubs',
  administrator_sessions: 'the sessions of these accounts',
};

/** Columns that change with each use of a record. */
const restless: Readonly<Record<string, readonly string[]>> = {
  api_keys: ['last_used_at'],
  administrator_sessions: ['last_seen_at'],
  student_sessions: ['last_seen_at'],
};

export interface ErasureTally {
  rowsLeft: string[];
  objectsLeft: string[];
  runsLeft: string[];
  othersChanged: string[];
}

/**
 * @param before everything without the erased clubs
 * @param after everything after their erasure. Each difference is a remainder of them, or a change of others
 */
export function tallyErasures(before: Remains, after: Remains, traces: Traces): ErasureTally {
  return {
    rowsLeft: [...after.rows.values()].flatMap(({ table, key, row }) => {
      if (table === 'erasures') return [];
      const name = `${table} ${key}`;
      const traced = tracedIn(row, traces);
      if (traced !== undefined) return [`row left: ${name} has ${traced}`];
      return before.rows.has(name) || table in outliving ? [] : [`row left: ${name}`];
    }),
    objectsLeft: [...after.objects].flatMap(([name, what]) =>
      before.objects.has(name) || isMarker(name) ? [] : [`object left: ${name} (${what})`],
    ),
    runsLeft: after.runs.flatMap((id) => {
      const traced = tracedIn({ id }, traces);
      return traced === undefined ? [] : [`run left: ${id}`];
    }),
    othersChanged: [
      ...[...before.rows].flatMap(([name, { table, row }]) => {
        if (table in ofService) return [];
        const now = after.rows.get(name)?.row;
        if (now === undefined) return [`other changed: ${name} is gone`];
        const columns = Object.keys(row).filter(
          (column) => !restless[table]?.includes(column) && JSON.stringify(row[column]) !== JSON.stringify(now[column]),
        );
        return columns.length > 0 ? [`other changed: ${name}: ${columns.join(', ')}`] : [];
      }),
      ...[...before.objects].flatMap(([name, what]) => {
        const now = after.objects.get(name);
        return now === what ? [] : [`other changed: ${name} was ${what} and is ${now ?? 'gone'}`];
      }),
    ],
  };
}

/** The object that keeps a restored database from bringing the club back (ADR 89). */
const isMarker = (name: string): boolean => /^\S+ erasures\/\d{4}-\d\d-\d\d\/club-[0-9a-f-]{36} /.test(name);

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Looks into bytes, too. @returns the first trace */
function tracedIn(row: Readonly<Record<string, unknown>>, { ids, words }: Traces): string | undefined {
  for (const [column, value] of Object.entries(row)) {
    const bytes =
      typeof value === 'string' && value.startsWith('\\x') ? Buffer.from(value.slice(2), 'hex').toString() : '';
    const text = `${JSON.stringify(value)} ${bytes}`.toLowerCase();
    const id = text.match(uuid)?.find((one) => ids.has(one));
    const word = id ?? words.find((one) => text.includes(one));
    if (word !== undefined) return `${word} in ${column}`;
  }
  return undefined;
}
