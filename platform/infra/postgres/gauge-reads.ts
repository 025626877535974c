/** Reads values for gauges, without taking connections from other work while Postgres is slow (ENG-18). */
import pg, { type Pool, type QueryResult } from 'pg';
import type { DataSource } from 'typeorm';
import { noteStatement } from './observed-statements.ts';
import type { Sql } from './sql.ts';

const queryMs = 1_000;
/** The gauges of a scrape are read one after another. */
export const scrapeMs = 5_000;

/** @returns an empty list if earlier gauges have used up the time of the scrape */
export type GaugeRead = <Row>(statement: Sql) => Promise<Row[]>;

/** Reads one gauge at a time. The time limit is in the same message as the query, so it needs no extra round trip */
export function createGaugeRead(source: DataSource): GaugeRead {
  let before: Promise<unknown> = Promise.resolve();
  return <Row>(statement: Sql) => {
    const askedAt = performance.now();
    note(statement);
    const mine = before.then(async () => {
      if (performance.now() - askedAt > scrapeMs) return [];
      const { master } = source.driver as unknown as { master: Pool };
      const text = `SET LOCAL statement_timeout = ${queryMs}; ${withLiterals(statement)}`;
      const results = (await master.query(text)) as unknown as QueryResult[]; // the driver returns one result for each statement
      return (results[1]?.rows ?? []) as Row[];
    });
    before = mine.catch(() => {});
    return mine;
  };
}

function note(statement: Sql): void {
  const values: unknown[] = [];
  noteStatement(statement.render(values), values);
}

/** A message of several statements cannot have parameters. The values are only names and numbers of this program. */
function withLiterals(statement: Sql): string {
  const values: unknown[] = [];
  return statement.render(values).replaceAll(/\$(\d+)/g, (_, number) => pg.escapeLiteral(String(values[number - 1])));
}
