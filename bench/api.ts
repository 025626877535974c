/**
 * `npm run bench -- api session` measures GET /v1/auth/session beside a bare Koa route with the same query. `keys` measures a POST with and
 * without an `Idempotency-Key`. `callers` measures a GET with an API key and with a session.
 */
import { Transaction } from '../platform/infra/postgres/database.ts';
import autocannon from 'autocannon';
import { readConfig } from '../config.ts';
import { newId } from '../platform/core/ids.ts';
import { openSession } from '../domain/identity/sessions/sessions.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { measureCallers } from './key-callers.ts';
import { measureKeys } from './keyed-requests.ts';
import { onFreshStack, progress, reportBeside, type Round } from './support.ts';

const rounds = 5;
const secondsARound = 6;
/** This number keeps a process busy, but no request waits long. */
const connections = 16;

export const apiMeasurements = ['session', 'keys', 'callers'];

export async function benchApi(measurements: readonly string[]): Promise<void> {
  if (measurements.includes('session')) await measureSession();
  if (measurements.includes('keys')) await measureKeys();
  if (measurements.includes('callers')) await measureCallers();
}

async function measureSession(): Promise<void> {
  await onFreshStack(['postgres'], async ({ env, launch }) => {
    const token = await seedSession(env);
    const { port: ours } = await launch('api/server.ts', 'API_PORT');
    const { port: bare } = await launch('bench/ceiling/session-route.ts', 'CEILING_PORT');

    progress('warming up');
    await requestsPerSecond(ours, token);
    await requestsPerSecond(bare, token);
    const measured: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      const figures = { ours: await requestsPerSecond(ours, token), bare: await requestsPerSecond(bare, token) };
      measured.push(figures);
      progress(`round ${round}: ${Math.round(figures.ours)} requests/s, bare route ${Math.round(figures.bare)}/s`);
    }
    reportBeside('session requests/s', measured);
  });
}

async function seedSession(env: Record<string, string>): Promise<string> {
  const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
  await migrate(source);
  const [clubId, studentId] = [newId(), newId()];
  await source.query(`INSERT INTO clubs (id, name, slug, created_at) VALUES ($1, 'Club', 'club', now())`, [clubId]);
  await source.query(
    `INSERT INTO students (id, club_id, name, email, created_at) VALUES ($1, $2, 'Student', 'student@example.com', now())`,
    [studentId, clubId],
  );
  const { token } = await source.transaction((tx) =>
    openSession(new Transaction(tx), 'student', studentId, new Date()),
  );
  await source.destroy();
  return token;
}

/** @throws Error if any answer is not 200: refusals are quick, so the rate would be too high */
async function requestsPerSecond(port: number, token: string): Promise<number> {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}/v1/auth/session`,
    headers: { authorization: `Bearer ${token}` },
    connections,
    duration: secondsARound,
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.total / result.duration;
}
