/** The tus server for one upload and one request, which the token has identified (MED-26). */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Server, type CancellationContext, type Lock } from '@tus/server';
import { NodeRequest, sendNodeResponse } from 'srvx/node';
import { recordMultipart, findUploadedFile, type UploadedFile } from '../../domain/media/uploads/open-uploads.ts';
import { UploadLocked, type UploadLock, type UploadLocks } from '../../domain/media/uploads/locks.ts';
import { uploadsPath } from '../../domain/media/uploads/descriptor.ts';
import type { ErrorCode } from '../../platform/core/error-codes.ts';
import { DomainError, notFound } from '../../platform/core/errors.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { PartStore } from '../../platform/infra/store/part-store.ts';

/** In milliseconds, after a request was asked to release the lock. Not 0, because tus replaces 0 by its default of three seconds. */
const releaseMs = 1;

export interface UploadServerDeps {
  db: Database;
  locks: UploadLocks;
  store: ConstructorParameters<typeof PartStore>[0];
  filesUrl: string;
  corsOrigins: readonly string[];
  /** Called when the file is complete. */
  onFinish: (file: UploadedFile) => Promise<void>;
  /** For internal errors. */
  onFailure: (error: unknown) => void;
}

/**
 * {@link file://./uploads.ts} has checked the request.
 * @param mustStop aborts when the request must store the received bytes and answer; the client continues with a new request
 */
export async function serveUpload(
  deps: UploadServerDeps,
  file: UploadedFile & { objectKey: string },
  { req, res }: { req: IncomingMessage; res: ServerResponse },
  mustStop?: AbortSignal,
): Promise<void> {
  const { db, locks } = deps;
  let { multipartId } = file;
  let uploadLock: UploadLock | undefined;
  const lock: Lock = {
    async lock(signal, requestRelease) {
      uploadLock = await locks.acquire(file.id, () => void requestRelease(), signal);
      // Another request may have changed the upload since its row was read.
      const current = await findUploadedFile(db, file.id);
      if (!current?.isOpen) {
        await uploadLock.release();
        throw notFound('upload');
      }
      ({ multipartId } = current);
      mustStop?.addEventListener('abort', () => void requestRelease(), { once: true });
    },
    unlock: async () => uploadLock?.release(),
  };
  const store = new PartStore(deps.store, {
    key: file.objectKey,
    length: file.length,
    multipartId: () => multipartId,
    async note(newMultipartId) {
      if (!uploadLock || !(await recordMultipart(db, uploadLock, newMultipartId ?? null))) return false;
      multipartId = newMultipartId;
      return true;
    },
  });
  await new UploadServer({
    path: uploadsPath,
    datastore: store,
    locker: { newLock: () => lock },
    lockDrainTimeout: releaseMs,
    namingFunction: () => file.objectKey,
    getFileIdFromRequest: () => file.objectKey,
    generateUrl: () => `${deps.filesUrl}${uploadsPath}/${file.id}`,
    disableTerminationForFinishedUploads: true,
    allowedOrigins: (origin) => deps.corsOrigins.includes(origin),
    exposedHeaders: ['Retry-After', 'X-Request-Id'],
    async onUploadFinish() {
      await deps.onFinish(file).catch(deps.onFailure);
      return {};
    },
    onResponseError(_, error) {
      const refusal = refusalOf(error);
      if (refusal.code === 'internal_error') deps.onFailure(error);
      return { status_code: refusal.status, body: envelopeOf(refusal) };
    },
  }).handle(req, res);
}

const envelopeOf = ({ code, message }: DomainError): string => JSON.stringify({ error: { code, message } });

/** This server does not use these headers. An invalid value would make tus refuse the request. */
const ignoredHeaders = ['upload-metadata', 'tus-version', 'x-forwarded-proto'] as const;

/** Adds our JSON error body to errors of tus. */
class UploadServer extends Server {
  /** A HEAD request, so the answer has no body. */
  #isHead = false;

  /**
   * Returns when the connection closes. srvx, the server library of tus, would wait until the answer ends, which no client reads any more.
   */
  override async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const closed = new Promise((resolve) => res.once('close', resolve));
    const request = new NodeRequest({ req, res });
    this.#isHead = request.method === 'HEAD';
    for (const name of ignoredHeaders) request.headers.delete(name);
    const answer = await this.handleWeb(request);
    await Promise.race([sendNodeResponse(res, answer), closed]);
  }

  override write(
    context: CancellationContext,
    headers: Headers,
    status: number,
    body?: string,
  ): ReturnType<Server['write']> {
    if (status < 400) return super.write(context, headers, status, body);
    if (this.#isHead) return super.write(context, headers, status);
    headers.set('Content-Type', 'application/json; charset=utf-8');
    return super.write(context, headers, status, body?.startsWith('{') ? body : envelopeOf(headerRefusal(status)));
  }
}

/** The answer to a request that tus refuses because of an unreadable header. */
function headerRefusal(status: number): DomainError {
  if (status === 412) return new DomainError('tus_version', 'Tus-Resumable must be 1.0.0.');
  if (status === 400) return new DomainError('malformed_request', 'A header of the upload cannot be read.');
  return new DomainError('internal_error', 'Something went wrong on our side. Continue with HEAD.');
}

/** The key is the status of tus. Every other status becomes an internal error. */
const codes: Readonly<Record<number, [ErrorCode, string]>> = {
  400: ['upload_ended', 'The upload is complete, or another request has replaced this one.'],
  404: ['not_found', 'There is no such upload, or it was not created.'],
  409: ['upload_offset', 'The upload has another offset. Read it with HEAD.'],
  410: ['not_found', 'There is no such upload any more.'],
  413: ['body_too_large', 'The body is longer than the rest of the file.'],
};

function refusalOf(error: Error | { status_code: number; body: string }): DomainError {
  if (error instanceof DomainError) return error;
  if (error instanceof UploadLocked) return new DomainError('upload_locked', 'Another request writes to this upload.');
  const [code, message] = ('status_code' in error && codes[error.status_code]) || [];
  return new DomainError(code ?? 'internal_error', message ?? 'Something went wrong on our side. Continue with HEAD.');
}
