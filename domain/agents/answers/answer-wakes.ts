/** Waking the run of an answer. */
import type { Id } from '../../../platform/core/ids.ts';
import type { NewWake } from '../../../platform/engine/facts.ts';

/** @returns the wake of `agent-answer/<question id>` */
export function answerWake({ questionId, clubId, agentId }: { questionId: Id; clubId: Id; agentId: Id }): NewWake {
  return {
    workflowType: 'agentAnswer',
    subjectId: questionId,
    clubId,
    attributes: { ClubId: clubId, AgentId: agentId },
  };
}
