/**
 * Starts a separate API for one test, with the database of the test file. The test can replace some dependencies, and can read the API's
 * log.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { Writable } from 'node:stream';
import { pino } from 'pino';
import { createApp } from '../../../api/app.ts';
import { billingOf } from '../../../api/billing.ts';
import { identityProvidersOf } from '../../../api/identity-providers.ts';
import { mailNoticesOf } from '../../../api/mail-notices.ts';
import { createOpenStreams } from '../../../api/open-streams.ts';
import type { ApiDeps } from '../../../api/middleware/context.ts';
import type { ContractOperation } from '../../../contract/contract.ts';
import { mediaUses } from '../../../domain/contexts.ts';
import { mailDomainSettings } from '../../../domain/mail/domains/settings.ts';
import { createAnswerFeed } from '../../../domain/agents/answers/answer-feed.ts';
import { createKeyFinder } from '../../../domain/identity/api-keys/key-finder.ts';
import { passkeySitesOf } from '../../../domain/identity/passkeys/sites.policy.ts';
import { createSessionFinder } from '../../../domain/identity/sessions/session-finder.ts';
import { createListeners } from '../../../domain/webhooks/listeners/listeners.ts';
import { createLogWatch } from '../../../domain/webhooks/listeners/log-watch.ts';
import { createNoticeReceiver } from '../../../domain/sales/notices/notices.ts';
import { createObjectStore } from '../../../platform/infra/store/object-store.ts';
import { createLimiter } from '../../../api/rate-limits/limiter.ts';
import { createEgress, type Resolve } from '../../../platform/infra/egress/egress.ts';
import { clock, testConfig } from '../drive/api.ts';
import { testDeps } from './database.ts';

export interface ServedApp {
  /** `http://127.0.0.1:<port>`, for callAt. */
  base: string;
  log: string[];
  close(): Promise<void>;
}

interface Replacements {
  resolve?: Resolve;
  /** Further environment variables. */
  env?: Record<string, string>;
  deps?: (usual: ApiDeps) => ApiDeps;
  /** Replaces the operations of the contract. */
  contract?: readonly ContractOperation[];
}

export async function serveApp({
  resolve,
  env = {},
  deps = (usual) => usual,
  contract,
}: Replacements): Promise<ServedApp> {
  const config = await testConfig(env);
  const log: string[] = [];
  const lines = pino(
    { level: 'trace' },
    new Writable({ write: (line, _, callback) => (log.push(String(line)), callback()) }),
  );
  const limiter = createLimiter({
    url: config.rateLimits.url,
    masterKey: config.masterKey,
    clock: Date.now,
    onFailure() {},
    deadlineMs: 10_000, // If the deadline were shorter, the API could accept a call without counting it on a busy machine.
  });
  const egress = createEgress({ allowedNetworks: [], ...(resolve && { resolve }) });
  const storage = createObjectStore(config.storage);
  const publicStorage = createObjectStore({ ...config.storage, privateBucket: config.storage.publicBucket });
  const usual = await testDeps();
  const answers = createAnswerFeed({
    source: usual.db.source,
    databaseUrl: config.database.url.reveal(),
    onFailure() {},
  });
  const listeners = createListeners({ db: usual.db, clock: clock.now, onFailure() {} });
  const logWatch = createLogWatch({ db: usual.db, onFailure() {} });
  const open = createOpenStreams({ db: usual.db, clock: clock.now, bounds: config.api.streams, onFailure() {} });
  const app = createApp(
    deps({
      deps: {
        ...usual,
        egress,
        storage,
        mediaUses,
        filesUrl: config.files.publicUrl,
        completionWatchMs: 0,
        mailDomains: mailDomainSettings(config.mail),
        makesSubtitles: config.subtitlesCommand !== undefined,
        phoneCodes: { isConfigured: config.phoneCodes.url !== undefined, perDay: config.phoneCodes.perDay },
        waitSpeed: config.automations.waitSpeed,
        images: { storage, publicStorage, publicFilesUrl: config.storage.publicFilesUrl },
        answers,
        eventStreams: { listeners, logWatch, clock: clock.now, silenceMs: 15_000 },
        model: { configured: config.model.apiKey !== undefined, defaultModel: config.model.defaultModel },
        billing: billingOf(config, lines),
        passkeySites: passkeySitesOf(config),
        mailNotices: mailNoticesOf(config.mail, egress),
        providers: identityProvidersOf(config.identityProviders, egress, lines),
        sessions: createSessionFinder(usual.db),
        keys: createKeyFinder(usual.db),
        receiveNotice: createNoticeReceiver(usual),
        newClubs: config.newClubs,
      },
      limiter,
      log: lines,
      clock: clock.now,
      settings: config.api,
      streams: {
        heartbeatMs: 15_000,
        drainWithinMs: 60_000,
        stopping: new AbortController().signal,
        open,
        onFailure() {},
      },
      onSecondTransaction() {},
      accepting: () => true,
    }),
    contract,
  );
  const handle = app.callback();
  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('A server listens on a port.');
  return {
    base: `http://127.0.0.1:${address.port}`,
    log,
    async close() {
      server.closeAllConnections();
      server.close();
      open.stop();
      await answers.stop();
      await egress.close();
      storage.close();
      publicStorage.close();
      await limiter.close();
    },
  };
}
