/**
 * Prompts of first calls that are prepared while the engine starts their runs. The step reads and claims its row as always: what it
 * finds here spares it the wait, and decides nothing.
 */
import type { Id } from '../../../platform/core/ids.ts';
import { readAnswerState, type AnswerRow } from '../answers/answer-rows.ts';
import { preparePrompt, type PromptDeps } from './prompt.ts';
import type { Prompt } from './prompt-blocks.policy.ts';

export interface PromptsAhead {
  /** The run of the question is about to start in this process. */
  begin(questionId: Id): void;
  /** @returns the answer's prompt, if it was begun lately and what it was made of is as it was; once */
  take(answer: AnswerRow): Promise<Prompt | undefined>;
}

/** More wait for their runs only while these are slow to start. */
const mostKept = 64;
/** A run that starts here does so within milliseconds. What is older may tell of what was deleted since. */
const keptMs = 2_000;

interface Prepared {
  answer: AnswerRow;
  prompt: Prompt;
}

export function createPromptsAhead(deps: PromptDeps): PromptsAhead {
  const kept = new Map<Id, Promise<Prepared | undefined>>();
  const prepare = async (questionId: Id): Promise<Prepared | undefined> => {
    const answer = await readAnswerState(deps.db, questionId);
    if (answer?.status !== 'generating' || answer.callNo > 0) return undefined;
    return { answer, prompt: await preparePrompt(deps, answer) };
  };
  return {
    begin(questionId) {
      if (kept.size >= mostKept || kept.has(questionId)) return;
      const preparing = prepare(questionId).catch(() => undefined); // the step meets the error itself
      kept.set(questionId, preparing);
      const forget = () => {
        if (kept.get(questionId) === preparing) kept.delete(questionId);
      };
      setTimeout(forget, keptMs).unref();
    },
    async take(answer) {
      const preparing = kept.get(answer.questionId);
      kept.delete(answer.questionId);
      const prepared = await preparing;
      return prepared && isOfSame(prepared.answer, answer) ? prepared.prompt : undefined;
    },
  };
}

/** Whether a prompt of the one is a prompt of the other. */
function isOfSame(one: AnswerRow, other: AnswerRow): boolean {
  const made = ({ id, callNo, model, maxTokens, agentName, instructions, question }: AnswerRow) =>
    JSON.stringify([id, callNo, model, maxTokens, agentName, instructions, question]);
  return made(one) === made(other);
}
