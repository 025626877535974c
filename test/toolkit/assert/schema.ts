/** Compares the schema of a database with the entities. */
import { mock } from 'node:test';
import type { DataSource, QueryRunner } from 'typeorm';

/** @returns the statements that would bring the database's schema in line with its entities; empty if the schema matches */
export async function missingInSchema(source: DataSource): Promise<string[]> {
  const createQueryRunner = source.createQueryRunner.bind(source);
  const mocked = mock.method(source, 'createQueryRunner', () => oneByOne(createQueryRunner()));
  try {
    const { upQueries } = await source.driver.createSchemaBuilder().log();
    return upQueries.map(({ query }) => query);
  } finally {
    mocked.mock.restore();
  }
}

/**
 * Makes TypeORM send queries one after the other. The driver warns if several queries use one connection at the same time.
 */
function oneByOne(runner: QueryRunner): QueryRunner {
  const query = runner.query.bind(runner) as (...parameters: unknown[]) => Promise<unknown>;
  let last: Promise<unknown> = Promise.resolve();
  mock.method(runner, 'query', (...parameters: unknown[]) => {
    const next = last.then(() => query(...parameters));
    last = next.catch(() => {});
    return next;
  });
  return runner;
}
