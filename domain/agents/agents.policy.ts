/** Lists and defaults of agents, their material and their answers (AGT-21). */

/** What an agent's material is named by: a course stands for its published lessons. */
export const materialKinds = ['course', 'lesson', 'media'] as const;
export type MaterialKind = (typeof materialKinds)[number];

/** Why an answer failed: its code, and the message to the student. */
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

/** Of an agent for which nothing else is asked: questions a student in 24 hours, and the size cap of an answer in tokens. */
export const agentDefaults = { dailyLimit: 50, answerMaxTokens: 2_048 } as const;
