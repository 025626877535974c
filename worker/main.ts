/** The worker process: the relay, and a Temporal worker for each task queue, on one connection. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { availableParallelism } from 'node:os';
import { Client } from '@temporalio/client';
import {
  Runtime,
  Worker,
  type ActivityInterceptorsFactory,
  type Logger as TemporalLogger,
  type NativeConnection,
} from '@temporalio/worker';
import { collectDefaultMetrics, register } from 'prom-client';
import type { Logger } from 'pino';
import type { ActivityDeps } from '../activities/index.ts';
import { readConfig, type Config } from '../config.ts';
import { directUrlOf } from '../entities/data-source.ts';
import { createPaymentProcessor } from '../platform/infra/payments.ts';
import { Database } from '../platform/infra/postgres/database.ts';
import { createNotifier } from '../platform/infra/postgres/notifications.ts';
import { build as ownBuild, type Build } from '../platform/infra/build.ts';
import { describeError } from '../platform/infra/describe-error.ts';
import { forClub } from '../platform/infra/postgres/shared-pool.ts';
import { createObjectStore } from '../platform/infra/object-store.ts';
import { commandLine } from '../platform/core/modules.ts';
import { beginRunning } from '../platform/infra/postgres/contractions.ts';
import { StartProblem } from '../platform/core/start-problem.ts';
import { watchClock } from '../platform/infra/postgres/clock-watch.ts';
import { databaseMistakes } from '../platform/infra/postgres/start-checks.ts';
import {
  createLogger,
  createProcessLogger,
  openDatabase,
  runProcess,
  throwMistakes,
} from '../platform/infra/process.ts';
import type { FfmpegFinding } from '../platform/infra/video/ffmpeg-look.ts';
import { ffmpegAt, type Ffmpeg } from '../platform/infra/video/ffmpeg.ts';
import { keyMistakes, openVault } from '../platform/infra/keys/open-vault.ts';
import { freeBytes, removeAbandoned } from '../platform/infra/work-directory.ts';
import { taskQueues, type TaskQueue } from '../platform/engine/workflow-types.ts';
import { createEgress } from '../platform/infra/egress/egress.ts';
import { extract } from '../domain/knowledge/extraction/extraction.ts';
import { ocrLanguagesOf } from '../domain/knowledge/indexing/ocr.policy.ts';
import type { OcrDeps } from '../domain/knowledge/indexing/scanned-pages.ts';
import { subtitlesOf } from '../domain/media/transcriptions/speech.ts';
import { noProgram } from '../domain/media/transcriptions/trial.ts';
import { videoPlaces } from '../domain/media/media.policy.ts';
import { createClubPermits } from '../platform/engine/club-permits.ts';
import { createSinglePermit } from '../platform/engine/single-permit.ts';
import { ocrProgramAt, type OcrProgram } from '../platform/infra/ocr-program.ts';
import { findProgram } from '../platform/infra/placeholder-command.ts';
import { fileReaders } from '../domain/media/processing/readers.ts';
import { mailDomainSettings } from '../domain/mail/domains/settings.ts';
import { postThrough } from '../domain/webhooks/attempts/post.ts';
import { createSuccessWriter } from '../domain/webhooks/attempts/record-success.ts';
import { activitiesOn } from './activities/by-queue.ts';
import { activityInterceptors } from './activities/activity-interceptors.ts';
import { createAnswerDeps } from './parts/answers.ts';
import { createDirectLane } from './lanes/direct-lane.ts';
import { reportFailureCause } from './reports/failure-causes.ts';
import { failpointFrom } from './failpoints.ts';
import { connectionsForRecords } from './lanes/record-permits.ts';
import { createAttemptPlaces, noLocalAttempts } from './lanes/attempt-permits.ts';
import {
  automationMails,
  automationRunsEnded,
  automationSteps,
  campaignMails,
  digestMails,
  mails,
  mediaFiles,
  mediaMoves,
  notices,
  ocrRuns,
  recordBatches,
  registerBacklogGauges,
  registerFfmpegGauge,
  rescued,
  sources,
  transcriptions,
} from './reports/metrics.ts';
import { startRelay } from './relay/relay.ts';
import { createMissingSchedules, ensureSchedules, keepSchedules } from './temporal/schedules.ts';
import { campaignConnections, createSmtpHandOver } from '../platform/infra/smtp-hand-over.ts';
import { addressIn, createSmtpSender, smtpConnections, type SmtpSender } from '../platform/infra/smtp.ts';
import { watchPromotion } from './reports/promotion-watch.ts';
import { watchSweeps } from './reports/sweep-watch.ts';
import { workerOptions } from './temporal/task-queues.ts';
import { engineMistakes } from './temporal/start-checks.ts';
import { connectWorkers, followApiKey, metricsAddress } from './temporal/connection.ts';
import { workflowBundle } from './temporal/workflow-bundle.ts';
import { createWorkflowClient } from './temporal/workflow-client.ts';

export interface RunningWorker {
  port: number;
  stop: () => Promise<void>;
}

/**
 * Starts the worker.
 * @param config with port 0, a free one is taken
 * @param env for the failpoints of tests
 * @param build that it is of; undefined in a checkout
 */
export async function startWorker(
  config: Config,
  env: Readonly<Record<string, string | undefined>> = {},
  build: Build | undefined = ownBuild,
): Promise<RunningWorker> {
  const log = createProcessLogger('worker', config.log.level);
  const source = await openDatabase(config.database, 'club-worker', {
    reserved: Math.min(connectionsForRecords, Math.floor(config.database.poolSize / 2)),
  });
  const stopBeating = await beginRunning(source, { name: 'worker', build }, (error) =>
    log.warn({ error: describeError(error) }, 'Postgres could not be told that this process runs'),
  );
  const notifier = createNotifier(source, (error) =>
    log.warn({ error: describeError(error) }, 'the relay was not notified; it polls'),
  );
  const db = new Database(source, notifier);
  const vault = await openVault(db, config);
  const egress = createEgress({
    allowedNetworks: config.egress.allowedNetworks,
    extraCa: config.egress.extraCaFile === undefined ? undefined : readFileSync(config.egress.extraCaFile, 'utf8'),
  });
  const smtp = createSmtpSender(config.mail);
  const bulkSmtp = createSmtpSender({ ...config.mail, smtpUrl: config.mail.bulkSmtpUrl });
  const campaignSmtp = createSmtpHandOver({ smtpUrl: config.mail.bulkSmtpUrl, connections: campaignConnections });
  const automationSmtp = createSmtpHandOver({ smtpUrl: config.mail.bulkSmtpUrl, connections: smtpConnections });
  const storage = createObjectStore(config.storage);
  const publicStorage = createObjectStore({ ...config.storage, privateBucket: config.storage.publicBucket });
  const permits = createAttemptPermits();
  const failpoint = failpointFrom(env);
  const served = config.worker.taskQueues.length > 0 ? config.worker.taskQueues : taskQueues;
  const ffmpeg = ffmpegAt(config.video.ffmpeg, (finding) => logFfmpeg(finding, log));
  const ocr = createOcr(config, log);
  const makesSubtitles = served.includes('subtitles') && config.subtitlesCommand !== undefined;
  if (served.includes('media') || makesSubtitles || (served.includes('indexing') && ocr))
    await prepareWork(config.video.workDirectory);
  if (served.includes('media')) await ffmpeg.look();
  if (makesSubtitles) await logSubtitles(config, log);
  if (served.includes('indexing') && ocr) await logOcr(config, ocr.program, log);
  const answers = createAnswerDeps(config, db, storage, log, failpoint);
  const links = {
    classroomUrl: config.classroomUrl,
    dashboardUrl: config.dashboardUrl,
    publicUrl: config.api.publicUrl,
  };
  const mailsThrough = ({ sendMail }: SmtpSender): ActivityDeps['mails'] => ({
    db,
    vault,
    async sendMail(mail) {
      await failpoint('transactional_claimed');
      await sendMail(mail);
      await failpoint('transactional_handed_over');
    },
    links,
    warmUp: config.mail.warmUp,
    onOutcome(outcome, error) {
      mails.inc({ outcome });
      if (error) log.warn({ error: describeError(error) }, 'a mail was not accepted; it is tried again');
    },
  });
  const deps: ActivityDeps = {
    db,
    vault,
    storage,
    failpoint,
    deliveries: {
      db,
      vault,
      post: postThrough(egress.dispatcher, config.serviceName),
      recordSuccess: createSuccessWriter(db, (size) => recordBatches.observe(size)),
      random: Math.random,
      permits: permits.permits,
      onAttempt(attempt) {
        permits.onAttempt(attempt);
        reportFailureCause(attempt, log);
        lane?.report(attempt);
      },
      failpoint,
    },
    mails: mailsThrough(smtp),
    campaigns: {
      db,
      vault,
      smtp: campaignSmtp,
      images: { storage, publicStorage, publicFilesUrl: config.storage.publicFilesUrl },
      fromAddress: addressIn(config.mail.from),
      warmUps: { clubs: config.mail.warmUp, domains: config.mail.domainWarmUp },
      publicUrl: config.api.publicUrl,
      onOutcome: (status) => campaignMails.inc({ status }),
      failpoint,
    },
    completions: { db, publicUrl: config.api.publicUrl, failpoint },
    digests: {
      db,
      vault,
      smtp: campaignSmtp,
      fromAddress: addressIn(config.mail.from),
      warmUps: { clubs: config.mail.warmUp, domains: config.mail.domainWarmUp },
      publicUrl: config.api.publicUrl,
      classroomUrl: config.classroomUrl,
      onOutcome: (status) => digestMails.inc({ status }),
      failpoint,
    },
    mailDomains: mailDomainSettings(config.mail),
    automations: {
      db,
      vault,
      smtp: automationSmtp,
      fromAddress: addressIn(config.mail.from),
      warmUps: { clubs: config.mail.warmUp, domains: config.mail.domainWarmUp },
      publicUrl: config.api.publicUrl,
      waitSpeed: config.automations.waitSpeed,
      onMail: (status) => automationMails.inc({ status }),
      onStep({ left, ended }) {
        if (left !== undefined) automationSteps.inc({ kind: left });
        if (ended !== undefined) automationRunsEnded.inc({ status: ended });
      },
      failpoint,
    },
    notices: { db, vault, onOutcome: (outcome) => notices.inc({ outcome }), failpoint },
    addOns: { db, processor: createPaymentProcessor(config.stripe) },
    answers,
    sources: {
      db,
      storage,
      extract,
      ocr,
      onFault: (error) => log.warn({ error: describeError(error) }, 'a source was not indexed; it is tried again'),
      onOutcome: (outcome) => sources.inc({ outcome }),
      failpoint,
    },
    media: {
      db,
      storage,
      readers: fileReaders,
      onFault: (error) => log.warn({ error: describeError(error) }, 'a file was not processed; it is tried again'),
      onOutcome: (outcome) => mediaFiles.inc({ outcome }),
      video: {
        ffmpeg,
        workDirectory: config.video.workDirectory,
        freeBytes,
        permits: createClubPermits(videoPlaces(availableParallelism())),
      },
      failpoint,
    },
    transcriptions: {
      db,
      storage,
      makeSubtitles(file, work) {
        const { subtitlesCommand, video } = config;
        const given = { command: subtitlesCommand, ffmpeg, workDirectory: video.workDirectory, freeBytes };
        return subtitlesOf(given, file, work);
      },
      onFault: (error) => log.warn({ error: describeError(error) }, 'no subtitles were made; it is tried again'),
      onOutcome: (outcome) => transcriptions.inc({ outcome }),
      failpoint,
    },
    moves: { db, storage, onOutcome: (outcome) => mediaMoves.inc({ outcome }), failpoint },
    onRescued: (count) => rescued.inc(count),
  };

  const { firstAttempt, directAttempts: total } = config.worker.webhooks;
  const lane =
    firstAttempt === 'direct' && served.includes('webhooks')
      ? createDirectLane({ total, shared: permits, deliveries: deps.deliveries, failpoint, log })
      : undefined;
  const connection = await connectWorkers(config.temporal);
  const key = followApiKey(config.temporal, connection, {
    changed: () => log.info('Temporal gets a new API key from now on'),
    failed: (error) =>
      log.warn({ error: describeError(error) }, 'the API key for Temporal cannot be read; the old one stays'),
  });
  const bulkDeps: ActivityDeps = { ...deps, mails: mailsThrough(bulkSmtp) };
  const activitiesFor = (queue: TaskQueue) => activitiesOn(queue, queue === 'bulk-mail' ? bulkDeps : deps);
  const workers = await createWorkers(
    connection,
    config,
    served,
    { activitiesFor, interceptors: activityInterceptors(db, log), build },
    log,
  );
  const { schedule: scheduleClient } = new Client({ connection, namespace: config.temporal.namespace });
  // Builds of two versions run side by side: their schedules are those of the last `setup`, not of the last start.
  await (build ? createMissingSchedules : ensureSchedules)(scheduleClient);
  const stopKeepingSchedules = keepSchedules(scheduleClient, (error) =>
    log.warn({ error: describeError(error) }, 'the schedules could not be looked at; it is tried again'),
  );
  const running = Promise.all(workers.map((worker) => worker.run()));
  running.catch((error: unknown) => {
    log.fatal({ error: describeError(error) }, 'a Temporal worker failed');
    process.exit(1);
  });
  const relay = startRelay({
    db,
    databaseUrl: directUrlOf(config.database).reveal(),
    workflows: createWorkflowClient(connection, config.temporal.namespace),
    localAttempts: served.includes('webhooks') ? permits : noLocalAttempts,
    ...(lane && { lane }),
    beforeStart({ workflowType, subjectId, clubId }) {
      if (workflowType === 'agentAnswer' && served.includes('agents'))
        forClub(clubId, () => answers.promptsAhead.begin(subjectId));
    },
    bulkStartsPerSecond: config.worker.bulkStartsPerSecond,
    waitSpeed: config.automations.waitSpeed,
    buildId: build?.buildId,
    log,
    failpoint,
  });
  const promotion = watchPromotion(db, build?.buildId, () =>
    log.error(`nobody has promoted this build for a minute, so it gets no work: run "${commandLine('promote')}"`),
  );
  const sweeps = watchSweeps(db);
  const ourClock = watchClock(db, log);
  const unregisterGauges = registerBacklogGauges(db, sweeps);
  const unregisterFfmpegGauge = served.includes('media') ? registerFfmpegGauge(ffmpeg) : () => {};

  let accepting = true;
  const isSweptInTime = () => !served.includes('upkeep') || sweeps.isInTime();
  const health = await serveHealth(
    config,
    () => ({ status: 'ok', ...(served.includes('media') && { ffmpeg: stateOf(ffmpeg) }) }),
    () => {
      if (!promotion.isInTime()) return { reason: 'not_promoted' };
      const isReady =
        accepting &&
        relay.isAlive() &&
        isSweptInTime() &&
        ourClock.isRight() &&
        workers.every((worker) => worker.getState() === 'RUNNING');
      return isReady ? undefined : {};
    },
  );
  log.info({ port: health.port, ...build }, 'the worker is running');

  return {
    port: health.port,
    async stop() {
      accepting = false;
      stopKeepingSchedules();
      sweeps.stop();
      ourClock.stop();
      promotion.stop();
      unregisterGauges();
      unregisterFfmpegGauge();
      await relay.stop();
      for (const worker of workers) worker.shutdown();
      await Promise.all([running, lane?.stop()]);
      key.stop(); // the last steps of answers and videos may outlive an API key
      await stopBeating();
      answers.log.close();
      await connection.close();
      smtp.close();
      bulkSmtp.close();
      campaignSmtp.close();
      automationSmtp.close();
      storage.close();
      publicStorage.close();
      await egress.close();
      await source.destroy();
      await health.close();
      log.info('the worker has stopped');
    },
  };
}

/** Temporal's SDK in our log: what it reports as information is for debugging here. */
function temporalLogger(log: Logger): TemporalLogger {
  return {
    log: (level, message) => log[level === 'WARN' ? 'warn' : level === 'ERROR' ? 'error' : 'debug'](message),
    trace: (message) => log.trace(message),
    debug: (message) => log.debug(message),
    info: (message) => log.debug(message),
    warn: (message) => log.warn(message),
    error: (message) => log.error(message),
  };
}

interface Served {
  activitiesFor: (queue: TaskQueue) => object;
  interceptors: ActivityInterceptorsFactory[];
  build: Build | undefined;
}

/** A worker for each task queue that is served; all of them load the same bundle of workflows. */
async function createWorkers(
  connection: NativeConnection,
  { temporal: { namespace }, worker: { workflowBundleFile } }: Config,
  served: readonly TaskQueue[],
  { activitiesFor, interceptors, build }: Served,
  log: Logger,
): Promise<Worker[]> {
  const bundle = await workflowBundle(workflowBundleFile, temporalLogger(log));
  return Promise.all(
    served.map((taskQueue) =>
      Worker.create({
        ...workerOptions(taskQueue, build),
        connection,
        namespace,
        workflowBundle: bundle,
        activities: activitiesFor(taskQueue),
        interceptors: { activity: interceptors },
      }),
    ),
  );
}

/** @throws StartProblem */
async function prepareWork(workDirectory: string): Promise<void> {
  await removeAbandoned(workDirectory).catch((error: unknown) => {
    throw new StartProblem(`MEDIA_WORK_DIRECTORY cannot be used (${describeError(error).code ?? 'no code'}).`);
  });
}

/** @returns undefined if the deployment has no OCR */
function createOcr(
  { ocr: { command, languages }, video: { workDirectory } }: Config,
  log: Logger,
): OcrDeps | undefined {
  if (command === undefined) return undefined;
  return {
    program: ocrProgramAt(command, workDirectory),
    furtherLanguages: languages,
    workDirectory,
    freeBytes,
    permit: createSinglePermit(),
    onOutcome: (outcome) => ocrRuns.inc({ outcome }),
    onFlaw: (flaw) => log.warn(`${flaw} Scanned pages are not read meanwhile.`),
  };
}

/** Once at the start: a look takes a few seconds. Each language is looked at before its first file. */
async function logOcr({ ocr: { languages } }: Config, program: OcrProgram, log: Logger): Promise<void> {
  const flaw = await program.flawFor(ocrLanguagesOf('en', languages));
  if (flaw === undefined) log.info('scanned pages are read by OCR');
  else log.warn(`${flaw} Scanned pages are not read meanwhile.`);
}

/** Once at the start. Only `doctor` tries the program: a large model takes minutes. */
async function logSubtitles({ subtitlesCommand = [] }: Config, log: Logger): Promise<void> {
  const file = await findProgram(subtitlesCommand);
  if (file !== undefined) log.info({ file }, 'subtitles of speech are made');
  else log.warn(`${noProgram(subtitlesCommand)} Subtitles of speech wait meanwhile.`);
}

/** Once at the start, and again each time that a look finds something else. */
function logFfmpeg({ file, version, mistakes, notes }: FfmpegFinding, log: Logger): void {
  if (mistakes.length === 0) log.info({ file, version }, 'renditions of videos are made with ffmpeg');
  for (const sentence of [...mistakes, ...notes]) log.warn({ file, version }, sentence);
}

/** For /healthz: `unusable` is a program that is there and makes no renditions. */
function stateOf({ isThere, finding }: Ffmpeg): 'there' | 'missing' | 'unusable' {
  if (isThere === true) return 'there';
  return finding?.file === undefined ? 'missing' : 'unusable';
}

async function serveHealth(
  { worker }: Config,
  state: () => object,
  notReady: () => object | undefined,
): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string) =>
      response.writeHead(status, { 'Content-Type': type }).end(body);
    if (request.url === '/healthz') answer(200, 'application/json', JSON.stringify(state()));
    else if (request.url === '/readyz') {
      const why = notReady();
      if (why === undefined) answer(200, 'application/json', '{"status":"ready"}');
      else answer(503, 'application/json', JSON.stringify({ status: 'not_ready', ...why }));
    } else if (request.url === '/metrics') {
      register.metrics().then(
        (text) => answer(200, register.contentType, text),
        () => answer(503, 'text/plain', 'the backlog cannot be read'),
      );
    } else answer(404, 'application/json', '{"error":{"code":"not_found","message":"There is no such path."}}');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(worker.port, worker.host, resolve);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address ? address.port : worker.port,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** The process `worker`: runs until it is asked to stop. */
export async function main(): Promise<void> {
  await runProcess(async () => {
    const config = readConfig();
    const log = createLogger('temporal', config.log.level);
    collectDefaultMetrics();
    Runtime.install({
      logger: temporalLogger(log),
      shutdownSignals: [],
      ...(config.worker.temporalMetricsPort > 0 && {
        telemetryOptions: {
          metrics: {
            prometheus: { bindAddress: await metricsAddress(config.worker.host, config.worker.temporalMetricsPort) },
          },
        },
      }),
    });
    await throwMistakes([databaseMistakes(config.database), keyMistakes(config), engineMistakes(config.temporal)]);
    return startWorker(config, process.env);
  });
}

if (import.meta.main) await main();
