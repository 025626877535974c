/**
 * Tests that SQL statements run only through the EntityManager, `sql` or `prepared` (platform/infra/postgres). The function `sql` numbers
 * the parameters, and callers do not depend on the result format of TypeORM. Raw queries are allowed only in platform/infra/postgres, and
 * in code that changes the schema.
 */
import { expect } from 'chai';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../dev/project.ts';

const production = '{activities,api,contract,domain,entities,platform,worker,workflows}';
const exempt = [
  'platform/infra/postgres/',
  'entities/migrations/',
  'commands/migrate.ts',
  'entities/extensions.ts',
  'entities/data-source.ts', // sends the first statements of a connection, before TypeORM gets the connection
  'api/rate-limits/postgres-counters.ts', // uses a separate pool, which abandons statements at a deadline
];

describe('raw queries', () => {
  const files = globSync(`${production}/**/*.ts`, { cwd: projectDirectory }).toSorted();

  it('are only in the adapter and the migrations: use the EntityManager, sql or prepared', () => {
    const raw = files
      .filter((file) => !exempt.some((place) => file.startsWith(place)))
      .filter((file) => isRaw(readFileSync(path.join(projectDirectory, file), 'utf8')));
    expect(raw).to.deep.equal([]);
  });

  it('do not include calls that validate the query of a request', () => {
    expect(isRaw('await db.manager.query<Row[]>(text)')).to.equal(true);
    expect(isRaw('source.query(`SELECT 1`)')).to.equal(true);
    expect(isRaw('accepted(validators.query(query))')).to.equal(false);
  });
});

function isRaw(text: string): boolean {
  return /(?<!validators)\.query\s*[<(]/.test(text);
}
