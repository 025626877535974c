/**
 * Lists the answers of every context to questions that concern all of them (domain/questions.ts), its mails, its uses of files, and its
 * consumers of facts.
 */
import type { Database } from '../platform/infra/postgres/database.ts';
import { mediaUseKinds, type MediaUseKind } from '../entities/media/values.ts';
import { mailTemplateNames, type MailTemplate } from '../entities/mail/values.ts';
import { noParts, type CloseClub, type ContextQuestions, type ExportStudent } from './questions.ts';
import type { ClaimedFact, FactResult } from '../platform/engine/facts.ts';
import { assignmentMails } from './assignments/mails.ts';
import { enrollByFacts } from './automations/entering/by-facts.ts';
import { clubMails } from './clubs/mails.ts';
import { accountMails } from './identity/mails.ts';
import type { MailKind, MailKinds } from './mail/kinds.ts';
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
import { mentorshipMails } from './mentorships/mails.ts';
import { fanOutFacts, type DeliveryRun, type FanOutOptions } from './webhooks/events/fan-out.ts';
import { webhookMails } from './webhooks/mails.ts';
import { mailParts } from './mail/parts.ts';
import { joiningParts } from './joining/parts.ts';
import { billingParts } from './billing/parts.ts';
import { erasureMails } from './erasures/mails.ts';
import { erasuresParts } from './erasures/parts.ts';
import { knowledgeParts } from './knowledge/parts.ts';
import { identityParts } from './identity/parts.ts';
import { accessParts } from './access/parts.ts';
import { clubsParts } from './clubs/parts.ts';
import { learningParts } from './learning/parts.ts';
import { communityParts } from './community/parts.ts';
import { mediaParts } from './media/parts.ts';
import { assignmentsParts } from './assignments/parts.ts';
import { mentorshipsParts } from './mentorships/parts.ts';
import { agentsParts } from './agents/parts.ts';
import { repositoriesParts } from './repositories/parts.ts';
import { bulkParts } from './bulk/parts.ts';
import { salesParts } from './sales/parts.ts';
import { exportsParts } from './exports/parts.ts';
import { campaignsParts } from './campaigns/parts.ts';
import { automationsParts } from './automations/parts.ts';
import { webhooksParts } from './webhooks/parts.ts';
import { auditParts } from './audit/parts.ts';
import { idempotencyParts } from './idempotency/parts.ts';

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

export interface ContextParts extends ContextQuestions {
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
  factConsumers: readonly FactConsumer[];
}

/** Every context, in the order in which a transaction locks their rows (docs/explanation/architecture.md#locks). */
export const contexts = {
  mail: { ...mailParts, mails: {}, mediaUses: {}, factConsumers: [] },
  joining: { ...joiningParts, mails: {}, mediaUses: {}, factConsumers: [] },
  watches: { ...noParts, mails: {}, mediaUses: {}, factConsumers: [] },
  branding: { ...noParts, mails: {}, mediaUses: {}, factConsumers: [] },
  language: { ...noParts, mails: {}, mediaUses: {}, factConsumers: [] },
  billing: { ...billingParts, mails: {}, mediaUses: {}, factConsumers: [] },
  erasures: { ...erasuresParts, mails: erasureMails, mediaUses: {}, factConsumers: [] },
  knowledge: { ...knowledgeParts, mails: {}, mediaUses: {}, factConsumers: [] },
  identity: { ...identityParts, mails: accountMails, mediaUses: {}, factConsumers: [] },
  access: { ...accessParts, mails: {}, mediaUses: {}, factConsumers: [] },
  clubs: { ...clubsParts, mails: clubMails, mediaUses: clubMediaUses, factConsumers: [] },
  learning: { ...learningParts, mails: {}, mediaUses: learningMediaUses, factConsumers: [] },
  community: { ...communityParts, mails: {}, mediaUses: communityMediaUses, factConsumers: [] },
  media: { ...mediaParts, mails: mediaMails, mediaUses: {}, factConsumers: [] },
  assignments: { ...assignmentsParts, mails: assignmentMails, mediaUses: assignmentMediaUses, factConsumers: [] },
  mentorships: { ...mentorshipsParts, mails: mentorshipMails, mediaUses: {}, factConsumers: [] },
  agents: { ...agentsParts, mails: {}, mediaUses: agentMediaUses, factConsumers: [] },
  repositories: { ...repositoriesParts, mails: {}, mediaUses: repositoryMediaUses, factConsumers: [] },
  bulk: { ...bulkParts, mails: {}, mediaUses: {}, factConsumers: [] },
  sales: { ...salesParts, mails: {}, mediaUses: {}, factConsumers: [] },
  conditions: { ...noParts, mails: {}, mediaUses: {}, factConsumers: [] },
  campaigns: { ...campaignsParts, mails: {}, mediaUses: campaignMediaUses, factConsumers: [] },
  automations: { ...automationsParts, mails: {}, mediaUses: automationMediaUses, factConsumers: [enrollByFacts] },
  webhooks: { ...webhooksParts, mails: webhookMails, mediaUses: {}, factConsumers: [fanOutFacts] },
  exports: { ...exportsParts, mails: {}, mediaUses: {}, factConsumers: [] },
  // Requests lock the stored answers of `idempotency` last, so the removal of a student must also lock these answers last.
  audit: { ...auditParts, mails: {}, mediaUses: {}, factConsumers: [] },
  idempotency: { ...idempotencyParts, mails: {}, mediaUses: {}, factConsumers: [] },
} as const satisfies Record<string, ContextParts>;

export const contextsInLockOrder: readonly ContextParts[] = Object.values(contexts);

/** The answers to `closeClub`, in the reverse order of locks: what reaches the outside world ends first. */
export const clubClosers: readonly CloseClub[] = contextsInLockOrder
  .toReversed()
  .flatMap((context) => context.closeClub ?? []);

/** The queries of all contexts for the export of a student. */
export const studentExporters: readonly ExportStudent[] = contextsInLockOrder.flatMap(
  ({ exportStudent }) => exportStudent ?? [],
);

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
