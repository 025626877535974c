/** The file listener of an API process. It starts before the API, which needs its address, and stops with the API. */
import { createServer } from 'node:http';
import type { Config } from '../../config.ts';
import { directUrlOf } from '../../entities/data-source.ts';
import { noticeUpload } from '../../domain/media/uploads/completion.ts';
import { createUploadLocks } from '../../domain/media/uploads/locks.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { clientConfig } from '../../platform/infra/store/object-store.ts';
import { drain, listen } from '../listening.ts';
import type { ApiDeps } from '../middleware/context.ts';
import { serveReadable } from '../readable-requests.ts';
import { secureHeadersOf } from '../secure-headers.policy.ts';
import { createFilesApp } from './app.ts';
import { createDownloadPermits } from './download-permits.ts';
import { createUploadPermits, singleUploads } from './upload-permits.ts';

/** After this time the client continues with a new request. */
const longestRequestMs = 3_600_000;
/** Without traffic for this time, the client is gone, or the store needs too long to join the parts. */
const silenceMs = 120_000;

export interface FilesListener {
  port: number;
  /** The address has no slash at the end. */
  url: string;
  serve(api: ApiDeps): void;
  stop(): Promise<void>;
}

/** @param config if the port is 0, the listener uses any free port, and a local address */
export async function openFilesListener(config: Config): Promise<FilesListener> {
  const server = createServer({
    requestTimeout: longestRequestMs,
    headersTimeout: 10_000,
    keepAliveTimeout: 65_000,
    requireHostHeader: false, // Node would refuse a request without a Host header, and its answer would lack our JSON error body
    noDelay: true,
  });
  server.setTimeout(silenceMs);
  const port = await listen(server, config.files.port, config.api.host);
  const url = config.files.port === 0 ? `http://${config.api.host}:${port}` : config.files.publicUrl;
  let end = async () => {};
  return {
    port,
    url,
    serve(api) {
      const { deps, log, limiter, clock, settings } = api;
      const { db, vault, storage } = deps;
      const locks = createUploadLocks({
        db,
        databaseUrl: directUrlOf(config.database).reveal(),
        onFailure: (error) =>
          log.warn({ error: describeError(error) }, 'the listener for upload locks has failed; it connects again'),
      });
      const app = createFilesApp(api, {
        db,
        vault,
        storage,
        limiter,
        locks,
        downloadPermits: createDownloadPermits(),
        resumablePermits: createUploadPermits(() => clock().getTime()),
        singlePermits: createUploadPermits(() => clock().getTime(), singleUploads),
        store: { ...clientConfig(config.storage), bucket: config.storage.privateBucket },
        filesUrl: url,
        corsOrigins: settings.corsOrigins,
        trustedProxies: settings.trustedProxies,
        onFinish: (file) => noticeUpload({ db, storage }, file, clock()),
        onFailure: (error) => log.error({ error: describeError(error) }, 'an upload or a download failed'),
      });
      const handle = app.callback();
      serveReadable(server, (request, response) => void handle(request, response), secureHeadersOf(url));
      end = async () => {
        locks.releaseAll();
        await drain(server);
        await locks.stop();
      };
    },
    stop: () => end(),
  };
}
