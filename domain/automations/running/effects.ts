/**
 * Applies the effects of steps on a student: tags and points. An effect is written in the transaction that moves the run to its next step
 * (AUTO-13). `mailing.ts` sends e-mails.
 */
import { bulk } from '../../../entities/facts/values.ts';
import type { FactOptions } from '../../../platform/engine/facts.ts';
import type { Transaction } from '../../../platform/infra/postgres/database.ts';
import { awardPoints } from '../../learning/engagement/points.ts';
import { putTag, takeTag } from '../../learning/engagement/tagging.ts';
import type { Step } from '../versions/definition.policy.ts';
import { linksAfter } from '../versions/links.policy.ts';
import { effectKey, type RunRow } from './moves.ts';

/**
 * @returns the outcome of the step, for the list of steps that the run took
 * @throws DomainError if the effect is impossible because the record that the step names was deleted
 */
export async function applyEffect(tx: Transaction, run: RunRow, step: Step, now: Date): Promise<string> {
  const { clubId, studentId } = run;
  const options: FactOptions = { priority: bulk, details: { links: linksAfter(run.links, now), runId: run.id } };
  switch (step.kind) {
    case 'add_tag':
      return (await putTag(tx, { clubId, studentId, tagId: step.tag_id ?? '' }, now, options))
        ? 'tagged'
        : 'tagged_already';
    case 'remove_tag':
      return (await takeTag(tx, { clubId, studentId, tagId: step.tag_id ?? '' }, now, options))
        ? 'untagged'
        : 'not_tagged';
    case 'award_points': {
      const cause = { kind: 'automation', id: effectKey(run, step.id) } as const;
      await awardPoints(tx, { clubId, studentId, points: step.points ?? 0, note: step.note, cause, options }, now);
      return 'awarded';
    }
    case 'send_email':
    case 'wait':
    case 'condition':
    case 'exit':
      throw new Error(`A step ${step.kind} has no effect of this kind`);
  }
}
