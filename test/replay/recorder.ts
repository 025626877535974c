/**
 * Plays scenarios for record.ts on two Temporal servers: the server of the stack, and a server that skips time. Each server has a worker
 * for every task queue.
 */
import type { PhoneAnswer } from '../../domain/identity/phones/sending.ts';
import { Client, type WorkflowClient as TemporalClient, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { activities as all, type ActivityDeps } from '../../activities/index.ts';
import { readConfig } from '../../config.ts';
import type { FakeModel } from '../../dev/fake-model/fake-model.ts';
import type { Invoicing } from '../../platform/infra/invoicing.ts';
import type { PaymentProcessor } from '../../platform/infra/payments.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { FetchedReports } from '../../domain/mail/notices/reports/fetch-reports.ts';
import { workflowIdOf, type WorkflowType } from '../../platform/engine/workflow-types.ts';
import { createSmtpHandOver } from '../../platform/infra/smtp/smtp-hand-over.ts';
import { createSmtpSender } from '../../platform/infra/smtp/smtp.ts';
import { createWorkflowClient, type WorkflowClient } from '../../worker/temporal/workflow-client.ts';
import { useAnswering } from '../toolkit/drive/answering.ts';
import { automationDeps } from '../toolkit/drive/automations.ts';
import { bulkJobDeps } from '../toolkit/drive/bulk.ts';
import { clubExportActivityDeps } from '../toolkit/drive/club-exports.ts';
import { sendingDeps } from '../toolkit/drive/campaigns.ts';
import { digestDeps } from '../toolkit/drive/digests.ts';
import { importDeps } from '../toolkit/drive/imports.ts';
import { indexingDeps } from '../toolkit/drive/indexing.ts';
import { movingDeps } from '../toolkit/drive/moving.ts';
import { transcriptionDeps } from '../toolkit/drive/transcribing.ts';
import { processingDeps } from '../toolkit/drive/processing.ts';
import { studentExportDeps } from '../toolkit/drive/student-exports.ts';
import { recorder as identity } from '../toolkit/drive/replay.ts';
import { noticeDeps } from '../toolkit/drive/sales.ts';
import { fakeInvoicing } from '../toolkit/fakes/invoicing.ts';
import { fakePaymentProcessor } from '../toolkit/fakes/payments.ts';
import { testDeps } from '../toolkit/stack/database.ts';
import { useDeliveries, type Delivering } from '../toolkit/stack/receivers.ts';
import { relayHere, type RelayHere } from '../toolkit/stack/relay-here.ts';
import { searchAttributes } from '../toolkit/stack/skipped-engine.ts';
import { testStack } from '../toolkit/stack/stack.ts';
import type { ResolveText } from '../../platform/infra/dns-text.ts';
import { testObjectStore } from '../toolkit/stack/storage.ts';
import { useTimeSkipping } from '../toolkit/stack/time-skipping.ts';
import { runWorkerHere } from '../toolkit/stack/worker.ts';

/** A record for which a run starts, with the search attributes of the run. */
interface Subject {
  id: Id;
  clubId: Id;
  attributes?: Record<string, string>;
}

export interface Recorder {
  /** The Temporal server of the stack. */
  temporal: TemporalClient;
  /** Starts or signals a run on the real server with one of the methods that the relay uses. */
  by: Record<
    keyof WorkflowClient,
    (type: WorkflowType, subject: Subject, ...further: unknown[]) => Promise<WorkflowHandle>
  >;
  runOf(type: WorkflowType, id: Id): WorkflowHandle;
  /** The Temporal server that skips time. */
  skipped: {
    now(): Promise<Date>;
    start(type: WorkflowType, taskQueue: string, id: Id, ...further: unknown[]): Promise<WorkflowHandle>;
  };
  /** The relay of each server. Each relay serves some of the clubs. */
  relays: { real: RelayHere; skipped: RelayHere };
  delivering: Delivering;
  model(): FakeModel;
  /** The behaviour of services that scenarios can change. */
  injected: {
    processor: PaymentProcessor;
    invoicing: Invoicing;
    /** Called when the next source is read. */
    onSourceRead: () => Promise<void>;
    /** Processing fails unexpectedly for this number of the next sales notices. */
    noticeFaults: number;
    /** The answers to the next messages to `PHONE_CODE_URL`. Later messages are accepted. */
    phoneAnswers: PhoneAnswer[];
    /** The number of next steps on files that fail unexpectedly. */
    fileFaults: number;
    /** The results of the next pages of the mailbox of reports. */
    pages: FetchedReports[];
    /** Gives the name servers' answers about mail domains. */
    resolveText: ResolveText;
  };
}

/** Plays a scenario. @returns the run. Its history is recorded after the run has ended */
export type Play = (recorder: Recorder) => Promise<WorkflowHandle>;

/** The scenarios by workflow type and scenario name. Histories are stored in the file `<type>/<scenario name>.json`. */
export type Scenarios = Partial<
  Record<WorkflowType | 'beginDigests' | 'fetchReports' | 'sweep' | 'retention', Readonly<Record<string, Play>>>
>;

const carried = ['webhookDelivery', 'endpointGate', 'salesNotice', 'subscriptionEnd'] as const;

/** Must be called in a `describe`. @returns a function that returns the recorder, for use in tests */
export function useRecorder(): () => Recorder {
  const workers: { stop(): Promise<void> }[] = [];
  after('stop the workers, before their servers', () => Promise.all(workers.map((worker) => worker.stop())));
  const timeSkipping = useTimeSkipping();
  const delivering = useDeliveries();
  const answering = useAnswering();
  let recorder: Recorder | undefined;

  before('start the workers of both servers', async () => {
    await testStack();
    const { address, namespace } = readConfig().temporal;
    const connection = await NativeConnection.connect({ address });
    const skipping = timeSkipping();
    await skipping.connection.operatorService.addSearchAttributes({ namespace: 'default', searchAttributes });
    const temporal = new Client({ connection, namespace }).workflow;
    const workflows = createWorkflowClient(connection, namespace);
    const runOf = (type: WorkflowType, id: Id) => temporal.getHandle(workflowIdOf(type, id));
    const by =
      (way: keyof WorkflowClient): Recorder['by']['start'] =>
      async (workflowType, { id, clubId, attributes }, ...further) => {
        const run = { workflowType, subjectId: id, clubId, attributes: { ClubId: clubId, ...attributes } };
        await workflows[way](run, further);
        return runOf(workflowType, id);
      };
    const playing: Recorder = {
      temporal,
      by: { start: by('start'), signalWithStart: by('signalWithStart'), startOrSignal: by('startOrSignal') },
      runOf,
      skipped: {
        now: async () => new Date(await timeSkipping().currentTimeMs()),
        start: (type, taskQueue, id, ...further) =>
          skipping.client.workflow.start(type, {
            workflowId: workflowIdOf(type, id),
            taskQueue,
            args: [id, ...further],
          }),
      },
      relays: {
        real: relayHere(workflows, carried),
        skipped: relayHere(createWorkflowClient(skipping.nativeConnection, 'default'), carried),
      },
      delivering: delivering(),
      model: answering.model,
      injected: nothingInjected(),
    };
    recorder = playing;
    const answers = await answering.deps();
    for (const [taskQueue, activities] of Object.entries(await activitiesOf(playing, playing.relays.real, answers)))
      workers.push(await runWorkerHere(connection, { taskQueue, namespace, identity, activities }));
    for (const [taskQueue, activities] of Object.entries(await activitiesOf(playing, playing.relays.skipped, answers)))
      workers.push(await runWorkerHere(skipping.nativeConnection, { taskQueue, identity, activities }));
  });

  return () => {
    if (recorder === undefined) throw new Error('The recorder exists only while scenarios are played');
    return recorder;
  };
}

/** The default behaviour: no step fails, and name servers have no records. */
export const nothingInjected = (): Recorder['injected'] => ({
  processor: fakePaymentProcessor([]),
  invoicing: fakeInvoicing(),
  onSourceRead: async () => {},
  phoneAnswers: [],
  noticeFaults: 0,
  fileFaults: 0,
  pages: [],
  resolveText: async () => [],
});

export async function activitiesOf(
  { delivering, injected }: { delivering: Pick<Delivering, 'deps'> } & Pick<Recorder, 'injected'>,
  relay: Pick<RelayHere, 'carryingAfterEach'>,
  answers: ActivityDeps['answers'],
): Promise<Record<string, object>> {
  const { db, vault, publicUrl } = await testDeps();
  const { mail, classroomUrl, dashboardUrl } = readConfig();
  const { sendMail } = createSmtpSender(mail);
  const links = { classroomUrl, dashboardUrl, publicUrl };
  const deliveries = delivering.deps();
  const campaigns = await sendingDeps(createSmtpHandOver({ smtpUrl: mail.smtpUrl, connections: 2 }));
  const mailDomains = {
    resolveText: (name: string) => injected.resolveText(name),
    platformAddress: 'news@platform.example',
    spfInclude: undefined,
    warmUps: { clubs: [], domains: [] },
  };
  const sources = await indexingDeps({
    async failpoint(name) {
      if (name !== 'source_read') return;
      const happens = injected.onSourceRead;
      injected.onSourceRead = async () => {};
      await happens();
    },
  });
  const notices = await noticeDeps({
    async failpoint(name) {
      if (name !== 'notice_recorded' || injected.noticeFaults === 0) return;
      injected.noticeFaults -= 1;
      throw new Error('a fault of ours');
    },
  });
  const media = await processingDeps({
    async failpoint(name) {
      if (name !== 'file_identified' || injected.fileFaults === 0) return;
      injected.fileFaults -= 1;
      throw new Error('a fault of ours');
    },
  });
  return {
    webhooks: relay.carryingAfterEach({
      ...all.webhookDelivery({ deliveries }),
      ...all.endpointGate(deliveries),
      ...all.phoneCode({
        phoneCodes: {
          db,
          vault,
          postCode: async () => injected.phoneAnswers.shift() ?? { outcome: 'succeeded' },
          onOutcome() {},
        },
      }),
    }),
    mail: {
      ...all.transactionalMail({ mails: { db, vault, sendMail, links, warmUp: [], onOutcome() {} } }),
      ...all.mentorshipSession({ db, vault }),
    },
    campaigns: {
      ...all.campaignRun({ campaigns }),
      ...all.testMail({ campaigns }),
      ...all.spaceDigest({ digests: await digestDeps(campaigns.smtp) }),
    },
    domains: all.mailDomain({ db, vault, mailDomains }),
    automations: {
      ...all.automationRun({
        automations: await automationDeps(createSmtpHandOver({ smtpUrl: mail.smtpUrl, connections: 2 })),
      }),
      ...all.automationGate({ db }),
    },
    billing: {
      ...all.addOn({
        addOns: {
          db,
          get processor() {
            return injected.processor;
          },
        },
      }),
      ...all.overageCharge({
        overages: {
          db,
          get invoicing() {
            return injected.invoicing;
          },
          failpoint: async () => {},
        },
      }),
    },
    upkeep: {
      ...all.sweep({ db, onRescued() {} }),
      ...all.retention({ db, vault, storage: await testObjectStore() }),
      ...all.personErasure({ db, storage: await testObjectStore() }),
      ...all.mediaExpiry({ db, vault, storage: await testObjectStore() }),
      ...all.clubErasure({
        db,
        vault,
        storage: await testObjectStore(),
        failpoint: async () => {},
        terminateRuns: async () => [],
      }),
      ...all.courseCompletion({ completions: { db, publicUrl, failpoint: async () => {} } }),
      ...all.spaceFill({ db }),
      ...all.beginDigests({ db }),
      fetchReports: async () => injected.pages.shift() ?? { recorded: 0, left: 0, more: false },
    },
    sales: relay.carryingAfterEach({
      ...all.salesNotice({ notices }),
      ...all.subscriptionEnd({ db }),
    }),
    imports: { ...all.studentImport(await importDeps()), ...all.bulkJob(await bulkJobDeps()) },
    indexing: all.sourceIndex({ sources }),
    media: all.mediaProcessing({ media }),
    moves: {
      ...all.mediaMove({ moves: await movingDeps() }),
      ...all.clubExport(await clubExportActivityDeps()),
      ...all.studentExport({ studentExports: await studentExportDeps() }),
    },
    subtitles: all.mediaTranscription({ transcriptions: await transcriptionDeps() }),
    agents: all.agentAnswer({ answers }),
  };
}
