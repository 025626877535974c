/** The values that columns of agents, their material and their answers may hold (AGT-21). */

export const agentStatuses = ['draft', 'published', 'archived'] as const;
export type AgentStatus = (typeof agentStatuses)[number];

/** Only answers have a lifecycle: from `generating` to one of the other statuses, once. */
export const answerStatuses = ['generating', 'complete', 'truncated', 'refused', 'failed'] as const;
export type AnswerStatus = (typeof answerStatuses)[number];

/** The statuses of answers that are part of the prompt of later questions. */
export const usableAnswerStatuses = ['complete', 'truncated'] as const satisfies readonly AnswerStatus[];

/** The end of a request to the model. The row has null while the request is open. `abandoned` means that no outcome was recorded. */
export const callOutcomes = ['answered', 'failed', 'abandoned'] as const;
export type CallOutcome = (typeof callOutcomes)[number];
