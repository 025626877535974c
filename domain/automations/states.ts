/** Pauses, resumes and archives an automation (AUTO-17). */
import { Automation } from '../../entities/automations/automation.ts';
import type { AutomationStatus } from '../../entities/automations/values.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import { wake } from '../../platform/engine/wakes.ts';
import type { Transaction } from '../../platform/infra/postgres/database.ts';
import { requireFeature } from '../billing/allowances.ts';
import type { DatabaseDeps } from '../deps.ts';
import { setImagesOf } from '../campaigns/drafts/images.ts';
import { findAutomation, readAutomation, type AutomationRow, type Revised } from './records.ts';

/** Pauses the automation. No more students enter, and each run is held at its step. @throws DomainError not_found, automation_state */
export async function pauseAutomation(deps: DatabaseDeps, clubId: Id, automationId: Id, now: Date): Promise<Revised> {
  return change(deps, clubId, automationId, ['active'], (tx, automation) =>
    move(tx, automation, { status: 'paused', gateLooksAt: null }, now),
  );
}

/**
 * Resumes the automation. The workflow `automation-gate` lets the held runs continue, only a few at first.
 * @throws DomainError not_found, automation_state, feature_not_in_plan
 */
export async function resumeAutomation(deps: DatabaseDeps, clubId: Id, automationId: Id, now: Date): Promise<Revised> {
  return change(deps, clubId, automationId, ['paused'], async (tx, automation) => {
    await requireFeature(tx, clubId, 'automations');
    return move(tx, automation, { status: 'active', gateLooksAt: now, gatePage: 1 }, now);
  });
}

/**
 * Archives the automation permanently. The gate wakes its runs, so that they end.
 * @throws DomainError not_found, automation_state
 */
export async function archiveAutomation(deps: DatabaseDeps, clubId: Id, automationId: Id, now: Date): Promise<Revised> {
  return change(deps, clubId, automationId, ['draft', 'active', 'paused'], async (tx, automation) => {
    await setImagesOf(tx, clubId, { kind: 'automation', id: automationId }, []);
    return move(tx, automation, { status: 'archived', gateLooksAt: now, gatePage: 1 }, now);
  });
}

async function change(
  { db }: DatabaseDeps,
  clubId: Id,
  automationId: Id,
  from: readonly AutomationStatus[],
  work: (tx: Transaction, automation: AutomationRow) => Promise<Revised>,
): Promise<Revised> {
  return db.transaction(async (tx) => {
    const automation = await findAutomation(tx, clubId, automationId, 'FOR NO KEY UPDATE');
    if (!from.includes(automation.status))
      throw new DomainError(
        'automation_state',
        `The automation is ${automation.status}, which does not allow this action.`,
      );
    return work(tx, automation);
  });
}

async function move(
  tx: Transaction,
  { id, clubId }: AutomationRow,
  to: Pick<Automation, 'status' | 'gateLooksAt'> & Partial<Pick<Automation, 'gatePage'>>,
  now: Date,
): Promise<Revised> {
  await tx.manager.update(Automation, id, { ...to, updatedAt: now });
  if (to.gateLooksAt !== null) await wake(tx, 'automationGate', [{ id, clubId }], now);
  return readAutomation(tx, clubId, id);
}
