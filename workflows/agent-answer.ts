/** One answer, from its question to its end: Postgres decides, this waits. */
import { continueAsNew, proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { AgentAnswerActivities } from '../activities/agent-answer.ts';
import { answerRules } from '../domain/agents/answers/answers.policy.ts';
import { inAbout } from '../platform/core/durations.policy.ts';
import { lookAgainUntilDone } from './loop.ts';

const { generateAnswer } = proxyActivities<AgentAnswerActivities>({
  startToCloseTimeout: '15m', // an answer streams for minutes; the step itself gives up at 13
  heartbeatTimeout: '20s', // a dead worker's lease lasts as long: noticed earlier, its answer could not be taken up
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '10s' }, // for ever: only our own faults throw, and somebody waits
});

type Outcome = Extract<Awaited<ReturnType<typeof generateAnswer>>, { done: true }>['outcome'];

/** @returns how it ended, with its model, tokens and cost: no text */
export async function agentAnswer(questionId: string): Promise<Outcome> {
  const outcome = await lookAgainUntilDone((now) => generateAnswer(questionId, now), {
    waitingFor: ({ waitingFor, call, at }) =>
      waitingFor === 'call'
        ? `request ${call} of ${answerRules.calls} to the model ${inAbout(at - Date.now())}`
        : `the end of request ${call}, which is under way`,
    startAfresh: () => continueAsNew<typeof agentAnswer>(questionId),
  });
  setCurrentDetails(wordsOf(outcome));
  return outcome;
}

function wordsOf(outcome: Outcome): string {
  if (!('model' in outcome)) return outcome.status;
  const { status, error_code: error, model, calls, input_tokens: input, output_tokens: output } = outcome;
  const { cache_read_tokens: read, cost_micros: cost } = outcome;
  const why = error === undefined ? '' : ` (${error})`;
  return `${status}${why}: ${model}, ${calls} request(s), ${input} tokens in, ${read} from the cache, ${output} out, ${cost} millionths of a dollar`;
}
