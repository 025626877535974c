import { expect } from 'chai';
import type { DataSource, EntityMetadata } from 'typeorm';
import { migrate } from '../../../commands/migrate.ts';
import { ageOfDueRows, countOfDueRows, dueRowsOf } from '../../../platform/engine/due-rows.ts';
import { overdueQueries } from '../../../platform/engine/sweeper.ts';
import {
  workflowIdOf,
  workflowTypeNames,
  workflowTypes,
  type WorkflowType,
} from '../../../platform/engine/workflow-types.ts';
import { Queries } from '../../../platform/infra/postgres/database.ts';
import { sql } from '../../../platform/infra/postgres/sql.ts';
import { scratchDatabase } from '../../toolkit/stack/database.ts';

const rows = 3_000;
const dueRows = 3;

/** Their rows become due again and again, so a partial index on due rows would contain all rows. */
const alwaysWaiting: ReadonlySet<WorkflowType> = new Set(['mailDomain', 'mediaMove', 'courseCompletion']);

/** The SQL values of required columns without a default. */
const values: Record<string, string> = {
  // The time in an id selects the partition. These times are far in the future, so all rows are in one partition.
  uuid: `overlay(gen_random_uuid()::text PLACING 'f' FROM 1)::uuid`,
  text: `md5(number::text)`,
  bytea: `decode(md5(number::text), 'hex')`,
  timestamptz: `now() + interval '1 day'`,
  date: 'now()::date',
  jsonb: `'{}'`,
  boolean: 'false',
};

/** Fills only the required columns, with a status that no due query selects. */
async function fill(source: DataSource, { tableName, columns }: EntityMetadata): Promise<void> {
  const required = columns.filter((column) => !column.isNullable && !column.isGenerated);
  const assignments = required.flatMap(({ databaseName, isArray, type, default: preset }): [string, string][] => {
    if (databaseName === 'status') return [[databaseName, `'ended'`]];
    if (preset !== undefined && preset !== null) return [];
    return [[databaseName, isArray ? `'{}'` : (values[String(type)] ?? '1')]];
  });
  const names = assignments.map(([name]) => `"${name}"`).join(', ');
  const expressions = assignments.map(([, expression]) => expression).join(', ');
  await source.query(
    `INSERT INTO ${tableName} (${names}) SELECT ${expressions} FROM generate_series(1, ${rows}) AS number`,
  );
}

interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  Plans?: PlanNode[];
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

describe('due queries', function () {
  this.timeout(60_000);
  const now = new Date();
  let source: DataSource;
  let db: Queries;
  before('build thousands of rows in each table, of which only a few are due', async () => {
    source = await scratchDatabase();
    db = new Queries(source.manager);
    await migrate(source);
    const constraints = await source.query<{ table: string; name: string }[]>(
      `SELECT conrelid::regclass::text AS table, conname AS name FROM pg_constraint
        WHERE contype IN ('c', 'f') AND connamespace = 'public'::regnamespace AND coninhcount = 0`,
    );
    for (const { table, name } of constraints) await source.query(`ALTER TABLE ${table} DROP CONSTRAINT "${name}"`);
    for (const type of workflowTypeNames) await fill(source, source.getMetadata(workflowTypes[type].entity));
    await source.query(
      `INSERT INTO agent_charges (answer_id, club_id, agent_id, month, reserved_micros, settled_at)
       SELECT id, club_id, agent_id, now()::date, 1, CASE WHEN row_number() OVER () > ${dueRows} THEN now() END
         FROM agent_answers`,
    );
    for (const type of workflowTypeNames) await makeDue(type);
    await source.query(
      `UPDATE agent_answers SET completed_at = $1 WHERE id IN (SELECT answer_id FROM agent_charges WHERE settled_at IS NULL)`,
      [new Date(now.getTime() - 1_000)],
    );
    await source.query('VACUUM ANALYZE');
  });
  after(() => source.destroy());

  async function makeDue(type: WorkflowType): Promise<void> {
    const { tableName, primaryColumns } = source.getMetadata(workflowTypes[type].entity);
    const key = primaryColumns[0]?.databaseName;
    const [first] = dueRowsOf(source, type);
    const [, column, value] = /row\.(status|kind) = '(\w+)'/.exec(first?.condition.render([]) ?? '') ?? [];
    const change = column === undefined ? '' : `, ${column} = '${value}'`;
    // Two types may follow rows of one table, so the second type gets other rows.
    await source.query(
      `UPDATE ${tableName} SET ${first?.at.render([]).replace('row.', '')} = $1 ${change}
        WHERE ${key} IN (SELECT ${key} FROM ${tableName} ORDER BY ${key} ${type === 'personErasure' ? 'DESC' : ''} LIMIT ${dueRows})`,
      [new Date(now.getTime() - 1_000)],
    );
  }

  const queries = workflowTypeNames.flatMap((type) =>
    workflowTypes[type].due.map((due, position) => ({ type, at: due.at, position })),
  );
  for (const { type, at, position } of queries) {
    const isPartial = !alwaysWaiting.has(type);
    it(`find overdue ${type} rows by ${at} in ${isPartial ? 'a partial' : 'an'} index`, async () => {
      const query = overdueQueries(source, now).filter(({ workflowType }) => workflowType === type)[position];
      const statement = query?.statement ?? sql``;
      const explained = await db.one<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(sql`EXPLAIN (FORMAT JSON) ${statement}`);
      const nodes = explained ? nodesOf(explained['QUERY PLAN'][0].Plan) : [];
      const used = await source.query<unknown[]>(
        `SELECT 1 FROM pg_index WHERE (indpred IS NOT NULL OR NOT $2) AND indexrelid::regclass::text = ANY ($1)`,
        [nodes.flatMap((node) => node['Index Name'] ?? []), isPartial],
      );
      expect(used, 'indexes').to.have.length(1);
      const scanned = nodes.flatMap((node) => (node['Node Type'] === 'Seq Scan' ? (node['Relation Name'] ?? []) : []));
      // An empty partition needs no scan.
      const read = await source.query<{ name: string }[]>(
        `SELECT relname AS name FROM pg_class WHERE relname = ANY ($1) AND pg_relation_size(oid) > 0`,
        [scanned],
      );
      const names = read.map(({ name }) => name).filter((name) => name !== 'wakes' && name !== 'failing_steps');
      expect(names).to.deep.equal([]);
      expect(await db.rows(statement)).to.have.length(dueRows);
    });
  }

  it('do not count a row while it pauses after a fault', async () => {
    const countOf = async (type: WorkflowType) => {
      const counted = await db.rows<{ label: string; value: number }>(countOfDueRows(source));
      return counted.find(({ label }) => label === type)?.value;
    };
    const [mail] = await source.query<{ id: string }[]>(`SELECT id FROM transactional_mails WHERE status = 'pending'`);
    const workflowId = workflowIdOf('transactionalMail', mail?.id ?? '');
    await source.query(
      `INSERT INTO failing_steps VALUES ($1, 'transactionalMail', 1, 'Error', now(), now() + interval '1 min')`,
      [workflowId],
    );
    const duringPause = await countOf('transactionalMail');
    await source.query(`UPDATE failing_steps SET retry_at = now() - interval '1 s'`);
    const afterPause = await countOf('transactionalMail');
    await source.query(`DELETE FROM failing_steps`);
    expect([duringPause, afterPause]).to.deep.equal([dueRows - 1, dueRows]);
  });

  it('report the age of the oldest due row of each type', async () => {
    const oldest = async () => {
      const ages = await db.rows<{ label: string; value: number }>(ageOfDueRows(source));
      expect(ages.map(({ label }) => label)).to.deep.equal(workflowTypeNames);
      return Math.floor((ages.find(({ label }) => label === 'automationRun')?.value ?? 0) / 100) * 100;
    };
    const [run] = await source.query<{ id: string }[]>(`SELECT id FROM automation_runs WHERE looks_at < now()`);
    const look = (at: string) => source.query(`UPDATE automation_runs SET looks_at = ${at} WHERE id = $1`, [run?.id]);
    await look(`now() - interval '1 hour'`);
    expect(await oldest()).to.equal(3_600);
    await source.query(
      `INSERT INTO failing_steps VALUES ($1, 'automationRun', 1, 'Error', now(), now() + interval '1 min')`,
      [workflowIdOf('automationRun', run?.id ?? '')],
    );
    expect(await oldest()).to.equal(0);
    await source.query(`DELETE FROM failing_steps`);
    await look(`now() - interval '1 second'`);
    expect(await oldest()).to.equal(0);
  });

  it('count the due rows of each workflow type', async () => {
    const counted = await db.rows<{ label: string; value: number }>(countOfDueRows(source));
    expect(Object.fromEntries(counted.map(({ label, value }) => [label, value]))).to.deep.equal(
      Object.fromEntries(workflowTypeNames.map((type) => [type, dueRows * workflowTypes[type].due.length])),
    );
  });
});
