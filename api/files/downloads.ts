/** Downloads of archives: checks the address, finds the range, and sends the bytes (REPO-5 to REPO-8). */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { dispositionOf } from '../../domain/media/file-name.policy.ts';
import { downloadsPath, openDownload, readArchive, type Archive } from '../../domain/repositories/archive.ts';
import { askedPart, type AskedPart } from '../../domain/repositories/ranges.policy.ts';
import { readDownloadToken, type DownloadToken } from '../../domain/repositories/tokens.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { forClub } from '../../platform/infra/postgres/shared-pool.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import type { ApiDeps, Context, Middleware } from '../middleware/context.ts';
import { admitDownload, admitRefused } from '../rate-limits/admission.ts';
import { ipOf } from '../middleware/client-ip.ts';
import type { DownloadPermits } from './download-permits.ts';
import { partUnder } from './paths.ts';

export interface DownloadsDeps extends Pick<ApiDeps, 'limiter'> {
  db: Database;
  vault: Vault;
  storage: ObjectStore;
  downloadPermits: DownloadPermits;
  trustedProxies: readonly string[];
  /** For internal errors. */
  onFailure: (error: unknown) => void;
}

/** @returns a middleware that passes any other path on */
export function downloads(deps: DownloadsDeps): Middleware {
  return async (context, next) => {
    const text = partUnder(downloadsPath, context.path);
    if (text === undefined) return next();
    context.state.route = `${downloadsPath}/{token}`;
    if (context.method === 'OPTIONS') return void (context.status = 204);
    if (context.method !== 'GET' && context.method !== 'HEAD') {
      context.set('Allow', 'GET, HEAD, OPTIONS');
      throw new DomainError('method_not_allowed', `This path has no ${context.method}.`);
    }
    await answer(deps, context, await readToken(deps, context, text));
  };
}

async function readToken(deps: DownloadsDeps, context: Context, text: string): Promise<DownloadToken> {
  const { now } = context.state;
  const token = readDownloadToken(deps.vault, text, now);
  if (token) return token;
  await admitRefused(deps.limiter, ipOf(context, deps.trustedProxies), now.getTime());
  throw new DomainError('unauthenticated', 'The address is unknown or has expired. Request another one.');
}

async function answer(deps: DownloadsDeps, context: Context, token: DownloadToken): Promise<void> {
  const { now } = context.state;
  await admitDownload(deps.limiter, token.studentId, now.getTime());
  const archive = await openDownload(deps.db, token, now);
  const { size } = archive.layout;
  const range = context.method === 'GET' ? context.get('range') : '';
  const part = askedPart(range, context.get('if-range'), archive.etag, size);
  const sends = context.method === 'GET' && part !== 'unsatisfiable';
  const release = sends ? deps.downloadPermits.take({ clubId: archive.clubId, studentId: token.studentId }) : undefined;
  try {
    context.set(headersOf(archive, part));
    context.status = part === 'unsatisfiable' ? 416 : part.isWhole ? 200 : 206;
    context.respond = false;
    context.res.statusCode = context.status;
    if (sends) await forClub(archive.clubId, () => send(deps, context, archive, part));
    else context.res.end();
  } finally {
    release?.();
  }
}

function headersOf({ etag, fileName, layout: { size } }: Archive, part: AskedPart): Record<string, string> {
  const always = { 'Accept-Ranges': 'bytes', ETag: etag };
  if (part === 'unsatisfiable') return { ...always, 'Content-Range': `bytes */${size}`, 'Content-Length': '0' };
  return {
    ...always,
    'Cache-Control': 'private, no-cache, no-transform', // a proxy that compressed the file would change the announced length
    'Content-Disposition': dispositionOf('attachment', fileName),
    'Content-Type': 'application/zip',
    'Content-Length': String(part.length),
    ...(!part.isWhole && { 'Content-Range': `bytes ${part.from}-${part.from + part.length - 1}/${size}` }),
  };
}

/** If the rest of the file cannot be read, the connection breaks, so that the client notices the missing bytes. */
async function send(
  deps: DownloadsDeps,
  { res }: Context,
  archive: Archive,
  part: { from: number; length: number },
): Promise<void> {
  const disconnection = new AbortController();
  res.once('close', () => disconnection.abort());
  try {
    await pipeline(Readable.from(readArchive(deps, archive, part, disconnection.signal), { objectMode: false }), res);
  } catch (error) {
    if (!disconnection.signal.aborted || !isLeaving(error)) deps.onFailure(error);
  }
}

/** The client has disconnected, which is not an error of the service. */
const isLeaving = (error: unknown) =>
  error instanceof Error &&
  (error.name === 'AbortError' || ('code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'));
