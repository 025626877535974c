/** Builds the dependencies for answers to questions: the model, the log writer, metrics and log lines. */
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { AnswerDeps } from '../../domain/agents/answers/answer-step.ts';
import { answerRules } from '../../domain/agents/answers/answers.policy.ts';
import { createAnswersNotifier } from '../../domain/agents/answers/answers-channel.ts';
import { createDeltaLog } from '../../domain/agents/answers/delta-log.ts';
import type { PromptDeps } from '../../domain/agents/prompt/prompt.ts';
import { createPromptsAhead, type PromptsAhead } from '../../domain/agents/prompt/prompts-ahead.ts';
import { createModel } from '../../platform/infra/model/model.ts';
import { retrieve } from '../../domain/knowledge/retrieval.ts';
import type { Database } from '../../platform/infra/postgres/database.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import type { ObjectStore } from '../../platform/infra/store/object-store.ts';
import { readImages } from '../../domain/agents/conversations/images.ts';
import { answers, answerCosts, answerTokens, firstWords } from '../reports/metrics.ts';

/** @returns the dependencies of answers; call `log.close()` after the last answer has ended */
export function createAnswerDeps(
  config: Config,
  db: Database,
  storage: ObjectStore,
  log: Logger,
  failpoint: (name: string) => Promise<void>,
): AnswerDeps & { promptsAhead: PromptsAhead } {
  const { source } = db;
  const { notify } = createAnswersNotifier(source, (error) =>
    log.warn({ error: describeError(error) }, 'the API was not notified of an answer; it polls'),
  );
  const prompt: PromptDeps = { db, retrieve, readImages: (questionId) => readImages(storage, db, questionId) };
  return {
    db,
    prompt,
    promptsAhead: createPromptsAhead(prompt),
    askModel: createModel(config.model, answerRules),
    log: createDeltaLog({
      source,
      notify,
      onError: (error) => log.warn({ error: describeError(error) }, 'answers could not be written; it is tried again'),
      failpoint,
    }),
    notify,
    onEnd(report) {
      const { model, status, error_code: code = '' } = report;
      answers.inc({ status, code });
      answerTokens.inc({ model, kind: 'input' }, report.input_tokens);
      answerTokens.inc({ model, kind: 'output' }, report.output_tokens);
      answerTokens.inc({ model, kind: 'cache_write' }, report.cache_write_tokens);
      answerTokens.inc({ model, kind: 'cache_read' }, report.cache_read_tokens);
      answerCosts.inc({ model, payer: 'club' }, report.cost_micros);
      answerCosts.inc({ model, payer: 'operator' }, report.abandoned_micros);
    },
    onFirstWords: (ms) => firstWords.observe(ms / 1_000),
    logger: log,
    failpoint,
  };
}
