/** The adapter of each platform. A new platform is a file here, a name in platforms.policy.ts and in the contract. */
import type { SalesAdapter } from './events.ts';
import type { SalesPlatform } from './platforms.policy.ts';
import { generic } from './generic.ts';
import { hotmart } from './hotmart.ts';
import { kiwify } from './kiwify.ts';

export const salesAdapters: Readonly<Record<SalesPlatform, SalesAdapter>> = { generic, hotmart, kiwify };
