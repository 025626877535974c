/** Prints the findings of the conformance checks, as a table for people or as JSON for programs. */
import { withoutSecrets } from '../options.ts';
import type { Finding, Verdict } from './verdicts.ts';

export interface Row extends Finding {
  readonly check: string;
}

/** @returns one row for each check, with the advice below it, and a line with the counts */
export function asTable(url: URL, rows: readonly Row[]): string {
  const width = Math.max(...rows.map(({ check }) => check.length));
  const lines = rows.flatMap(({ check, verdict, found, advice }) => [
    `${verdict}  ${check.padEnd(width)}  ${found}`,
    ...(advice === undefined ? [] : [`      ${' '.repeat(width)}  ${advice}`]),
  ]);
  const counts = Object.entries(countsOf(rows)).map(([verdict, count]) => `${count} ${verdict}`);
  return withoutSecrets(`${addressOf(url)}\n${lines.join('\n')}\n${counts.join(', ')}\n`);
}

/** @returns one JSON object: `url`, `counts` by verdict, and `checks` */
export function asJson(url: URL, rows: readonly Row[]): string {
  return withoutSecrets(`${JSON.stringify({ url: addressOf(url), counts: countsOf(rows), checks: rows }, null, 2)}\n`);
}

/** The query of an address may hold a token. */
const addressOf = ({ origin, pathname }: URL): string => `${origin}${pathname}`;

function countsOf(rows: readonly Row[]): Readonly<Record<Verdict, number>> {
  const count = (verdict: Verdict) => rows.filter((row) => row.verdict === verdict).length;
  return { pass: count('pass'), warn: count('warn'), fail: count('fail'), skip: count('skip') };
}
