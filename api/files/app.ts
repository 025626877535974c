/** The file listener: uploads (MED-26, MED-29) and archives (REPO-5). It has its own port and its own rate limits. */
import cors from '@koa/cors';
import Koa from 'koa';
import { DomainError } from '../../platform/core/errors.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import type { ApiDeps, RequestState } from '../middleware/context.ts';
import { errorEnvelope } from '../middleware/errors.ts';
import { useLayers } from '../middleware/layers.ts';
import { requestLog } from '../middleware/request-log.ts';
import { secureHeaders } from '../middleware/secure-headers.ts';
import { operatorRoutes } from '../operator-routes.ts';
import { methodOverride } from './method-override.ts';
import { downloads, type DownloadsDeps } from './downloads.ts';
import { uploads, type UploadsDeps } from './uploads.ts';

export function createFilesApp(api: ApiDeps, deps: UploadsDeps & DownloadsDeps): Koa<RequestState> {
  const app = new Koa<RequestState>({ proxy: false });
  useLayers(app, {
    requestLog: requestLog(api),
    secureHeaders: secureHeaders(deps.filesUrl),
    cors: corsOf(deps.corsOrigins),
    methodOverride: methodOverride(),
    errorEnvelope: errorEnvelope(api),
    uploads: uploads(deps),
    downloads: downloads(deps),
    operatorRoutes: operatorRoutes(api),
    unmatched() {
      throw new DomainError('not_found', 'There is no such path.');
    },
  });
  app.on('error', (error: unknown) => api.log.debug({ error: describeError(error) }, 'an answer was cut off'));
  return app;
}

/** The origins that may call the API. */
function corsOf(origins: readonly string[]): Koa.Middleware {
  return cors({
    origin: (context) => {
      const origin = context.get('origin');
      return origins.includes(origin) ? origin : '';
    },
    allowMethods: 'GET,HEAD,POST,PUT,PATCH,DELETE',
    allowHeaders:
      'Authorization,Content-Type,If-Range,Range,Tus-Resumable,Upload-Length,Upload-Metadata,Upload-Offset,X-HTTP-Method-Override,X-Request-Id',
    exposeHeaders:
      'Accept-Ranges,Content-Disposition,Content-Length,Content-Range,ETag,Location,Retry-After,Tus-Extension,Tus-Max-Size,Tus-Resumable,Tus-Version,Upload-Length,Upload-Offset,X-Request-Id',
    maxAge: 600,
    keepHeadersOnError: false, // not needed: our error middleware answers every error, and keeps the headers that are already set
  });
}
