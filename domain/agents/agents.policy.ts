/** Status lists of agents, their material and their answers (AGT-21). */

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

/** Why an answer failed: its code, and what the student is told. */
export const answerErrors = {
  model_unavailable: 'The assistant could not be reached. Please ask again.',
  model_overloaded: 'The assistant is overloaded. Please ask again in a while.',
  model_rejected: 'The assistant could not take this question.',
  interrupted: 'The answer broke off. Please ask again.',
  model_silent: 'The assistant fell silent. Please ask again.',
  internal_error: 'The answer could not be finished. Please ask again.',
  conversation_deleted: 'The conversation was deleted.',
  student_removed: 'The account was removed.',
} as const;
export type AnswerError = keyof typeof answerErrors;

/** How a request to the model ended; null in the row while nobody knows. `abandoned`: its outcome was never heard of. */
export type CallOutcome = 'answered' | 'failed' | 'abandoned';

/** The languages that material is indexed in, as two-letter codes. */
export const languages = ['en', 'pt', 'es', 'fr', 'de', 'it'] as const;
export type Language = (typeof languages)[number];

/** Of an agent for which nothing else is asked: questions a student in 24 hours, and the size cap of an answer in tokens. */
export const agentDefaults = { dailyLimit: 50, answerMaxTokens: 2_048 } as const;
