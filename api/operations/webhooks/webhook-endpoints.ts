/** The club's webhook endpoints, their deliveries, and manual actions. */
import { instantOf } from '../../../platform/core/time/instants.ts';
import * as deliveries from '../../../domain/webhooks/deliveries/deliveries.ts';
import * as manual from '../../../domain/webhooks/deliveries/manual.ts';
import * as testEvent from '../../../domain/webhooks/events/test-event.ts';
import * as states from '../../../domain/webhooks/queues/endpoint-states.ts';
import * as endpoints from '../../../domain/webhooks/endpoints/endpoints.ts';
import * as rotation from '../../../domain/webhooks/endpoints/rotation.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const registerWebhookEndpoint: Operation<'registerWebhookEndpoint'> = async ({ params, body, deps, now }) =>
  data(await endpoints.registerEndpoint(deps, params.clubId, body, now));

export const listWebhookEndpoints: Operation<'listWebhookEndpoints'> = async ({ params, query, db, now }) =>
  page(await endpoints.listEndpoints(db, params.clubId, query, now));

export const getWebhookEndpoint: Operation<'getWebhookEndpoint'> = async ({ params, db, now }) =>
  data(await endpoints.findEndpoint(db, params.clubId, params.endpointId, now));

export const updateWebhookEndpoint: Operation<'updateWebhookEndpoint'> = async ({ params, body, deps, now }) =>
  data(await endpoints.updateEndpoint(deps, params.clubId, params.endpointId, body, now));

export const deleteWebhookEndpoint: Operation<'deleteWebhookEndpoint'> = async ({ params, deps, now }) =>
  noContent(await states.deleteEndpoint(deps, params.clubId, params.endpointId, now));

export const enableWebhookEndpoint: Operation<'enableWebhookEndpoint'> = async ({ params, deps, now }) =>
  data(await states.enableEndpoint(deps, params.clubId, params.endpointId, now));

export const pauseWebhookEndpoint: Operation<'pauseWebhookEndpoint'> = async ({ params, deps, now }) =>
  data(await states.pauseEndpoint(deps, params.clubId, params.endpointId, now));

export const disableWebhookEndpoint: Operation<'disableWebhookEndpoint'> = async ({ params, deps, now }) =>
  data(await states.disableEndpoint(deps, params.clubId, params.endpointId, now));

export const rotateWebhookSecret: Operation<'rotateWebhookSecret'> = async ({ params, body, deps, now }) => {
  const expirePrevious = body?.expire_previous ?? false;
  return data(await rotation.rotateSecret(deps, params.clubId, params.endpointId, { expirePrevious }, now));
};

export const sendTestWebhook: Operation<'sendTestWebhook'> = async ({ params, deps, now }) =>
  data(await testEvent.sendTest(deps, params.clubId, params.endpointId, now));

export const resendWebhookDelivery: Operation<'resendWebhookDelivery'> = async ({ params, deps, now }) =>
  data(await manual.resendDelivery(deps, params.clubId, params.endpointId, params.deliveryId, now));

export const recoverWebhookDeliveries: Operation<'recoverWebhookDeliveries'> = async ({ params, body, deps, now }) =>
  data(await manual.recoverDeliveries(deps, params.clubId, params.endpointId, instantOf(body.since, 'since'), now));

export const listWebhookDeliveries: Operation<'listWebhookDeliveries'> = async ({ params, query, db, now }) =>
  page(await deliveries.listDeliveries(db, params.clubId, params.endpointId, query, now));

export const getWebhookDelivery: Operation<'getWebhookDelivery'> = async ({ params, db, now }) =>
  data(await deliveries.findDelivery(db, params.clubId, params.endpointId, params.deliveryId, now));
