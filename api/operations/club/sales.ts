/** Operations of sales: the connections to sales platforms, the notices that the platforms send, and the purchases that result. */
import * as notices from '../../../domain/sales/notices/notices.ts';
import * as connections from '../../../domain/sales/platforms/connections.ts';
import * as listing from '../../../domain/sales/purchases/listing.ts';
import type { Operation } from '../../operation.ts';
import { accepted, data, noContent, page } from '../answers.ts';

export const listSalesConnections: Operation<'listSalesConnections'> = async ({ params, query, db }) =>
  page(await connections.listConnections(db, params.clubId, query));

export const createSalesConnection: Operation<'createSalesConnection'> = async ({ params, body, deps, now }) =>
  data(await connections.createConnection(deps, params.clubId, body, now));

export const rotateSalesConnection: Operation<'rotateSalesConnection'> = async ({ params, deps, now }) =>
  data(await connections.rotateConnection(deps, params.clubId, params.connectionId, now));

export const deleteSalesConnection: Operation<'deleteSalesConnection'> = async ({ params, deps, now }) =>
  noContent(await connections.deleteConnection(deps, params.clubId, params.connectionId, now));

export const receiveSalesNotice: Operation<'receiveSalesNotice'> = async (request) => {
  const { params, query, receiveBody, header, deps, now } = request;
  return accepted(await deps.receiveNotice({ ...params, receiveBody, header, signature: query.signature }, now));
};

export const listSalesNotices: Operation<'listSalesNotices'> = async ({ params, query, db }) =>
  page(await notices.listNotices(db, params.clubId, query));

export const getSalesNotice: Operation<'getSalesNotice'> = async ({ params, db }) =>
  data(await notices.findNotice(db, params.clubId, params.noticeId));

export const replaySalesNotice: Operation<'replaySalesNotice'> = async ({ params, deps, now }) =>
  accepted(await notices.replayNotice(deps, params.clubId, params.noticeId, now));

export const listPurchases: Operation<'listPurchases'> = async ({ params, query, db }) =>
  page(await listing.listPurchases(db, params.clubId, query));

export const listSubscriptions: Operation<'listSubscriptions'> = async ({ params, query, db }) =>
  page(await listing.listSubscriptions(db, params.clubId, query));
