/** Checks Postgres, and a pooler in front of it, when a process starts. */
import type pg from 'pg';
import { directUrlOf, limitsOfTime, migrations, type DatabaseSettings } from '../../../../entities/data-source.ts';
import { commandLine } from '../../../core/modules.ts';
import { StartProblem } from '../../../core/start-problem.ts';
import { describeError } from '../../describe-error.ts';
import { build as ownBuild, type Build } from '../../build.ts';
import { checkClock } from './clock-watch.ts';
import { contractionMistake } from './contractions.ts';
import { proveListening } from '../notifications.ts';
import { missingLimits, withClient } from './role-limits.ts';

/** The NOTIFY must arrive within this time. */
const hearWithinMs = 3_000;
/** Other clients of the pooler may hide the fault during one run. */
const tries = 3;

/** The SQLSTATEs "prepared statement already exists" and "prepared statement does not exist". */
const preparedTwice = ['42P05', '26000'];
const noSuchTable = '42P01';
const noRight = '42501';

/** @returns for operators */
export function unusable(error: unknown, name = 'DATABASE_URL'): string {
  const { code, name: kind } = describeError(error);
  if (code === noRight)
    return `The role of ${name} lacks a right in Postgres (${code}): take the role that owns the database and its tables.`;
  return `Postgres cannot be used (${code ?? kind}): is ${name} right, and is the server up?`;
}

/** @returns for operators */
export const schemaBehind = (): string => `The schema is behind this version: run "${commandLine('migrate')}" first.`;

/**
 * Checks the clock, the schema, the limits of the role, prepared statements, and notifications.
 * @param build undefined in a checkout
 * @returns a sentence for each mistake, with a remedy
 */
export async function databaseMistakes(
  database: DatabaseSettings,
  build: Build | undefined = ownBuild,
): Promise<string[]> {
  const url = database.url.reveal();
  try {
    return await withClient(
      url,
      async (client) => {
        const clock = clockMistakes(database);
        // The checks run one after another, because they share a connection.
        const checks = [
          await asFarAsPossible(schemaMistakes(client, build)),
          await asFarAsPossible(limitMistakes(client)),
          await asFarAsPossible(poolerMistakes(database, client)),
          await listeningMistakes(database, client),
        ];
        return [...new Set([await clock, checks].flat(2))];
      },
      database.connectWithinMs,
    );
  } catch (error) {
    return [unusable(error)];
  }
}

/** A check that throws reports the reason, and does not prevent the others. */
async function asFarAsPossible(check: Promise<string[]>): Promise<string[]> {
  return check.catch((error: unknown) => [unusable(error)]);
}

async function clockMistakes(database: DatabaseSettings): Promise<string[]> {
  try {
    await checkClock(database);
    return [];
  } catch (error) {
    if (error instanceof StartProblem) return [error.message];
    throw error;
  }
}

async function schemaMistakes(client: pg.Client, build: Build | undefined): Promise<string[]> {
  try {
    const { rows } = await client.query<{ name: string }>('SELECT name FROM migrations');
    const appliedNames = new Set(rows.map(({ name }) => name));
    if (!migrations.every(({ name }) => appliedNames.has(name))) return [schemaBehind()];
    if (!build) return [];
    const contractions = await client.query<{ needs: string }>('SELECT needs FROM schema_contractions');
    const mistake = contractionMistake(contractions.rows, build);
    return mistake === undefined ? [] : [mistake];
  } catch (error) {
    if ((error as { code?: unknown }).code === noSuchTable) return [schemaBehind()];
    throw error;
  }
}

async function limitMistakes(client: pg.Client): Promise<string[]> {
  const missing = await missingLimits(client);
  if (missing.length === 0) return [];
  const names = Object.keys(limitsOfTime).join(', ');
  return [
    `The role of DATABASE_URL has no time limits, or longer ones (${names}): run "${commandLine('setup')}", or ${missing.map((statement) => `${statement};`).join(' ')} A pooler that holds connections needs RECONNECT then.`,
  ];
}

/** @param first a connection to the same address */
async function poolerMistakes({ url, connectWithinMs }: DatabaseSettings, first: pg.Client): Promise<string[]> {
  const isMixed = await withClient(url.reveal(), (second) => mixesStatements(first, second), connectWithinMs);
  return isMixed
    ? [
        'DATABASE_URL leads through a pooler that loses prepared statements: take PgBouncer 1.21 or later, with max_prepared_statements above 0, or let it pool sessions.',
      ]
    : [];
}

type Session = Pick<pg.Client, 'query'>;

/**
 * Prepares two statements with one name in two sessions. If a pooler mixes the sessions up, Postgres refuses the second, or returns the
 * rows of the wrong statement.
 */
export async function mixesStatements(first: Session, second: Session): Promise<boolean> {
  try {
    for (let nth = 0; nth < tries; nth++) {
      const name = `start_check_${process.pid}_${nth}`;
      for (const [session, answer] of [
        [first, 1],
        [second, 2],
        [first, 1],
      ] as const) {
        const { rows } = await session.query<{ answer: number }>({ name, text: `SELECT ${answer} AS answer` });
        if (rows[0]?.answer !== answer) return true;
      }
    }
    return false;
  } catch (error) {
    if (!preparedTwice.includes(String((error as { code?: unknown }).code))) throw error;
    return true;
  }
}

/**
 * The NOTIFY is sent through DATABASE_URL, like every NOTIFY of the service.
 * @param notifying connected to DATABASE_URL
 */
export async function listeningMistakes(
  database: Pick<DatabaseSettings, 'directUrl' | 'url' | 'connectWithinMs'>,
  notifying: Pick<pg.Client, 'query'>,
): Promise<string[]> {
  const name = database.directUrl === undefined ? 'DATABASE_URL' : 'DATABASE_DIRECT_URL';
  try {
    await withClient(
      directUrlOf(database).reveal(),
      (listening) => proveListening(listening, (statement) => notifying.query(statement), hearWithinMs),
      database.connectWithinMs,
    );
    return [];
  } catch (error) {
    if (describeError(error).code !== 'not_heard') return [unusable(error, name)];
    return [
      `A listener at ${name} does not receive the notifications of DATABASE_URL: a transaction pooler is in between, or it is another database. Set DATABASE_DIRECT_URL to the address of Postgres itself, or of a session pooler.`,
    ];
  }
}
