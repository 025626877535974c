/** Reads for gauges, which must not take connections from other work while Postgres is slow (ENG-18). */
import pg, { type Pool, type QueryResult } from 'pg';
import type { DataSource } from 'typeorm';
import type { Sql } from './sql.ts';

/** How long the query of a gauge may take. */
const queryMs = 1_000;
/** How long a scrape waits for its gauges, which are read one after the other. */
export const scrapeMs = 5_000;

/** @returns the statement's rows; none where earlier gauges have used up the time of the scrape */
export type GaugeRead = <Row>(statement: Sql) => Promise<Row[]>;

/** @returns reads that run one at a time; each has a time limit, which goes along in its message, so it costs no round trip */
export function createGaugeRead(source: DataSource): GaugeRead {
  let before: Promise<unknown> = Promise.resolve();
  return <Row>(statement: Sql) => {
    const askedAt = performance.now();
    const mine = before.then(async () => {
      if (performance.now() - askedAt > scrapeMs) return [];
      const { master } = source.driver as unknown as { master: Pool };
      const text = `SET LOCAL statement_timeout = ${queryMs}; ${withLiterals(statement)}`;
      const results = (await master.query(text)) as unknown as QueryResult[]; // the driver gives one result a statement
      return (results[1]?.rows ?? []) as Row[];
    });
    before = mine.catch(() => {});
    return mine;
  };
}

/** A message of several statements takes no parameters. Those of a gauge are names and numbers of our own. */
function withLiterals(statement: Sql): string {
  const values: unknown[] = [];
  return statement.render(values).replaceAll(/\$(\d+)/g, (_, number) => pg.escapeLiteral(String(values[number - 1])));
}
