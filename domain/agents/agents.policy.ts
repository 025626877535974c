/** Lists the allowed values and the default values of agents, of their material and of their answers (AGT-21). */

/** The kinds of material that an agent can have. A course stands for its published lessons. */
export const materialKinds = ['course', 'lesson', 'media'] as const;
export type MaterialKind = (typeof materialKinds)[number];

/** The error codes of a failed answer. The language catalogues contain the messages that students see. */
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

/** The defaults of a new agent: the number of questions per student in 24 hours, and the maximum size of an answer in tokens. */
export const agentDefaults = { dailyLimit: 50, answerMaxTokens: 2_048 } as const;
