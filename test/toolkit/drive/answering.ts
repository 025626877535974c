/** Runs the steps of answers with a fake model, the test database, and a log writer of the test. */
import pino from 'pino';
import { readConfig } from '../../../config.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { startFakeModel, type FakeModel } from '../../../dev/fake-model/fake-model.ts';
import type { Script } from '../../../dev/fake-model/script.ts';
import { stepAnswer, type AnswerDeps, type AnswerStep } from '../../../domain/agents/answers/answer-step.ts';
import type { AnswerReport } from '../../../domain/agents/answers/answer-rows.ts';
import { answerRules } from '../../../domain/agents/answers/answers.policy.ts';
import { createDeltaLog, type DeltaLog } from '../../../domain/agents/answers/delta-log.ts';
import { createModel, type Patience } from '../../../platform/infra/model/model.ts';
import type { FoundPassage } from '../../../domain/agents/prompt/prompt-blocks.policy.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { buildQuestion, type TestQuestion } from '../builders/questions.ts';
import { testDeps } from '../stack/database.ts';

interface Answering {
  model(): FakeModel;
  /** The failpoint does nothing by default. */
  deps(overrides?: Partial<AnswerDeps> & AnsweringOptions): Promise<AnswerDeps>;
  /** Runs one step at this time, in Unix milliseconds. */
  step(questionId: Id, options?: StepOptions): Promise<AnswerStep>;
  /**
   * Runs one step of a question, by default of a new question. The model uses one script for each call, in order.
   */
  answer(
    scripts: Script | readonly Script[],
    options?: StepOptions & { question?: TestQuestion },
  ): Promise<{ question: TestQuestion; step: AnswerStep }>;
  ended: AnswerReport[];
  notifications(): number;
}

interface AnsweringOptions {
  passages?: readonly FoundPassage[];
  images?: readonly { mediaType: 'image/png'; bytes: Buffer }[];
  patience?: Partial<Patience>;
  failpoint?: (name: string) => Promise<void>;
  baseUrl?: string;
}

interface StepOptions extends AnsweringOptions {
  now?: number;
  signal?: AbortSignal;
}

/** Call this function in a `describe`. */
export function useAnswering(): Answering {
  let model: FakeModel | undefined;
  const logs: DeltaLog[] = [];
  const ended: AnswerReport[] = [];
  let notifications = 0;
  before('start the fake model', async () => {
    model = await startFakeModel();
  });
  beforeEach(() => {
    model?.reset();
    ended.length = 0;
    notifications = 0;
  });
  after('stop the fake model', async () => {
    for (const log of logs) log.close();
    await model?.stop();
  });
  const running = () => {
    if (!model) throw new Error('The fake model runs only during tests');
    return model;
  };

  const deps: Answering['deps'] = async ({ passages = [], images = [], patience, baseUrl, ...overrides } = {}) => {
    const { db } = await testDeps();
    const failpoint = overrides.failpoint ?? (async () => {});
    const config = { ...readConfig().model, apiKey: new Secret('test'), baseUrl: baseUrl ?? running().url };
    const log = createDeltaLog({
      source: db.source,
      notify: () => void notifications++,
      onError() {},
      failpoint,
    });
    logs.push(log);
    return {
      db,
      prompt: { db, retrieve: async () => passages, readImages: async () => images },
      askModel: createModel(config, { ...answerRules, ...patience }),
      log,
      notify: () => void notifications++,
      onEnd: (report) => void ended.push(report),
      onFirstWords() {},
      logger: pino({ level: 'silent' }),
      ...overrides,
      failpoint,
    };
  };
  const step: Answering['step'] = async (
    questionId,
    { now = Date.now(), signal = new AbortController().signal, ...options } = {},
  ) => stepAnswer(await deps(options), questionId, now, signal);
  return {
    model: running,
    deps,
    step,
    async answer(scripts, { question: given, ...options } = {}) {
      const question = given ?? (await buildQuestion());
      running().next(...[scripts].flat());
      return { question, step: await step(question.questionId, options) };
    },
    ended,
    notifications: () => notifications,
  };
}
