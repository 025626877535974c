import { expect } from 'chai';
import { testDatabase } from '../toolkit/stack/database.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import { createDescriber, type Describer } from './described.ts';

describe('nullableColumns', () => {
  let describer: Describer;

  before('create tables and start a session', async () => {
    const source = await testDatabase();
    await source.query(
      `CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL, email text, tags text[] NOT NULL, data jsonb NOT NULL)`,
    );
    await source.query(`CREATE TABLE orders (id int PRIMARY KEY, status text NOT NULL, error text, paid_at timestamptz, payment_id int,
      CHECK ((error IS NOT NULL) = (status = 'failed')), CHECK ((paid_at IS NULL) = (payment_id IS NULL)),
      CHECK (status <> 'open' OR paid_at IS NULL))`);
    await source.query(`CREATE TABLE pets (id int PRIMARY KEY, owner_id int NOT NULL, name text NOT NULL, age int)`);
    describer = await createDescriber((await testStack()).environment['DATABASE_URL'] ?? '');
  });
  after('end the session', () => describer.end());

  /** Returns `name` for a column that is never null, and `name?` for a column that may be null. */
  async function columnsOf(text: string, nulls: readonly number[] = []): Promise<string> {
    const described = await describer.describe(text, new Set(nulls));
    if ('error' in described) throw new Error(described.error);
    return described.columns.map(({ name, nullable }) => (nullable ? `${name}?` : name)).join(' ');
  }

  const cases: Readonly<Record<string, readonly (readonly [statement: string, columns: string])[]>> = {
    'reports a column as nullable if its column in the table may be null': [
      ['SELECT id, name, email FROM people', 'id name email?'],
      ['SELECT * FROM (SELECT name, email FROM people) AS p', 'name email?'],
      ['WITH p AS (SELECT name, email FROM people) SELECT * FROM p', 'name email?'],
      ['DELETE FROM people RETURNING name, email', 'name email?'],
      ['SELECT name FROM people UNION ALL SELECT email FROM people', 'name?'],
      ['SELECT name FROM people UNION ALL SELECT name FROM pets', 'name'],
    ],
    'reports a column of the optional side of an outer join as nullable': [
      ['SELECT a.name, b.name AS pet FROM people a LEFT JOIN pets b ON b.owner_id = a.id', 'name pet?'],
      ['SELECT a.name, b.name AS pet FROM people a RIGHT JOIN pets b ON b.owner_id = a.id', 'name? pet'],
      ['SELECT a.name, b.name AS pet FROM people a FULL JOIN pets b ON b.owner_id = a.id', 'name? pet?'],
      [
        'SELECT a.name, b.name AS pet FROM people a LEFT JOIN LATERAL (SELECT name FROM pets LIMIT 1) b ON true',
        'name pet?',
      ],
    ],
    'reports a column as not null if a condition excludes null': [
      ['SELECT email FROM people WHERE email IS NOT NULL', 'email'],
      ['SELECT email FROM people WHERE email = $1', 'email'],
      ['SELECT email FROM people WHERE email = ANY ($1::text[])', 'email'],
      ['SELECT email FROM people WHERE email IS NOT NULL OR id = 1', 'email?'],
      ["SELECT email FROM people WHERE email LIKE 'a%' OR email LIKE 'b%'", 'email'],
      ['SELECT email FROM people WHERE NOT (email = $1)', 'email'],
      ['SELECT b.name FROM people a LEFT JOIN pets b ON b.owner_id = a.id WHERE b.age > 3', 'name'],
      ['SELECT b.age FROM people a JOIN pets b ON b.age = a.id', 'age'],
      ['SELECT b.age FROM people a LEFT JOIN pets b ON b.age = a.id', 'age?'],
    ],
    'reports a column as not null if a CHECK constraint excludes null': [
      ["SELECT error FROM orders WHERE status = 'failed'", 'error'],
      ["SELECT error FROM orders WHERE status = 'open'", 'error?'],
      ['SELECT error FROM orders WHERE status = $1', 'error?'],
      ['SELECT paid_at, payment_id FROM orders WHERE paid_at IS NOT NULL', 'paid_at payment_id'],
      ['SELECT paid_at, payment_id FROM orders', 'paid_at? payment_id?'],
      ['SELECT b.payment_id FROM people a LEFT JOIN orders b ON b.paid_at = now()', 'payment_id?'],
      ['SELECT payment_id FROM students s JOIN orders ON true WHERE s.removed_at IS NULL', 'payment_id?'],
      ['SELECT email FROM students WHERE removed_at IS NULL', 'email'],
    ],
    'reports a column in RETURNING as nullable if the statement may write null into the column': [
      ["UPDATE people SET email = 'a' RETURNING email", 'email'],
      ['UPDATE people SET email = NULL WHERE email IS NOT NULL RETURNING email', 'email?'],
      ["INSERT INTO people VALUES (1, 'a', 'b', '{}', '{}') RETURNING email", 'email'],
      ["INSERT INTO people VALUES (1, 'a', 'b', '{}', '{}') ON CONFLICT DO NOTHING RETURNING email", 'email'],
      [
        "INSERT INTO people VALUES (1, 'a', 'b', '{}', '{}') ON CONFLICT (id) DO UPDATE SET id = 1 RETURNING email",
        'email?',
      ],
    ],
    'reports an expression as nullable or not null, as its arguments imply': [
      ["SELECT coalesce(email, '') AS a, coalesce(email, NULL) AS b FROM people", 'a b?'],
      ['SELECT email IS NULL AS a, email || name AS b, lower(name) AS c FROM people', 'a b? c'],
      ["SELECT CASE WHEN id = 1 THEN 'a' END AS a, CASE WHEN id = 1 THEN 'a' ELSE 'b' END AS b FROM people", 'a? b'],
      ["SELECT data -> 'a' AS a, data ->> 'a' AS b, tags[1] AS c FROM people", 'a? b? c?'],
      [
        'SELECT EXISTS (SELECT FROM pets) AS a, ARRAY (SELECT age FROM pets) AS b, (SELECT name FROM pets LIMIT 1) AS c',
        'a b c?',
      ],
      ['SELECT id = ANY (SELECT owner_id FROM pets) AS a, id IN (SELECT age FROM pets) AS b FROM people', 'a b?'],
      ['SELECT now() AS a, greatest(age, 1) AS b, nullif(id, 1) AS c FROM pets', 'a b c?'],
    ],
    'reports AND and OR as not null if a null test in one part prevents null in the other part': [
      ['SELECT email IS NULL OR email = $1 AS a, email IS NOT NULL AND email = $1 AS b FROM people', 'a b'],
      ['SELECT email IS NULL AND email = $1 AS a, email IS NOT NULL OR email = $1 AS b FROM people', 'a? b?'],
    ],
    'reports whether aggregates and window functions may be null': [
      ['SELECT count(*) AS a, max(id) AS b, (SELECT count(*) FROM pets) AS c FROM people', 'a b? c'],
      [
        'SELECT name, max(id) AS a, max(age) AS b, max(id) FILTER (WHERE age = 1) AS c FROM pets GROUP BY name',
        'name a b? c?',
      ],
      ['SELECT age, array_agg(age) AS a FROM pets GROUP BY age', 'age? a'],
      ['SELECT name, count(*) AS n FROM pets GROUP BY ROLLUP (name)', 'name? n'],
      ['SELECT row_number() OVER () AS a, lag(id) OVER () AS b FROM pets', 'a b?'],
    ],
    'reports whether columns of functions and other row sources in FROM may be null': [
      ['SELECT * FROM unnest($1::uuid[], $2::text[]) WITH ORDINALITY AS given (id, name, place)', 'id name place'],
      ['SELECT n FROM generate_series(1, 3) AS n', 'n'],
      ["SELECT id FROM jsonb_to_recordset('[]') AS given (id int)", 'id?'],
      ["SELECT * FROM (VALUES (1, NULL), (2, 'a')) AS given (n, text)", 'n text?'],
      ['WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT n FROM t', 'n'],
    ],
  };
  for (const [title, statements] of Object.entries(cases)) {
    it(title, async () => {
      for (const [statement, columns] of statements) expect(await columnsOf(statement), statement).to.equal(columns);
    });
  }

  it('reports a parameter as nullable only if a run has sent null for it', async () => {
    expect(await columnsOf('SELECT $1::text AS a, $2::text AS b', [2])).to.equal('a b?');
    expect(await columnsOf('SELECT given.id FROM unnest($1::int[]) AS given (id)', [1])).to.equal('id?');
  });

  it('returns the error of Postgres, and still describes the next statement', async () => {
    expect(await describer.describe('SELECT nothing FROM people', new Set())).to.deep.equal({
      error: 'column "nothing" does not exist',
    });
    expect(await columnsOf('SELECT 1 AS n')).to.equal('n');
  });
});
