/** Requests to upload addresses: finds the upload, checks the request, and answers requests without bytes (MED-26, MED-29). */
import { isResumable, maxBytes } from '../../domain/media/media.policy.ts';
import { uploadsPath } from '../../domain/media/uploads/descriptor.ts';
import { declareLength, findUploadedFile, type UploadedFile } from '../../domain/media/uploads/open-uploads.ts';
import { readUploadToken } from '../../domain/media/uploads/tokens.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { forClub } from '../../platform/infra/postgres/shared-pool.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import type { ApiDeps, Context, Middleware } from '../middleware/context.ts';
import { admitRefused, admitUpload } from '../rate-limits/admission.ts';
import { ipOf } from '../middleware/client-ip.ts';
import { metadataFault } from './metadata.policy.ts';
import { requireOwnMethod } from './method-override.ts';
import { partUnder } from './paths.ts';
import { declaredLength, fileExists, receiveFile, type SingleUploadDeps } from './single-uploads.ts';
import type { UploadPermits } from './upload-permits.ts';
import { serveUpload, type UploadServerDeps } from './upload-server.ts';
import { RefusalToPerson } from '../../domain/language/refusal.ts';

export interface UploadsDeps extends UploadServerDeps, SingleUploadDeps, Pick<ApiDeps, 'limiter'> {
  vault: Vault;
  resumablePermits: UploadPermits;
  /** These permits are for uploads in one request. */
  singlePermits: UploadPermits;
  trustedProxies: readonly string[];
}

const version = '1.0.0';
const methods = ['HEAD', 'PATCH', 'DELETE', 'PUT'] as const;
const piece = 'application/offset+octet-stream';
const number = /^(?:0|[1-9]\d{0,14})$/;

/** @returns a middleware that passes any other path on */
export function uploads(deps: UploadsDeps): Middleware {
  return async (context, next) => {
    const idInPath = partUnder(uploadsPath, context.path);
    const isCollection = context.path === uploadsPath;
    if (!isCollection && idInPath === undefined) return next();
    context.state.route = isCollection ? uploadsPath : `${uploadsPath}/{mediaId}`;
    if (context.method === 'OPTIONS') return answerOptions(context);
    requireOwnMethod(context);
    requireMethod(context, isCollection ? ['POST'] : methods);
    if (context.method !== 'PUT') {
      context.set('Tus-Resumable', version);
      requireVersion(context);
    }
    try {
      await answer(deps, context, idInPath);
    } catch (error) {
      if (['POST', 'PATCH', 'PUT'].includes(context.method)) context.set('Connection', 'close'); // the body is not read to its end
      throw error;
    }
  };
}

/** Answers a client that asks for the supported features of tus. */
function answerOptions(context: Context): void {
  context.set({ 'Tus-Resumable': version, 'Tus-Version': version, 'Tus-Extension': 'creation,termination' });
  context.set('Tus-Max-Size', String(maxBytes('library', 'video/mp4')));
  context.status = 204;
}

/** No path allows GET, because the tus server would answer with the content of the file. @throws DomainError method_not_allowed */
function requireMethod(context: Context, allowed: readonly string[]): void {
  if (allowed.includes(context.method)) return;
  context.set('Allow', ['OPTIONS', ...allowed].join(', '));
  throw new DomainError('method_not_allowed', `This path has no ${context.method}.`);
}

/** @throws DomainError tus_version */
function requireVersion(context: Context): void {
  if (context.get('tus-resumable') === version) return;
  context.set('Tus-Version', version);
  throw new DomainError('tus_version', `Tus-Resumable must be ${version}.`);
}

async function answer(deps: UploadsDeps, context: Context, idInPath: string | undefined): Promise<void> {
  const {
    state: { now },
  } = context;
  const mediaId = readToken(deps, context);
  if (mediaId === undefined) {
    await admitRefused(deps.limiter, ipOf(context, deps.trustedProxies), now.getTime());
    throw new DomainError('unauthenticated', 'The token is unknown or has expired. Request another one from the API.');
  }
  if (idInPath !== undefined && idInPath.toLowerCase() !== mediaId) throw notFound('upload'); // the token belongs to a different file
  const file = await findUploadedFile(deps.db, mediaId);
  if (!file?.objectKey || isResumable(file.mime ?? '') !== (context.method !== 'PUT')) throw notFound('upload');
  const { objectKey } = file;
  const serveFile = context.method === 'PUT' ? receiveInOneRequest : serveResumable;
  await forClub(file.clubId, () => serveFile(deps, context, { ...file, objectKey }));
}

async function receiveInOneRequest(
  deps: UploadsDeps,
  context: Context,
  file: UploadedFile & { objectKey: string },
): Promise<void> {
  if (!file.isOpen) throw fileExists();
  const length = declaredLength(context, file);
  await admitUpload(deps.limiter, file, context.state.now.getTime());
  const { socket } = context.req;
  const permit = await deps.singlePermits.take({ ...file, bytesRead: () => socket.bytesRead });
  try {
    await receiveFile(deps, file, length, context);
  } catch (error) {
    if (!(error instanceof DomainError) && !context.req.complete && context.req.destroyed) return; // the sender has disconnected, so no client reads the answer
    throw error;
  } finally {
    permit.release();
  }
  context.status = 200;
  context.body = '';
}

async function serveResumable(
  deps: UploadsDeps,
  context: Context,
  file: UploadedFile & { objectKey: string },
): Promise<void> {
  const {
    method,
    state: { now },
  } = context;
  if (!file.isOpen) return answerEnded(deps, context, file);
  if (method === 'POST') {
    const length = lengthOf(context);
    requireMetadata(context);
    await admitUpload(deps.limiter, file, now.getTime());
    await declareLength(deps.db, file.id, length);
    return serve(deps, context, { ...file, length });
  }
  if (method !== 'PATCH') return serve(deps, context, file);
  requirePiece(context);
  const { socket } = context.req;
  const permit = await deps.resumablePermits.take({ ...file, bytesRead: () => socket.bytesRead });
  try {
    await serve(deps, context, file, permit.signal);
  } finally {
    permit.release();
  }
}

async function serve(
  deps: UploadsDeps,
  context: Context,
  file: UploadedFile & { objectKey: string },
  mustStop?: AbortSignal,
): Promise<void> {
  context.respond = false;
  await serveUpload(deps, file, context, mustStop);
}

/**
 * Tells a client that the file is complete. The client may have missed the last answer.
 * @throws DomainError upload_ended
 */
function answerEnded({ filesUrl }: UploadsDeps, context: Context, { id, length }: UploadedFile): void {
  if (context.method === 'POST') {
    context.set('Location', `${filesUrl}${uploadsPath}/${id}`);
    context.status = 201;
  } else if (context.method === 'HEAD') {
    context.set({ 'Upload-Offset': String(length), 'Upload-Length': String(length) });
    context.status = 200;
  } else
    throw new RefusalToPerson('upload_ended', 'refusal.upload_ended', { technical: 'The file has already arrived.' });
}

/** The request that creates the upload must state the size, and must have no body. */
function lengthOf(context: Context): number {
  if (context.get('upload-defer-length') !== '' || context.get('upload-concat') !== '')
    throw new DomainError(
      'invalid_request',
      'Upload-Defer-Length and Upload-Concat are not supported: send Upload-Length.',
    );
  if (context.get('content-type') === piece)
    throw new DomainError('unsupported_media_type', 'A creation has no body: send the bytes with PATCH.');
  const length = context.get('upload-length');
  if (!number.test(length) || length === '0')
    throw new DomainError('invalid_request', 'Upload-Length must be the size of the file in bytes.');
  return Number(length);
}

/** @throws DomainError malformed_request */
function requireMetadata({ headers }: Context): void {
  const { 'upload-metadata': metadata } = headers;
  const fault = metadata === undefined ? undefined : metadataFault(String(metadata));
  if (fault !== undefined) throw new DomainError('malformed_request', fault);
}

/** @throws DomainError unsupported_media_type, malformed_request */
function requirePiece(context: Context): void {
  if (context.get('content-type') !== piece)
    throw new DomainError('unsupported_media_type', `Content-Type must be ${piece}.`);
  if (!number.test(context.get('upload-offset')))
    throw new DomainError('malformed_request', 'Upload-Offset must be a whole number from 0.');
  if (context.get('upload-length') !== '')
    throw new DomainError('malformed_request', 'Upload-Length is allowed only in the creation.');
}

function readToken({ vault }: UploadsDeps, context: Context): Id | undefined {
  const [, token] = /^Bearer ([\w-]+)$/.exec(context.get('authorization')) ?? [];
  return token === undefined ? undefined : readUploadToken(vault, token, context.state.now);
}
