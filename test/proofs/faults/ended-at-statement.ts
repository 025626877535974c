/**
 * This module is preloaded into an API or a worker. It ends the process, as SIGKILL does, at a statement of the next transaction of the kind that
 * `END_IN` names. An example is `END_IN=booking` with `END_AT_STATEMENT=3`. The process then ends before the third statement after the first
 * lock of a mentorship or session. If the transaction has fewer statements, the process ends after COMMIT and before the answer.
 */
import pg from 'pg';

const endAt = Number(process.env['END_AT_STATEMENT']);
/** The first statement that counts, for each kind of transaction. */
const beginnings: Readonly<Record<string, RegExp>> = {
  /** A transaction that books, moves or cancels a session locks the mentorship or the session. */
  booking: /\bmentorships? mentorship\b[\s\S]*FOR NO KEY UPDATE/,
  /** A request with an Idempotency-Key claims its key. */
  key: /INSERT INTO idempotency_keys/,
  /** A transaction that ends a month of a club closes the month and begins its charges. */
  month: /DELETE FROM overage_turns/,
};
const beginning = beginnings[process.env['END_IN'] ?? ''];
const counts = new WeakMap<object, number>();

type Query = (this: object, ...parts: unknown[]) => unknown;
const client: { query: Query } = pg.Client.prototype;
const { query } = client;

client.query = function (...parts) {
  const [statement] = parts;
  const text = typeof statement === 'string' ? statement : String((statement as { text?: unknown } | undefined)?.text);
  const before = counts.get(this);
  if (before !== undefined) counts.set(this, before + 1);
  else if (beginning?.test(text)) counts.set(this, 0);
  if ((counts.get(this) ?? 0) === endAt) end();
  const answer = Reflect.apply(query, this, parts);
  if (/^(COMMIT|ROLLBACK)\b/.test(text)) {
    counts.delete(this);
    if (before !== undefined && text.startsWith('COMMIT')) Promise.resolve(answer).then(end, end);
  }
  return answer;
};

function end(): void {
  process.kill(process.pid, 'SIGKILL');
}
