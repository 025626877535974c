/** Lists, creates, changes and copies drafts of automations (AUTO-8). */
import type { RecordOf } from '../../../contract/contract.ts';
import { Automation } from '../../../entities/automations/automation.ts';
import { Club } from '../../../entities/clubs/club.ts';
import type { AutomationStatus } from '../../../entities/automations/values.ts';
import { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import { tidyName } from '../../../platform/core/text/text.policy.ts';
import type { Queries, Transaction } from '../../../platform/infra/postgres/database.ts';
import { newestFirst } from '../../../platform/infra/postgres/lists/order.ts';
import { listPage, type Page, type PageRequest } from '../../../platform/infra/postgres/lists/page.ts';
import { all, sql } from '../../../platform/infra/postgres/sql.ts';
import { requireFeature } from '../../billing/allowances.ts';
import type { DatabaseDeps } from '../../deps.ts';
import { setImagesOf } from '../../campaigns/drafts/images.ts';
import { exceeded } from '../bounds.policy.ts';
import type { FoundProblems } from '../../mail/content/problems.ts';
import { emailsOf, type Definition } from './definition.policy.ts';
import { problemsOf, type Problem } from './problems.ts';
import {
  findAutomation,
  presentSummaries,
  readAutomation,
  requireRevision,
  summaryColumns,
  type Revised,
} from '../records.ts';

/** The maximum number of automations of a club that are not archived. */
export const mostOfAClub = 200;

const empty: Definition = { trigger: { kind: 'manual' }, reentry: 'once', exit_on_access_lost: false, steps: [] };

/** @returns a page of the club's automations, newest first, without definitions */
export async function listAutomations(
  db: Queries,
  clubId: Id,
  filter: PageRequest & { status?: AutomationStatus },
): Promise<Page<RecordOf<'AutomationSummary'>>> {
  const where = all([
    sql`club_id = ${clubId}`,
    filter.status === undefined ? undefined : sql`status = ${filter.status}`,
  ]);
  const { rows, total, next } = await listPage(db, filter, {
    columns: summaryColumns,
    from: sql`FROM automations WHERE ${where}`,
    changedAt: 'changed_at',
    orderBy: newestFirst(),
  });
  return { rows: await presentSummaries(db, rows), total, next };
}

/** @throws DomainError feature_not_in_plan, automation_limit_reached, media_archived, invalid_request (the definition exceeds a bound) */
export async function createAutomation(
  { db }: DatabaseDeps,
  clubId: Id,
  input: { name: string; draft?: RecordOf<'AutomationDefinition'> },
  now: Date,
): Promise<Revised> {
  const draft = input.draft ?? empty;
  requireBounds(draft);
  return db.transaction(async (tx) => {
    await requireFeature(tx, clubId, 'automations');
    return insertDraft(tx, clubId, { name: input.name, draft }, now);
  });
}

function requireBounds(draft: Definition): void {
  const problem = exceeded(draft);
  if (problem !== undefined) throw new DomainError('invalid_request', problem);
}

async function insertDraft(
  tx: Transaction,
  clubId: Id,
  { name, draft }: { name: string; draft: Definition },
  now: Date,
): Promise<Revised> {
  const id = newId();
  await setImagesOf(tx, clubId, { kind: 'automation', id }, emailsOf(draft));
  // The lock prevents two concurrent requests from both passing the limit.
  await tx.manager.findOne(Club, { where: { id: clubId }, lock: { mode: 'for_no_key_update' } });
  const present = await tx.one<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM automations WHERE club_id = ${clubId} AND status <> 'archived'`,
  );
  if (present && present.count >= mostOfAClub)
    throw new DomainError('automation_limit_reached', `The club has reached its limit of ${mostOfAClub} automations.`);
  await tx.manager.insert(Automation, { id, clubId, name: tidyName(name), draft, createdAt: now, updatedAt: now });
  return readAutomation(tx, clubId, id);
}

/**
 * Changes the name, the draft or both, as `input` says. A new draft replaces the whole old draft.
 * @param ifMatch the header `If-Match`, which names the revisions that the caller has seen
 * @throws DomainError not_found, malformed_request (the header `If-Match` is missing), draft_changed, automation_state,
 *   feature_not_in_plan, invalid_request
 */
export async function updateAutomation(
  { db }: DatabaseDeps,
  clubId: Id,
  automationId: Id,
  input: { name?: string; draft?: RecordOf<'AutomationDefinition'> },
  ifMatch: string,
  now: Date,
): Promise<Revised> {
  const draft = input.draft as Definition | undefined;
  return db.transaction(async (tx) => {
    const before = await findAutomation(tx, clubId, automationId, 'FOR NO KEY UPDATE');
    requireRevision(before, ifMatch);
    await requireFeature(tx, clubId, 'automations');
    if (before.status === 'archived')
      throw new DomainError('automation_state', 'The automation is archived and cannot be changed.');
    if (draft) {
      requireBounds(draft);
      await setImagesOf(tx, clubId, { kind: 'automation', id: automationId }, emailsOf(draft));
    }
    await tx.manager.update(Automation, automationId, {
      ...(input.name !== undefined && { name: tidyName(input.name) }),
      ...(draft !== undefined && { draft }),
      revision: before.revision + 1,
      updatedAt: now,
    });
    return readAutomation(tx, clubId, automationId);
  });
}

/** Creates a new draft with the same definition. @throws DomainError not_found, feature_not_in_plan, automation_limit_reached */
export async function duplicateAutomation(
  { db }: DatabaseDeps,
  clubId: Id,
  automationId: Id,
  now: Date,
): Promise<Revised> {
  return db.transaction(async (tx) => {
    const { name, draft } = await findAutomation(tx, clubId, automationId);
    await requireFeature(tx, clubId, 'automations');
    return insertDraft(tx, clubId, { name, draft }, now);
  });
}

/**
 * @returns the first problems that prevent the publication of the draft, in the order of the definition, and the number of all problems
 * @throws DomainError not_found, busy
 */
export async function listProblems(db: Queries, clubId: Id, automationId: Id): Promise<FoundProblems<Problem>> {
  const { draft } = await findAutomation(db, clubId, automationId);
  return problemsOf(db, clubId, draft);
}
