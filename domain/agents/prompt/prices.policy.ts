/**
 * Lists the prices of models by date, in US dollars per million tokens, from the provider's price list (platform.claude.com, Pricing). A
 * club can choose only a model with a price, because other answers could not be charged.
 */
import type { TokenUse } from '../../../platform/infra/model/model.ts';

interface Rates {
  input: number;
  output: number;
  /** The price of writing to the cache for five minutes. */
  cacheWrite: number;
  cacheRead: number;
}

interface Price extends Rates {
  /** The first day of the price, in UTC. The latest row whose first day is not in the future applies. */
  since: string;
  /** The prices for a request whose prompt has more than `above` tokens. These prices apply to all tokens of the request. */
  longPrompt?: Rates & { above: number };
}

const fromTheStart = '2025-01-01';

const prices = {
  'claude-fable-5-1': [{ since: fromTheStart, input: 10, output: 50, cacheWrite: 12.5, cacheRead: 0.25 }],
  'claude-opus-5-5': [{ since: fromTheStart, input: 4, output: 20, cacheWrite: 5, cacheRead: 0.2 }],
  'claude-opus-5': [{ since: fromTheStart, input: 5, output: 25, cacheWrite: 6.25, cacheRead: 0.5 }],
  'claude-sonnet-5-5': [
    { since: fromTheStart, input: 2, output: 10, cacheWrite: 2.5, cacheRead: 0.2 },
    { since: '2026-10-07', input: 2, output: 10, cacheWrite: 2.5, cacheRead: 0.1 },
  ],
  'claude-sonnet-5': [{ since: fromTheStart, input: 2, output: 10, cacheWrite: 2.5, cacheRead: 0.2 }],
  'claude-haiku-5-5': [
    {
      since: fromTheStart,
      input: 0.1,
      output: 0.5,
      cacheWrite: 0.125,
      cacheRead: 0.01,
      longPrompt: { above: 100_000, input: 0.5, output: 2.5, cacheWrite: 0.625, cacheRead: 0.05 },
    },
  ],
  'claude-haiku-4-5': [{ since: fromTheStart, input: 1, output: 5, cacheWrite: 1.25, cacheRead: 0.1 }],
} as const satisfies Record<string, readonly Price[]>;

export type PricedModel = keyof typeof prices;
export const pricedModels = Object.keys(prices) as PricedModel[];

/** @returns whether answers of this model can be charged */
export function isPriced(model: string): model is PricedModel {
  return Object.hasOwn(prices, model);
}

/**
 * @param at the time of the request
 * @returns millionths of a US dollar, rounded up
 * @throws Error if the price list has no price for the model
 */
export function costOf(model: string, use: TokenUse, at: Date): bigint {
  const rates = ratesOf(model, use.input + use.cacheWrite + use.cacheRead, at);
  const micros =
    use.input * rates.input +
    use.output * rates.output +
    use.cacheWrite * rates.cacheWrite +
    use.cacheRead * rates.cacheRead;
  return BigInt(Math.ceil(micros - 1e-6));
}

/**
 * @param promptTokens the maximum size of the prompt in tokens
 * @param maxTokens the maximum size of the answer in tokens
 * @returns the highest cost of one request, in millionths of a US dollar
 */
export function worstCost(model: string, promptTokens: number, maxTokens: number, at: Date): bigint {
  const rates = ratesOf(model, promptTokens, at);
  return BigInt(Math.ceil(promptTokens * Math.max(rates.input, rates.cacheWrite) + maxTokens * rates.output));
}

function ratesOf(model: string, promptTokens: number, at: Date): Rates {
  if (!isPriced(model)) throw new Error(`The model ${model} has no price`);
  const day = at.toISOString().slice(0, 10);
  const price = (prices[model] as readonly Price[]).findLast(({ since }) => since <= day);
  if (!price) throw new Error(`The model ${model} has no price on ${day}`);
  return price.longPrompt && promptTokens > price.longPrompt.above ? price.longPrompt : price;
}
