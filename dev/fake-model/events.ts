/**
 * Creates the events of an answer, in the form and order of the real service. The provider's documentation has them in its chapter
 * "Streaming".
 */
import type { AnswerBlock, Cited } from './librarian.ts';
import { searchResultsOf, type ModelRequest } from './request.ts';
import type { Script, ScriptedCitation, StopReason } from './script.ts';
import { bytesAToken, type PromptUse } from './usage.ts';

export interface StreamEvent {
  readonly name: string;
  /** The bytes of the event: an event line, a data line and an empty line. */
  readonly text: string;
  /** The text of a text delta. */
  readonly delta?: string;
}

export const ping = eventOf({ type: 'ping' });

export function eventOf(data: { readonly type: string }, delta?: string): StreamEvent {
  const text = `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  return { name: data.type, text, ...(delta === undefined ? {} : { delta }) };
}

/**
 * @param id the id of the message @param answer the text blocks, which are cut at `max_tokens`
 * @returns all events from message_start to message_stop
 */
export function eventsOf(
  id: string,
  request: ModelRequest,
  use: PromptUse,
  answer: NonNullable<Script['blocks']> | readonly AnswerBlock[],
  wantedStop: StopReason | undefined,
): StreamEvent[] {
  const thought = request.thinks ? thoughtTokens : 0;
  const { blocks, whole, tokens } = withinCap(answer, request.max_tokens - thought);
  const stopReason = wantedStop ?? (whole ? 'end_turn' : 'max_tokens');
  const events = [messageStart(id, request.model, use), ...(request.thinks ? thinking : [])];
  blocks.forEach(({ deltas, citations }, place) => {
    const index = request.thinks ? place + 1 : place;
    events.push(
      eventOf({ type: 'content_block_start', index, content_block: { type: 'text', text: '', citations: [] } } as Data),
    );
    if (index === 0) events.push(ping);
    const add = (delta: object, text?: string) =>
      events.push(eventOf({ type: 'content_block_delta', index, delta } as Data, text));
    for (const text of deltas) add({ type: 'text_delta', text }, text);
    for (const cited of citations ?? []) add({ type: 'citations_delta', citation: citationOf(request, cited) });
    events.push(eventOf({ type: 'content_block_stop', index } as Data));
  });
  events.push(messageDelta(stopReason, use, thought + tokens), eventOf({ type: 'message_stop' }));
  return events;
}

type Data = { readonly type: string };

/** The thoughts of the model are hidden and signed, and count as output. */
const thinking = [
  eventOf({
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'thinking', thinking: '', signature: '' },
  } as Data),
  ping,
  eventOf({ type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } } as Data),
  eventOf({ type: 'content_block_stop', index: 0 } as Data),
];
const thoughtTokens = 100;

function messageStart(id: string, model: string, use: PromptUse): StreamEvent {
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    stop_details: null,
    usage: {
      ...promptUsage(use),
      cache_creation: { ephemeral_5m_input_tokens: use.cacheWrite, ephemeral_1h_input_tokens: 0 },
      output_tokens: 1,
      service_tier: 'standard',
    },
  };
  return eventOf({ type: 'message_start', message } as Data);
}

function messageDelta(stopReason: StopReason, use: PromptUse, outputTokens: number): StreamEvent {
  const delta = {
    stop_reason: stopReason,
    stop_sequence: null,
    stop_details: stopReason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null,
  };
  const usage = { ...promptUsage(use), output_tokens: outputTokens };
  return eventOf({ type: 'message_delta', delta, usage } as Data);
}

function promptUsage({ input, cacheWrite, cacheRead }: PromptUse) {
  return { input_tokens: input, cache_creation_input_tokens: cacheWrite, cache_read_input_tokens: cacheRead };
}

function citationOf(request: ModelRequest, cited: Cited | ScriptedCitation) {
  const result = searchResultsOf(request)[cited.result];
  const blocks = result?.content.slice(cited.start, cited.end) ?? [];
  const citedText = 'citedText' in cited ? cited.citedText : undefined;
  return {
    type: 'search_result_location',
    cited_text: citedText ?? blocks.map(({ text }) => text).join(''),
    source: result?.source ?? '',
    title: result?.title ?? null,
    search_result_index: cited.result,
    start_block_index: cited.start,
    end_block_index: cited.end,
  };
}

/** Cuts an answer at its token limit, between two deltas. A cut block has no citations. */
function withinCap(answer: NonNullable<Script['blocks']>, cap: number) {
  const blocks: { deltas: string[]; citations: readonly ScriptedCitation[] }[] = [];
  let tokens = 0;
  let bytes = 0;
  for (const { deltas, citations = [] } of answer) {
    const block: (typeof blocks)[number] = { deltas: [], citations: [] };
    blocks.push(block);
    for (const delta of deltas) {
      bytes += Buffer.byteLength(delta);
      if (Math.ceil(bytes / bytesAToken) > cap) return { blocks, whole: false, tokens };
      tokens = Math.ceil(bytes / bytesAToken);
      block.deltas.push(delta);
    }
    block.citations = citations;
  }
  return { blocks, whole: true, tokens: Math.max(1, tokens) };
}
