/** One answer, from its question to its end. Its outcome has model, tokens and cost, and no text. */
import type { AgentAnswerActivities } from '../activities/agent-answer.ts';
import { answerRules } from '../domain/agents/answers/answers.policy.ts';
import { inAbout } from '../platform/core/durations.policy.ts';
import { stepWorkflow, untilItSucceeds } from './step-workflow.ts';

export const agentAnswer = stepWorkflow<AgentAnswerActivities, 'generateAnswer'>(
  'generateAnswer',
  {
    startToCloseTimeout: '15m', // an answer streams for minutes; the step itself gives up at 13
    heartbeatTimeout: '20s', // a dead worker's lease lasts as long: noticed earlier, its answer could not be taken up
    retry: { ...untilItSucceeds, maximumInterval: '10s' }, // somebody waits
  },
  {
    waitingFor: ({ waitingFor, call, at }) =>
      waitingFor === 'call'
        ? `request ${call} of ${answerRules.calls} to the model ${inAbout(at - Date.now())}`
        : `the end of request ${call}, which is under way`,
    ended({ outcome }) {
      if (!('model' in outcome)) return outcome.status;
      const { status, error_code: error, model, calls, input_tokens: input, output_tokens: output } = outcome;
      const { cache_read_tokens: read, cost_micros: cost } = outcome;
      const why = error === undefined ? '' : ` (${error})`;
      return `${status}${why}: ${model}, ${calls} request(s), ${input} tokens in, ${read} from the cache, ${output} out, ${cost} millionths of a dollar`;
    },
  },
);
