/** Publishes a draft as a numbered version that never changes (AUTO-9). */
import { isDeepStrictEqual } from 'node:util';
import { v5 } from 'uuid';
import { Automation } from '../../../entities/automations/automation.ts';
import { AutomationReference } from '../../../entities/automations/automation-reference.ts';
import { AutomationVersion } from '../../../entities/automations/automation-version.ts';
import type { ReferredKind } from '../../../entities/automations/values.ts';
import { Club } from '../../../entities/clubs/club.ts';
import { MailSender } from '../../../entities/mail/mail-sender.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { raw, sql } from '../../../platform/infra/postgres/sql.ts';
import { requireFeature } from '../../billing/allowances.ts';
import {
  imageIdsOf,
  publishImages,
  setImagesOf,
  widthsOf,
  withAddresses,
  type ImageDeps,
} from '../../campaigns/drafts/images.ts';
import { findBranding } from '../../branding/branding.ts';
import type { AddressedDeps, VaultDeps } from '../../deps.ts';
import type { CompiledEmail } from '../../mail/content/compile.ts';
import { compileInThread } from '../../mail/content/email-work.ts';
import { insertLinks, type LinkedEmail } from '../../mail/tracking/addresses.ts';
import { endUsesOfOldVersions } from '../media-uses.ts';
import { emailsOf, languageOfToday, placedSteps, type Definition } from './definition.policy.ts';
import { idsNamed, requireNoProblems } from './problems.ts';
import { findAutomation, readAutomation, requireRevision, type AutomationRow, type Revised } from '../records.ts';

export interface PublishingDeps extends VaultDeps, Pick<AddressedDeps, 'publicUrl'> {
  images: Omit<ImageDeps, 'db' | 'vault'>;
}

type CompiledEmails = Readonly<Record<string, CompiledEmail>>;

/**
 * Publishes the draft as the version for new runs. Existing runs continue in their old version, and a paused automation stays paused. The
 * e-mails are compiled before the transaction, so the transaction checks again that the draft has not changed.
 * @param ifMatch the value of the header `If-Match`: the revisions of the draft that the caller has seen
 * @throws DomainError not_found, malformed_request (the header `If-Match` is missing), draft_changed, feature_not_in_plan,
 *   automation_state, nothing_to_publish, invalid_definition (the message names the first problem)
 */
export async function publishAutomation(
  deps: PublishingDeps,
  clubId: Id,
  automationId: Id,
  ifMatch: string,
  now: Date,
): Promise<Revised> {
  const { db } = deps;
  const current = await findAutomation(db, clubId, automationId);
  await requirePublishable(db, current, ifMatch);
  const versionId = newId();
  const compiled = await compileAll(deps, current, versionId);
  return db.transaction(async (tx) => {
    const automation = await findAutomation(tx, clubId, automationId, 'FOR NO KEY UPDATE');
    await requirePublishable(tx, automation, ifMatch);
    if (automation.revision !== current.revision)
      throw new DomainError('draft_changed', 'The draft has changed meanwhile. Read it again.');
    await lockReferredRecords(tx, automation.draft);
    const emails = emailsOf(automation.draft);
    const draftPlace = { kind: 'automation', id: automationId } as const;
    await setImagesOf(tx, clubId, { kind: 'automation_version', id: versionId }, emails, { from: draftPlace });
    await requireNoProblems(tx, clubId, automation.draft);
    const { draft } = automation;
    const linkedEmails: Record<string, LinkedEmail> = {};
    for (const [stepId, one] of Object.entries(compiled))
      linkedEmails[stepId] = { ...one, linkIds: await insertLinks(tx, clubId, v5(stepId, versionId), one.links) };
    const number = automation.versionCount + 1;
    await tx.manager.insert(AutomationVersion, {
      id: versionId,
      clubId,
      automationId,
      number,
      language: languageOfToday,
      triggerKind: draft.trigger.kind,
      definition: draft,
      compiled: linkedEmails,
      publishedAt: now,
    });
    const references = [...new Map(idsNamed(draft).map(({ named: kind, id }) => [id, kind])).entries()];
    if (references.length > 0)
      await tx.manager.insert(
        AutomationReference,
        references.map(([referredId, kind]) => ({ versionId, referredId, kind })),
      );
    await tx.manager.update(Automation, automationId, {
      publishedId: versionId,
      versionCount: number,
      triggerKind: draft.trigger.kind,
      ...(automation.status === 'draft' && { status: 'active' as const }),
      updatedAt: now,
    });
    await endUsesOfOldVersions(tx, automationId);
    return readAutomation(tx, clubId, automationId);
  });
}

async function requirePublishable(db: Queries, automation: AutomationRow, ifMatch: string): Promise<void> {
  const { clubId, draft, publishedId } = automation;
  requireRevision(automation, ifMatch);
  await requireFeature(db, clubId, 'automations');
  if (automation.status === 'archived')
    throw new DomainError('automation_state', 'The automation is archived and cannot be published.');
  const published = publishedId === null ? null : await db.manager.findOneBy(AutomationVersion, { id: publishedId });
  if (published && isDeepStrictEqual(published.definition, draft))
    throw new DomainError('nothing_to_publish', `The draft is equal to version ${published.number}.`);
  await requireNoProblems(db, clubId, draft);
}

async function compileAll(
  deps: PublishingDeps,
  { clubId, draft }: AutomationRow,
  versionId: Id,
): Promise<CompiledEmails> {
  const emails = placedSteps(draft).flatMap(({ step, path }) =>
    step.kind === 'send_email' && step.email ? [{ id: step.id, email: step.email, path }] : [],
  );
  if (emails.length === 0) return {};
  const { fromName: clubName, postalAddress } = await deps.db.manager.findOneByOrFail(MailSender, { clubId });
  const { language } = await deps.db.manager.findOneByOrFail(Club, { id: clubId });
  const branding = await findBranding(deps.db, deps.publicUrl, clubId);
  const letterhead = { clubName, postalAddress, language, branding };
  const compiled: [string, CompiledEmail][] = [];
  for (const { id, email, path } of emails) {
    const images = await publishImages({ ...deps, ...deps.images }, versionId, clubId, imageIdsOf(email));
    if (!images) {
      await requireNoProblems(deps.db, clubId, draft);
      throw new DomainError('invalid_definition', `${path}.email.blocks: an image has changed meanwhile. Try again.`);
    }
    const one = await compileInThread(clubId, email, letterhead, widthsOf(images));
    if (!one)
      throw new DomainError(
        'invalid_definition',
        `${path}.email: the e-mail needs too much time or memory to compile.`,
      );
    compiled.push([id, withAddresses(one, images)]);
  }
  return Object.fromEntries(compiled);
}

/** The tables, in the order in which the transaction locks them. */
const tables: readonly (readonly [ReferredKind, string])[] = [
  ['course', 'courses'],
  ['lesson', 'lessons'],
  ['delivery', 'access_deliveries'],
  ['cohort', 'cohorts'],
  ['product', 'products'],
  ['tag', 'tags'],
  ['level', 'levels'],
];

/** Locks the records that the draft names, so that a deletion waits and then finds them in use. */
async function lockReferredRecords(tx: Transaction, draft: Definition): Promise<void> {
  const records = idsNamed(draft);
  for (const [kind, table] of tables) {
    const ids = records.filter((one) => one.named === kind).map(({ id }) => id);
    if (ids.length > 0) await tx.run(sql`SELECT FROM ${raw(table)} WHERE id = ANY(${ids}) ORDER BY id FOR SHARE`);
  }
}
