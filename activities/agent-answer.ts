/** The activity of `agent-answer/<question id>`. */
import { cancellationSignal, heartbeat } from '@temporalio/activity';
import { stepAnswer, type AnswerPlatform } from '../domain/agents/answer-step.ts';
import { timeOfStep } from './clock.ts';

export type AgentAnswerActivities = ReturnType<typeof agentAnswerActivities>;

/** Some three fit into the time limit of the workflow. */
const heartbeatEveryMs = 3_000;

export function agentAnswerActivities(platform: AnswerPlatform) {
  return {
    /** Takes the answer one step further; it may stream for minutes. @param now the workflow's time in Unix milliseconds */
    async generateAnswer(questionId: string, now: number) {
      const beating = setInterval(() => heartbeat(), heartbeatEveryMs);
      try {
        return await stepAnswer(platform, questionId, timeOfStep(now), cancellationSignal());
      } finally {
        clearInterval(beating);
      }
    },
  };
}
