/**
 * Counts the tokens of a request. Four bytes of text count as one token, which is about right for English. An image counts as 1,600 tokens,
 * which is the real model's maximum for an image of usual size. Each message adds three tokens.
 *
 * The cache works like the cache of the real model. A block with `cache_control` is a breakpoint. The cache stores the prefix that ends
 * with this block, if the prefix has at least 1,024 tokens. A prefix stays for five minutes (or an hour) after its last read. A breakpoint
 * uses a stored prefix that ends at its own block, or at one of the twenty blocks before.
 */
import { createHash } from 'node:crypto';
import { everyBlock, type Block, type ModelRequest } from './request.ts';
import { Refusal } from './refusals.ts';

export const bytesAToken = 4;
const imageTokens = 1_600;
const messageTokens = 3;
const leastCached = 1_024;
const lookBack = 20;
/** The context window in tokens. A longer prompt is refused. */
const contextWindow = 200_000;

export interface PromptUse {
  /** The number of tokens that are neither read from the cache nor written to it. */
  readonly input: number;
  readonly cacheWrite: number;
  readonly cacheRead: number;
}

function tokensOf(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesAToken);
}

export class PromptCache {
  /** Maps the hash of each stored prefix to the time at which it expires. */
  readonly #kept = new Map<string, { until: number; lifeMs: number }>();

  /**
   * Counts a prompt, reads its cached prefix, and stores the prefixes that its breakpoints mark.
   * @param now milliseconds since the epoch
   * @throws Refusal 400 for a prompt that is longer than the context window
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

  /** @returns the number of tokens of the cached prefix that ends at this block or at one of the few blocks before it */
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
  /** The number of tokens of the prompt up to the end of the block. */
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
