/** The API process: reads its configuration, serves requests, and finishes running requests when it must stop. */
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { collectDefaultMetrics } from 'prom-client';
import { readConfig, type Config } from '../config.ts';
import { directUrlOf } from '../entities/data-source.ts';
import { mediaUses } from '../domain/contexts.ts';
import { mailDomainSettings } from '../domain/mail/domains/settings.ts';
import { processingRules } from '../domain/media/processing.policy.ts';
import { createAnswerFeed } from '../domain/agents/answers/answer-feed.ts';
import { createKeyFinder } from '../domain/identity/api-keys/key-finder.ts';
import { passkeySitesOf } from '../domain/identity/passkeys/sites.policy.ts';
import { createSessionFinder } from '../domain/identity/sessions/session-finder.ts';
import { endSessionsOfOtherProviders } from '../domain/identity/sessions/sessions.ts';
import { createListeners } from '../domain/webhooks/listeners/listeners.ts';
import { createLogWatch } from '../domain/webhooks/listeners/log-watch.ts';
import { createNoticeReceiver } from '../domain/sales/notices/notices.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { createNotifier } from '../platform/infra/postgres/notifications.ts';
import { build } from '../platform/infra/build.ts';
import { describeError } from '../platform/infra/describe-error.ts';
import { createObjectStore } from '../platform/infra/store/object-store.ts';
import { watchClock } from '../platform/infra/postgres/checks/clock-watch.ts';
import { beginRunning } from '../platform/infra/postgres/checks/contractions.ts';
import { databaseMistakes } from '../platform/infra/postgres/checks/start-checks.ts';
import { createProcessLogger, openDatabase, runProcess, throwMistakes } from '../platform/infra/process.ts';
import { trustPeers } from '../platform/infra/tracing.ts';
import { keyMistakes, openVault } from '../platform/infra/keys/open-vault.ts';
import { storeDeadlineMs } from './rate-limits/counter-store.ts';
import { isTrusted } from './rate-limits/client-ip.policy.ts';
import { createLimiter } from './rate-limits/limiter.ts';
import { createEgress } from '../platform/infra/egress/egress.ts';
import { createApp } from './app.ts';
import type { ApiDeps } from './middleware/context.ts';
import { openBucketTo } from './files/bucket-origins.ts';
import { openFilesListener } from './files/listener.ts';
import { drain, listen } from './listening.ts';
import { openMetricsListener } from './metrics-listener.ts';
import { serveReadable } from './readable-requests.ts';
import { secureHeadersOf } from './secure-headers.policy.ts';
import { createOpenStreams } from './open-streams.ts';
import { billingOf } from './billing.ts';
import { identityProvidersOf } from './identity-providers.ts';
import { mailNoticesOf } from './mail-notices.ts';

/** Proxies close a silent connection after 30 s or more (DEC-22). */
const heartbeatMs = 15_000;
/** The time after which a stream ends if its reader reads nothing (LSN-7). */
const drainWithinMs = 60_000;
/** Enough for 32 MB of CSV at a megabit per second. JSON has less time (`middleware/body.ts`). */
const longestBodyMs = 300_000;

export interface ApiOptions {
  clock?: () => Date;
  streamHeartbeatMs?: number;
  streamDrainWithinMs?: number;
  /** The interval at which the process writes that the listeners of its streams are alive, in milliseconds. */
  listenerHeartbeatMs?: number;
  /** Replaces `API_CLOSES_AFTER_MS`. */
  readinessGraceMs?: number;
  completionWatchMs?: number;
  /** In milliseconds. */
  counterDeadlineMs?: number;
  onSecondTransaction?: ApiDeps['onSecondTransaction'];
}

export interface RunningApi {
  port: number;
  /** For `/metrics`. */
  metricsPort: number;
  /** For resumable uploads. */
  filesUrl: string;
  stop: () => Promise<void>;
}

/** Starts the API. @param config port 0 uses any free port */
export async function startApi(config: Config, options: ApiOptions = {}): Promise<RunningApi> {
  const {
    clock = () => new Date(),
    streamHeartbeatMs = heartbeatMs,
    streamDrainWithinMs = drainWithinMs,
    listenerHeartbeatMs,
    readinessGraceMs = config.api.closesAfterMs,
    completionWatchMs = processingRules.watchMs,
    counterDeadlineMs = storeDeadlineMs,
    onSecondTransaction = () => undefined,
  } = options;
  trustPeers((address) => isTrusted(address, config.api.trustedProxies));
  const log = createProcessLogger('api', config.log.level);
  const source = await openDatabase(config.database, 'club-api');
  const stopBeating = await beginRunning(source, { name: 'api', build }, (error) =>
    log.warn({ error: describeError(error) }, 'the heartbeat of this process could not be written to Postgres'),
  );
  const notifier = createNotifier(source, (error) =>
    log.warn({ error: describeError(error) }, 'the relay was not notified; it polls'),
  );
  const db = new Database(source, notifier);
  const vault = await openVault(db, config);
  const limiter = createLimiter({
    url: config.rateLimits.url,
    masterKey: config.masterKey,
    clock: Date.now,
    onFailure: (error) => log.error({ error: describeError(error) }, 'rate counters are unavailable'),
    deadlineMs: counterDeadlineMs,
  });
  const egress = createEgress({
    allowedNetworks: config.egress.allowedNetworks,
    extraCa: config.egress.extraCaFile === undefined ? undefined : readFileSync(config.egress.extraCaFile, 'utf8'),
  });
  const storage = createObjectStore(config.storage);
  const publicStorage = createObjectStore({ ...config.storage, privateBucket: config.storage.publicBucket });
  const answers = createAnswerFeed({
    source,
    databaseUrl: directUrlOf(config.database).reveal(),
    onFailure: (error) =>
      log.warn({ error: describeError(error) }, 'running answers cannot be read; the next try follows'),
  });
  const listeners = createListeners({
    db,
    clock,
    onFailure: (error) =>
      log.warn({ error: describeError(error) }, 'the heartbeats of listeners cannot be written; the next try follows'),
    ...(listenerHeartbeatMs !== undefined && { heartbeatMs: listenerHeartbeatMs }),
  });
  const logWatch = createLogWatch({
    db,
    onFailure: (error) => log.warn({ error: describeError(error) }, 'new events cannot be read; the next try follows'),
  });
  const ourClock = watchClock(db, log);
  const openStreams = createOpenStreams({
    db,
    clock,
    bounds: config.api.streams,
    onFailure: (error) =>
      log.warn({ error: describeError(error) }, 'sessions of open streams cannot be read; the next try follows'),
  });
  const stopping = new AbortController();
  let accepting = true;
  const files = await openFilesListener(config);
  const deploymentProviders = config.identityProviders.ofDeployment.reveal().map(({ id }) => id);
  await endSessionsOfOtherProviders(db, deploymentProviders);
  const api: ApiDeps = {
    deps: {
      db,
      vault,
      publicUrl: config.api.publicUrl,
      classroomUrl: config.classroomUrl,
      newClubs: config.newClubs,
      egress,
      storage,
      mediaUses,
      filesUrl: files.url,
      completionWatchMs,
      mailDomains: mailDomainSettings(config.mail),
      makesSubtitles: config.subtitlesCommand !== undefined,
      phoneCodes: { isConfigured: config.phoneCodes.url !== undefined, perDay: config.phoneCodes.perDay },
      waitSpeed: config.automations.waitSpeed,
      images: { storage, publicStorage, publicFilesUrl: config.storage.publicFilesUrl },
      answers,
      eventStreams: { listeners, logWatch, clock, silenceMs: streamHeartbeatMs },
      model: { configured: config.model.apiKey !== undefined, defaultModel: config.model.defaultModel },
      billing: billingOf(config, log),
      passkeySites: passkeySitesOf(config),
      mailNotices: mailNoticesOf(config.mail, egress),
      providers: identityProvidersOf(config.identityProviders, egress, log),
      sessions: createSessionFinder(db),
      keys: createKeyFinder(db),
      receiveNotice: createNoticeReceiver({ db, vault }),
    },
    limiter,
    log,
    clock,
    settings: { ...config.api },
    streams: {
      heartbeatMs: streamHeartbeatMs,
      drainWithinMs: streamDrainWithinMs,
      stopping: stopping.signal,
      open: openStreams,
      onFailure: (error) => log.error({ error: describeError(error) }, 'a stream was cut off'),
    },
    onSecondTransaction,
    accepting: () => accepting,
  };
  files.serve(api);
  const handle = createApp(api).callback();
  const server = createServer({
    requestTimeout: longestBodyMs,
    headersTimeout: 10_000,
    keepAliveTimeout: 65_000,
    requireHostHeader: false, // Node would refuse a request without a Host header, and its answer would lack our JSON error body
    noDelay: true, // small packets of an answer are sent without delay
  });
  serveReadable(server, (request, response) => void handle(request, response), secureHeadersOf(config.api.publicUrl));
  const port = await listen(server, config.api.port, config.api.host);
  const metrics = await openMetricsListener(config.api);
  log.info({ port, metrics_port: metrics.port, files_port: files.port, ...build }, 'the API is listening');
  void openBucketTo(config.api.corsOrigins, storage, log, stopping.signal);

  return {
    port,
    metricsPort: metrics.port,
    filesUrl: files.url,
    async stop() {
      accepting = false;
      await sleep(readinessGraceMs);
      stopping.abort();
      openStreams.stop();
      ourClock.stop();
      await Promise.all([drain(server), files.stop()]);
      await answers.stop();
      await logWatch.stop();
      await listeners.stop();
      await egress.close();
      storage.close();
      publicStorage.close();
      await limiter.close();
      await stopBeating();
      await source.destroy();
      await metrics.stop();
      log.info('the API has stopped');
    },
  };
}

export async function main(): Promise<void> {
  await runProcess(async () => {
    const config = readConfig();
    await throwMistakes([databaseMistakes(config.database), keyMistakes(config)]);
    collectDefaultMetrics();
    return startApi(config);
  });
}

if (import.meta.main) await main();
