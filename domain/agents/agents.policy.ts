/** Lists and defaults of agents, their material and their answers (AGT-21). */

/** What an agent's material is named by: a course stands for its published lessons. */
export const materialKinds = ['course', 'lesson', 'media'] as const;
export type MaterialKind = (typeof materialKinds)[number];

/** Why an answer failed; the catalogues have the message to the student. */
export const answerErrors = [
  'model_unavailable',
  'model_overloaded',
  'model_rejected',
  'interrupted',
  'model_silent',
  'internal_error',
  'conversation_deleted',
  'student_removed',
] as const;
export type AnswerError = (typeof answerErrors)[number];

/** Of an agent for which nothing else is asked: questions a student in 24 hours, and the size cap of an answer in tokens. */
export const agentDefaults = { dailyLimit: 50, answerMaxTokens: 2_048 } as const;
