/** The effects of bulk jobs. Each effect is the function of the single operation (BULK-2). */
import type { BulkAction, BulkOutcome, BulkRowCode } from '../../entities/bulk/values.ts';
import { bulk } from '../../entities/facts/values.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { Id } from '../../platform/core/ids.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import { inSavepoint, type Transaction } from '../../platform/infra/postgres/database.ts';
import { lockDeliveryForShare } from '../access/deliveries/deliveries.ts';
import { grantAndConfirm } from '../access/enrollments/by-hand.ts';
import { revokeDelivery, termsOf } from '../access/enrollments/enrollments.ts';
import { optionalInstant } from '../../platform/core/time/instants.ts';
import { awardPoints, requirePoints } from '../learning/engagement/points.ts';
import { putTagOnMany, takeTagFromMany } from '../learning/engagement/tagging.ts';
import { lockTag } from '../learning/engagement/tags.ts';
import { rowCodes } from './bulk.policy.ts';

const options = { priority: bulk } as const;

/**
 * Checks, before a job begins, that the tag or delivery exists and can be granted now.
 * @throws DomainError not_found, delivery_archived, invalid_request
 */
export async function requirePossible(tx: Transaction, clubId: Id, action: BulkAction, now: Date): Promise<void> {
  switch (action.kind) {
    case 'tag':
    case 'untag':
      await lockTag(tx, clubId, action.tagId, 'share');
      return;
    case 'grant': {
      const { deliveryId, cohortId } = action;
      const [startsAt, endsAt] = [
        optionalInstant(action.startsAt, 'starts_at'),
        optionalInstant(action.endsAt, 'ends_at'),
      ];
      await termsOf(tx, { clubId, deliveryId, cohortId, startsAt, endsAt }, now);
      return;
    }
    case 'revoke':
      await lockDeliveryForShare(tx, clubId, action.deliveryId);
      return;
    case 'award_points':
      requirePoints(action.points);
  }
}

/** A job and some of its students. The transaction has locked the rows of these students. */
export interface Subjects {
  clubId: Id;
  jobId: Id;
  studentIds: readonly Id[];
}

export interface Outcome {
  outcome: Exclude<BulkOutcome, 'pending' | 'canceled'>;
  code?: BulkRowCode;
}

/** @throws any error that is not a refusal of the single operation; then the whole transaction must be undone */
export async function applyAction(
  tx: Transaction,
  vault: Vault,
  { clubId, jobId, studentIds }: Subjects,
  action: BulkAction,
  now: Date,
): Promise<ReadonlyMap<Id, Outcome>> {
  if ('tagId' in action) {
    const change = action.kind === 'tag' ? putTagOnMany : takeTagFromMany;
    try {
      const changed = await change(tx, { clubId, tagId: action.tagId, studentIds }, now, options);
      return new Map(studentIds.map((id) => [id, { outcome: changed.has(id) ? 'applied' : 'unchanged' }]));
    } catch (error) {
      const refusal = refusalOf(error);
      return new Map(studentIds.map((id) => [id, refusal]));
    }
  }
  const outcomes = new Map<Id, Outcome>();
  for (const studentId of studentIds) {
    try {
      const changed = await applyToOne(tx, vault, { clubId, jobId, studentId }, action, now);
      outcomes.set(studentId, { outcome: changed ? 'applied' : 'unchanged' });
    } catch (error) {
      outcomes.set(studentId, refusalOf(error));
    }
  }
  return outcomes;
}

/**
 * Applies an action to one student. A job has a student only once, so the id of the job makes an award unique (BULK-3). A refused action
 * writes nothing. A grant first confirms a pending sign-up, so it runs in a savepoint. The other actions refuse before they write.
 */
async function applyToOne(
  tx: Transaction,
  vault: Vault,
  { clubId, jobId, studentId }: { clubId: Id; jobId: Id; studentId: Id },
  action: Exclude<BulkAction, { kind: 'tag' | 'untag' }>,
  now: Date,
): Promise<boolean> {
  switch (action.kind) {
    case 'grant': {
      const { deliveryId, cohortId, startsAt, endsAt } = action;
      const input = {
        student_id: studentId,
        delivery_id: deliveryId,
        ...(cohortId !== undefined && { cohort_id: cohortId }),
        ...(startsAt !== undefined && { starts_at: startsAt }),
        ...(endsAt !== undefined && { ends_at: endsAt }),
      };
      await inSavepoint(tx, (inner) => grantAndConfirm(inner, vault, clubId, input, now, options));
      return true;
    }
    case 'revoke':
      return (await revokeDelivery(tx, { clubId, studentId, deliveryId: action.deliveryId }, now, options)) > 0;
    case 'award_points': {
      const { points, note } = action;
      await awardPoints(tx, { clubId, studentId, points, note, cause: { kind: 'manual', id: jobId }, options }, now);
      return true;
    }
  }
}

/** @returns the outcome that a refusal of the single operation means @throws the error if it is a fault */
function refusalOf(error: unknown): Outcome {
  if (!(error instanceof DomainError)) throw error;
  if (error.code === 'already_enrolled') return { outcome: 'unchanged' };
  const code = rowCodes[error.code];
  if (code === undefined) throw error;
  return { outcome: 'failed', code };
}
