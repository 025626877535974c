/** The API: every operation of the contract runs the same checks in the same order (DEC-6). */
import cors from '@koa/cors';
import Koa from 'koa';
import { compileValidators, contractOperations, type ContractOperation } from '../contract/contract.ts';
import { isOpenToLimitedSessions } from '../contract/rules/limited-sessions.ts';
import { createAnswerFinder } from '../domain/idempotency/repetitions.ts';
import { describeError } from '../platform/infra/describe-error.ts';
import { nameRequest } from '../platform/infra/tracing.ts';
import { readJsonBody } from './middleware/body.ts';
import { openFileBody } from './middleware/file-body.ts';
import type { ApiDeps, Middleware, RequestState } from './middleware/context.ts';
import { asPage } from './middleware/as-page.ts';
import { embeddedByOthers, secureHeaders } from './middleware/secure-headers.ts';
import { steadyAnswer } from './middleware/steady-answer.ts';
import { announceDeprecation } from './middleware/deprecation.ts';
import { dispatch, type AnyOperation } from './middleware/dispatch.ts';
import { errorEnvelope } from './middleware/errors.ts';
import { useLayers } from './middleware/layers.ts';
import { chargeRateLimit, chargeRead } from './middleware/rate-limit.ts';
import { requestLog } from './middleware/request-log.ts';
import {
  countAsClub,
  countAsClubOfBody,
  findCaller,
  refuseLimitedSession,
  requireCaller,
  requireClub,
  requireFreshFactor,
  requireRole,
  requireScope,
  requireSignInOfClub,
} from './middleware/session.ts';
import { answerUnmatched, methodsOfOthers } from './middleware/unmatched.ts';
import { operations } from './operations/index.ts';
import { createOperationRouter } from './operation-router.ts';
import { operatorRoutes } from './operator-routes.ts';
import { pages } from './pages/index.ts';
import { referenceRoutes } from './reference-routes.ts';

/**
 * @param contract the operations; the service's own if absent
 * @throws Error if the contract and the handlers differ, so that the process does not start
 */
export function createApp(
  deps: ApiDeps,
  contract: readonly ContractOperation[] = contractOperations(),
): Koa<RequestState> {
  const router = createOperationRouter();
  const findAnswer = createAnswerFinder(deps.deps);
  const unmatched = answerUnmatched(contract) as never;
  for (const { koaPath, methods } of methodsOfOthers(contract))
    router.register(koaPath, methods, [chargeRateLimit(deps) as never, unmatched]);
  for (const operation of contract) {
    const binding = { operation, validators: compileValidators(operation) };
    const chain = [
      nameRoute(operation),
      ...announceDeprecation(deps, operation),
      ...pageOf(deps, operation),
      ...(isEmbedded(operation) ? [embeddedByOthers] : []),
      ...(operation.pathParameters.includes('clubId') ? [countAsClub] : []),
      findCaller(deps, operation),
      ...(operation.method === 'get' ? chargeRead(deps, operation.operationId) : [chargeRateLimit(deps)]),
      requireCaller,
      ...(operation.auth.length === 0 && operation.pathParameters.includes('clubId') ? [requireClub(deps)] : []),
      ...(operation.pathParameters.includes('clubId') ? [requireSignInOfClub] : []),
      ...(!operation.pathParameters.includes('clubId') && !isOpenToLimitedSessions(operation.operationId)
        ? [refuseLimitedSession]
        : []),
      ...(operation.roles ? [requireRole(operation)] : []),
      ...(operation.scope ? [requireScope(operation)] : []),
      ...(operation.freshFactor ? [requireFreshFactor(deps, operation.freshFactor)] : []),
      ...(operation.hasBody
        ? [operation.fileBody ? openFileBody(operation.fileBody, operation) : readJsonBody(deps, operation)]
        : []),
      ...(operation.koaPath.startsWith('/v1/auth/') ? [countAsClubOfBody] : []),
      ...steadyAnswer(deps, operation.operationId),
      dispatch(deps, binding, handlerOf(operation), findAnswer),
    ];
    router.register(operation.koaPath, [operation.method], chain as never);
  }
  requireKnownHandlers(contract);

  const app = new Koa<RequestState>({ proxy: false });
  useLayers(app, {
    requestLog: requestLog(deps),
    secureHeaders: secureHeaders(deps.deps.publicUrl),
    cors: corsByList(deps.settings.corsOrigins),
    errorEnvelope: errorEnvelope(deps),
    operations: router.routes,
    operatorRoutes: operatorRoutes(deps),
    referenceRoutes: referenceRoutes(),
    rateLimit: chargeRateLimit(deps),
    unmatched,
  });
  // The answer had already started, for example because the client disconnected. It is too late for an error status.
  app.on('error', (error: unknown) => deps.log.debug({ error: describeError(error) }, 'an answer was cut off'));
  return app;
}

function handlerOf({ operationId }: ContractOperation): AnyOperation {
  const handler = operations[operationId] as AnyOperation | undefined;
  if (!handler)
    throw new Error(`${operationId} has no handler: write api/operations/…, see docs/how-to/add-an-operation.md`);
  return handler;
}

/** @throws Error if a page is missing, or an operation has a page without `text/html` in the contract */
function pageOf(deps: ApiDeps, { operationId, contentTypes }: ContractOperation): Middleware[] {
  const page = pages[operationId];
  if ((page !== undefined) !== contentTypes.includes('text/html'))
    throw new Error(`The contract and api/pages/index.ts disagree on a page of ${operationId}`);
  return page ? [asPage(deps, page)] : [];
}

/** Whether pages of other sites may show the answer: classrooms show covers, and webmail shows images of mails. */
const isEmbedded = ({ successStatus, contentTypes, auth }: ContractOperation): boolean =>
  auth.length === 0 && (successStatus === 302 || contentTypes.some((type) => type.startsWith('image/')));

function requireKnownHandlers(contract: readonly ContractOperation[]): void {
  const known = new Set<string>(contract.map(({ operationId }) => operationId));
  const extra = Object.keys(operations).filter((operationId) => !known.has(operationId));
  if (extra.length > 0) throw new Error(`Handlers for no operation of the contract: ${extra.join(', ')}`);
}

function nameRoute({ path }: ContractOperation): Middleware {
  return async (context, next) => {
    context.state.route = path;
    nameRequest(path);
    return next();
  };
}

/** Only the listed origins may call the API. The token is in a header, so cookies are never allowed. */
function corsByList(origins: readonly string[]): Koa.Middleware {
  return cors({
    origin: (context) => {
      const origin = context.get('origin');
      return origins.includes(origin) ? origin : '';
    },
    allowMethods: 'GET,POST,PUT,PATCH,DELETE',
    allowHeaders: 'Authorization,Content-Type,Idempotency-Key,If-Match,Last-Event-ID,X-Request-Id',
    exposeHeaders:
      'Deprecation,ETag,Idempotent-Replayed,Link,Location,RateLimit,RateLimit-Policy,Retry-After,Sunset,X-Request-Id',
    maxAge: 600,
    keepHeadersOnError: false, // not needed: our error middleware answers every error, and keeps the headers that are already set
  });
}
