/** The components from which the dependencies of a worker's activities are built. */
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { AnswerDeps } from '../../domain/agents/answers/answer-step.ts';
import type { DeliveryDeps } from '../../domain/webhooks/attempts/attempt.ts';
import type { Programs } from './programs.ts';
import type { Resources } from './resources.ts';

export interface Parts {
  config: Config;
  resources: Resources;
  programs: Programs;
  answers: AnswerDeps;
  deliveries: DeliveryDeps;
  failpoint: (name: string) => Promise<void>;
  log: Logger;
}
