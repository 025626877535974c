/**
 * Statements of the hot paths, parsed and planned once a connection: planning the claim of an attempt costs more than
 * running it (4.0 ms a call without, 1.3 ms with, on a busy machine). Only for texts that never vary.
 */
import type { Pool, PoolClient, QueryResult } from 'pg';
import type { DataSource } from 'typeorm';
import type { Queries } from './database.ts';
import type { Sql } from './sql.ts';

/** Runs the statement on a connection of the pool, or on the transaction's own. @returns its rows */
export type Statement<Row> = (on: DataSource | Queries, values: readonly unknown[]) => Promise<Row[]>;

/**
 * @param name one a text: what a connection knows the prepared statement by
 * @returns a function that runs it; its errors are the driver's own, whose code `sqlStateOf` reads
 */
export function prepared<Row>(name: string, text: string): Statement<Row> {
  return async (on, values) => {
    const connection = await connectionOf(on);
    const result: QueryResult = await connection.query({ name, text, values: [...values] });
    return result.rows as Row[];
  };
}

/**
 * The same for a statement that is composed at each call, always to one text: for another text of that name the driver throws.
 * @returns its rows
 */
export function preparedRows<Row>(name: string, on: Queries, statement: Sql): Promise<Row[]> {
  const values: unknown[] = [];
  return prepared<Row>(name, statement.render(values))(on, values);
}

async function connectionOf(on: DataSource | Queries): Promise<Pool | PoolClient> {
  const { queryRunner, dataSource } = on.manager;
  if (queryRunner) return (await queryRunner.connect()) as PoolClient;
  return (dataSource.driver as unknown as { master: Pool }).master;
}
