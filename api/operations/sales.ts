/** Sales: connections of platforms, their notices, and what these came to. */
import {
  createConnection,
  deleteConnection,
  listConnections,
  rotateConnection,
} from '../../domain/sales/platforms/connections.ts';
import {
  listPurchases as purchases,
  listSubscriptions as subscriptions,
} from '../../domain/sales/purchases/listing.ts';
import { findNotice, listNotices, receiveNotice, replayNotice } from '../../domain/sales/notices/notices.ts';
import type { Operation } from '../operation.ts';
import { accepted, listed } from './answers.ts';

export const listSalesConnections: Operation<'listSalesConnections'> = async ({ params, query, services }) =>
  listed(await listConnections(services.database, params.clubId, query));

export const createSalesConnection: Operation<'createSalesConnection'> = async ({ params, body, services, now }) => ({
  data: await createConnection(services, params.clubId, body, now),
});

export const rotateSalesConnection: Operation<'rotateSalesConnection'> = async ({ params, services, now }) => ({
  data: await rotateConnection(services, params.clubId, params.connectionId, now),
});

export const deleteSalesConnection: Operation<'deleteSalesConnection'> = async ({ params, services, now }) => {
  await deleteConnection(services.database, params.clubId, params.connectionId, now);
  return undefined;
};

export const receiveSalesNotice: Operation<'receiveSalesNotice'> = async ({
  params,
  query,
  body,
  rawBody,
  header,
  services,
  now,
}) => {
  await receiveNotice(services, { ...params, raw: rawBody, body, header, signature: query.signature }, now);
  return accepted;
};

export const listSalesNotices: Operation<'listSalesNotices'> = async ({ params, query, services }) =>
  listed(await listNotices(services.database, params.clubId, query));

export const getSalesNotice: Operation<'getSalesNotice'> = async ({ params, services }) => ({
  data: await findNotice(services.database, params.clubId, params.noticeId),
});

export const replaySalesNotice: Operation<'replaySalesNotice'> = async ({ params, services, now }) => {
  await replayNotice(services.database, params.clubId, params.noticeId, now);
  return accepted;
};

export const listPurchases: Operation<'listPurchases'> = async ({ params, query, services }) =>
  listed(await purchases(services.database, params.clubId, query));

export const listSubscriptions: Operation<'listSubscriptions'> = async ({ params, query, services }) =>
  listed(await subscriptions(services.database, params.clubId, query));
