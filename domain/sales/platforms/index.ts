/**
 * Lists the adapter of each platform. A new platform needs an adapter in this folder, and a name in entities/sales/values.ts and in the
 * contract.
 */
import type { SalesAdapter } from './events.ts';
import type { SalesPlatform } from '../../../entities/sales/values.ts';
import { generic } from './generic.ts';
import { hotmart } from './hotmart.ts';
import { kiwify } from './kiwify.ts';

export const salesAdapters: Readonly<Record<SalesPlatform, SalesAdapter>> = { generic, hotmart, kiwify };
