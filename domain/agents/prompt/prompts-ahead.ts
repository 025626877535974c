/**
 * Prepares the prompts of first calls while the engine starts their runs. The step still reads and claims its row. A prepared prompt only
 * saves time and decides nothing.
 */
import type { Id } from '../../../platform/core/ids.ts';
import { readAnswerState, type AnswerRow } from '../answers/answer-rows.ts';
import { preparePrompt, type PromptDeps } from './prompt.ts';
import type { Prompt } from './prompt-blocks.policy.ts';

export interface PromptsAhead {
  /** Called when the run of the question is about to start in this process. */
  begin(questionId: Id): void;
  /** @returns the prepared prompt of the answer, returned once, if it is recent and the answer has not changed since */
  take(answer: AnswerRow): Promise<Prompt | undefined>;
}

/** More prompts would wait only if runs were slow to start. */
const mostKept = 64;
/** A run starts within milliseconds. An older prompt may contain text that was deleted since. */
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
      const preparing = prepare(questionId).catch(() => undefined); // the step gets the same error itself
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

/** Whether a prompt for one row is also correct for the other row. */
function isOfSame(one: AnswerRow, other: AnswerRow): boolean {
  const inputsOf = ({ id, callNo, model, maxTokens, agentName, instructions, question }: AnswerRow) =>
    JSON.stringify([id, callNo, model, maxTokens, agentName, instructions, question]);
  return inputsOf(one) === inputsOf(other);
}
