/** The activities of every workflow type. The name of an activity must not change while a workflow's history contains the name. */
import { Context } from '@temporalio/activity';
import type { AnswerDeps } from '../domain/agents/answers/answer-step.ts';
import { stepBulkJob } from '../domain/bulk/step.ts';
import { stepImport } from '../domain/access/imports/step.ts';
import { tendAutomationGate } from '../domain/automations/gate.ts';
import { takeStep, type RunDeps } from '../domain/automations/running/run-step.ts';
import { chargeOverage, type OverageDeps } from '../domain/billing/overage/charging.ts';
import { settleAddOn, type AddOnDeps } from '../domain/billing/settling.ts';
import { sendTestMail, type TestMailDeps } from '../domain/campaigns/drafts/test-mails.ts';
import { stepCampaign } from '../domain/campaigns/step.ts';
import { clubClosers, contextsInLockOrder, mailKinds, mediaUses, studentExporters } from '../domain/contexts.ts';
import type { VaultDeps } from '../domain/deps.ts';
import { beginDigests } from '../domain/community/digests/beginning.ts';
import type { DigestDeps } from '../domain/community/digests/sending.ts';
import { stepDigest } from '../domain/community/digests/step.ts';
import { stepClubErasure, type ClubErasureDeps } from '../domain/erasures/step.ts';
import { stepPersonErasure } from '../domain/erasures/person-step.ts';
import { stepClubExport, type ClubExportDeps } from '../domain/exports/clubs/step.ts';
import { exportStudent, type StudentExportDeps } from '../domain/exports/students/step.ts';
import { fillSpace } from '../domain/joining/joining.ts';
import { judgeCompletions, type JudgingDeps } from '../domain/learning/courses/judging.ts';
import { mediaRules } from '../domain/media/media.policy.ts';
import { processFile, type ProcessingDeps } from '../domain/media/processing/step.ts';
import { indexSource, type IndexingDeps } from '../domain/knowledge/indexing/source-step.ts';
import { lookAtMailDomain } from '../domain/mail/domains/checking.ts';
import type { MailDomainSettings } from '../domain/mail/domains/domains.ts';
import { fetchReports, type FetchingDeps } from '../domain/mail/notices/reports/fetch-reports.ts';
import { sendTransactionalMail, type MailDeps } from '../domain/mail/transactional/send.ts';
import { sendPhoneCode, type PhoneCodeDeps } from '../domain/identity/phones/sending.ts';
import { tellOfSession } from '../domain/mentorships/telling.ts';
import { moveFile, type MovingDeps } from '../domain/media/library/moving.ts';
import { transcribeFile, type TranscriptionDeps } from '../domain/media/transcriptions/step.ts';
import { checkExpiry } from '../domain/media/erasure/expiry.ts';
import { processNotice, type NoticeDeps } from '../domain/sales/notices/processing.ts';
import { lookAtSubscriptionEnd } from '../domain/sales/purchases/subscription-end.ts';
import { attemptDelivery, type DeliveryDeps } from '../domain/webhooks/attempts/attempt.ts';
import { tendGate } from '../domain/webhooks/queues/gate.ts';
import type { Id } from '../platform/core/ids.ts';
import type { WorkflowType } from '../platform/engine/workflow-types.ts';
import type { ObjectStore } from '../platform/infra/store/object-store.ts';
import { agentAnswerActivities } from './agent-answer.ts';
import { retentionActivities } from './retention.ts';
import { activityOf, heartbeating, restingAfter, timeOfStep } from './step.ts';
import { sweepActivities } from './sweep.ts';

export interface ActivityDeps extends VaultDeps {
  storage: ObjectStore;
  /** A point where a test can stop the process. */
  failpoint: (name: string) => Promise<void>;
  deliveries: DeliveryDeps;
  mails: Omit<MailDeps, 'kinds'>;
  phoneCodes: PhoneCodeDeps;
  campaigns: TestMailDeps;
  completions: JudgingDeps;
  digests: DigestDeps;
  mailDomains: MailDomainSettings;
  reports: Omit<FetchingDeps, 'db' | 'failpoint'>;
  automations: RunDeps;
  notices: NoticeDeps;
  addOns: AddOnDeps;
  overages: OverageDeps;
  answers: AnswerDeps;
  exports: Pick<ClubExportDeps, 'publicUrl' | 'classroomUrl' | 'types' | 'beginStep'>;
  sources: IndexingDeps;
  media: ProcessingDeps;
  moves: MovingDeps;
  studentExports: Omit<StudentExportDeps, 'exporters'>;
  transcriptions: TranscriptionDeps;
  terminateRuns: ClubErasureDeps['terminateRuns'];
  /** Is called after each round of the sweeper with the number of workflows that the round woke. */
  onRescued: (count: number) => void;
}

const remains = contextsInLockOrder.flatMap(({ remainsOfPerson }) => remainsOfPerson ?? []);

/** An activity declares what it needs, so that its tests pass nothing else. */
type Given<Name extends keyof ActivityDeps> = Pick<ActivityDeps, Name>;

/** The answers of the contexts to the questions of an erasure. */
const erasureOfClubs = {
  closers: clubClosers,
  clubRows: contextsInLockOrder.flatMap(({ clubRows }) => clubRows),
  arrivalMs: mediaRules.uploadMs + mediaRules.arrivalMs,
};

export const activities = {
  webhookDelivery: ({ deliveries }: Given<'deliveries'>) => ({
    attemptDelivery: activityOf(attemptDelivery, deliveries),
  }),
  endpointGate: (deps: Given<'db' | 'vault'>) => ({ tendGate: activityOf(tendGate, deps) }),
  addOn: ({ addOns }: Given<'addOns'>) => ({ settle: activityOf(settleAddOn, addOns) }),
  overageCharge: ({ overages }: Given<'overages'>) => ({ chargeOverage: activityOf(chargeOverage, overages) }),
  transactionalMail: ({ mails }: Given<'mails'>) => ({
    sendMail: activityOf(sendTransactionalMail, { ...mails, kinds: mailKinds }),
  }),
  phoneCode: ({ phoneCodes }: Given<'phoneCodes'>) => ({ sendPhoneCode: activityOf(sendPhoneCode, phoneCodes) }),
  mentorshipSession: (deps: Given<'db' | 'vault'>) => ({ tellOfSession: activityOf(tellOfSession, deps) }),
  campaignRun: ({ campaigns }: Given<'campaigns'>) => ({
    sendCampaign: (id: Id, now: number) => heartbeating(() => stepCampaign(campaigns, id, timeOfStep(now))),
  }),
  testMail: ({ campaigns }: Given<'campaigns'>) => ({ sendTestMail: activityOf(sendTestMail, campaigns) }),
  mailDomain: (deps: Given<'db' | 'vault' | 'mailDomains'>) => ({
    lookAtMailDomain: activityOf(lookAtMailDomain, deps),
  }),
  automationRun: ({ automations }: Given<'automations'>) => ({
    takeStep: (id: Id, now: number) => heartbeating(() => takeStep(automations, id, timeOfStep(now))),
  }),
  automationGate: (deps: Given<'db'>) => ({ tendAutomationGate: activityOf(tendAutomationGate, deps) }),
  personErasure: (deps: Given<'db' | 'storage'>) => ({
    followPersonErasure: activityOf(stepPersonErasure, { ...deps, remains }),
  }),
  mediaExpiry: (deps: Given<'db' | 'vault' | 'storage'>) => ({
    lookAtMediaExpiry: activityOf(checkExpiry, { ...deps, mediaUses }),
  }),
  salesNotice: ({ notices }: Given<'notices'>) => ({ processNotice: activityOf(processNotice, notices) }),
  subscriptionEnd: ({ db }: Given<'db'>) => ({
    lookAtSubscriptionEnd: activityOf(lookAtSubscriptionEnd, db),
  }),
  studentImport: (deps: Given<'db' | 'vault' | 'storage' | 'failpoint'>) => ({
    importRows: (id: Id, now: number) => heartbeating(() => restingAfter(() => stepImport(deps, id, timeOfStep(now)))),
  }),
  bulkJob: (deps: Given<'db' | 'vault' | 'failpoint'>) => ({
    applyRows: (id: Id, now: number) => heartbeating(() => restingAfter(() => stepBulkJob(deps, id, timeOfStep(now)))),
  }),
  clubExport: ({
    exports,
    db,
    vault,
    storage,
    mailDomains,
    failpoint,
  }: Given<'exports' | 'db' | 'vault' | 'storage' | 'mailDomains' | 'failpoint'>) => ({
    exportClub(id: Id, now: number) {
      const deps = { ...exports, db, vault, storage, mailDomains, failpoint, mediaUses };
      const { heartbeat, cancellationSignal: stop } = Context.current();
      return restingAfter(() => stepClubExport(deps, id, timeOfStep(now), { beat: heartbeat, stop }));
    },
  }),
  agentAnswer: ({ answers }: Given<'answers'>) => agentAnswerActivities(answers),
  sourceIndex: ({ sources }: Given<'sources'>) => ({
    indexSource(id: Id, now: number) {
      const { heartbeat, cancellationSignal: stop } = Context.current();
      return indexSource(sources, id, timeOfStep(now), { beat: heartbeat, stop });
    },
  }),
  mediaProcessing: ({ media }: Given<'media'>) => ({
    processFile(id: Id, now: number) {
      const { heartbeat, cancellationSignal: stop } = Context.current();
      return processFile(media, id, timeOfStep(now), { beat: heartbeat, stop });
    },
  }),
  mediaMove: ({ moves }: Given<'moves'>) => ({
    moveFile(id: Id, now: number) {
      const { heartbeat, cancellationSignal: stop } = Context.current();
      return moveFile(moves, id, timeOfStep(now), { beat: heartbeat, stop });
    },
  }),
  mediaTranscription: ({ transcriptions }: Given<'transcriptions'>) => ({
    transcribeFile(id: Id, now: number) {
      const { heartbeat, cancellationSignal: stop } = Context.current();
      return transcribeFile(transcriptions, id, timeOfStep(now), { beat: heartbeat, stop });
    },
  }),
  clubErasure: (deps: Given<'db' | 'vault' | 'storage' | 'failpoint' | 'terminateRuns'>) => {
    const erasures = { ...deps, ...erasureOfClubs };
    return {
      eraseClub: (id: Id, now: number) =>
        heartbeating(() => restingAfter(() => stepClubErasure(erasures, id, timeOfStep(now)))),
    };
  },
  studentExport: ({ studentExports }: Given<'studentExports'>) => ({
    exportStudent(id: Id, now: number) {
      const { heartbeat, cancellationSignal: stop } = Context.current();
      const deps = { ...studentExports, exporters: studentExporters };
      return exportStudent(deps, id, timeOfStep(now), { beat: heartbeat, stop });
    },
  }),
  courseCompletion: ({ completions }: Given<'completions'>) => ({
    judgeCompletions: (id: Id, now: number) => heartbeating(() => judgeCompletions(completions, id, timeOfStep(now))),
  }),
  spaceFill: ({ db }: Given<'db'>) => ({ fillSpace: activityOf(fillSpace, { db }) }),
  spaceDigest: ({ digests }: Given<'digests'>) => ({
    sendDigest: (id: string, now: number) => heartbeating(() => stepDigest(digests, id, timeOfStep(now))),
  }),
  beginDigests: ({ db }: Given<'db'>) => ({
    /** @param now the workflow's time in Unix milliseconds */
    beginDigests: (now: number) => beginDigests(db, new Date(timeOfStep(now))),
  }),
  fetchReports: ({ db, failpoint, reports }: Given<'db' | 'failpoint' | 'reports'>) => ({
    /** @param now the workflow's time in Unix milliseconds */
    fetchReports: (now: number) =>
      heartbeating(() => fetchReports({ db, failpoint, ...reports }, new Date(timeOfStep(now)))),
  }),
  sweep: ({ db, onRescued }: Given<'db' | 'onRescued'>) => sweepActivities(db, onRescued),
  retention: ({ sources, ...deps }: Given<'db' | 'vault' | 'storage'> & { sources?: Pick<IndexingDeps, 'ocr'> }) =>
    retentionActivities({ ...deps, readsScans: sources?.ocr !== undefined }),
} satisfies Record<
  WorkflowType | 'beginDigests' | 'fetchReports' | 'sweep' | 'retention',
  (deps: ActivityDeps) => object
>;

export type Activities = { [Type in keyof typeof activities]: ReturnType<(typeof activities)[Type]> };
