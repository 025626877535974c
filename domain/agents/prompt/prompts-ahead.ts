/**
 * Prepares the prompt for the first call of an answer while Temporal still starts the answer's run. This only saves time: the step still
 * reads and claims the row of the answer.
 */
import type { Id } from '../../../platform/core/ids.ts';
import { readAnswerState, type AnswerRow } from '../answers/answer-rows.ts';
import { preparePrompt, type PromptDeps } from './prompt.ts';
import type { Prompt } from './prompt-blocks.policy.ts';

export interface PromptsAhead {
  /** Begins to prepare the prompt of a question. Call it when the workflow run that generates the answer is about to start here. */
  begin(questionId: Id): void;
  /**
   * @returns the prepared prompt. Undefined if the prompt was already taken or is too old, or if the answer has changed since the
   * preparation
   */
  take(answer: AnswerRow): Promise<Prompt | undefined>;
}

/** The maximum number of prepared prompts. The limit is reached only if runs start slowly. */
const mostKept = 64;
/**
 * The longest time for which a prepared prompt may be used. A run starts within milliseconds, and an older prompt may contain text that was
 * deleted later.
 */
const keptMs = 2_000;

interface Prepared {
  answer: AnswerRow;
  prompt: Prompt;
}

export function createPromptsAhead(deps: PromptDeps): PromptsAhead {
  const preparedPrompts = new Map<Id, Promise<Prepared | undefined>>();
  const prepare = async (questionId: Id): Promise<Prepared | undefined> => {
    const answer = await readAnswerState(deps.db, questionId);
    if (answer?.status !== 'generating' || answer.callNo > 0) return undefined;
    return { answer, prompt: await preparePrompt(deps, answer) };
  };
  return {
    begin(questionId) {
      if (preparedPrompts.size >= mostKept || preparedPrompts.has(questionId)) return;
      const preparing = prepare(questionId).catch(() => undefined); // this error is ignored, because the step gets the same error
      preparedPrompts.set(questionId, preparing);
      const forget = () => {
        if (preparedPrompts.get(questionId) === preparing) preparedPrompts.delete(questionId);
      };
      setTimeout(forget, keptMs).unref();
    },
    async take(answer) {
      const preparing = preparedPrompts.get(answer.questionId);
      preparedPrompts.delete(answer.questionId);
      const prepared = await preparing;
      return prepared && isOfSame(prepared.answer, answer) ? prepared.prompt : undefined;
    },
  };
}

/** Whether two versions of an answer's row lead to the same prompt. */
function isOfSame(one: AnswerRow, other: AnswerRow): boolean {
  const inputsOf = ({ id, callNo, model, maxTokens, agentName, instructions, question }: AnswerRow) =>
    JSON.stringify([id, callNo, model, maxTokens, agentName, instructions, question]);
  return inputsOf(one) === inputsOf(other);
}
