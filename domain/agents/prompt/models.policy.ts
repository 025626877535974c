/**
 * How each model is asked, so that its text comes soon and thinking does not use the answer's size up. What a model accepts is
 * the provider's word (platform.claude.com, Thinking): a setting that it does not know is answered with 400.
 */
import { isPriced, type PricedModel } from './prices.policy.ts';

interface Asking {
  /** Sent as it stands; nothing for a model that does not think by default. */
  thinking?: { type: 'disabled' } | { type: 'between_tools' } | { type: 'adaptive' };
  /** How much a model that always thinks may make of it. */
  output_config?: { effort: 'low' };
  /** Tokens of thought beside those of the answer: they count toward the same cap. */
  thoughtTokens: number;
}

const withoutThought = { thinking: { type: 'disabled' }, thoughtTokens: 0 } as const;
const alwaysThinking = {
  thinking: { type: 'adaptive' },
  output_config: { effort: 'low' },
  thoughtTokens: 2_048,
} as const;

const askings: Record<PricedModel, Asking> = {
  'claude-fable-5-1': alwaysThinking,
  'claude-opus-5-5': alwaysThinking,
  'claude-opus-5': withoutThought,
  // `disabled` is refused; without tools this is the same: nothing but text.
  'claude-sonnet-5-5': { thinking: { type: 'between_tools' }, thoughtTokens: 0 },
  'claude-sonnet-5': withoutThought,
  'claude-haiku-5-5': withoutThought,
  'claude-haiku-4-5': { thoughtTokens: 0 },
};

/** @param model with a price: others are never asked @returns what of a request depends on the model */
export function askingOf(model: string): Asking {
  if (!isPriced(model)) throw new Error('A model without a price was asked');
  return askings[model];
}

/** @param cap the size cap of the answer in tokens @returns the most tokens that the model may bring out */
export function maxOutputTokens(model: string, cap: number): number {
  return cap + askingOf(model).thoughtTokens;
}
