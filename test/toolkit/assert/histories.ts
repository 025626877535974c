/** Reads Temporal's data about a run: its events, its summaries, and every text in it. */
import type { WorkflowHandle } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { History, Payload } from '@temporalio/common/lib/proto-utils.js';

type HistoryEvent = NonNullable<History['events']>[number];
type Attributes = Extract<keyof HistoryEvent, `${string}EventAttributes`>;

/** @returns the attributes of the events of one kind, in order */
export function eventsNamed<Name extends Attributes>(history: History, name: Name): NonNullable<HistoryEvent[Name]>[] {
  return (history.events ?? []).flatMap((event) => {
    const attributes = event[name];
    return attributes ? [attributes] : [];
  });
}

/** @returns the static summary of a run, and the names of its timers in order */
export async function summariesOf(handle: WorkflowHandle): Promise<{ run: string | undefined; timers: string[] }> {
  const { events } = await handle.fetchHistory();
  const summaries = (kind: Attributes) =>
    (events ?? []).flatMap((event) => (event[kind] && event.userMetadata?.summary ? [event.userMetadata.summary] : []));
  const [run] = summaries('workflowExecutionStartedEventAttributes').map(textOf);
  return { run, timers: summaries('timerStartedEventAttributes').map(textOf) };
}

function textOf(payload: Payload): string {
  return String(defaultPayloadConverter.fromPayload(payload));
}

/** All data of Temporal about a run, its description and its history, as one text for searches. */
export async function keptOf(handle: WorkflowHandle): Promise<string> {
  const { raw } = await handle.describe();
  return everyText([raw, await handle.fetchHistory()]);
}

/**
 * Returns all texts inside an object of Temporal as one text. The text includes the content of payloads, which JSON would show in base64. A
 * JSON payload occurs twice: unchanged and decoded. A search in the unchanged form could miss quotes and line ends, because JSON escapes
 * them.
 */
export function everyText(value: unknown, visited = new Set<unknown>()): string {
  if (value instanceof Uint8Array) {
    const text = Buffer.from(value).toString('utf8');
    return `${text}\n${everyText(decoded(text), visited)}`;
  }
  if (typeof value !== 'object' || value === null) return `${String(value)}\n`;
  if (visited.has(value)) return '';
  visited.add(value);
  return Object.entries(value)
    .map(([key, inner]) => `${key}: ${everyText(inner, visited)}`)
    .join('');
}

/** @returns the value of a JSON text; empty if the text is not JSON */
function decoded(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return '';
  }
}
