/**
 * Loaded into an API before it begins: ends the process, as SIGKILL does, at a statement of the next transaction that books, moves or
 * cancels a session. `END_AT_STATEMENT=3`: before the third statement that follows its first lock of a mentorship or session. A
 * transaction that has fewer ends the process after its COMMIT, before anybody is answered.
 */
import pg from 'pg';

const endAt = Number(process.env['END_AT_STATEMENT']);
const locks = /\bmentorships? mentorship\b[\s\S]*FOR NO KEY UPDATE/;
/** Statements since the lock, by connection. */
const counts = new WeakMap<object, number>();

type Query = (this: object, ...parts: unknown[]) => unknown;
const client: { query: Query } = pg.Client.prototype;
const { query } = client;

client.query = function (...parts) {
  const [asked] = parts;
  const text = typeof asked === 'string' ? asked : String((asked as { text?: unknown } | undefined)?.text);
  const before = counts.get(this);
  if (before !== undefined) counts.set(this, before + 1);
  else if (locks.test(text)) counts.set(this, 0);
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
