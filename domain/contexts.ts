/**
 * Lists the part of each context in work that concerns all of them: the removal of a student, a changed e-mail address, retention, and the
 * fan-out of facts.
 */
import type { Database, Transaction } from '../platform/infra/postgres/database.ts';
import type { ObjectStore } from '../platform/infra/store/object-store.ts';
import type { Vault } from '../platform/infra/keys/vault.ts';
import { rollUpListTallies } from '../platform/infra/postgres/lists/counts.ts';
import { mediaUseKinds, type MediaUseKind } from '../entities/media/values.ts';
import { mailTemplateNames, type MailTemplate } from '../entities/mail/values.ts';
import type { Id } from '../platform/core/ids.ts';
import type { ClaimedFact, FactResult } from '../platform/engine/facts.ts';
import { assignmentMails } from './assignments/mails.ts';
import { purgeStudentFromAssignments } from './assignments/student-removal.ts';
import { turnMonths } from './billing/overages.ts';
import { enrollByFacts } from './automations/entering/by-facts.ts';
import { settleLeftMails } from './automations/running/left-mails.ts';
import { forgetOldPaths, purgeStudentFromAutomations } from './automations/student-removal.ts';
import { rollUpSteps } from './automations/tallies.ts';
import { purgeStudentFromCampaigns } from './campaigns/recipients.ts';
import { retainRecipients } from './campaigns/retention.ts';
import { hideEnrollmentsOf } from './access/enrollments/enrollments.ts';
import { forgetAddressesLate, forgetFilesThatName, noteAddressLeft } from './access/imports/removals.ts';
import { removeOldEntries } from './audit/entries.ts';
import { eraseAnswers, removeExpiredAnswers } from './idempotency/repetitions.ts';
import { eraseStudentFromJobs, retainJobs } from './bulk/retention.ts';
import { purgeStudentFromAgents } from './agents/conversations/erasure.ts';
import { clubMails } from './clubs/mails.ts';
import { fillEmailKeys } from './identity/accounts/email-keys.ts';
import { forgetNetwork } from './identity/accounts/pending-sign-ups.ts';
import { accountMails } from './identity/mails.ts';
import { removeOldKeys } from './identity/api-keys/api-keys.ts';
import { removeExpiredChallenges } from './identity/factors/challenges.ts';
import { removeUnconfirmedFactors } from './identity/factors/factors.ts';
import { removeOldPhoneCodes } from './identity/phones/codes.ts';
import { removeExpiredLinks, voidLinksOf } from './identity/sessions/session-links.ts';
import { removeSpentChallenges } from './identity/passkeys/challenges.ts';
import { forgetPasskeys } from './identity/passkeys/student-passkeys.ts';
import { removeExpiredJoins } from './identity/providers/joins.ts';
import { removeSpentSignIns } from './identity/providers/sign-in-tokens.ts';
import { endSessionsOf, removeEndedSessions } from './identity/sessions/sessions.ts';
import { foldOldNames, type FoldedTable } from '../platform/infra/postgres/lists/folded-names.ts';
import { readOldSourcesAgain } from './knowledge/indexing/reading-again.ts';
import { rollUpWords } from './knowledge/words.ts';
import { moveCertificatesTo } from './learning/certificates/certificates.ts';
import { eraseDueFiles } from './learning/certificates/files.ts';
import { purgeStudentFromLearning } from './learning/student-removal.ts';
import { deleteCodeFailures } from './mail/codes/codes.ts';
import { removeExpiredTokens, withdrawTokensOf } from './mail/codes/one-time-tokens.ts';
import { deleteAddressesOf } from './mail/transactional/requests.ts';
import type { MailKind, MailKinds } from './mail/kinds.ts';
import { removeExpiredReceipts } from './mail/notices/receipts.ts';
import { retainMailEvents } from './mail/retention.ts';
import { eraseDue, purgeStudentFromMedia } from './media/erasure/erasure.ts';
import { clubMediaUses } from './clubs/media-uses.ts';
import { learningMediaUses } from './learning/media-uses.ts';
import { agentMediaUses } from './agents/setup/media-uses.ts';
import { campaignMediaUses } from './campaigns/media-uses.ts';
import { automationMediaUses } from './automations/media-uses.ts';
import { assignmentMediaUses } from './assignments/media-uses.ts';
import { repositoryMediaUses } from './repositories/media-uses.ts';
import { communityMediaUses } from './community/media-uses.ts';
import type { AllMediaUseRules, MediaUseRule, MediaUseRules } from './media/use-rules.ts';
import { mediaMails } from './media/mails.ts';
import { eraseLeftovers } from './media/erasure/leftovers.ts';
import { followVideoHosting } from './media/erasure/expiry.ts';
import { processOldFiles } from './media/processing/old-files.ts';
import { mentorshipMails } from './mentorships/mails.ts';
import { purgeStudentFromMentorships } from './mentorships/student-removal.ts';
import { rollUpStorage } from './media/storage/storage.ts';
import { retainNotices } from './sales/retention.ts';
import { claimNotices, purgeStudentFromSales } from './sales/student-removal.ts';
import { fanOutFacts, type DeliveryRun, type FanOutOptions } from './webhooks/events/fan-out.ts';
import { followAccessByTime } from './joining/joining.ts';
import { retainDigests } from './community/digests/retention.ts';
import { retainModeration } from './community/moderation.ts';
import { purgeStudentFromCommunity } from './community/student-removal.ts';
import { wakeWatchersOfCourses } from './watches/watches.ts';
import { webhookMails } from './webhooks/mails.ts';
import { startMissingLogs } from './webhooks/endpoints/event-log.ts';
import { removeDeadListeners } from './webhooks/listeners/listeners.ts';
import { retainWebhooks } from './webhooks/retention.ts';
import { purgeStudentFromWebhooks } from './webhooks/student-removal.ts';

/**
 * Erases a context's data about a student, in the transaction of the removal. The caller has locked the student's row.
 * @param student `email` is the former address, and `addressKey` its keyed hash
 */
export type EraseStudent = (
  tx: Transaction,
  student: { clubId: Id; studentId: Id; email: string; addressKey: Buffer },
  now: Date,
) => Promise<void>;

/**
 * Writes a student's new e-mail address to the context's rows, in the transaction of the correction. The caller has locked the student's
 * row.
 */
export type ChangeEmail = (
  tx: Transaction,
  vault: Vault,
  change: { clubId: Id; studentId: Id; before: string; after: string },
) => Promise<void>;

/**
 * Removes one batch of expired rows, or adds one batch of changes to stored counts. Repeated or simultaneous calls do no harm.
 */
export interface RetentionJob {
  /** @returns the number of changed rows of each kind, and whether more may be due now */
  run: (
    deps: { db: Database; vault: Vault; storage: ObjectStore; readsScans?: boolean },
    now: Date,
  ) => Promise<{ rows: Readonly<Record<string, number>>; more: boolean }>;
  /** The job waits for an external service. Such jobs run last. */
  waitsForOthers?: true;
}

/**
 * Writes and commits the consequences of facts. If a relay dies before it removes the facts, another relay passes them again. So a second
 * call must change nothing.
 * @returns the result of each fact
 * @throws the error of one of the facts. The error does not say which fact caused it, so the caller must then pass the facts one by one
 */
export type FactConsumer = (
  db: Database,
  facts: readonly ClaimedFact[],
  now: Date,
  options?: ConsumerOptions,
) => Promise<readonly FactResult<CausedWorkflow>[]>;

export interface ConsumerOptions extends FanOutOptions {
  /** The factor by which waits of automations are shortened. If absent, the factor is 1. */
  waitSpeed?: number;
}

/** A workflow that the relay must start. For a webhook delivery, the relay may make the first attempt itself instead. */
export type CausedWorkflow = DeliveryRun;

export interface ContextParts {
  /**
   * The kinds of mail that the context requests. Each kind names the rows that such a mail is about, and decides whether the mail may still
   * be sent.
   */
  mails: MailKinds;
  /**
   * The kinds of records that use library files. Each kind has SQL for the title of a record, and for whether its use of a file still
   * counts.
   */
  mediaUses: MediaUseRules;
  /** Null if the context stores no data about students. */
  eraseStudent: EraseStudent | null;
  /** Null if the context stores no addresses. */
  changeEmail: ChangeEmail | null;
  retention: readonly RetentionJob[];
  factConsumers: readonly FactConsumer[];
}

const folding = (table: FoldedTable, columns: readonly string[]): RetentionJob => ({
  async run({ db }) {
    const { folded, more } = await foldOldNames(db, table, columns);
    return { rows: { [`${table}Folded`]: folded }, more };
  },
});

const rolledUpPerBatch = 5_000;
const rollingUp = (name: string, rollUp: (db: Database, limit: number) => Promise<number>): RetentionJob => ({
  async run({ db }) {
    const count = await rollUp(db, rolledUpPerBatch);
    return { rows: { [name]: count }, more: count >= rolledUpPerBatch };
  },
});

/** Every context, in the order in which a transaction locks their rows (docs/explanation/architecture.md#locks). */
export const contexts = {
  mail: {
    mails: {},
    mediaUses: {},
    async eraseStudent(tx, student) {
      await withdrawTokensOf(tx, student);
      await deleteAddressesOf(tx, student);
      await deleteCodeFailures(tx, student);
    },
    changeEmail: (tx, _vault, { studentId }) => withdrawTokensOf(tx, { studentId }),
    retention: [
      { run: ({ db }, now) => retainMailEvents(db, now) },
      { run: ({ db }, now) => removeExpiredTokens(db, now) },
      { run: ({ db }, now) => removeExpiredReceipts(db, now) },
    ],
    factConsumers: [],
  },
  joining: {
    mails: {},
    mediaUses: {},
    eraseStudent: null, // the context `community` removes the memberships of the student
    changeEmail: null,
    retention: [
      {
        async run({ db }, now) {
          const { followed, more } = await followAccessByTime(db, now);
          return { rows: { membershipsFollowed: followed }, more };
        },
      },
    ],
    factConsumers: [],
  },
  watches: { mails: {}, mediaUses: {}, eraseStudent: null, changeEmail: null, retention: [], factConsumers: [] },
  branding: { mails: {}, mediaUses: {}, eraseStudent: null, changeEmail: null, retention: [], factConsumers: [] },
  language: { mails: {}, mediaUses: {}, eraseStudent: null, changeEmail: null, retention: [], factConsumers: [] },
  billing: {
    mails: {},
    mediaUses: {},
    eraseStudent: null,
    changeEmail: null,
    retention: [
      {
        async run({ db }, now) {
          const { turned, more } = await turnMonths(db, now);
          return { rows: { overageMonthsTurned: turned }, more };
        },
      },
    ],
    factConsumers: [],
  },
  knowledge: {
    mails: {},
    mediaUses: {},
    eraseStudent: null,
    changeEmail: null,
    retention: [
      rollingUp('wordChanges', rollUpWords),
      {
        async run({ db, readsScans = false }, now) {
          return { rows: { sourcesReadAgain: await readOldSourcesAgain(db, now, { readsScans }) }, more: false };
        },
      },
    ],
    factConsumers: [],
  },
  identity: {
    mails: accountMails,
    mediaUses: {},
    async eraseStudent(tx, { studentId }) {
      await endSessionsOf(tx, 'student', studentId);
      await voidLinksOf(tx, studentId);
      await forgetNetwork(tx, studentId);
      await forgetPasskeys(tx, studentId);
    },
    async changeEmail(tx, _vault, { studentId }) {
      await endSessionsOf(tx, 'student', studentId);
      await voidLinksOf(tx, studentId);
      await forgetPasskeys(tx, studentId);
    },
    retention: [
      { run: ({ db }, now) => removeEndedSessions(db, now) },
      { run: ({ db }, now) => removeSpentSignIns(db, now) },
      { run: ({ db }, now) => removeExpiredJoins(db, now) },
      { run: ({ db }, now) => removeExpiredChallenges(db, now) },
      { run: ({ db }, now) => removeUnconfirmedFactors(db, now) },
      { run: ({ db }, now) => removeExpiredLinks(db, now) },
      { run: ({ db }, now) => removeOldKeys(db, now) },
      { run: ({ db }, now) => removeOldPhoneCodes(db, now) },
      { run: ({ db }, now) => removeSpentChallenges(db, now) },
      {
        async run(deps) {
          const { filled, more } = await fillEmailKeys(deps);
          return { rows: { emailKeysFilled: filled }, more };
        },
      },
      folding('students', ['name']),
    ],
    factConsumers: [],
  },
  access: {
    mails: {},
    mediaUses: {},
    async eraseStudent(tx, { clubId, studentId }, now) {
      await hideEnrollmentsOf(tx, studentId, now);
      await forgetFilesThatName(tx, { clubId, studentId });
    },
    changeEmail: (tx, vault, { clubId, studentId, before }) =>
      noteAddressLeft(tx, vault, { clubId, studentId, email: before }),
    retention: [
      {
        async run({ db }) {
          return { rows: { importsForgotten: await forgetAddressesLate(db) }, more: false };
        },
      },
    ],
    factConsumers: [],
  },
  clubs: {
    mails: clubMails,
    mediaUses: clubMediaUses,
    eraseStudent: null,
    changeEmail: null,
    retention: [rollingUp('listChanges', rollUpListTallies)],
    factConsumers: [],
  },
  learning: {
    mails: {},
    mediaUses: learningMediaUses,
    eraseStudent: (tx, { studentId }, now) => purgeStudentFromLearning(tx, studentId, now),
    changeEmail: (tx, _vault, { studentId, after }) => moveCertificatesTo(tx, studentId, after),
    retention: [
      folding('certificates', ['student_name']),
      {
        async run(deps, now) {
          const { erased, more } = await eraseDueFiles(deps, now);
          return { rows: { certificateFilesErased: erased }, more };
        },
        waitsForOthers: true,
      },
    ],
    factConsumers: [],
  },
  community: {
    mails: {},
    mediaUses: communityMediaUses,
    eraseStudent: (tx, { studentId }, now) => purgeStudentFromCommunity(tx, studentId, now),
    changeEmail: null,
    retention: [{ run: ({ db }, now) => retainModeration(db, now) }, { run: ({ db }, now) => retainDigests(db, now) }],
    factConsumers: [],
  },
  media: {
    mails: mediaMails,
    mediaUses: {},
    eraseStudent: (tx, { studentId }, now) => purgeStudentFromMedia(tx, studentId, now),
    changeEmail: null,
    retention: [
      {
        async run({ db }, now) {
          const { changed, more } = await followVideoHosting(db, now);
          return { rows: { expiriesChanged: changed }, more };
        },
      },
      {
        async run({ db }) {
          const { changes, more } = await rollUpStorage(db);
          return { rows: { storageChanges: changes }, more };
        },
      },
      folding('media', ['title', 'file_name']),
      {
        async run({ db }, now) {
          return { rows: { mediaProcessedLate: await processOldFiles(db, now) }, more: false };
        },
      },
      {
        async run(deps, now) {
          const { erased, refused, more } = await eraseDue(deps, now);
          return { rows: { mediaErased: erased, mediaRefused: refused }, more };
        },
        waitsForOthers: true,
      },
      {
        async run(deps, now) {
          const { erased, refused, more } = await eraseLeftovers(deps, now);
          return { rows: { leftoversErased: erased, leftoversRefused: refused }, more };
        },
        waitsForOthers: true,
      },
    ],
    factConsumers: [],
  },
  assignments: {
    mails: assignmentMails,
    mediaUses: assignmentMediaUses,
    eraseStudent: (tx, { studentId }) => purgeStudentFromAssignments(tx, studentId),
    changeEmail: null, // each mail goes to the current address of the student at the time of sending
    retention: [], // the context `media` removes files that students uploaded but did not send
    factConsumers: [],
  },
  mentorships: {
    mails: mentorshipMails,
    mediaUses: {},
    eraseStudent: (tx, { studentId }, now) => purgeStudentFromMentorships(tx, studentId, now),
    changeEmail: null, // each mail goes to the current address of the student at the time of sending
    retention: [],
    factConsumers: [],
  },
  agents: {
    mails: {},
    mediaUses: agentMediaUses,
    eraseStudent: (tx, { studentId }, now) => purgeStudentFromAgents(tx, studentId, now),
    changeEmail: null,
    retention: [],
    factConsumers: [],
  },
  repositories: {
    mails: {},
    mediaUses: repositoryMediaUses,
    eraseStudent: null,
    changeEmail: null,
    retention: [],
    factConsumers: [],
  },
  bulk: {
    mails: {},
    mediaUses: {},
    eraseStudent: (tx, { studentId }) => eraseStudentFromJobs(tx, studentId),
    changeEmail: null, // a job stores no addresses
    retention: [{ run: ({ db }, now) => retainJobs(db, now) }],
    factConsumers: [],
  },
  sales: {
    mails: {},
    mediaUses: {},
    eraseStudent: purgeStudentFromSales,
    changeEmail: (tx, _vault, { clubId, studentId, before }) => claimNotices(tx, { clubId, studentId, email: before }),
    retention: [{ run: ({ db }, now) => retainNotices(db, now) }],
    factConsumers: [],
  },
  conditions: { mails: {}, mediaUses: {}, eraseStudent: null, changeEmail: null, retention: [], factConsumers: [] },
  campaigns: {
    mails: {},
    mediaUses: campaignMediaUses,
    eraseStudent: (tx, { studentId }) => purgeStudentFromCampaigns(tx, studentId), // this also erases mails of automations and digests
    changeEmail: null, // a mail uses the address that the student has when it is claimed
    retention: [{ run: ({ db }, now) => retainRecipients(db, now) }],
    factConsumers: [],
  },
  automations: {
    mails: {},
    mediaUses: automationMediaUses,
    eraseStudent: (tx, { studentId }, now) => purgeStudentFromAutomations(tx, studentId, now),
    changeEmail: null, // a mail uses the address that the student has when it is claimed
    retention: [
      rollingUp('automationStepChanges', rollUpSteps),
      { run: ({ db }, now) => forgetOldPaths(db, now) },
      { run: ({ db }) => settleLeftMails(db) },
      {
        async run({ db }, now) {
          const { woken, more } = await wakeWatchersOfCourses(db, now);
          return { rows: { courseWatchersWoken: woken }, more };
        },
      },
    ],
    factConsumers: [enrollByFacts],
  },
  webhooks: {
    mails: webhookMails,
    mediaUses: {},
    eraseStudent: (tx, { studentId }, now) => purgeStudentFromWebhooks(tx, studentId, now),
    changeEmail: null,
    retention: [
      { run: ({ db }, now) => retainWebhooks(db, now) },
      { run: ({ db }, now) => removeDeadListeners(db, now) },
      {
        async run({ db }, now) {
          const { started, more } = await startMissingLogs(db, now);
          return { rows: { eventLogsStarted: started }, more };
        },
      },
    ],
    factConsumers: [fanOutFacts],
  },
  // Requests lock the stored answers of `idempotency` last, so the removal of a student must also lock these answers last.
  audit: {
    mails: {},
    mediaUses: {},
    eraseStudent: null, // an entry contains ids, and no data about a student
    changeEmail: null,
    retention: [{ run: ({ db }, now) => removeOldEntries(db, now) }],
    factConsumers: [],
  },
  idempotency: {
    mails: {},
    mediaUses: {},
    eraseStudent: (tx, student) => eraseAnswers(tx, student),
    changeEmail: null, // a stored answer repeats an old response, so it keeps the address of that time
    retention: [{ run: ({ db }, now) => removeExpiredAnswers(db, now) }],
    factConsumers: [],
  },
} as const satisfies Record<string, ContextParts>;

export const contextsInLockOrder: readonly ContextParts[] = Object.values(contexts);

/** The rows that each kind of mail is about. */
export const mailKinds = answersOf<MailTemplate, MailKind>(
  mailTemplateNames,
  contextsInLockOrder.map(({ mails }) => mails),
);

/** The title of each use of a library file, and whether the use still counts. */
export const mediaUses: AllMediaUseRules = answersOf<MediaUseKind, MediaUseRule>(
  mediaUseKinds,
  contextsInLockOrder.map((context) => context.mediaUses),
);

/**
 * @returns a function that finds the entry for a name
 * @throws Error if no context has an entry for a name, or if two contexts have an entry for the same name
 */
export function answersOf<Name extends string, Answer>(
  names: readonly Name[],
  answers: readonly Readonly<Partial<Record<Name, Answer>>>[],
): Readonly<Record<Name, Answer>> {
  const entries = names.map((name) => {
    const [answer, ...others] = answers.flatMap((one) => one[name] ?? []);
    if (answer === undefined) throw new Error(`No context in domain/contexts.ts has an entry for ${name}.`);
    if (others.length > 0) throw new Error(`Two contexts in domain/contexts.ts have an entry for ${name}.`);
    return [name, answer] as const;
  });
  return Object.fromEntries(entries) as Record<Name, Answer>;
}
