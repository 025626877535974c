/** The last step: checks the request against the contract, calls the handler, commits its changes, and answers with its result. */
import type { AnswerFinder } from '../../domain/idempotency/repetitions.ts';
import { inSpan } from '../../platform/infra/tracing.ts';
import { checkInput, type CheckedInput } from '../dispatch/checked-input.ts';
import { callerOf, describeRequest } from '../dispatch/handler-request.ts';
import { effectOf } from '../dispatch/request-effect.ts';
import { sendAnswer } from '../dispatch/send-answer.ts';
import { accessOf } from '../dispatch/stream-access.ts';
import type { OperationRequest } from '../operation.ts';
import { networkOf } from '../rate-limits/client-ip.policy.ts';
import { auditOf } from './audit.ts';
import { ipOf } from './client-ip.ts';
import type { ApiDeps, BoundOperation, Context, Middleware } from './context.ts';
import { answerAgain, repetitionsOf, type Repetition } from './repetitions.ts';

/** A handler of any operation. The compiler does not know which operation it is, because the contract is read at run time. */
export type AnyOperation = (request: OperationRequest<never>) => Promise<unknown>;

export function dispatch(
  api: ApiDeps,
  binding: BoundOperation,
  handler: AnyOperation,
  findAnswer: AnswerFinder,
): Middleware {
  const { deps, streams, settings, onSecondTransaction } = api;
  const { operation } = binding;
  const describeRepetition = repetitionsOf(api, findAnswer, operation);
  const isStream = operation.contentTypes.includes('text/event-stream');

  const repetitionOf = (context: Context, { key, params }: CheckedInput): Repetition | undefined =>
    key === undefined
      ? undefined
      : describeRepetition?.({
          key,
          caller: callerOf(context),
          params,
          querystring: context.querystring,
          body: context.state.bodyBytes,
          now: context.state.now,
        });
  const auditEntryOf = (context: Context, { params, body }: CheckedInput) =>
    auditOf(operation, {
      caller: context.state.caller,
      params,
      body,
      requestId: context.state.requestId,
      network: networkOf(ipOf(context, settings.trustedProxies)),
      now: context.state.now,
    });

  return async (context) => {
    const input = await checkInput(deps, binding, context);
    const repetition = repetitionOf(context, input);
    const earlier = await repetition?.find();
    if (earlier) return answerAgain(context, earlier);

    const effect = effectOf(deps.db, operation, { audit: auditEntryOf(context, input), repetition });
    // The permit for the stream is taken before any work. So the service never accepts a question if it cannot stream the answer.
    const permit = isStream ? streams.open.take(callerOf(context), accessOf(context, operation, settings)) : undefined;
    const headers: Record<string, string> = {};
    const answerWith = (name: string, value: string) => {
      headers[name] = value;
      context.set(name, value);
    };
    let answer: unknown;
    try {
      const request = describeRequest(api, binding, { context, input, db: effect.db, answerWith });
      answer = await inSpan(operation.operationId, {}, async () => {
        const result = await handler(request);
        const body = input.added ? { ...(result as object), ...input.added } : result;
        await effect.commit({ status: operation.successStatus, headers, body });
        return body;
      });
    } catch (error) {
      permit?.release();
      await effect.rollback();
      const committedMeanwhile = await repetition?.findAfter(error);
      if (!committedMeanwhile) throw error;
      return answerAgain(context, committedMeanwhile);
    }
    if (effect.transactions > 1) onSecondTransaction(operation.operationId);
    sendAnswer(context, operation, answer, { streams, permit });
  };
}
