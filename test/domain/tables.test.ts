/** Checks that each table belongs to one context, and that foreign-tables.ts lists all other uses. */
import { expect } from 'chai';
import { topLevelOf } from '../../dev/generators/import-graph.ts';
import { foreignUses, type ForeignUses } from './foreign-tables.ts';
import { declaredTables, platformFolders, usesIn, usesInDomain, type Table, type TableUse } from './table-uses.ts';

const nameOf = ({ context, table, access }: TableUse) => `${context} ${access} ${table}`;

function listed(): (TableUse & Pick<ForeignUses, 'reason'>)[] {
  return Object.entries(foreignUses).flatMap(([context, uses]) =>
    (['reads', 'writes'] as const).flatMap((access) =>
      (uses[access] ?? []).flatMap(({ tables, reason }) => tables.map((table) => ({ context, table, access, reason }))),
    ),
  );
}

describe('tables of contexts', () => {
  const tables = declaredTables();
  const used = usesInDomain(tables).filter(({ context, table }) => tables.get(table)?.owner !== context);
  const names = listed().map(nameOf);

  it('are used by other contexts only for a listed reason', () => {
    const unlisted = used.map(nameOf).filter((name) => !names.includes(name));
    expect(unlisted, 'Let the owner of the table answer, or add a line to test/domain/foreign-tables.ts').to.deep.equal(
      [],
    );
  });

  it('have no stale or duplicate line in foreign-tables.ts', () => {
    const present = new Set(used.map(nameOf));
    expect(names.filter((name) => !present.has(name))).to.deep.equal([]);
    expect(new Set(names).size).to.equal(names.length);
  });

  it('belong to a context, or to the platform', () => {
    const contexts = new Set(usesInDomain(tables).map(({ context }) => context));
    const owners = new Set([...tables.values()].map(({ owner }) => owner));
    expect([...owners].filter((owner) => !contexts.has(owner) && !platformFolders.includes(owner))).to.deep.equal([]);
  });

  it('are not used by mail or media if a higher context owns them', () => {
    const trunk = ['administrators', 'clubs', 'invitations', 'memberships', 'students'];
    const upward = used.filter(({ context, table }) => ['mail', 'media'].includes(context) && isAbove(table, context));
    expect(upward.map(nameOf).filter((name) => !trunk.some((table) => name.endsWith(` ${table}`)))).to.deep.equal([]);
  });

  const isAbove = (table: string, context: string): boolean => {
    const owner = tables.get(table)?.owner ?? '';
    return !platformFolders.includes(owner) && topLevelOf(`domain/${owner}`) > topLevelOf(`domain/${context}`);
  };
});

describe('usesIn', () => {
  const known: ReadonlyMap<string, Table> = new Map([
    ['lessons', { owner: 'learning', entity: 'Lesson' }],
    ['courses', { owner: 'learning', entity: 'Course' }],
  ]);
  const usesOf = (text: string) => usesIn(text, known).map(({ table, access }) => `${access} ${table}`);

  it('reads tables after FROM, JOIN, USING and commas', () => {
    expect(usesOf('sql`SELECT 1 FROM lessons lesson, courses`')).to.deep.equal(['reads lessons', 'reads courses']);
    expect(usesOf('sql`DELETE FROM courses USING lessons`')).to.deep.equal(['writes courses', 'reads lessons']);
    expect(usesOf("search(db, q, { from: 'lessons lesson' })")).to.deep.equal(['reads lessons']);
  });

  it('treats INSERT, UPDATE and DELETE as writes, but not a lock', () => {
    expect(usesOf('sql`INSERT INTO lessons`')).to.deep.equal(['writes lessons']);
    expect(usesOf('sql`UPDATE lessons SET title = 1`')).to.deep.equal(['writes lessons']);
    expect(usesOf('sql`SELECT FROM lessons FOR NO KEY UPDATE`')).to.deep.equal(['reads lessons']);
  });

  it('finds entities that are read and changed, and ignores types and comments', () => {
    const text = (code: string) => `import { Lesson } from '../../entities/learning/lesson.ts';\n${code}`;
    expect(usesOf(text('columns(Lesson, [])'))).to.deep.equal(['reads lessons']);
    expect(usesOf(text('tx.manager.update(Lesson, {})'))).to.deep.equal(['writes lessons']);
    expect(usesOf(text('let row: Pick<Lesson, 1>; // FROM lessons'))).to.deep.equal([]);
    expect(usesOf("import type { Lesson } from '../../entities/learning/lesson.ts';\nf(Lesson)")).to.deep.equal([]);
  });
});
