/** The values that columns of agents, their material and their answers may hold (AGT-21). */

export const agentStatuses = ['draft', 'published', 'archived'] as const;
export type AgentStatus = (typeof agentStatuses)[number];

/** Only answers have a lifecycle. An answer changes once, from `generating` to one of the other statuses. */
export const answerStatuses = ['generating', 'complete', 'truncated', 'refused', 'failed'] as const;
export type AnswerStatus = (typeof answerStatuses)[number];

/** The statuses of answers that are part of the prompt of later questions. */
export const usableAnswerStatuses = ['complete', 'truncated'] as const satisfies readonly AnswerStatus[];

/** How a request to the model ended. The column is null while the request is open. `abandoned` means that no outcome was recorded. */
export const callOutcomes = ['answered', 'failed', 'abandoned'] as const;
export type CallOutcome = (typeof callOutcomes)[number];
