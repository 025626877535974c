/**
 * Lists the request settings for each model. The settings ensure that the text of the answer arrives soon, and that the model's thinking
 * does not use all tokens of the answer. The provider's documentation (platform.claude.com, Thinking) lists the settings that each model
 * accepts. The provider answers 400 to other settings.
 */
import { isPriced, type PricedModel } from './prices.policy.ts';

interface Asking {
  /** The setting for thinking, which the request contains unchanged. Absent for a model that does not think by default. */
  thinking?: { type: 'disabled' } | { type: 'between_tools' } | { type: 'adaptive' };
  /** Limits the thinking of a model that always thinks. */
  output_config?: { effort: 'low' };
  /**
   * The number of tokens for thinking. A request has only one limit for thinking and answer, so this number is added to the limit of the
   * answer.
   */
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
  // The model refuses `disabled`. `between_tools` allows thinking only between calls of tools. This service sends no tools, so the model
  // writes only text.
  'claude-sonnet-5-5': { thinking: { type: 'between_tools' }, thoughtTokens: 0 },
  'claude-sonnet-5': withoutThought,
  'claude-haiku-5-5': withoutThought,
  'claude-haiku-4-5': { thoughtTokens: 0 },
};

/** @param model a model with a price; other models are never called @returns the settings of a request that depend on the model */
export function askingOf(model: string): Asking {
  if (!isPriced(model)) throw new Error(`The model ${model} has no price`);
  return askings[model];
}

/** @param cap the maximum size of the answer in tokens */
export function maxOutputTokens(model: string, cap: number): number {
  return cap + askingOf(model).thoughtTokens;
}
