/**
 * Counts the tokens of a request: one for four bytes of text, which is about right for English, and three for each message. An image counts
 * 1,600, the real model's maximum for an image of usual size.
 *
 * The cache works like the real one. A block with `cache_control` is a breakpoint: the cache stores the prompt up to this block, from 1,024
 * tokens. This prefix stays for five minutes (or an hour) after its last read. A breakpoint finds a prefix that ends at its own block or at
 * one of the twenty blocks before.
 */
import { createHash } from 'node:crypto';
import { everyBlock, type Block, type ModelRequest } from './request.ts';
import { Refusal } from './refusals.ts';

export const bytesAToken = 4;
const imageTokens = 1_600;
const messageTokens = 3;
const leastCached = 1_024;
const lookBack = 20;
/** In tokens. A longer prompt is refused. */
const contextWindow = 200_000;

export interface PromptUse {
  /** Tokens that were neither read from the cache nor written to it. */
  readonly input: number;
  readonly cacheWrite: number;
  readonly cacheRead: number;
}

function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesAToken);
}

export class PromptCache {
  /** The expiry of each stored prefix, by its hash. */
  readonly #kept = new Map<string, { until: number; lifeMs: number }>();

  /**
   * Counts a prompt, reads its cached prefix, and stores the prefixes of its breakpoints.
   * @param now milliseconds since the epoch
   * @throws Refusal 400 if the prompt does not fit into the context window
   */
  use(request: ModelRequest, now: number): PromptUse {
    const blocks = everyBlock(request);
    const prefixes = prefixesOf(request.model, blocks);
    const total = (prefixes.at(-1)?.tokens ?? 0) + messageTokens * request.messages.length;
    if (total > contextWindow) throw new Refusal(400, `prompt is too long: ${total} tokens > ${contextWindow} maximum`);

    const marked = prefixes.filter(({ block, tokens }) => block.cache_control && tokens >= leastCached);
    const read = Math.max(0, ...marked.map((breakpoint) => this.#find(prefixes, breakpoint.index, now)));
    for (const { block, hash } of marked) {
      const lifeMs = block.cache_control?.ttl === '1h' ? 3_600_000 : 300_000;
      this.#kept.set(hash, { until: now + lifeMs, lifeMs });
    }
    const cached = Math.max(read, marked.at(-1)?.tokens ?? 0);
    return { input: total - cached, cacheWrite: cached - read, cacheRead: read };
  }

  clear(): void {
    this.#kept.clear();
  }

  /** @returns the tokens of the cached prefix that ends at this block or at one of the few blocks before it */
  #find(prefixes: readonly Prefix[], index: number, now: number): number {
    const near = prefixes.slice(Math.max(0, index - lookBack), index + 1).toReversed();
    const found = near.find(({ hash }) => (this.#kept.get(hash)?.until ?? 0) > now);
    const entry = found && this.#kept.get(found.hash);
    if (entry) entry.until = now + entry.lifeMs;
    return found?.tokens ?? 0;
  }
}

interface Prefix {
  readonly index: number;
  readonly block: Block;
  readonly hash: string;
  /** The tokens up to the end of the block. */
  readonly tokens: number;
}

function prefixesOf(model: string, blocks: readonly Block[]): Prefix[] {
  const hash = createHash('sha256').update(model);
  let tokens = 0;
  return blocks.map((block, index) => {
    const { cache_control: _, ...content } = block;
    hash.update(JSON.stringify(content));
    tokens += tokensOfBlock(block);
    return { index, block, hash: hash.copy().digest('base64'), tokens };
  });
}

function tokensOfBlock(block: Block): number {
  if (block.type === 'image') return imageTokens;
  if (block.type === 'text') return tokensOf(block.text);
  return tokensOf(block.title + block.source) + block.content.reduce((sum, { text }) => sum + tokensOf(text), 0);
}
