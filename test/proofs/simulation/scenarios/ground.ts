/** The parts that all scenarios share: a club, students, and the search for remaining data of removed students. */
import type { Vault } from '../../../../platform/infra/keys/vault.ts';
import { addressKeyOf } from '../../../../platform/infra/keys/address-keys.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold } from '../stage.ts';

/** All schedules share these values. */
export interface Footing {
  vault: Vault;
}

export async function addClub(sim: Simulation, _ground: Footing): Promise<Id> {
  const id = newId();
  await sim.postgres.ask(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', $2, $3)`, [
    id,
    `club-${id}`,
    new Date(sim.time.now),
  ]);
  return id;
}

/**
 * Adds confirmed students. Each name and address contains the id of the student, so that remaining data of a removed student can be found.
 */
export async function addStudents(sim: Simulation, { vault }: Footing, clubId: Id, count: number): Promise<Id[]> {
  const ids = Array.from({ length: count }, newId);
  for (const id of ids) {
    const email = addressOf(id);
    await sim.postgres.ask(
      `INSERT INTO students (id, club_id, name, email, email_key, verified_at, created_at, opened_by) VALUES ($1, $2, $3, $4, $5, $6, $6, 'club')`,
      [id, clubId, `Stella ${markOf(id)}`, email, addressKeyOf(vault, email), new Date(sim.time.now)],
    );
  }
  return ids;
}

const markOf = (id: Id) => `stella${id.replaceAll('-', '').slice(-20)}`;

export const addressOf = (id: Id) => `${markOf(id)}@example.com`;

let columnsByTable: ReadonlyMap<string, readonly string[]> | undefined;

/** @throws BrokenInvariant */
export async function searchForTraces(sim: Simulation, studentId: Id): Promise<void> {
  columnsByTable ??= await columnsWithWords(sim);
  const searches = [...columnsByTable].map(
    ([table, columns]) =>
      `SELECT '${table}' AS table FROM "${table}" WHERE strpos(concat_ws(' ', ${columns.join(', ')}), $1) > 0`,
  );
  const matches = await sim.postgres.ask<{ table: string }>(searches.join(' UNION ALL '), [markOf(studentId)]);
  mustHold(
    matches.length === 0,
    'no data of removed students remain',
    () => `${studentId} stands in ${matches.map(({ table }) => table).join(', ')}`,
  );
}

async function columnsWithWords(sim: Simulation): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await sim.postgres.ask<{ table: string; column: string; type: string }>(
    `SELECT table_name AS table, column_name AS column, data_type AS type FROM information_schema.columns
      WHERE table_schema = 'public' AND data_type IN ('text', 'jsonb', 'json', 'bytea', 'ARRAY')
        AND NOT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = table_name::regclass) ORDER BY 1, 2`,
  );
  const searched = rows.map(
    ({ table, column, type }) =>
      [table, type === 'bytea' ? `encode("${column}", 'escape')` : `"${column}"::text`] as const,
  );
  return new Map(
    [...Map.groupBy(searched, ([table]) => table)].map(([table, found]) => [table, found.map(([, column]) => column)]),
  );
}
