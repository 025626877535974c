/** Products of sales platforms, and what a sale of each gives. */
import {
  createProduct as create,
  deleteProduct as remove,
  findProduct,
  listProducts as list,
  updateProduct as update,
} from '../../domain/sales/purchases/products.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listProducts: Operation<'listProducts'> = async ({ params, query, services }) =>
  listed(await list(services.database, params.clubId, query));

export const createProduct: Operation<'createProduct'> = async ({ params, body, services, now }) => ({
  data: await services.database.transaction((tx) => create(tx, params.clubId, body, now)),
});

export const getProduct: Operation<'getProduct'> = async ({ params, services }) => ({
  data: await findProduct(services.database, params.clubId, params.productId),
});

export const updateProduct: Operation<'updateProduct'> = async ({ params, body, services, now }) => ({
  data: await services.database.transaction((tx) => update(tx, params.clubId, params.productId, body, now)),
});

export const deleteProduct: Operation<'deleteProduct'> = async ({ params, services }) => {
  await services.database.transaction((tx) => remove(tx, params.clubId, params.productId));
  return undefined;
};
