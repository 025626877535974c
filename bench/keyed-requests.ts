/**
 * `npm run bench -- api keys` creates students and tags with and without an `Idempotency-Key` (ADR 71). A student has 17 statements, a
 * usual POST. A tag has 6, the fewest.
 */
import { randomUUID } from 'node:crypto';
import autocannon from 'autocannon';
import { readConfig } from '../config.ts';
import { createDataSource } from '../entities/data-source.ts';
import { migrate } from '../commands/migrate.ts';
import { addClub, type BenchClub } from './clubs.ts';
import { onFreshStack, progress, reportBeside, type Round } from './support.ts';

const rounds = 9;
const secondsARound = 2;
/** This number keeps a process busy, but no request waits long. */
const connections = 16;
/** The calls of this many clubs stay below the rate limit of each club. */
const clubCount = 900;

interface Kind {
  figure: string;
  path: string;
  body: () => object;
}

const kinds: readonly Kind[] = [
  {
    figure: 'students created with an Idempotency-Key/s',
    path: '/students',
    body: () => ({ name: 'Ada', email: `${randomUUID()}@example.com` }),
  },
  {
    figure: 'tags created with an Idempotency-Key/s',
    path: '/tags',
    body: () => ({ name: `tag ${randomUUID()}` }),
  },
];

export async function measureKeys(): Promise<void> {
  await onFreshStack(['postgres'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const clubs: BenchClub[] = [];
    while (clubs.length < clubCount) clubs.push(await addClub(source));
    await source.query('ANALYZE');
    const { port } = await launch('api/server.ts', 'API_PORT');
    let requestNumber = 0;
    const nextClub = () => clubs[requestNumber++ % clubs.length] as BenchClub;
    progress('warming up');
    const measured = new Map<Kind, Round[]>(kinds.map((kind) => [kind, []]));
    for (const kind of kinds) for (const hasKey of [true, false]) await requestsPerSecond(port, nextClub, kind, hasKey);
    for (let round = 1; round <= rounds; round++)
      for (const kind of kinds) {
        // Tables grow, so the order changes with each round.
        const hasKeyFirst = round % 2 === 0;
        const first = await requestsPerSecond(port, nextClub, kind, hasKeyFirst);
        const second = await requestsPerSecond(port, nextClub, kind, !hasKeyFirst);
        const figures = hasKeyFirst ? { ours: first, bare: second } : { ours: second, bare: first };
        measured.get(kind)?.push(figures);
        progress(`round ${round}, ${kind.path}: ${JSON.stringify(figures)}`);
      }
    for (const [{ figure }, figures] of measured) reportBeside(figure, figures);
    await source.destroy();
  });
}

/** @throws Error if any answer is not 201: a refusal is quick, so the rate would be too high */
async function requestsPerSecond(
  port: number,
  nextClub: () => BenchClub,
  { path, body }: Kind,
  hasKey: boolean,
): Promise<number> {
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections,
    duration: secondsARound,
    requests: [
      {
        method: 'POST',
        setupRequest: (request) => {
          const { id, token } = nextClub();
          const headers = {
            'content-type': 'application/json',
            authorization: `Bearer ${token}`,
            ...(hasKey && { 'idempotency-key': randomUUID() }),
          };
          return { ...request, path: `/v1/clubs/${id}${path}`, headers, body: JSON.stringify(body()) };
        },
      },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.total / result.duration;
}
