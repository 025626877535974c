/** The club's webhook endpoints and the history of each. */
import { findDelivery, listDeliveries } from '../../domain/webhooks/deliveries.ts';
import { findEndpoint, listEndpoints, registerEndpoint } from '../../domain/webhooks/endpoints.ts';
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

export const listWebhookEndpoints: Operation<'listWebhookEndpoints'> = async ({ params, query, services }) =>
  listed(await listEndpoints(services.database.source.manager, params.clubId, query));

export const getWebhookEndpoint: Operation<'getWebhookEndpoint'> = async ({ params, services }) => ({
  data: await findEndpoint(services.database.source.manager, params.clubId, params.endpointId),
});

export const listWebhookDeliveries: Operation<'listWebhookDeliveries'> = async ({ params, query, services }) =>
  listed(await listDeliveries(services.database.source.manager, params.clubId, params.endpointId, query));

export const getWebhookDelivery: Operation<'getWebhookDelivery'> = async ({ params, services }) => ({
  data: await findDelivery(services.database.source.manager, params.clubId, params.endpointId, params.deliveryId),
});
