/** Products of sales platforms, and the access that a sale of each product gives. */
import * as products from '../../../domain/sales/purchases/products.ts';
import type { Operation } from '../../operation.ts';
import { data, noContent, page } from '../answers.ts';

export const listProducts: Operation<'listProducts'> = async ({ params, query, db }) =>
  page(await products.listProducts(db, params.clubId, query));

export const createProduct: Operation<'createProduct'> = async ({ params, body, deps, now }) =>
  data(await products.createProduct(deps, params.clubId, body, now));

export const getProduct: Operation<'getProduct'> = async ({ params, db }) =>
  data(await products.findProduct(db, params.clubId, params.productId));

export const updateProduct: Operation<'updateProduct'> = async ({ params, body, deps, now }) =>
  data(await products.updateProduct(deps, params.clubId, params.productId, body, now));

export const deleteProduct: Operation<'deleteProduct'> = async ({ params, deps }) =>
  noContent(await products.deleteProduct(deps, params.clubId, params.productId));
