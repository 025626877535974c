/** The club's webhook endpoints, the history of each, and what is asked for by hand. */
import { findDelivery, listDeliveries } from '../../domain/webhooks/deliveries/deliveries.ts';
import {
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  pauseEndpoint,
} from '../../domain/webhooks/endpoints/endpoint-states.ts';
import {
  findEndpoint,
  listEndpoints,
  registerEndpoint,
  updateEndpoint,
} from '../../domain/webhooks/endpoints/endpoints.ts';
import { recoverDeliveries, resendDelivery, sendTest } from '../../domain/webhooks/deliveries/manual.ts';
import { rotateSecret } from '../../domain/webhooks/endpoints/rotation.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const registerWebhookEndpoint: Operation<'registerWebhookEndpoint'> = async ({
  params,
  body,
  services,
  now,
}) => ({
  data: await registerEndpoint(services, params.clubId, body, now),
});

export const listWebhookEndpoints: Operation<'listWebhookEndpoints'> = async ({ params, query, services, now }) =>
  listed(await listEndpoints(services.database, params.clubId, query, now));

export const getWebhookEndpoint: Operation<'getWebhookEndpoint'> = async ({ params, services, now }) => ({
  data: await findEndpoint(services.database, params.clubId, params.endpointId, now),
});

export const updateWebhookEndpoint: Operation<'updateWebhookEndpoint'> = async ({ params, body, services, now }) => ({
  data: await updateEndpoint(services, params.clubId, params.endpointId, body, now),
});

export const deleteWebhookEndpoint: Operation<'deleteWebhookEndpoint'> = async ({ params, services, now }) => {
  await deleteEndpoint(services, params.clubId, params.endpointId, now);
  return undefined;
};

export const enableWebhookEndpoint: Operation<'enableWebhookEndpoint'> = async ({ params, services, now }) => ({
  data: await enableEndpoint(services, params.clubId, params.endpointId, now),
});

export const pauseWebhookEndpoint: Operation<'pauseWebhookEndpoint'> = async ({ params, services, now }) => ({
  data: await pauseEndpoint(services, params.clubId, params.endpointId, now),
});

export const disableWebhookEndpoint: Operation<'disableWebhookEndpoint'> = async ({ params, services, now }) => ({
  data: await disableEndpoint(services, params.clubId, params.endpointId, now),
});

export const rotateWebhookSecret: Operation<'rotateWebhookSecret'> = async ({ params, body, services, now }) => {
  const expirePrevious = body?.expire_previous ?? false;
  return { data: await rotateSecret(services, params.clubId, params.endpointId, { expirePrevious }, now) };
};

export const sendTestWebhook: Operation<'sendTestWebhook'> = async ({ params, services, now }) => ({
  data: await sendTest(services, params.clubId, params.endpointId, now),
});

export const resendWebhookDelivery: Operation<'resendWebhookDelivery'> = async ({ params, services, now }) => ({
  data: await resendDelivery(services, params.clubId, params.endpointId, params.deliveryId, now),
});

export const recoverWebhookDeliveries: Operation<'recoverWebhookDeliveries'> = async ({
  params,
  body,
  services,
  now,
}) => ({
  data: await recoverDeliveries(services, params.clubId, params.endpointId, new Date(body.since), now),
});

export const listWebhookDeliveries: Operation<'listWebhookDeliveries'> = async ({ params, query, services }) =>
  listed(await listDeliveries(services.database, params.clubId, params.endpointId, query));

export const getWebhookDelivery: Operation<'getWebhookDelivery'> = async ({ params, services }) => ({
  data: await findDelivery(services.database, params.clubId, params.endpointId, params.deliveryId),
});
