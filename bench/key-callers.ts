/** `npm run bench -- api callers` reads the tags of clubs with API keys, and with the sessions of their owners (ADR 70). */
import autocannon from 'autocannon';
import { readConfig } from '../config.ts';
import { migrate } from '../commands/migrate.ts';
import { newKey } from '../domain/identity/api-keys/key-format.ts';
import { createDataSource } from '../entities/data-source.ts';
import { ApiKey } from '../entities/identity/api-key.ts';
import { newId } from '../platform/core/ids.ts';
import { sha256 } from '../platform/infra/keys/vault.ts';
import { addClub } from './clubs.ts';
import { onFreshStack, progress, reportBeside, type Round } from './support.ts';

const rounds = 9;
const secondsARound = 2;
/** This number keeps a process busy, but no request waits long. */
const connections = 16;
/** The reads of this many clubs stay below the rate limit of each caller. */
const clubCount = 400;

interface Reader {
  path: string;
  token: string;
}

export async function measureCallers(): Promise<void> {
  await onFreshStack(['postgres'], async ({ env, launch }) => {
    const source = await createDataSource(readConfig(env).database, 'club-bench').initialize();
    await migrate(source);
    const [byKey, bySession]: [Reader[], Reader[]] = [[], []];
    while (byKey.length < clubCount) {
      const { id: clubId, token } = await addClub(source);
      const path = `/v1/clubs/${clubId}/tags`;
      const id = newId();
      const secret = newKey(id);
      const now = new Date();
      await source.manager.insert(ApiKey, {
        id,
        clubId,
        name: 'CRM',
        scopes: ['tags:read'],
        allowedNetworks: [],
        secretHash: sha256(secret),
        createdBy: null,
        createdAt: now,
        updatedAt: now,
        expiresAt: new Date(now.getTime() + 86_400_000),
      });
      byKey.push({ path, token: secret });
      bySession.push({ path, token });
    }
    await source.query('ANALYZE');
    await source.destroy();
    const { port } = await launch('api/server.ts', 'API_PORT');
    progress('warming up');
    for (const readers of [byKey, bySession]) await requestsPerSecond(port, readers);
    const measured: Round[] = [];
    for (let round = 1; round <= rounds; round++) {
      const figures = { ours: await requestsPerSecond(port, byKey), bare: await requestsPerSecond(port, bySession) };
      measured.push(figures);
      progress(`round ${round}: by key ${Math.round(figures.ours)}/s, by session ${Math.round(figures.bare)}/s`);
    }
    reportBeside('API key requests/s', measured);
  });
}

/** @throws Error if any answer is not 200: a refusal is quick, so the rate would be too high */
async function requestsPerSecond(port: number, readers: readonly Reader[]): Promise<number> {
  let requestNumber = 0;
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections,
    duration: secondsARound,
    requests: [
      {
        setupRequest: (request) => {
          const { path, token } = readers[requestNumber++ % readers.length] as Reader;
          return { ...request, path, headers: { authorization: `Bearer ${token}` } };
        },
      },
    ],
  });
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} refusals, ${result.errors} errors`);
  return result.requests.total / result.duration;
}
