/**
 * Makes those checks of the real Messages API that matter to us. One check is stricter: the real service joins
 * consecutive turns of one role, but this server refuses them.
 */
import { isPriced } from '../../domain/agents/prompt/prices.policy.ts';
import { Refusal } from './refusals.ts';

/** Marks a block of the prompt. The cache stores the prompt up to the end of this block. */
export interface CacheControl {
  readonly type: 'ephemeral';
  readonly ttl?: '5m' | '1h';
}

export interface TextBlock {
  readonly type: 'text';
  readonly text: string;
  readonly cache_control?: CacheControl | null;
}

export interface SearchResult {
  readonly type: 'search_result';
  readonly source: string;
  readonly title: string;
  readonly content: readonly TextBlock[];
  readonly citations?: { readonly enabled?: boolean };
  readonly cache_control?: CacheControl | null;
}

export interface ImageBlock {
  readonly type: 'image';
  readonly source: { readonly type: 'base64'; readonly media_type: string; readonly data: string };
  readonly cache_control?: CacheControl | null;
}

export type Block = TextBlock | SearchResult | ImageBlock;

export interface ModelRequest {
  readonly model: string;
  readonly max_tokens: number;
  readonly thinks: boolean;
  readonly system: readonly TextBlock[];
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: readonly Block[] }[];
}

const imageTypes = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const thinkingTypes = { adaptive: true, enabled: true, between_tools: false, disabled: false };
const maxBreakpoints = 4;

/**
 * @param body the unchecked JSON
 * @returns the request, with every text as a block
 * @throws Refusal 400 that names the field, or 404 for an unknown model
 */
export function readRequest(body: unknown): ModelRequest {
  const { model, max_tokens: maxTokens, messages, system, stream, thinking } = fields(body, 'The body');
  if (typeof model !== 'string' || model === '') throw invalid('model: Field required');
  if (!Number.isInteger(maxTokens) || Number(maxTokens) < 1) throw invalid('max_tokens: must be a whole number from 1');
  if (stream !== true) throw invalid('stream: must be true, because this server only streams');
  if (!Array.isArray(messages) || messages.length === 0) throw invalid('messages: at least one message is required');
  if (!isPriced(model)) throw new Refusal(404, `model: ${model}`);
  const request: ModelRequest = {
    model,
    max_tokens: Number(maxTokens),
    thinks: thinking !== undefined && readThinking(thinking),
    system: system === undefined ? [] : blocksOf(system, 'system', ['text']).filter(isText),
    messages: messages.map((message: unknown, index) => readMessage(message, index, messages.length)),
  };
  checkCitations(request);
  const breakpoints = everyBlock(request).filter(({ cache_control: marked }) => marked).length;
  if (breakpoints > maxBreakpoints)
    throw invalid(`A maximum of ${maxBreakpoints} blocks with cache_control may be provided. Found ${breakpoints}.`);
  return request;
}

/** All blocks of the prompt, in order. A cached prefix can end with any of them. */
export function everyBlock({ system, messages }: ModelRequest): Block[] {
  return [...system, ...messages.flatMap(({ content }) => content)];
}

/** The results have the order of the numbers in citations. */
export function searchResultsOf({ messages }: ModelRequest): SearchResult[] {
  return messages.flatMap(({ content }) => content.filter((block) => block.type === 'search_result'));
}

/** The text of the last turn, without its search results. */
export function questionOf({ messages }: ModelRequest): string {
  const last = messages.at(-1)?.content ?? [];
  return last
    .filter(isText)
    .map(({ text }) => text)
    .join('\n');
}

function readThinking(thinking: unknown): boolean {
  const type = String(fields(thinking, 'thinking')['type']);
  if (!Object.hasOwn(thinkingTypes, type))
    throw invalid(`thinking.type: must be one of ${Object.keys(thinkingTypes).join(', ')}`);
  return thinkingTypes[type as keyof typeof thinkingTypes];
}

function readMessage(message: unknown, index: number, count: number): ModelRequest['messages'][number] {
  const at = `messages.${index}`;
  const { role, content } = fields(message, at);
  if (role !== 'user' && role !== 'assistant') throw invalid(`${at}.role: must be "user" or "assistant"`);
  if ((role === 'user') !== (index % 2 === 0))
    throw invalid(`${at}.role: the first message must be of the user, and roles must alternate`);
  if (index === count - 1 && role === 'assistant')
    throw invalid('messages: the conversation must end with a user message, prefill is not supported');
  const allowed = role === 'user' ? (['text', 'image', 'search_result'] as const) : (['text'] as const);
  return { role, content: blocksOf(content, `${at}.content`, allowed) };
}

function blocksOf(content: unknown, at: string, allowed: readonly Block['type'][]): Block[] {
  if (typeof content === 'string') return [readText({ type: 'text', text: content }, at)];
  if (!Array.isArray(content) || content.length === 0) throw invalid(`${at}: Field required`);
  return content.map((block: unknown, index) => readBlock(block, `${at}.${index}`, allowed));
}

function readBlock(block: unknown, at: string, allowed: readonly Block['type'][]): Block {
  const blockFields = fields(block, at);
  const type = allowed.find((known) => known === blockFields['type']);
  if (type === undefined) throw invalid(`${at}.type: must be one of ${allowed.join(', ')}`);
  checkCacheControl(blockFields['cache_control'], at);
  if (type === 'text') return readText(blockFields, at);
  return type === 'image' ? readImage(blockFields, at) : readSearchResult(blockFields, at);
}

function readText(blockFields: Fields, at: string): TextBlock {
  const { text } = blockFields;
  if (typeof text !== 'string') throw invalid(`${at}.text: Field required`);
  if (text === '') throw invalid(`${at}: text content blocks must be non-empty`);
  if (text.trim() === '') throw invalid(`${at}: text content blocks must contain non-whitespace text`);
  return blockFields as unknown as TextBlock;
}

function readImage(blockFields: Fields, at: string): ImageBlock {
  const { type, media_type: mediaType, data } = fields(blockFields['source'], `${at}.source`);
  if (type !== 'base64') throw invalid(`${at}.source.type: must be "base64"`);
  if (typeof mediaType !== 'string' || !imageTypes.includes(mediaType))
    throw invalid(`${at}.source.media_type: must be one of ${imageTypes.join(', ')}`);
  if (typeof data !== 'string' || data === '' || !/^[A-Za-z0-9+/]+={0,2}$/.test(data) || data.length % 4 !== 0)
    throw invalid(`${at}.source.data: must be base64`);
  return blockFields as unknown as ImageBlock;
}

function readSearchResult(blockFields: Fields, at: string): SearchResult {
  const { source, title, content } = blockFields;
  if (typeof source !== 'string' || source === '') throw invalid(`${at}.source: Field required`);
  if (typeof title !== 'string' || title === '') throw invalid(`${at}.title: Field required`);
  if (!Array.isArray(content) || content.length === 0) throw invalid(`${at}.content: at least one text block`);
  content.forEach((block: unknown, index) => readBlock(block, `${at}.content.${index}`, ['text']));
  return blockFields as unknown as SearchResult;
}

/** A request must enable citations for all its search results or for none (the provider's documentation: Search results). */
function checkCitations(request: ModelRequest): void {
  const ways = new Set(searchResultsOf(request).map(({ citations }) => citations?.enabled === true));
  if (ways.size > 1) throw invalid('citations: must be enabled on all search results or on none');
}

function checkCacheControl(marked: unknown, at: string): void {
  if (marked === undefined || marked === null) return;
  const { type, ttl } = fields(marked, `${at}.cache_control`);
  if (type !== 'ephemeral') throw invalid(`${at}.cache_control.type: must be "ephemeral"`);
  if (ttl !== undefined && ttl !== '5m' && ttl !== '1h') throw invalid(`${at}.cache_control.ttl: must be "5m" or "1h"`);
}

type Fields = Readonly<Record<string, unknown>>;

function fields(value: unknown, at: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw invalid(`${at}: must be an object`);
  return value as Fields;
}

function isText(block: Block): block is TextBlock {
  return block.type === 'text';
}

function invalid(message: string): Refusal {
  return new Refusal(400, message);
}
