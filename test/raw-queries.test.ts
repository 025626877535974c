/**
 * Statements go through `Queries` (platform/infra/postgres): `sql` numbers the parameters, and no caller sees how TypeORM
 * answers. test/raw-queries.json lists the files that still call `.query(`, each with the number of calls: a number may only
 * fall, and a file without calls leaves the list.
 */
import { expect } from 'chai';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectDirectory } from '../dev/project.ts';

type Counts = Readonly<Record<string, number>>;

const production = '{activities,api,contract,domain,entities,platform,worker,workflows}';
/** Where statements are sent from, and what changes the schema. */
const exempt = ['platform/infra/postgres/', 'entities/migrations/', 'entities/migrate.ts', 'entities/extensions.ts'];

describe('raw queries', () => {
  const allowed = JSON.parse(readFileSync(path.join(projectDirectory, 'test/raw-queries.json'), 'utf8')) as Counts;
  const found: Counts = Object.fromEntries(
    globSync(`${production}/**/*.ts`, { cwd: projectDirectory })
      .toSorted()
      .filter((file) => !exempt.some((place) => file.startsWith(place)))
      .map((file) => [file, callsIn(readFileSync(path.join(projectDirectory, file), 'utf8'))] as const)
      .filter(([, calls]) => calls > 0),
  );

  it('are in no file but those that test/raw-queries.json lists: use db.rows, db.one or db.run with sql', () => {
    const more = Object.entries(found).filter(([file, calls]) => calls > (allowed[file] ?? 0));
    expect(more.map(([file, calls]) => `${file}: ${calls}, ${allowed[file] ?? 0} allowed`)).to.deep.equal([]);
  });

  it('are no fewer than test/raw-queries.json allows: lower the number, or remove the line', () => {
    const stale = Object.entries(allowed).filter(([file, calls]) => (found[file] ?? 0) < calls);
    expect(stale.map(([file, calls]) => `${file}: ${found[file] ?? 0} of ${calls}`)).to.deep.equal([]);
  });
});

function callsIn(text: string): number {
  return [...text.matchAll(/\.query\s*[<(]/g)].length;
}
