/** The words of agents, their material and their answers (specification: Agent records, States). */

export const agentStatuses = ['draft', 'published', 'archived'] as const;
export type AgentStatus = (typeof agentStatuses)[number];

/** What an agent's material is named by: a course stands for its published lessons. */
export const materialKinds = ['course', 'lesson', 'media'] as const;
export type MaterialKind = (typeof materialKinds)[number];

export type SourceKind = 'media' | 'lesson';

/** `pending` waits for its indexing, `ready` is found by agents, `failed` says why in its error. */
export const sourceStatuses = ['pending', 'indexing', 'ready', 'failed'] as const;
export type SourceStatus = (typeof sourceStatuses)[number];

/** Only answers have a lifecycle: from `generating` to one of the others, once. */
export type AnswerStatus = 'generating' | 'complete' | 'truncated' | 'refused' | 'failed';

/** How a request to the model ended; null in the row while nobody knows. `abandoned`: its outcome was never heard of. */
export type CallOutcome = 'answered' | 'failed' | 'abandoned';

/** The languages that material is indexed in, as two-letter codes. */
export const languages = ['en', 'pt', 'es', 'fr', 'de', 'it'] as const;
export type Language = (typeof languages)[number];
