/**
 * Starts a local identity provider: the process of the provider, and a front with TLS on this machine. Tests can change the answers of the
 * provider in the front, because the provider itself makes no mistakes.
 */
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import path from 'node:path';
import type { Certificate } from '../stack/certificates.ts';
import { projectDirectory } from '../project.ts';
import { frontHeader, settingsVariable, type ProviderPerson, type ProviderSettings } from './settings.ts';

/** An answer of the provider, as the front sends it. */
export interface FrontAnswer {
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

/** Changes an answer. `path` has no query. Undefined: the front never answers. */
export type AlterAnswer = (
  path: string,
  answer: FrontAnswer,
) => FrontAnswer | undefined | Promise<FrontAnswer | undefined>;

export interface LocalProviderOptions {
  /** For `localhost`. */
  certificate: Certificate;
  redirectUris: readonly string[];
  people: readonly ProviderPerson[];
  alter?: AlterAnswer;
  /** Any free port if absent. */
  port?: number;
}

export interface LocalProvider {
  issuer: string;
  clientId: string;
  clientSecret: string;
  people: readonly ProviderPerson[];
  /** The id of the provider's process. */
  pid: number;
  /** The paths of the requests that arrived. */
  requests: string[];
  stop(): Promise<void>;
}

/** @returns the value of `IDENTITY_PROVIDERS` with this provider */
export function settingOf({ issuer, clientId, clientSecret }: LocalProvider, key: string, name: string): string {
  return JSON.stringify([{ key, name, issuer, client_id: clientId, client_secret: clientSecret }]);
}

export async function startLocalProvider(options: LocalProviderOptions): Promise<LocalProvider> {
  const { certificate, redirectUris, people, alter = (_path, answer) => answer, port = 0 } = options;
  const requests: string[] = [];
  const frontSecret = randomBytes(16).toString('hex');
  let providerPort = 0;
  const front = createServer(certificate, (request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'https://localhost');
    requests.push(pathname);
    void (async () => {
      const answer = await alter(pathname, await answerOf(request, providerPort, frontSecret));
      if (answer) send(response, answer);
    })().catch(() => response.destroy());
  });
  front.listen(port, '127.0.0.1');
  await once(front, 'listening');
  const address = front.address();
  if (address === null || typeof address === 'string') throw new Error('The front listens on a port.');

  const issuer = `https://localhost:${address.port}`;
  const client = { clientId: 'club-learning', clientSecret: randomBytes(16).toString('hex') };
  const settings: ProviderSettings = { issuer, ...client, redirectUris, people, frontSecret };
  const child = fork(path.join(projectDirectory, 'dev', 'identity-provider', 'process.ts'), {
    execArgv: ['--import', path.join(projectDirectory, 'platform', 'load.mjs')],
    env: { PATH: process.env['PATH'], [settingsVariable]: JSON.stringify(settings) },
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const [message] = (await once(child, 'message')) as [{ port: number }];
  providerPort = message.port;
  if (child.pid === undefined) throw new Error('The process of the provider did not start.');
  return {
    issuer,
    ...client,
    people,
    pid: child.pid,
    requests,
    async stop() {
      front.closeAllConnections();
      front.close();
      // Ctrl-C in a terminal ends all processes, so the child may have ended by a signal.
      if (child.exitCode === null && child.signalCode === null) {
        child.kill();
        await once(child, 'exit');
      }
    },
  };
}

async function answerOf(request: IncomingMessage, port: number, secret: string): Promise<FrontAnswer> {
  const { method, url, headers } = request;
  const forwarded = forward({
    port,
    method,
    path: url,
    headers: { ...headers, 'x-forwarded-proto': 'https', 'x-forwarded-host': headers.host, [frontHeader]: secret },
  });
  request.pipe(forwarded);
  const [response] = (await once(forwarded, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const fields = Object.entries(response.headers).filter(
    ([name, value]) => value !== undefined && !['transfer-encoding', 'content-length', 'connection'].includes(name),
  ) as [string, string | string[]][];
  return { status: response.statusCode ?? 502, headers: Object.fromEntries(fields), body: Buffer.concat(chunks) };
}

function send(response: ServerResponse, { status, headers, body }: FrontAnswer): void {
  response.writeHead(status, { ...headers, 'content-length': body.length }).end(body);
}
