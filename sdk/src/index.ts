/** The SDK of the Club Learning Platform. */
export { ask, type AskOptions, type Question } from './ask.ts';
export { createClient, type ClientOptions, type ClubLearningClient } from './client.ts';
export { ApiError, isRefusal } from './errors.ts';
export * from './generated/client.schemas.ts';
export {
  OPERATIONS as operations,
  type OperationId,
  type OperationPath,
  type OperationTag,
} from './generated/client.ts';
export type { WebhookEvents } from './generated/events.ts';
export { TimeoutError } from './generated/runtime/errors.ts';
export type { RequestOptions } from './generated/runtime/types.ts';
export { itemsOf, pagesOf, type Page } from './pages.ts';
export * as webhooks from './webhooks.ts';
export type { WebhookEvent } from './webhooks.ts';
